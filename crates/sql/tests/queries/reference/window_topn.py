"""Answers of window_topn.test.sql: each window's rows are sorted, stably, and cut."""

from clicks import SECOND, clicks_of, highest, lowest, windows
from corpus import Topic

topic = Topic("window_topn")
clicks = clicks_of(topic)


def ranked(order, least=1, most=1, key=lambda row: (), **options):
    """(window with its key, number, row)."""
    found = []
    for window, rows in windows(clicks, key=key, **options):
        for number, row in enumerate(sorted(rows, key=order), 1):
            if least <= number <= most:
                found.append((window, number, row))
    return found


def by_score(row):
    return highest(row["score"])


def counted():
    """Clicks and scores of each visitor, ranked within windows."""
    tables = {}
    for (who, *window), rows in windows(clicks, key=lambda row: (row["who"],)):
        scores = [row["score"] for row in rows if row["score"] is not None]
        tables.setdefault(tuple(window), []).append((who, len(rows), sum(scores) if scores else None))
    for (start, _), rows in tables.items():
        rows.sort(key=lambda row: (-row[1], row[0] is not None, row[0] or ""))
        yield from ((start, *row, number) for number, row in enumerate(rows[:2], 1))


topic.check(
    {
        "the two best of each window": [
            (window[0], row["id"], row["score"], number) for window, number, row in ranked(by_score, most=2)
        ],
        "the worst of each window, without its number": [
            (row["id"], row["who"], row["score"], window[1]) for window, _, row in ranked(lambda row: lowest(row["score"]))
        ],
        "equality with one": [(row["id"], row["score"], number) for _, number, row in ranked(by_score)],
        "by key": [(row["who"], row["id"], row["score"]) for _, _, row in ranked(by_score, key=lambda row: (row["who"],))],
        "ordered by several columns": [
            (row["id"], row["page"], row["score"], number)
            for _, number, row in ranked(lambda row: (row["page"], highest(row["score"])), most=2)
        ],
        "a range of numbers": [
            (row["id"], row["score"], number)
            for _, number, row in ranked(lambda row: (highest(row["score"]), row["id"]), least=2, most=3)
        ],
        "more than there are": [(row["id"], number) for _, number, row in ranked(lambda row: row["id"], most=100)],
        "top-N of a window aggregate: the documentation's first example": list(counted()),
        "of sliding windows": [
            (window[0], row["id"], row["score"])
            for window, _, row in ranked(
                lambda row: (highest(row["score"]), row["id"]), slide=10 * SECOND, size=20 * SECOND
            )
        ],
    }
)
