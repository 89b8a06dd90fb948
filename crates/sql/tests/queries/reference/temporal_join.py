"""Answers of temporal_join.test.sql: for each order the latest version of its currency that is not after it."""

from decimal import Decimal

from corpus import Topic, time

topic = Topic("temporal_join")
arrived = topic.rows("Orders", id=int, price=Decimal, currency=str, at=time)
# An order that is not above the watermark of its side is dropped.
orders = [
    o for place, o in enumerate(arrived) if all(o["at"] > before["at"] - 15_000 for before in arrived[:place])
]
keyed = topic.rows("KeyedRates", currency=str, rate=Decimal, at=time)
history = topic.rows("RateHistory", currency=str, rate=Decimal, at=time)
# The view keeps the last row of a currency: a row that is older than the one that is kept is never one of its versions.
viewed = [
    v for place, v in enumerate(history) if not any(e["currency"] == v["currency"] and e["at"] > v["at"] for e in history[:place])
]
first = {}
for v in sorted(history, key=lambda v: v["at"]):
    first.setdefault(v["currency"], v)


def version(order, keep=lambda rate: True, versions=viewed):
    """The version valid at the order's time, if it meets a condition."""
    past = [v for v in versions if order["currency"] is not None and v["currency"] == order["currency"] and v["at"] <= order["at"]]
    latest = max(past, key=lambda v: v["at"], default=None)
    return latest if latest is not None and keep(latest["rate"]) else None


def high(rate):
    return rate is not None and rate > Decimal("1.12")


def rate(order, keep=lambda rate: True, versions=viewed):
    found = version(order, keep, versions)
    return found["rate"] if found else None


def exchanged(versions):
    rates = [(order, rate(order, versions=versions)) for order in orders]
    return [(o["id"], o["currency"], found, None if found is None else o["price"] * found) for o, found in rates]


topic.check(
    {
        "the version at the time of the order, or none": exchanged(viewed),
        "orders with a version only": [(o["id"], rate(o)) for o in orders if version(o)],
        "a version is valid from its own time on": [
            (o["id"], o["at"], version(o)["at"]) for o in orders if o["id"] in (3, 5, 8)
        ],
        "a condition beside the key": [(o["id"], rate(o, high)) for o in orders],
        "a condition behind the join": [(o["id"], rate(o)) for o in orders if high(rate(o))],
        "a table with a primary key: the version at the time of the order, or none": exchanged(keyed),
        "a table with a primary key: orders with a version only": [
            (o["id"], rate(o, versions=keyed)) for o in orders if version(o, versions=keyed)
        ],
        "the first row of each key is its only version": [(o["id"], rate(o, versions=first.values())) for o in orders],
    }
)
