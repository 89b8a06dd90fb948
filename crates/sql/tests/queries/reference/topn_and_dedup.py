"""Answers of topn_and_dedup.test.sql: the whole input is sorted, which gives what is left of all changes."""

from clicks import highest, lowest
from corpus import Topic, time

topic = Topic("topn_and_dedup")
sales = topic.rows("Sales", id=int, category=str, product=str, sales=int, ts=time)


def ranked(rows, order, least, most, *columns):
    """(number, row) of each key; of rows that tie the first to come stands first."""
    held = {}
    for row in rows:
        held.setdefault(tuple(row[column] for column in columns), []).append(row)
    for group in held.values():
        for number, row in enumerate(sorted(group, key=order), 1):
            if least <= number <= most:
                yield number, row


def best(row):
    return highest(row["sales"])


def worst(row):
    return lowest(row["sales"])


def latest(rows):
    """The last row of each product by time; of equal times the last to come."""
    kept = {}
    for row in rows:
        if row["product"] not in kept or row["ts"] >= kept[row["product"]]["ts"]:
            kept[row["product"]] = row
    return list(kept.values())


def sums(rows):
    found = {}
    for row in rows:
        values = found.setdefault(row["category"], [])
        if row["sales"] is not None:
            values.append(row["sales"])
    return [dict(category=category, sales=sum(values) if values else None) for category, values in found.items()]


counted = {}
for row in latest(sales):
    counted.setdefault(row["category"], []).append(row)
topic.check(
    {
        "the two best of each category, with their places": [
            (row["category"], number, row["id"], row["sales"]) for number, row in ranked(sales, best, 1, 2, "category")
        ],
        "the two best, without places": [
            (row["category"], row["id"], row["sales"]) for _, row in ranked(sales, best, 1, 2, "category")
        ],
        "the worst: NULL is smallest": [
            (row["category"], row["id"], row["sales"]) for _, row in ranked(sales, worst, 1, 1, "category")
        ],
        "the best of all": [(number, row["id"], row["sales"]) for number, row in ranked(sales, best, 1, 3)],
        "from the second to the third": [
            (row["category"], number, row["id"]) for number, row in ranked(sales, best, 2, 3, "category")
        ],
        "the best of sums, which change themselves": [
            (row["category"], row["sales"], number)
            for number, row in ranked(sums(sales), lambda row: (best(row), row["category"] is not None, row["category"] or ""), 1, 2)
        ],
        "the last row of each product by event time: of equal times the one that came last": [
            (row["product"], row["id"], row["ts"]) for row in latest(sales)
        ],
        "the first row of each product by event time": [
            (row["product"], row["id"], row["ts"]) for _, row in ranked(sales, lambda row: row["ts"], 1, 1, "product")
        ],
        "the first row of each product by arrival": [
            (row["product"], row["id"]) for _, row in ranked(sales, lambda row: row["id"], 1, 1, "product")
        ],
        "the last row of each product by arrival": [
            (row["product"], row["id"]) for _, row in ranked(sales, lambda row: -row["id"], 1, 1, "product")
        ],
        "one row of each key, counted again": [
            (category, len(rows), sums(rows)[0]["sales"]) for category, rows in counted.items()
        ],
    }
)
