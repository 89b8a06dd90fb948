"""Answers of window_dedup.test.sql: the earliest or latest row of each key of each window. No two times of a key tie."""

from clicks import clicks_of, windows
from corpus import Topic

topic = Topic("window_dedup")
clicks = clicks_of(topic)


def kept(choose, *columns):
    return [
        (window, choose(rows, key=lambda row: row["ts"]))
        for window, rows in windows(clicks, key=lambda row: tuple(row[column] for column in columns))
    ]


topic.check(
    {
        "the last row of each window and key": [(row["id"], row["who"], row["ts"]) for _, row in kept(max, "who")],
        "the first row of each window and key": [(row["id"], row["who"], row["ts"]) for _, row in kept(min, "who")],
        "the last row of each window": [(window[0], row["id"], row["page"]) for window, row in kept(max)],
        "the first by two keys": [
            (row["id"], row["who"], row["page"], window[-1]) for window, row in kept(min, "who", "page")
        ],
        "written with at most one": [(row["page"], row["id"]) for _, row in kept(max, "page")],
    }
)
