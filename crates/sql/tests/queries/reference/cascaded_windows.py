"""Answers of cascaded_windows.test.sql: the inner windows as a list, and that list once more into windows.

Results of windows are never late for the next ones: they are stamped with their window's last millisecond, and the watermark
does not pass that before them.
"""

from clicks import SECOND, clicks_of, windows
from corpus import Time, Topic

topic = Topic("cascaded_windows")


def total(values):
    values = [value for value in values if value is not None]
    return sum(values) if values else None


by_who = [
    dict(start=start, end=end, time=Time(end - 1), who=who, clicks=len(rows), score=total(row["score"] for row in rows))
    for (who, start, end), rows in windows(clicks_of(topic), key=lambda row: (row["who"],))
]


def again(size, slide=None, keep=lambda row: True, key=lambda row: ()):
    held = {}
    for row in filter(keep, by_who):
        start = row["time"] // (slide or size) * (slide or size)
        while start + size > row["time"]:
            held.setdefault(key(row) + (Time(start), Time(start + size)), []).append(row)
            start -= slide or size
    return held.items()


def clicks(rows):
    return sum(row["clicks"] for row in rows)


topic.check(
    {
        "the inner windows alone": [tuple(row.values()) for row in by_who],
        "minutes of ten seconds": [
            (*window, clicks(rows), total(row["score"] for row in rows), len(rows)) for window, rows in again(60 * SECOND)
        ],
        "a window's time is its last millisecond, so equal windows hold what their own held": [
            (*window, clicks(rows), min(row["time"] for row in rows)) for window, rows in again(10 * SECOND)
        ],
        "sliding windows over tumbling ones": [
            (*window, clicks(rows)) for window, rows in again(20 * SECOND, 10 * SECOND, key=lambda row: (row["who"],))
        ],
        "keys summed up within the same window": [
            (*window, max(row["clicks"] for row in rows), len(rows)) for window, rows in again(10 * SECOND)
        ],
        "a filter in between": [
            (start, clicks(rows)) for (start, end), rows in again(30 * SECOND, keep=lambda row: row["clicks"] > 1)
        ],
    }
)
