"""Answers of tumble.test.sql: rows are put into windows one by one, and a window's rows are then listed."""

from decimal import Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

SECOND, MINUTE, DAY = 1000, 60_000, 86_400_000


def window_of(at, size, offset=0):
    """The one window of this size that holds `at`: found by walking from the offset, not by division."""
    start = offset
    # Strides of many windows first, so that the walk ends.
    for stride in (size << shift for shift in range(32, -1, -1)):
        while start > at:
            start -= stride
        while start + stride <= at:
            start += stride
    return Time(start), Time(start + size)


def windows(rows, column, delay, size, offset=0, keep=lambda row: True, key=lambda row: ()):
    """Rows by key and window, without the late ones. Rows that are not kept still move the watermark."""
    held = {}
    for row, watermark in with_watermarks(rows, column, delay):
        window = window_of(row[column], size, offset)
        if keep(row) and not is_fired(window[1], watermark):
            held.setdefault(key(row) + window, []).append(row)
    return held


def total(values):
    values = [value for value in values if value is not None]
    return sum(values) if values else None


topic = Topic("tumble")
bids = topic.rows("Bid", at=time, price=Decimal, item=str, supplier=str)
ticks = topic.rows("Ticks", id=int, k=str, v=int, ts=time)
early = topic.rows("Early", id=int, ts=time)


def sums(**options):
    held = windows(bids, "at", SECOND, 10 * MINUTE, **options)
    return [(*window, total(row["price"] for row in rows)) for window, rows in held.items()]


def of_early(size, offset=0):
    return windows(early, "ts", 0, size, offset).items()


def of_ticks(size=10 * SECOND, **options):
    return windows(ticks, "ts", 2 * SECOND, size, **options).items()


by_key = of_ticks(key=lambda row: (row["k"],))
topic.check(
    {
        "rows with their windows": [
            (*row.values(), *window, Time(window[1] - 1)) for row in bids for window in [window_of(row["at"], 10 * MINUTE)]
        ],
        "sum of price by window": sums(),
        "without the word TABLE around it": sums(),
        "arguments by name": sums(),
        "windows moved by an offset": sums(offset=MINUTE),
        "windows moved back by an offset": sums(offset=-2 * MINUTE),
        "keys in any order, some of them not shown": [
            (key, max(row["price"] for row in rows), end)
            for (key, start, end), rows in windows(bids, "at", SECOND, 10 * MINUTE, key=lambda row: (row["supplier"],)).items()
        ],
        "a window takes its start and not its end, and late rows are left out": [
            (*window, len(rows), total(row["v"] for row in rows), min(row["id"] for row in rows), max(row["id"] for row in rows))
            for window, rows in of_ticks()
        ],
        "the same by key, where NULL is a key as any other": [
            (key, start, len(rows), sum(row["v"] is not None for row in rows)) for (key, start, end), rows in by_key
        ],
        "rows that a filter takes out still move the watermark": [
            (start, len(rows), min(row["id"] for row in rows), max(row["id"] for row in rows))
            for (start, end), rows in of_ticks(keep=lambda row: row["id"] % 2 == 0)
        ],
        "a filter behind the window function": [
            (start, len(rows))
            for (start, end), rows in of_ticks(keep=lambda row: row["k"] == "a" and row["v"] is not None and row["v"] > 4)
        ],
        "a window of which every row is late gives nothing": [
            (start, len(rows)) for (start, end), rows in of_ticks(SECOND) if start < time("2024-01-01 00:00:12.000")
        ],
        "late rows are not late for the function alone": [
            (row["id"], window_of(row["ts"], 10 * SECOND)[1]) for row in ticks if row["id"] in (6, 7, 11)
        ],
        "windows before 1970": [
            (*window, len(rows), max(row["id"] for row in rows)) for window, rows in of_early(10 * SECOND)
        ],
        "windows across 1970 with an offset": [
            (*window, len(rows)) for window, rows in of_early(10 * SECOND, 3 * SECOND)
        ],
        "no input, no windows": [],
        "windows of a day": [(*window, len(rows)) for window, rows in of_early(DAY)],
        "results are rows: computed with, filtered, renamed": [
            ("2020-04-15", int(end % (60 * MINUTE)) // MINUTE, 2 * sum_of) for start, end, sum_of in sums()
        ],
    }
)
