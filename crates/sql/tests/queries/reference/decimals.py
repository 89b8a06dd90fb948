"""Answers of decimals.test.sql, where they are arithmetic: Python's decimals with room to spare, rounded once to Flink's scale.

The digits of results are those of Flink's documentation and `LogicalTypeMerging`, written down here by hand for each query.
"""

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal, getcontext

from corpus import Topic

getcontext().prec = 200
topic = Topic("decimals")
rows = topic.rows("Amounts", id=int, a=Decimal, b=Decimal, i=int, wide=Decimal, fine=Decimal)


def fitted(value, precision, scale, rounding=ROUND_HALF_UP):
    """A value with so many digits; NULL if they are too few."""
    if value is None:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-scale), rounding)
    return None if abs(rounded) >= Decimal(10) ** (precision - scale) else abs(rounded) if rounded == 0 else rounded


def on(operation, *values):
    return None if any(value is None for value in values) else operation(*(Decimal(value) for value in values))


def plus(l, r):
    return on(lambda x, y: x + y, l, r)


def minus(l, r):
    return on(lambda x, y: x - y, l, r)


def times(l, r):
    return on(lambda x, y: x * y, l, r)


def by(l, r):
    return on(lambda x, y: x / y, l, r)


def sign(value):
    return on(lambda x: Decimal((x > 0) - (x < 0)), value)


def table(keep, *columns):
    """Rows of columns, each made by a function of a row and fitted to digits."""
    return [(row["id"], *(fitted(make(row), *digits) for make, *digits in columns)) for row in rows if keep(row["id"])]


def every(_):
    return True


topic.check(
    {
        "a sum has one digit more before the point, and the larger scale": table(
            every,
            (lambda r: plus(r["a"], r["b"]), 12, 3),
            (lambda r: minus(r["a"], r["b"]), 12, 3),
            (lambda r: plus(r["b"], r["b"]), 6, 3),
        ),
        "a product has the sum of both scales": table(
            every,
            (lambda r: times(r["a"], r["b"]), 15, 5),
            (lambda r: times(r["b"], r["b"]), 10, 6),
            (lambda r: times(r["a"], 2), 20, 2),
        ),
        "a quotient has six digits at least, and more for a precise divisor": table(
            lambda id: id <= 3,
            (lambda r: by(r["a"], r["b"]), 21, 8),
            (lambda r: by(r["b"], r["a"]), 18, 14),
        ),
        "quotients are rounded half up, away from zero": table(
            lambda id: id in (1, 3),
            (lambda r: Decimal(2) / 3, 8, 6),
            (lambda r: by(-2, r["i"]), 12, 11),
        ),
        "with whole numbers, which count as decimals of their longest": table(
            lambda id: id != 4,
            (lambda r: plus(r["a"], r["i"]), 13, 2),
            (lambda r: times(r["a"], r["i"]), 20, 2),
            (lambda r: minus(r["i"], r["b"]), 14, 3),
        ),
        "what does not fit 38 digits is NULL": table(
            every,
            (lambda r: plus(r["wide"], 1), 38, 0),
            (lambda r: times(r["wide"], 10), 38, 0),
            (lambda r: plus(r["wide"], r["wide"]), 38, 0),
        ),
        "scales shrink to keep digits before the point": table(
            lambda id: id in (3, 4, 6),
            (lambda r: times(r["fine"], r["fine"]), 38, 6),
            (lambda r: plus(r["fine"], r["wide"]), 38, 6),
        ),
        "casts round half up and are NULL if they do not fit": table(
            every,
            (lambda r: r["b"], 5, 2),
            (lambda r: r["a"], 10, 1),
            (lambda r: r["a"], 3, 2),
            (lambda r: r["a"], 12, 4),
        ),
        "ROUND, FLOOR, CEIL, ABS, SIGN, TRUNCATE": table(
            every,
            (lambda r: r["b"], 5, 1),
            (lambda r: r["b"], 5, 0),
            (lambda r: r["b"], 5, 0, ROUND_FLOOR),
            (lambda r: r["b"], 5, 0, ROUND_CEILING),
            (lambda r: on(abs, r["b"]), 5, 3),
            (lambda r: sign(r["b"]), 5, 3),
            (lambda r: r["b"], 5, 1, ROUND_DOWN),
        ),
    },
    partial=True,
)
