"""Would the tests notice? `make mutants` changes the program in one place at a time, and counts how
often some test fails."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.bench import PLAIN, Bench, Options
from tests.mutation.equivalent import REASONS

# Files below src/lamina, and how many mutants of each at most.
DECISIONS = {
    "model/rules.py": None,
    "text/words.py": None,
    "model/hashing.py": None,
    "engines/*.py": 60,
}
STORED = {"store/*/*.py": None, "search/*.py": None, "embedders/*.py": None}
VERBS = ("reviews", "proposals", "profiles", "night", "lifecycle")
DECIDING = (
    "tests/unit/engines",
    "tests/unit/model",
    "tests/unit/text",
    *(f"tests/unit/memory/test_{verb}.py" for verb in VERBS),
)
STORING = ("tests/unit",)
GOAL = 0.85


def table(results: Sequence[dict[str, Any]]) -> list[str]:
    """A row for each module and one for all; what nobody could tell from the program counts
    in no share."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for told in results:
        outcome = (
            "equivalent"
            if told["outcome"] in ("survived", "unreached") and told["key"] in REASONS
            else told["outcome"]
        )
        rows[told["module"].removeprefix("lamina.")][outcome] += 1
        rows["all"][outcome] += 1
    lines = [
        (
            "| module | mutants | killed | timed out | survived | equivalent | killed of those "
            "that can be |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(rows.items(), key=lambda pair: (pair[0] == "all", pair[0])):
        lost = row["survived"] + row["unreached"] + row["untried"]
        counts = [row.total(), row["killed"], row["timeout"], lost, row["equivalent"]]
        lines.append(
            f"| `{name}` | {' | '.join(f'{count:,}' for count in counts)} | {100 * share(row):.1f} % |"
        )
    return lines


def share(row: Counter[str]) -> float:
    can = row.total() - row["equivalent"]
    return (row["killed"] + row["timeout"]) / can if can else 1.0


def latest(path: Path) -> list[dict[str, Any]]:
    """The last word about each mutant."""
    told = map(json.loads, path.read_text("utf-8").splitlines())
    return list({one["key"]: one for one in told}.values())


def main() -> int:
    options = _options()
    done = pytest.main([*PLAIN, *options.tests], plugins=[Bench(options)])
    if done != 0:
        return int(done)
    results = latest(options.results)
    lost = [
        one
        for one in results
        if one["outcome"] not in ("killed", "timeout") and one["key"] not in REASONS
    ]
    print(
        *(f"{one['outcome']}: {one['line']}: {one['key']}" for one in lost),
        *table(results),
        sep="\n",
    )
    return (
        0
        if options.sample is not None or share(Counter(one["outcome"] for one in results)) >= GOAL
        else 1
    )


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="files below src/lamina, in the place of those that decide"
    )
    parser.add_argument(
        "--stored", action="store_true", help="a sample of the store and of recall instead"
    )
    parser.add_argument("--tests", action="append", help="folders of tests")
    parser.add_argument("--sample", type=int, help="try only so many, chosen by the seed")
    parser.add_argument("--each", type=int, help="of each of these files only so many")
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument(
        "--besides",
        type=int,
        nargs="+",
        default=(),
        help="leave out what these seeds draw: it was seen before",
    )
    parser.add_argument(
        "--budget", type=float, default=10.0, help="seconds of tests for each mutant"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, default=Path(".mutants/results.jsonl"))
    parser.add_argument(
        "--again", action="store_true", help="only those that survived the last time"
    )
    given = parser.parse_args()
    given.results.parent.mkdir(parents=True, exist_ok=True)
    files = dict.fromkeys(given.files, given.each) or (STORED if given.stored else DECISIONS)
    tests = given.tests or (STORING if given.stored else DECIDING)
    sample = given.sample or (300 if given.stored else None)
    return Options(
        files,
        tests,
        sample,
        given.seed,
        given.budget,
        given.workers,
        given.results.resolve(),
        given.again,
        given.besides,
    )


if __name__ == "__main__":
    sys.exit(main())
