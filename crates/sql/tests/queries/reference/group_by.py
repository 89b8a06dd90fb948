"""Answers of group_by.test.sql: what the whole input gives, which is what is left of all changes."""

from decimal import Decimal

from corpus import Topic

topic = Topic("group_by")
orders = topic.rows("Orders", id=int, buyer=str, product=str, amount=int, price=Decimal)


def groups(rows, key):
    held = {}
    for row in rows:
        held.setdefault(key(row), []).append(row)
    return held.items()


def of(rows, column):
    return [row[column] for row in rows if row[column] is not None]


def total(values):
    values = list(values)
    return sum(values) if values else None


def cut_mean(values):
    return int(Decimal(sum(values)) / len(values)) if values else None


by_buyer = list(groups(orders, lambda row: row["buyer"]))
by_product = list(groups(orders, lambda row: row["product"]))
totals = [total(of(rows, "amount")) for _, rows in by_buyer]
counts = [dict(buyer=buyer, n=len(rows)) for buyer, rows in by_buyer]
early = [row for row in orders if row["id"] <= 5]
topic.check(
    {
        "count and sum by key, where NULL is a key": [
            (buyer, len(rows), len(of(rows, "amount")), total(of(rows, "amount")), total(of(rows, "price")))
            for buyer, rows in by_buyer
        ],
        "least, greatest, mean": [
            (product, min(of(rows, "amount"), default=None), max(of(rows, "price"), default=None), cut_mean(of(rows, "amount")))
            for product, rows in by_product
        ],
        "of all rows": [(len(orders), total(of(orders, "amount")), max(of(orders, "buyer")))],
        "of no rows nothing": [],
        "distinct rows": {(row["buyer"], row["product"]) for row in orders},
        "distinct values": [
            (buyer, len(set(of(rows, "product"))), total(set(of(rows, "amount")))) for buyer, rows in by_buyer
        ],
        "HAVING takes back what no longer fits": [
            (buyer, total(of(rows, "amount"))) for buyer, rows in by_buyer if (total(of(rows, "amount")) or 0) > 0
        ],
        "counts of counts: groups become empty": [
            (n, len(rows), min(of(rows, "buyer"), default=None)) for n, rows in groups(counts, lambda row: row["n"])
        ],
        "the greatest of sums that fall": [
            (max(value for value in totals if value is not None), total(value for value in totals if value is not None))
        ],
        "a filter over a result": [(row["buyer"], row["n"]) for row in counts if row["n"] <= 2],
        "by an expression": [
            (key, len(rows)) for key, rows in groups(orders, lambda row: None if row["amount"] is None else row["amount"] > 0)
        ],
        "FILTER": [
            (
                product,
                sum(amount > 1 for amount in of(rows, "amount")),
                total(row["amount"] for row in rows if row["buyer"] == "ann"),
            )
            for product, rows in by_product
        ],
        "grouping sets": [(buyer, None, len(rows)) for buyer, rows in groups(early, lambda row: row["buyer"])]
        + [(None, product, len(rows)) for product, rows in groups(early, lambda row: row["product"])]
        + [(None, None, len(early))],
        "UNION without ALL takes doubles out": {(row[column],) for row in orders for column in ("buyer", "product")},
    }
)
