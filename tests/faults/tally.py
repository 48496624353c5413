"""What the fault tests did, counted in one place: a line of JSON for every count, added up over all
processes at the end."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "LAMINA_FAULT_TALLY"
COLUMNS = (
    "kills",
    "I/O errors",
    "power cuts",
    "torn files",
    "clock jumps",
    "acknowledged",
    "lost",
    "twice",
)


def count(column: str, number: int = 1) -> None:
    """Add to a column, under the file of the test that is running; outside of a counted run nothing
    is kept."""
    assert column in COLUMNS, column
    folder = os.environ.get(VARIABLE)
    if folder is None or not number:
        return
    file = os.environ.get("PYTEST_CURRENT_TEST", "soak").partition("::")[0].rpartition("/")[2]
    with Path(folder, f"{os.getpid()}.jsonl").open("a") as lines:
        lines.write(json.dumps([file, column, number]) + "\n")


def check(acknowledged: Iterable[object], found: Iterable[object]) -> None:
    """Everything that was acknowledged is found, and exactly once. It is counted first, so that the
    table shows it."""
    expected, there = set(acknowledged), Counter(found)
    lost = [one for one in expected if not there[one]]
    twice = [one for one in expected if there[one] > 1]
    count("acknowledged", len(expected))
    count("lost", len(lost))
    count("twice", len(twice))
    assert not lost, f"lost: {lost[:5]}"
    assert not twice, f"twice: {twice[:5]}"


def added_up(folder: Path) -> dict[str, Counter[str]]:
    """What was counted, by file and column."""
    sums: dict[str, Counter[str]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            file, column, number = json.loads(line)
            sums.setdefault(file, Counter())[column] += number
    return dict(sorted(sums.items()))


def table(sums: dict[str, Counter[str]]) -> list[str]:
    """The lines of a table in Markdown: a row for each file, and all of them together."""
    total = sum(sums.values(), Counter[str]())
    rows = [("", *COLUMNS)] + [
        (name, *(f"{row[column]:,}" for column in COLUMNS))
        for name, row in [*sums.items(), ("all", total)]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"| {row[0]:<{widths[0]}} | " + " | ".join(map(str.rjust, row[1:], widths[1:])) + " |"
        for row in rows
    ]
    rule = (
        "|"
        + "-" * (widths[0] + 2)
        + "|"
        + "|".join("-" * (width + 1) + ":" for width in widths[1:])
        + "|"
    )
    return [lines[0], rule, *lines[1:]]


if __name__ == "__main__":  # the table of a run that counted in these folders
    together: dict[str, Counter[str]] = {}
    for given in sys.argv[1:]:
        together |= added_up(Path(given))
    print("\n".join(table(dict(sorted(together.items())))))
