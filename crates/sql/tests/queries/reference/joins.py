"""Answers of joins.test.sql: nested loops over whole inputs, which give what is left of all changes."""

from corpus import Topic

topic = Topic("joins")
orders = topic.rows("Orders", oid=int, buyer=str, amount=int)
payments = topic.rows("Payments", pid=int, oid=int, paid=int)
buyers = topic.rows("Buyers", buyer=str, city=str)
NOTHING = dict.fromkeys(("oid", "buyer", "amount", "pid", "paid"))


def same(o, p):
    return o["oid"] is not None and o["oid"] == p["oid"]


def above_five(p):
    return p["paid"] is not None and p["paid"] > 5


def joined(on=same, keep_left=False, keep_right=False):
    pairs = [(o, p) for o in orders for p in payments if on(o, p)]
    if keep_left:
        pairs += [(o, NOTHING) for o in orders if not any(on(o, p) for p in payments)]
    if keep_right:
        pairs += [(NOTHING, p) for p in payments if not any(on(o, p) for o in orders)]
    return pairs


def usual(pairs):
    return [(o["oid"], o["amount"], p["pid"]) for o, p in pairs]


def plain(rows):
    return [(o["oid"], o["amount"]) for o in rows]


def total(values):
    values = [value for value in values if value is not None]
    return sum(values) if values else None


without = plain(o for o in orders if not any(same(o, p) for p in payments))
topic.check(
    {
        "inner, where NULL joins nothing": usual(joined()),
        "inner by commas and WHERE": [(o["oid"], p["pid"]) for o, p in joined() if above_five(p)],
        "inner by USING": usual(joined()),
        "left": usual(joined(keep_left=True)),
        "right": [(o["oid"], p["oid"], p["pid"]) for o, p in joined(keep_right=True)],
        "full": [(o["oid"], o["amount"], p["oid"], p["pid"]) for o, p in joined(same, True, True)],
        "a condition beside the key is part of the join": usual(joined(lambda o, p: same(o, p) and above_five(p), True)),
        "a condition behind the join is not": usual((o, p) for o, p in joined(keep_left=True) if above_five(p)),
        "NULLs join by IS NOT DISTINCT FROM": usual(joined(lambda o, p: o["oid"] == p["oid"])),
        "without an equality": [
            (o["amount"], p["paid"]) for o, p in joined(lambda o, p: p["paid"] is not None and o["amount"] < p["paid"])
        ],
        "every pair": [(o["oid"], b["city"]) for o in orders for b in buyers if o["amount"] >= 40],
        "three tables": [
            (b["city"], o["oid"], p["pid"]) for o, p in joined() for b in buyers if o["buyer"] and o["buyer"] == b["buyer"]
        ],
        "semi join by IN": plain(o for o in orders if any(same(o, p) for p in payments)),
        "semi join by EXISTS": plain(o for o in orders if any(same(o, p) and above_five(p) for p in payments)),
        "anti join by NOT EXISTS": without,
        # A payment without an order's number makes every answer unknown that is not false.
        "NOT IN what holds a NULL is never true": [],
        "NOT IN what holds none": [row for row in without if row[0] is not None],
        "with a result that changes": [
            (o["oid"], o["amount"], total(p["paid"] for p in payments if same(o, p)))
            for o in orders
            if any(same(o, p) for p in payments)
        ],
        "a result of a left join, counted": {
            (o["oid"], sum(same(other, p) for other in orders if other["oid"] == o["oid"] for p in payments)) for o in orders
        },
    }
)
