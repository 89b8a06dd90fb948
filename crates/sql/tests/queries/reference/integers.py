"""Answers of integers.test.sql: Python's whole numbers, which have no end, folded into 32 or 64 bits."""

from corpus import Topic

topic = Topic("integers")
rows = topic.rows("Numbers", id=int, t=int, s=int, i=int, b=int)


def folded(bits, value):
    half = 1 << bits - 1
    return None if value is None else (value + half) % (2 * half) - half


def quotient(left, right):
    """Towards zero."""
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def remainder(left, right):
    return left - right * quotient(left, right)


def table(bits, column, *functions, keep=lambda id: True):
    return [
        (row["id"], *(folded(bits, None if row[column] is None else of(row[column])) for of in functions))
        for row in rows
        if keep(row["id"])
    ]


def sign(x):
    return (x > 0) - (x < 0)


steps = (lambda x: x + 1, lambda x: x - 1, lambda x: x * 2, lambda x: -x)
absolute = table(32, "i", abs, sign, lambda x: x, lambda x: x)
topic.check(
    {
        "INT wraps": table(32, "i", *steps),
        "BIGINT wraps": table(64, "b", *steps),
        "a BIGINT beside an INT makes BIGINT": [
            (r["id"], r["i"] + 1, folded(32, r["i"] * r["i"]), r["i"] * r["i"]) for r in rows if r["id"] <= 2
        ],
        "division of whole numbers drops the fraction": [
            (r["id"], quotient(r["i"], 2), quotient(r["b"], 2), quotient(r["i"], -2), 3, -3) for r in rows if r["id"] in (1, 3, 4, 5)
        ],
        "the least number by minus one is itself": [
            (2, folded(32, quotient(-(2**31), -1)), folded(64, quotient(-(2**63), -1)))
        ],
        "the remainder has the sign of the dividend": [
            (r["id"], *(remainder(r["i"], by) for by in (4, 4, -4)), remainder(r["b"], 10)) for r in rows if r["id"] != 6
        ],
        "NULL by zero is NULL, not an error": [(6, None)],
        "ABS, SIGN, FLOOR, CEIL keep the type, and ABS of the least wraps": [
            (*row, folded(64, None if r["b"] is None else abs(r["b"]))) for row, r in zip(absolute, rows)
        ],
        "a literal that fits no INT is a BIGINT": [
            (r["id"], r["i"] + 2147483648, folded(32, 2147483647 + r["i"])) for r in rows if r["id"] in (1, 3)
        ],
    },
    partial=True,
)
