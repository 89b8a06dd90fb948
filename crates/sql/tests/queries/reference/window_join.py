"""Answers of window_join.test.sql: nested loops over rows beside their windows. No row is late."""

from decimal import Decimal

from corpus import Time, Topic, time

SECOND, MINUTE = 1000, 60_000
topic = Topic("window_join")


def in_windows(rows, column, size, slide=None):
    found = []
    for row in rows:
        start = row[column] // (slide or size) * (slide or size)
        while start + size > row[column]:
            found.append({**row, "start": Time(start), "end": Time(start + size)})
            start -= slide or size
    return found


def joined(left, right, on, keep_left=False, keep_right=False):
    """Pairs; None stands for the side that is missing."""
    pairs = [(l, r) for l in left for r in right if l["start"] == r["start"] and on(l, r)]
    if keep_left:
        pairs += [(l, None) for l in left if not any(l is taken for taken, _ in pairs)]
    if keep_right:
        pairs += [(None, r) for r in right if not any(r is taken for _, taken in pairs)]
    return pairs


def shown(pairs, *columns):
    """Columns as `l.ad`; NULL of a side that is missing."""
    rows = []
    for pair in pairs:
        sides = {"l": pair[0], "r": pair[1]}
        rows.append(tuple(sides[c[0]][c[2:]] if sides[c[0]] is not None else None for c in columns))
    return rows


def same(column):
    return lambda l, r: l[column] is not None and l[column] == r[column]


lefts = in_windows(topic.rows("LeftTable", ts=time, num=int, id=str), "ts", 5 * MINUTE)
rights = in_windows(topic.rows("RightTable", ts=time, num=int, id=str), "ts", 5 * MINUTE)
ads_alone = topic.rows("Ads", ad=int, k=str, cost=Decimal, ts=time)
hits_alone = topic.rows("Hits", hit=int, k=str, worth=Decimal, ts=time)
ads, hits = in_windows(ads_alone, "ts", 10 * SECOND), in_windows(hits_alone, "ts", 10 * SECOND)

documented = ("l.num", "l.id", "r.num", "r.id")


def with_window(pairs):
    return [
        (*row, (l or r)["start"], (l or r)["end"]) for row, (l, r) in zip(shown(pairs, *documented), pairs)
    ]


def has_partner(row):
    return any(row["num"] == r["num"] and row["start"] == r["start"] for r in rights)


def whole(rows):
    return [(row["ts"], row["num"], row["id"], row["start"], row["end"], Time(row["end"] - 1)) for row in rows]


def dearer(l, r):
    return l["cost"] is not None and r["worth"] is not None and r["worth"] > l["cost"]


def counts(rows):
    counted = {}
    for row in rows:
        counted.setdefault((row["k"], row["start"]), []).append(row)
    return [dict(k=k, start=start, end=rows[0]["end"], n=len(rows)) for (k, start), rows in counted.items()]


by_key = same("k")
semi = whole(row for row in lefts if has_partner(row))
anti = whole(row for row in lefts if not has_partner(row))
topic.check(
    {
        "the documentation's full join": with_window(joined(lefts, rights, same("num"), True, True)),
        "the same as an inner join": with_window(joined(lefts, rights, same("num"))),
        "the documentation's semi join by IN": semi,
        "the same by EXISTS": semi,
        "the documentation's anti join by NOT IN": anti,
        "the same by NOT EXISTS": anti,
        "inner, where NULL joins nothing": shown(joined(ads, hits, by_key), "l.ad", "r.hit", "l.k", "l.start"),
        "left": shown(joined(ads, hits, by_key, keep_left=True), "l.ad", "l.k", "r.hit", "r.start"),
        "right": shown(joined(ads, hits, by_key, keep_right=True), "l.ad", "r.hit", "r.k", "r.start"),
        "full": shown(joined(ads, hits, by_key, True, True), "l.ad", "l.k", "r.hit", "r.k"),
        "a condition beside the keys is part of the join": shown(
            joined(ads, hits, lambda l, r: by_key(l, r) and dearer(l, r), keep_left=True), "l.ad", "r.hit", "l.cost", "r.worth"
        ),
        "a condition behind the join is not": shown(
            [(l, r) for l, r in joined(ads, hits, by_key, keep_left=True) if r is not None and dearer(l, r)],
            *("l.ad", "r.hit", "l.cost", "r.worth"),
        ),
        "without another key every pair of a window": shown(joined(ads, hits, lambda l, r: True), "l.ad", "r.hit"),
        "a table with itself": shown(
            joined(ads, ads, lambda l, r: by_key(l, r) and l["ad"] < r["ad"]), "l.ad", "r.ad", "l.k"
        ),
        "results of window aggregates": shown(joined(counts(ads), counts(hits), by_key), "l.k", "l.n", "r.n", "l.end"),
        "of sliding windows": shown(
            joined(
                in_windows(ads_alone, "ts", 20 * SECOND, 10 * SECOND), in_windows(hits_alone, "ts", 20 * SECOND, 10 * SECOND), by_key
            ),
            *("l.ad", "r.hit", "l.start", "l.end"),
        ),
    }
)
