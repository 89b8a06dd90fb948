"""Reads the table Clicks, which three topics share, and puts its rows into windows."""

from corpus import Time, is_fired, time, with_watermarks

SECOND = 1000


def clicks_of(topic):
    return topic.rows("Clicks", id=int, who=str, page=str, score=int, ts=time)


def windows(clicks, slide=10 * SECOND, size=10 * SECOND, key=lambda row: ()):
    """Pairs of (key, window) and rows, without the late ones."""
    held = {}
    for row, watermark in with_watermarks(clicks, "ts", 5 * SECOND):
        start = row["ts"] // slide * slide
        while start + size > row["ts"]:
            if not is_fired(start + size, watermark):
                held.setdefault(key(row) + (Time(start), Time(start + size)), []).append(row)
            start -= slide
    return held.items()


def highest(value):
    """Orders from the highest; NULL, the smallest, last."""
    return (value is None, -value if value is not None else 0)


def lowest(value):
    """Orders from the lowest; NULL, the smallest, first."""
    return (value is not None, value if value is not None else 0)
