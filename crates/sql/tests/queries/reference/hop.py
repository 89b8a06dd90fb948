"""Answers of hop.test.sql: every window that there could be is tried for every row."""

from decimal import ROUND_HALF_UP, Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

SECOND, MINUTE = 1000, 60_000


def windows_of(at, slide, size, offset=0):
    """All windows that hold `at`, the latest first."""
    first = offset + slide * ((at - offset) // slide + 2)
    found = []
    for back in range(size // slide + 4):
        start = first - back * slide
        if start <= at < start + size:
            found.append((Time(start), Time(start + size)))
    return found


def windows(rows, column, delay, slide, size, offset=0, keep=lambda row: True, key=lambda row: ()):
    """Rows by key and window; a row is left out of those of its windows that are over."""
    held = {}
    for row, watermark in with_watermarks(rows, column, delay):
        for window in windows_of(row[column], slide, size, offset):
            if keep(row) and not is_fired(window[1], watermark):
                held.setdefault(key(row) + window, []).append(row)
    return held.items()


topic = Topic("hop")
bids = topic.rows("Bid", at=time, price=Decimal, item=str, supplier=str)
ticks = topic.rows("Ticks", id=int, k=str, v=int, ts=time)
early = topic.rows("Early", id=int, ts=time)


def prices(rows):
    return sum(row["price"] for row in rows)


def values(rows):
    return [row["v"] for row in rows if row["v"] is not None]


def ids(rows):
    return [row["id"] for row in rows]


def of_bids(slide=5 * MINUTE, size=10 * MINUTE, offset=0, **options):
    return windows(bids, "at", SECOND, slide, size, offset, **options)


def of_ticks(slide, size, **options):
    return windows(ticks, "ts", 2 * SECOND, slide, size, **options)


sums = [(*window, prices(rows)) for window, rows in of_bids()]
topic.check(
    {
        "rows with their windows, the latest first or last": [
            (row["item"], *window, Time(window[1] - 1)) for row in bids for window in windows_of(row["at"], 5 * MINUTE, 10 * MINUTE)
        ],
        "sum of price by window": sums,
        "arguments by name": sums,
        "without the word TABLE around it": [(start, total) for start, end, total in sums],
        "windows moved by an offset": [(*window, prices(rows), len(rows)) for window, rows in of_bids(offset=2 * MINUTE)],
        "a slide as long as the size is a tumbling window": [
            (*window, prices(rows)) for window, rows in of_bids(10 * MINUTE, 10 * MINUTE)
        ],
        "a row may be late for its early windows only": [
            (*window, len(rows), sum(values(rows)), min(ids(rows)), max(ids(rows)))
            for window, rows in of_ticks(5 * SECOND, 10 * SECOND)
        ],
        "the same by key": [
            (key, start, len(rows)) for (key, start, end), rows in of_ticks(5 * SECOND, 10 * SECOND, key=lambda row: (row["k"],))
        ],
        "a slide that is a third of the size": [
            (*window, len(values(rows)), max(values(rows), default=None)) for window, rows in of_ticks(4 * SECOND, 12 * SECOND)
        ],
        "windows before and across 1970": [
            (*window, len(rows), max(ids(rows))) for window, rows in windows(early, "ts", 0, 5 * SECOND, 10 * SECOND)
        ],
        "no input, no windows": [],
        "a filter and an average behind the window function": [
            (start, (prices(rows) / len(rows)).quantize(Decimal("0.000001"), ROUND_HALF_UP))
            for (start, end), rows in of_bids(keep=lambda row: row["supplier"] == "supplier2")
        ],
    }
)
