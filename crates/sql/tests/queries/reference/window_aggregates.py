"""Answers of window_aggregates.test.sql: the rows of each hour are listed, and each aggregate is worked out from the list."""

import math
from decimal import ROUND_HALF_UP, Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

HOUR = 3_600_000


def hours(rows, keep=lambda row: True, key=lambda row: ()):
    held = {}
    for row, watermark in with_watermarks(rows, "ts", 1000):
        start = row["ts"] - row["ts"] % HOUR
        if keep(row) and not is_fired(start + HOUR, watermark):
            held.setdefault((Time(start),) + key(row), []).append(row)
    return held.items()


def of(rows, column):
    return [row[column] for row in rows if row[column] is not None]


def total(values):
    return sum(values) if values else None


def wrapped(value):
    return None if value is None else (value + 2**31) % 2**32 - 2**31


def cut_average(values):
    return int(Decimal(sum(values)) / len(values)) if values else None


def average(values):
    """Of decimals with two digits: six of them."""
    return (sum(values) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP) if values else None


def mean(values):
    return sum(values) / len(values) if values else None


def unique(values):
    return list(dict.fromkeys(values))


def spread(values, less):
    """The variance; `less` is 1 for a sample."""
    if len(values) <= less:
        return None
    middle = mean(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - less)


def root(value):
    return None if value is None else math.sqrt(value)


def least(values):
    return min(values, default=None)


def most(values):
    return max(values, default=None)


def first(values):
    return values[0] if values else None


def last(values):
    return values[-1] if values else None


def listed(values, between):
    return between.join(values) if values else None


def filtered(rows, condition):
    """Rows for which a condition is true, not unknown."""
    return [row for row in rows if condition(row)]



topic = Topic("window_aggregates")
sales = topic.rows(
    "Sales",
    id=int,
    shop=str,
    item=str,
    qty=int,
    price=Decimal,
    weight=float,
    paid=lambda text: text == "true",
    ts=time,
)


def answer(compute, **options):
    """One row an hour: its start, and what is computed of its rows."""
    return [(*key, *compute(rows)) for key, rows in hours(sales, **options)]


def below(limit):
    return lambda row: row["id"] < limit


topic.check(
    {
        "COUNT of rows, of values, of distinct values": answer(
            lambda rows: (
                len(rows),
                len(rows),
                len(of(rows, "item")),
                len(of(rows, "qty")),
                len(set(of(rows, "item"))),
                len(set(of(rows, "qty"))),
            )
        ),
        "SUM keeps the type of whole numbers, and wraps": answer(
            lambda rows: (wrapped(total(of(rows, "qty"))), total(of(rows, "qty")))
        ),
        "SUM of decimals and doubles": answer(lambda rows: (total(of(rows, "price")), total(of(rows, "weight")))),
        "AVG of whole numbers drops the fraction": answer(
            lambda rows: (cut_average(of(rows, "qty")), cut_average(of(rows, "qty"))), keep=below(12)
        ),
        "AVG of decimals has six digits, rounded half up; AVG of doubles": answer(
            lambda rows: (average(of(rows, "price")), mean(of(rows, "weight")))
        ),
        "MIN and MAX of numbers, text, times": answer(
            lambda rows: (
                least(of(rows, "qty")),
                most(of(rows, "qty")),
                least(of(rows, "price")),
                most(of(rows, "item")),
                least(of(rows, "item")),
                most(of(rows, "weight")),
                least(of(rows, "ts")),
                most(of(rows, "ts")),
            )
        ),
        "FIRST_VALUE and LAST_VALUE by arrival, without NULLs": answer(
            lambda rows: (first(of(rows, "item")), last(of(rows, "item")), first(of(rows, "qty")), last(of(rows, "price")))
        ),
        "LISTAGG joins by arrival, without NULLs": answer(
            lambda rows: (listed(of(rows, "item"), ","), listed(of(rows, "item"), "; "))
        ),
        "deviation and variance, of samples and populations": answer(
            lambda rows: (
                root(spread(of(rows, "weight"), 0)) if of(rows, "weight") else None,
                root(spread(of(rows, "weight"), 1)),
                spread(of(rows, "weight"), 0) if of(rows, "weight") else None,
                spread(of(rows, "weight"), 1),
            ),
            keep=lambda row: row["id"] in (1, 2, 3, 4, 10, 11),
        ),
        "DISTINCT for SUM, AVG, MAX": answer(
            lambda rows: (
                total(unique(of(rows, "qty"))),
                average(unique(of(rows, "price"))),
                most(of(rows, "qty")),
                total(of(rows, "qty")),
            ),
            keep=below(12),
        ),
        "FILTER takes rows for one aggregate only": answer(
            lambda rows: (
                len(rows),
                len(filtered(rows, lambda row: row["paid"])),
                total(of(filtered(rows, lambda row: row["paid"] is False), "qty")),
                len(set(of(filtered(rows, lambda row: row["qty"] is not None and row["qty"] > 1), "item"))),
                len(filtered(rows, lambda row: row["paid"] is None)),
            )
        ),
        "expressions of aggregates and aggregates of expressions": answer(
            lambda rows: (
                total([row["qty"] * row["price"] for row in rows if row["qty"] is not None and row["price"] is not None]),
                None if not of(rows, "qty") else total(of(rows, "qty")) + len(rows),
                None if not of(rows, "qty") else most(of(rows, "qty")) - least(of(rows, "qty")),
                total(of(rows, "qty")) or 0,
            ),
            keep=below(12),
        ),
        "HAVING": [
            (*key, total(of(rows, "qty"))) for key, rows in hours(sales) if len(rows) > 2 and (most(of(rows, "weight")) or 0) > 6
        ],
        "HAVING with an aggregate that is not shown, unknown where it is NULL": [
            key for key, rows in hours(sales) if (wrapped(total(of(rows, "qty"))) or 0) > 0
        ],
        "by key, where NULL is a key": [
            (shop, start, len(rows), total(of(rows, "price")))
            for (start, shop), rows in hours(sales, key=lambda row: (row["shop"],))
        ],
        "by an expression": answer(
            lambda rows: (len(rows),), key=lambda row: (None if row["qty"] is None else row["qty"] > 2,)
        ),
        "the same aggregate twice and a literal": [
            ("w", len(rows), len(rows), Time(start + HOUR)) for (start,), rows in hours(sales, keep=lambda row: row["shop"] == "north")
        ],
        "no rows, no results, even without a key": [],
        "distinct rows of a window": [key for key, rows in hours(sales, key=lambda row: (row["item"],))],
        "SELECT DISTINCT with both bounds": [
            (start, Time(start + HOUR), shop) for (start, shop), rows in hours(sales, key=lambda row: (row["shop"],))
        ],
    }
)
