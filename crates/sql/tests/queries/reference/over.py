"""Answers of over.test.sql: for each row that is not late, the rows of its frame are listed and summed up."""

from corpus import Topic, time, with_watermarks

SECOND = 1000
topic = Topic("over")
readings = topic.rows("Readings", id=int, k=str, v=int, ts=time)
for place, reading in enumerate(readings):
    reading["place"] = place


def in_time(is_bounded, is_keyed=True, keep=lambda row: True):
    """Rows that are not late, by time and then arrival."""
    taken = []
    for row, watermark in with_watermarks(readings, "ts", 5 * SECOND):
        if not keep(row):
            continue
        answered = [
            other["ts"]
            for other in taken
            if (not is_keyed or other["k"] == row["k"]) and watermark is not None and other["ts"] <= watermark
        ]
        limit = max(answered, default=None) if is_bounded else watermark
        if limit is None or row["ts"] > limit:
            taken.append(row)
    return sorted(taken, key=lambda row: (row["ts"], row["place"]))


def frames(*, rows=None, milliseconds=None, peers=None, is_keyed=True, keep=lambda row: True):
    """Each row beside the rows of its frame: of the last `rows` before it, of so many milliseconds, or all before.

    `peers` says whether rows of the same time that came later belong to it; they do by RANGE.
    """
    is_bounded = rows is not None or milliseconds is not None
    if peers is None:
        peers = rows is None
    taken = in_time(is_bounded, is_keyed, keep)
    for row in taken:
        frame = [
            other
            for other in taken
            if (not is_keyed or other["k"] == row["k"])
            and (other["ts"] < row["ts"] or other["ts"] == row["ts"] and (peers or other["place"] <= row["place"]))
        ]
        if milliseconds is not None:
            frame = [other for other in frame if other["ts"] >= row["ts"] - milliseconds]
        if rows is not None:
            frame = frame[-rows - 1 :]
        yield row, frame


def values(frame):
    return [row["v"] for row in frame if row["v"] is not None]


def total(frame):
    return sum(values(frame)) if values(frame) else None


def least(frame):
    return min(values(frame), default=None)


def most(frame):
    return max(values(frame), default=None)


def cut_mean(frame):
    return total(frame) // len(values(frame)) if values(frame) else None


def before(frame, column, distance):
    return frame[-1 - distance][column] if len(frame) > distance else None


def lagging(row):
    return row["k"] == "b" or row["id"] in (1, 2, 7, 8, 14)


topic.check(
    {
        "RANGE from the beginning: rows of one time see each other": [
            (row["id"], total(frame), len(frame), len(values(frame))) for row, frame in frames()
        ],
        "ROWS from the beginning: rows of one time in order of arrival": [
            (row["id"], total(frame), len(frame), most(frame)) for row, frame in frames(peers=False)
        ],
        "without a frame it is RANGE from the beginning": [(row["id"], total(frame)) for row, frame in frames()],
        "RANGE of two seconds, whose far end is included": [
            (row["id"], total(frame), len(frame)) for row, frame in frames(milliseconds=2 * SECOND)
        ],
        "RANGE of a long time": [
            (row["id"], total(frame), least(frame), most(frame)) for row, frame in frames(milliseconds=86_400 * SECOND)
        ],
        "ROWS: a row and the one before": [(row["id"], total(frame), len(frame)) for row, frame in frames(rows=1)],
        "ROWS: a row and two before": [
            (row["id"], cut_mean(frame), least(frame), most(frame)) for row, frame in frames(rows=2)
        ],
        "ROWS shortly written": [(row["id"], len(values(frame))) for row, frame in frames(rows=1)],
        "all keys together": [(row["id"], total(frame)) for row, frame in frames(is_keyed=False)],
        "all keys together, by rows": [
            (row["id"], len(frame), total(frame)) for row, frame in frames(rows=2, is_keyed=False)
        ],
        "a window by name, for several calls": [
            (row["id"], row["v"], total(f), cut_mean(f), len(f), None if row["v"] is None else row["v"] - least(f))
            for row, f in frames(milliseconds=2 * SECOND)
        ],
        "first and last of a frame": [(row["id"], frame[0]["id"], frame[-1]["id"]) for row, frame in frames(rows=2)],
        "distinct values": [
            (row["id"], len(set(values(frame)))) for row, frame in frames(is_keyed=False, keep=lambda row: row["id"] <= 8)
        ],
        "a filter before: rows that it takes out still move the watermark": [
            (row["id"], len(frame)) for row, frame in frames(keep=lambda row: row["id"] % 2 == 1)
        ],
        "a filter behind": [(row["id"], len(frame)) for row, frame in frames() if len(frame) > 2],
        "LAG: the value of the row before": [
            (row["id"], before(frame, "v", 1), before(frame, "id", 2)) for row, frame in frames(peers=False, keep=lagging)
        ],
    }
)
