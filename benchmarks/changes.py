"""Measure whether what is known stays current when a later message changes it.

`python -m benchmarks.changes` tells a memory the pairs of messages of `claims/changes-*.jsonl`,
each in a home of its own, sleeps after either message, and prints how much of what had changed is
still current, how much of what had not is current no longer, and how much of what is new is known.
Other files may be named. `--errors` lists what is wrong.

A fact says a value if it has half of its words. Only what was known after the first message counts
as stale or lost.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import lamina
from benchmarks.claims import HERE
from lamina import Operator
from lamina.engines.claims import values
from lamina.engines.facts import Fact

PAIRS = tuple(sorted((HERE / "claims").glob("changes-*.jsonl")))
FIRST, LATER = datetime(2026, 1, 12, 18, 40, tzinfo=UTC), datetime(2026, 3, 12, 18, 40, tzinfo=UTC)
WIDE = 110
SPEAKER = "Sam"
ENOUGH = 0.5  # share of a value's words that a fact has to have
PAST = ("did", "visited")  # what was done stays true, whatever changed by it
SAME, REPLACED = "same", "replaced"


class Outcome(NamedTuple):
    """What became of a value: its label, and whether it was known, is current, and is renewed."""

    label: Mapping[str, str]
    was_known: bool
    is_current: bool
    is_renewed: bool

    @property
    def is_wrong(self) -> bool:
        """Tell if a value is stale, or lost."""
        return self.was_known and self.is_current is not (self.label["outcome"] == SAME)


class Clock:
    """A clock that moves on by a second with every look at it."""

    def __init__(self) -> None:
        self.now = FIRST

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def outcomes(pair: Mapping[str, Any]) -> Iterator[Outcome]:
    """Tell a memory both messages, and compare what is known then with the labels."""
    clock = Clock()
    with TemporaryDirectory() as home, lamina.operator(home=home, clock=clock) as op:
        before = _known(op, pair["first"]["text"], clock, FIRST)
        after = _known(op, pair["later"]["text"], clock, LATER)
    for label in pair["changes"]:
        held = {fact.record for fact in _saying(before, label["value"])}
        current = _saying(after, label["value"])
        if label["outcome"] != SAME:  # a new value may have words of the old one
            current = [fact for fact in current if fact.record in held]
        renewed = bool(_saying(after, label["new"])) if "new" in label else False
        yield Outcome(label, bool(held), bool(current), renewed)


def _known(op: Operator, text: str, clock: Clock, at: datetime) -> list[Fact]:
    """Tell a memory a message, and return what it knows after a night."""
    clock.now = max(clock.now, at)
    turn = {"content": text, "speaker": SPEAKER, "at": at}
    op.remember_conversation([turn], session=at.date().isoformat())
    op.sleep()
    return [fact for fact in op.facts() if not fact.negated and fact.attribute not in PAST]


def _saying(facts: Sequence[Fact], value: str) -> list[Fact]:
    wanted = values.stems(value)
    return [
        fact
        for fact in facts
        if value.lower() in fact.value.lower()
        or len(wanted & values.stems(fact.value)) >= ENOUGH * max(1, len(wanted))
    ]


def row(listed: Sequence[Outcome]) -> Iterator[str]:
    """Count what became of some values, by their labels."""
    count: Counter[str] = Counter()
    for one in listed:
        kind = one.label["outcome"]
        count[f"{kind} told"] += 1
        count[f"{kind} known"] += one.was_known
        count[f"{kind} current"] += one.was_known and one.is_current
        count["renewed"] += one.is_renewed
    for kind in (REPLACED, "ended"):
        known, stale = count[f"{kind} known"], count[f"{kind} current"]
        yield f"{count[f'{kind} told']} / {known}"
        yield f"{stale} ({stale / max(1, known):.2f})"
    yield f"{count['renewed']} ({count['renewed'] / max(1, count[f'{REPLACED} told']):.2f})"
    known, lost = count["same known"], count["same known"] - count["same current"]
    yield f"{count['same told']} / {known}"
    yield f"{lost} ({lost / max(1, known):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=PAIRS)
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    screen = Console(width=WIDE)
    columns = (
        *("file", "replaced / known", "stale", "ended / known", "stale", "new value known"),
        *("same / known", "lost"),
    )
    table = Table(*columns, title="what later messages change")
    everything: list[Outcome] = []
    for path in given.files:
        pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        here = []
        for pair in track(pairs, path.name, console=screen, transient=True):
            found = list(outcomes(pair))
            here += found
            if given.errors and any(one.is_wrong for one in found):
                screen.print(f"\n{pair['first']['text']}\n[b]{pair['later']['text']}[/b]")
                screen.print(*(one for one in found if one.is_wrong), sep="\n")
        table.add_row(path.stem, *row(here))
        everything += here
    if len(given.files) > 1:
        table.add_row("all", *row(everything))
    screen.print(table)


if __name__ == "__main__":
    main()
