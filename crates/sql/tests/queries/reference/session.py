"""Answers of session.test.sql: the open sessions of a key are a list; a row joins all that it touches.

A row is late if the session that it would be in, with all that it joins, is over.
"""

from decimal import Decimal

from corpus import Time, Topic, is_fired, time, with_watermarks

SECOND, MINUTE = 1000, 60_000


def sessions(rows, column, delay, gap, keep=lambda row: True, key=lambda row: ()):
    """Sessions as (key, start, end, rows). What a filter before the function takes out still moves the watermark."""
    open_sessions, done = [], []
    for row, watermark in with_watermarks(rows, column, delay):
        for session in list(open_sessions):
            if is_fired(session[2], watermark):
                open_sessions.remove(session)
                done.append(session)
        if not keep(row):
            continue
        start, end, members = row[column], row[column] + gap, [row]
        touched = [s for s in open_sessions if s[0] == key(row) and s[1] <= end and start <= s[2]]
        for session in touched:
            start, end = min(start, session[1]), max(end, session[2])
            members = session[3] + members
        if is_fired(end, watermark):
            continue
        for session in touched:
            open_sessions.remove(session)
        open_sessions.append((key(row), Time(start), Time(end), members))
    return done + open_sessions


topic = Topic("session")
bids = topic.rows("Bid", at=time, price=Decimal, item=str, supplier=str)
ticks = topic.rows("Ticks", id=int, k=str, v=int, ts=time)
early = topic.rows("Early", id=int, ts=time)
visits = topic.rows("Visits", id=int, who=str, page=str, ts=time)


def prices(rows):
    return sum(row["price"] for row in rows)


def total(rows):
    values = [row["v"] for row in rows if row["v"] is not None]
    return sum(values) if values else None


def ids(rows):
    return [row["id"] for row in rows]


def of_bids(gap, **options):
    return sessions(bids, "at", SECOND, gap, **options)


def of_visits(gap, *columns):
    return sessions(visits, "ts", 10 * SECOND, gap, key=lambda row: tuple(row[column] for column in columns))


by_supplier = lambda row: (row["supplier"],)  # noqa: E731
topic.check(
    {
        "sum of price by session, for all rows together": [
            (start, end, prices(rows), len(rows)) for _, start, end, rows in of_bids(2 * MINUTE)
        ],
        "sum of price by session of each supplier": [
            (*key, start, end, prices(rows)) for key, start, end, rows in of_bids(2 * MINUTE, key=by_supplier)
        ],
        "rows with their sessions": [
            (row["item"], *key, start, end, Time(end - 1))
            for key, start, end, rows in of_bids(5 * MINUTE, key=by_supplier)
            for row in rows
        ],
        "arguments by name": [
            (*key, start, end, len(rows)) for key, start, end, rows in of_bids(5 * MINUTE, key=by_supplier)
        ],
        "a gap of exactly the length does not end a session, a millisecond more does": [
            (*key, start, end, len(rows), min(ids(rows)), max(ids(rows))) for key, start, end, rows in of_visits(5 * SECOND, "who")
        ],
        "a longer gap, with a row that joins two sessions": [
            (*key, start, end, len(rows)) for key, start, end, rows in of_visits(8 * SECOND, "who")
        ],
        "late rows for all together": [
            (start, end, len(rows), min(ids(rows)), max(ids(rows))) for _, start, end, rows in of_visits(4 * SECOND)
        ],
        "by two columns": [(*key, start, end, len(rows)) for key, start, end, rows in of_visits(20 * SECOND, "who", "page")],
        "a filter before the function makes other sessions": [
            (start, end, prices(rows)) for _, start, end, rows in of_bids(3 * MINUTE, keep=lambda row: row["price"] < 5)
        ],
        "a filter behind the function does not (not as Flink)": [
            (start, end, prices(row for row in rows if row["price"] < 5))
            for _, start, end, rows in of_bids(3 * MINUTE)
            if any(row["price"] < 5 for row in rows)
        ],
        "ticks by key": [
            (*key, start, end, len(rows), total(rows))
            for key, start, end, rows in sessions(ticks, "ts", 2 * SECOND, 3 * SECOND, key=lambda row: (row["k"],))
        ],
        "sessions before and across 1970": [
            (start, end, len(rows)) for _, start, end, rows in sessions(early, "ts", 0, 10 * SECOND)
        ],
        "no input, no sessions": [],
    }
)
