"""Answers of interval_join.test.sql: nested loops over both inputs; what finds no partner is kept by outer joins."""

from corpus import Topic, time

SECOND = 1000
topic = Topic("interval_join")
orders = topic.rows("Orders", oid=int, buyer=str, amount=int, ts=time)
shipments = topic.rows("Shipments", sid=int, oid=int, place=str, ts=time)
NOTHING = dict.fromkeys(("oid", "buyer", "amount", "ts", "sid", "place"))


def joined(least, most, keep_left=False, keep_right=False, on=lambda o, s: True):
    """Pairs of which the shipment came between `least` and `most` milliseconds after the order, both included."""
    pairs = [
        (o, s)
        for o in orders
        for s in shipments
        if o["oid"] is not None and o["oid"] == s["oid"] and least <= s["ts"] - o["ts"] <= most and on(o, s)
    ]
    lonely_orders = [(o, NOTHING) for o in orders if keep_left and not any(o is taken for taken, _ in pairs)]
    lonely_shipments = [(NOTHING, s) for s in shipments if keep_right and not any(s is taken for _, taken in pairs)]
    return pairs + lonely_orders + lonely_shipments


def usual(pairs):
    return [(o["oid"], o["amount"], s["sid"]) for o, s in pairs]


TEN = 10 * SECOND
topic.check(
    {
        "shipped within ten seconds, both ends included": usual(joined(0, TEN)),
        "the documentation's form: in WHERE, with commas": usual(joined(0, TEN)),
        "ends left out": usual(joined(1, TEN - 1)),
        "left: orders without a shipment in time": usual(joined(0, TEN, keep_left=True)),
        "right: shipments without an order in time": [
            (o["oid"], s["oid"], s["sid"]) for o, s in joined(0, TEN, keep_right=True)
        ],
        "full": [(o["oid"], o["amount"], s["oid"], s["sid"]) for o, s in joined(0, TEN, True, True)],
        "bounds on both sides of a row": usual(joined(-SECOND, SECOND)),
        "equal times": usual(joined(0, 0)),
        "another condition is part of the join": usual(joined(0, TEN, True, on=lambda o, s: s["place"] == "south")),
        "another condition behind the join is not": usual(
            (o, s) for o, s in joined(0, TEN, True) if s["place"] == "south"
        ),
        "a condition that compares both sides": usual(joined(-TEN, TEN, on=lambda o, s: o["amount"] + 90 > s["sid"])),
        "a table with itself": [
            (a["oid"], a["amount"], b["amount"])
            for a in orders
            for b in orders
            if a["buyer"] == b["buyer"] and 0 < b["ts"] - a["ts"] <= 120 * SECOND
        ],
        "times are columns of the result": [(o["ts"], s["ts"], s["place"]) for o, s in joined(0, TEN)],
    }
)
