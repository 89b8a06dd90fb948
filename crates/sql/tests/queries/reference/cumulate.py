"""Answers of cumulate.test.sql: every window of a row's span is tried for it."""

from decimal import Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

SECOND, MINUTE = 1000, 60_000


def windows_of(at, step, size, offset=0):
    """The windows that hold `at`, the shortest first."""
    start = offset + (at - offset) // size * size
    ends = [start + length for length in range(step, size + 1, step)]
    return [(Time(start), Time(end)) for end in ends if at < end]


def windows(rows, column, delay, step, size, offset=0, key=lambda row: ()):
    """Rows by key and window; a row is left out of those of its windows that are over."""
    held = {}
    for row, watermark in with_watermarks(rows, column, delay):
        for window in windows_of(row[column], step, size, offset):
            if not is_fired(window[1], watermark):
                held.setdefault(key(row) + window, []).append(row)
    return held.items()


topic = Topic("cumulate")
bids = topic.rows("Bid", at=time, price=Decimal, item=str, supplier=str)
ticks = topic.rows("Ticks", id=int, k=str, v=int, ts=time)
early = topic.rows("Early", id=int, ts=time)


def prices(rows):
    return sum(row["price"] for row in rows)


def ids(rows):
    return [row["id"] for row in rows]


def of_bids(step=2 * MINUTE, size=10 * MINUTE, **options):
    return windows(bids, "at", SECOND, step, size, **options)


sums = [(*window, prices(rows)) for window, rows in of_bids()]
topic.check(
    {
        "rows with their windows": [
            (row["item"], *window, Time(window[1] - 1)) for row in bids for window in windows_of(row["at"], 2 * MINUTE, 10 * MINUTE)
        ],
        "sum of price by window: also of windows that no row was added to": sums,
        "arguments by name": sums,
        "windows moved by an offset": [
            (*window, prices(rows), len(rows)) for window, rows in of_bids(5 * MINUTE, 10 * MINUTE, offset=3 * MINUTE)
        ],
        "a step as long as the size is a tumbling window": [
            (*window, prices(rows)) for window, rows in of_bids(10 * MINUTE, 10 * MINUTE)
        ],
        "by key": [
            (*window, prices(rows)) for window, rows in of_bids(5 * MINUTE, 10 * MINUTE, key=lambda row: (row["supplier"],))
        ],
        "a late row enters the windows that are open": [
            (*window, len(rows), total(rows), min(ids(rows)), max(ids(rows)))
            for total in [lambda rows: sum(row["v"] for row in rows if row["v"] is not None)]
            for window, rows in windows(ticks, "ts", 2 * SECOND, 5 * SECOND, 20 * SECOND)
        ],
        "late rows by key": [
            (*window, len(rows))
            for window, rows in windows(ticks, "ts", 2 * SECOND, 10 * SECOND, 30 * SECOND, key=lambda row: (row["k"],))
        ],
        "windows before and across 1970": [
            (*window, len(rows), max(ids(rows))) for window, rows in windows(early, "ts", 0, 10 * SECOND, 20 * SECOND)
        ],
        "no input, no windows": [],
    }
)
