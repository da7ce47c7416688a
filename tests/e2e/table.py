"""The compatibility table: `BRIDGE_E2E_TABLE=results.json pytest tests/e2e`, then `python -m tests.e2e.table`.

`python -m tests.e2e.table [--write README.md] results.json` prints it, or writes it between the marks of a file.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

BEGIN, END = "<!-- compatibility -->", "<!-- /compatibility -->"
SIGNS = {"passed": "✓", "failed": "✗"}
NOT_RUN = "–"


class Row(TypedDict):
    """What came of one test of a feature."""

    version: str
    wire: str
    feature: str
    outcome: str


def table(rows: Iterable[Row]) -> str:
    """Markdown: a line a feature, a column for each version and wire; one failure of several tests is a failure."""
    signs: dict[tuple[str, str], str] = {}
    for row in rows:
        place = row["feature"], f"{row['version']} {row['wire']}"
        sign = SIGNS.get(row["outcome"], NOT_RUN)
        signs[place] = max(signs.get(place, NOT_RUN), sign, key=[NOT_RUN, *SIGNS.values()].index)
    features = list(dict.fromkeys(feature for feature, _ in signs))
    columns = list(dict.fromkeys(column for _, column in signs))
    lines = [["", *columns], ["---", *(":-:" for _ in columns)]]
    lines += [[feature, *(signs.get((feature, column), NOT_RUN) for column in columns)] for feature in features]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def written(text: str, made: str) -> str:
    """A text with the table between its marks."""
    if BEGIN not in text or END not in text:
        raise SystemExit(f"there is no {BEGIN} … {END}")
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{made}\n{END}", text, count=1, flags=re.DOTALL)


def differs(text: str, made: str) -> str | None:
    """Why the table in a text is not the one that was made; that of other versions may be another."""
    told = text.split(BEGIN)[1].split(END)[0].strip()
    if told == made:
        return None
    if told.splitlines()[0] != made.splitlines()[0]:
        print("The table in the file is of other versions: write it anew with --write.")
        return None
    return "The table in the file says something else: write it anew with --write."


def main(arguments: list[str] | None = None) -> None:
    """Print the table of a results file, or write it into another file."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.table")
    parser.add_argument("results", type=Path)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write it between the marks of a file")
    parser.add_argument("--check", type=Path, metavar="FILE", help="fail if a file has another table of these versions")
    given = parser.parse_args(arguments)
    made = table(json.loads(given.results.read_text()))
    if given.check:
        print(made)
        raise SystemExit(differs(given.check.read_text(), made))
    if given.write:
        given.write.write_text(written(given.write.read_text(), made))
    else:
        print(made)


if __name__ == "__main__":
    main()
