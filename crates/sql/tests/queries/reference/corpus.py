"""Reads files of queries, and compares them with answers that were worked out by the scripts beside this one.

It knows the file format and nothing of what queries mean. Times are whole milliseconds since 1970-01-01.
"""

import datetime
import decimal
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent
EPOCH = datetime.datetime(1970, 1, 1)


def fields_of(text):
    """The rows of CSV text. NULL without quotes is None."""
    rows, at = [], 0
    while at < len(text):
        row = []
        while True:
            if text[at : at + 1] == '"':
                value, at = "", at + 1
                while True:
                    end = text.index('"', at)
                    value += text[at:end]
                    at = end + 1
                    if text[at : at + 1] != '"':
                        break
                    value, at = value + '"', at + 1
            else:
                end = at
                while end < len(text) and text[end] not in ",\n":
                    end += 1
                value, at = text[at:end], end
                value = None if value == "NULL" else value
            row.append(value)
            if text[at : at + 1] != ",":
                break
            at += 1
        at += 1
        rows.append(tuple(row))
    return rows


def block(lines):
    """The lines up to the first that is blank."""
    taken = []
    for line in lines:
        if not line.strip():
            break
        taken.append(line)
    return "\n".join(taken)


def sections_of(path):
    """Pairs of a head, without its dashes, and lines."""
    sections = [("setup", [])]
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("--- "):
            sections.append((line[4:].strip(), []))
        else:
            sections[-1][1].append(line)
    return sections


class Topic:
    """One file: `inputs` by table, `expected` (kind, rows) by query."""

    def __init__(self, name):
        self.name = name
        self.inputs, self.expected = {}, {}
        query = None
        for head, lines in sections_of(FOLDER / f"{name}.test.sql"):
            if head.startswith("input "):
                self.inputs[head[6:].strip()] = fields_of(block(lines))
            elif head.startswith("query "):
                query = head[6:].strip()
            elif query is not None and not head.startswith("set "):
                self.expected[query] = (head, [] if head.startswith("error") else fields_of(block(lines)))

    def rows(self, table, **types):
        """The rows of an input as dictionaries: columns by the names given, each read by the function given with it."""
        return [
            {name: None if text is None else read(text) for (name, read), text in zip(types.items(), row)}
            for row in self.inputs[table]
        ]

    def check(self, answers, partial=False):
        """Prints where `answers` (rows of Python values, by query) are not what the file expects, and leaves the program.

        With `--fill` it first writes answers where the file has a line `?` instead of rows. Read what it wrote.
        """
        if "--fill" in sys.argv:
            self.fill(answers)
        wrong = 0
        for query, rows in answers.items():
            rows = [tuple(text_of(value) for value in row) for row in rows]
            if query not in self.expected:
                wrong += 1
                print(f"{self.name}: no query '{query}' in the file, whose answer would be")
                print("\n".join(line_of(row) for row in rows))
                continue
            kind, expected = self.expected[query]
            if kind == "changelog":
                expected = state_of(expected)
            if kind != "rows ordered":
                rows, expected = sorted(rows, key=str), sorted(expected, key=str)
            if rows != expected:
                wrong += 1
                print(f"{self.name}: '{query}'")
                for row in difference(rows, expected):
                    print(f"    here only: {line_of(row)}")
                for row in difference(expected, rows):
                    print(f"    file only: {line_of(row)}")
        left = [q for q, (kind, _) in self.expected.items() if q not in answers and not kind.startswith("error")]
        if left and not partial:
            wrong += 1
            print(f"{self.name}: without an answer here: {', '.join(left)}")
        print(f"{self.name}: {len(answers)} answers, {wrong} differ")
        sys.exit(1 if wrong else 0)


    def fill(self, answers):
        path = FOLDER / f"{self.name}.test.sql"
        query, text = None, []
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.startswith("--- query "):
                query = line[10:].strip()
            if line == "?" and query in answers:
                rows = [tuple(text_of(value) for value in row) for row in answers[query]]
                text += [line_of(row) for row in rows]
                self.expected[query] = (self.expected[query][0], rows)
            else:
                text.append(line)
        path.write_text("\n".join(text), encoding="utf-8")


def state_of(changes):
    """What is left after changes have been applied. Whatever is taken back must be there."""
    rows = []
    for kind, *row in changes:
        if kind in ("+I", "+U"):
            rows.append(tuple(row))
        elif kind in ("-U", "-D"):
            rows.remove(tuple(row))
        else:
            raise ValueError(f"no change is called {kind}")
    return rows


def difference(left, right):
    right = list(right)
    for row in left:
        if row in right:
            right.remove(row)
        else:
            yield row


def line_of(row):
    def quoted(value):
        if value is None:
            return "NULL"
        if value in ("", "NULL") or any(mark in value for mark in ',"\n\r'):
            return '"' + value.replace('"', '""') + '"'
        return value

    return ",".join(quoted(value) for value in row)


class Time(int):
    """Milliseconds since 1970 that are written as a TIMESTAMP(3)."""


def time(text):
    """Reads a TIMESTAMP(3)."""
    date, clock = text.split(" ")
    seconds, _, milliseconds = clock.partition(".")
    moment = datetime.datetime.fromisoformat(f"{date} {seconds}")
    return Time((moment - EPOCH) // datetime.timedelta(milliseconds=1) + int(milliseconds or 0))


def text_of(value):
    """A value as a file has it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Time):
        moment = EPOCH + datetime.timedelta(milliseconds=int(value))
        return f"{moment.year:04}-{moment:%m-%d %H:%M:%S}.{moment.microsecond // 1000:03}"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    return str(value)


def with_watermarks(rows, column, delay):
    """Each row beside the watermark before it; None before the first."""
    watermark = None
    for row in rows:
        yield row, watermark
        if row[column] is not None:
            watermark = max(row[column] - delay, row[column] - delay if watermark is None else watermark)


def is_fired(end, watermark):
    """Whether a window that ends at `end` is over."""
    return watermark is not None and end - 1 <= watermark
