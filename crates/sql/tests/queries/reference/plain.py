"""A second opinion on plain SQL: SQLite answers the queries of three files, where it means the same by them.

SQLite has no booleans and no decimals: TRUE and 1 count as the same here, and so do numbers of the same value.
"""

import re
import sqlite3
import sys

from corpus import FOLDER, Topic, difference, line_of, sections_of

# What SQLite lacks or does otherwise, with the reason.
SKIPPED = {
    "projection_where": {
        "literals as columns": "the digits of 1.50 are shown",
        "timestamps against literals": "no TIMESTAMP literals",
    },
    "three_valued_logic": {
        "IS TRUE, FALSE, UNKNOWN and their negations are never unknown": "no IS UNKNOWN",
        "GREATEST and LEAST are NULL if any argument is": "no GREATEST",
    },
    "case": {
        "the branches' common type is that of the result": "types belong to values",
        "IF with three arguments": "no IF in older versions",
    },
}


def queries_of(name):
    query = None
    for head, lines in sections_of(FOLDER / f"{name}.test.sql"):
        if head.startswith("query "):
            query = head[6:].strip()
            yield query, "\n".join(lines)


def plain(value):
    if value in ("TRUE", "FALSE"):
        return float(value == "TRUE")
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def database(name, topic):
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = ON")
    setup = "\n".join(sections_of(FOLDER / f"{name}.test.sql")[0][1])
    for table, rows in topic.inputs.items():
        body = re.search(rf"CREATE TABLE {table} \((.*?)\);", re.sub(r"--.*", "", setup), re.S).group(1)
        body = re.sub(r"DECIMAL\(\d+, \d+\)", "REAL", body).replace("STRING", "TEXT").replace("BOOLEAN", "INT")
        connection.execute(f"CREATE TABLE {table} ({re.sub(r'TIMESTAMP.[0-9].', 'TEXT', body)})")
        for row in rows:
            values = [{"true": 1, "false": 0}.get(value, value) for value in row]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", values)
    return connection


wrong = asked = 0
for name, skipped in SKIPPED.items():
    topic = Topic(name)
    connection = database(name, topic)
    for query, text in queries_of(name):
        kind, expected = topic.expected[query]
        if query in skipped or kind.startswith("error"):
            continue
        asked += 1
        found = [tuple(map(plain, row)) for row in connection.execute(text.strip().rstrip(";"))]
        expected = [tuple(map(plain, row)) for row in expected]
        if sorted(found, key=str) != sorted(expected, key=str):
            wrong += 1
            print(f"{name}: '{query}'")
            for title, rows in (("SQLite", difference(found, expected)), ("file", difference(expected, found))):
                for row in rows:
                    print(f"    {title} only: {line_of(tuple(None if v is None else str(v) for v in row))}")
print(f"plain: {asked} queries asked of SQLite, {wrong} differ")
sys.exit(1 if wrong else 0)
