"""Answers of window_grouping_sets.test.sql: each set of keys is a grouping of its own, and their rows are put together."""

from decimal import Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

HOUR = 3_600_000
topic = Topic("window_grouping_sets")
sales = topic.rows("Sales", id=int, shop=str, item=str, qty=int, price=Decimal, weight=float, paid=str, ts=time)


def grouped(columns, sets, keep=lambda row: True):
    """(start, values of all columns with None where summed up, the set, rows)."""
    found = []
    for kept in sets:
        held = {}
        for row, watermark in with_watermarks(sales, "ts", 1000):
            start = Time(row["ts"] - row["ts"] % HOUR)
            if keep(row) and not is_fired(start + HOUR, watermark):
                values = tuple(row[column] if column in kept else None for column in columns)
                held.setdefault((start, values), []).append(row)
        found += [(start, values, kept, rows) for (start, values), rows in held.items()]
    return found


def total(rows, column):
    values = [row[column] for row in rows if row[column] is not None]
    return sum(values) if values else None


def below(limit):
    return lambda row: row["id"] < limit


both = ["shop", "item"]
one_or_none = [(start, *values, len(rows)) for start, values, _, rows in grouped(["shop"], [["shop"], []])]
topic.check(
    {
        "grouping sets of one key and of none": one_or_none,
        "ROLLUP of one key is the same": one_or_none,
        "grouping sets of two keys apart": [
            (start, *values, len(rows), total(rows, "qty"))
            for start, values, _, rows in grouped(both, [["shop"], ["item"]], below(12))
        ],
        "ROLLUP of two keys": [
            (start, *values, len(rows)) for start, values, _, rows in grouped(both, [both, ["shop"], []], below(9))
        ],
        "CUBE of two keys": [
            (start, *values, total(rows, "price"))
            for start, values, _, rows in grouped(both, [both, ["shop"], ["item"], []], below(9))
        ],
        "ROLLUP of a pair": [(start, *values, len(rows)) for start, values, _, rows in grouped(both, [both, []], below(9))],
        "ROLLUP within grouping sets": [
            (start, *values, total(rows, "price"))
            for start, values, _, rows in grouped(both, [both, ["shop"], [], ["item"]], below(9))
        ],
        "GROUPING and GROUPING_ID": [
            (start, *values, int("shop" not in kept), int("item" not in kept), 2 * ("shop" not in kept) + ("item" not in kept), len(rows))
            for start, values, kept, rows in grouped(both, [both, ["shop"], []], lambda row: 4 < row["id"] < 9)
        ],
        "HAVING over grouping sets": [row for row in one_or_none if row[2] >= 2],
    }
)
