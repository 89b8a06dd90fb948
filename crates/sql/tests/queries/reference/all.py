"""Checks that every file is well formed, and runs every script beside this one: `python3 all.py`."""

import pathlib
import re
import subprocess
import sys

from corpus import FOLDER, Topic, fields_of, block, sections_of, state_of

CODES = {
    "SYNTAX",
    "UNKNOWN_TABLE",
    "UNKNOWN_COLUMN",
    "UNKNOWN_FUNCTION",
    "TYPE_MISMATCH",
    "UNSUPPORTED",
    "INVALID",
    "DIVISION_BY_ZERO",
    "BAD_CAST",
    "NOT_ONE_ROW",
}
HERE = pathlib.Path(__file__).resolve().parent


def findings_of(name):
    """What is wrong with a file's form, and how many queries it has."""
    names, waits, tables = [], None, set(re.findall(r"CREATE TABLE (\w+)", "\n".join(sections_of(FOLDER / f"{name}.test.sql")[0][1])))
    for head, lines in sections_of(FOLDER / f"{name}.test.sql")[1:]:
        kind, _, rest = head.partition(" ")
        if waits and kind not in ("rows", "changelog", "error"):
            yield f"'{waits}' is followed by '{head}'"
        if kind == "query":
            waits = rest
            if rest in names:
                yield f"two queries are called '{rest}'"
            names.append(rest)
            if not "\n".join(lines).strip().endswith(";"):
                yield f"'{rest}' does not end in a semicolon"
        elif kind == "input":
            if rest not in tables:
                yield f"input of {rest}, which is no table"
            if len({len(row) for row in fields_of(block(lines))}) > 1:
                yield f"input of {rest} has rows of different lengths"
        elif kind in ("rows", "changelog"):
            rows = fields_of(block(lines))
            if len({len(row) for row in rows}) > 1:
                yield f"'{waits}' has rows of different lengths"
            if ("?",) in rows:
                yield f"'{waits}' is not answered"
            if kind == "changelog":
                try:
                    state_of(rows)
                except ValueError as error:
                    yield f"'{waits}': {error}"
            waits = None
        elif kind == "error":
            if rest not in CODES or len(block(lines).splitlines()) != 1:
                yield f"'{waits}' has no code that is known, or not one line of text"
            waits = None
        elif not re.fullmatch(r"set '[^']+' = '[^']*'", head):
            yield f"what is '--- {head}'?"
    if waits:
        yield f"'{waits}' has no answer"


wrong = queries = 0
for path in sorted(FOLDER.glob("*.test.sql")):
    name = path.name.removesuffix(".test.sql")
    queries += len(Topic(name).expected)
    for finding in findings_of(name):
        wrong += 1
        print(f"{name}: {finding}")
for path in sorted(HERE.glob("*.py")):
    if path.stem not in ("all", "corpus", "clicks"):
        wrong += subprocess.run([sys.executable, path], check=False).returncode
print(f"{queries} queries in {len(list(FOLDER.glob('*.test.sql')))} files, {wrong} findings")
sys.exit(1 if wrong else 0)
