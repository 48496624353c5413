"""A process that remembers and erases again and again, or once and then stays open."""

from __future__ import annotations

import sys
import time
from collections import Counter
from functools import partial

import lamina

from .common import outcome, say

WORD = "zirkonit"  # what is erased carries this word and a number that nothing else has


def main(home: str, name: str) -> None:
    operator = lamina.operator("sky", home=home)
    say(ready=name)
    for line in iter(sys.stdin.readline, ""):
        given = line.split()
        if given[0] == "erase":
            say(outcome=outcome(partial(erase, operator, given[1])))
        elif given[0] == "remember":
            say(id=operator.remember(" ".join(given[1:])).id)
        elif given[0] == "stress":
            stress(operator, name, float(given[1]))
    operator.close()


def erase(operator: lamina.Operator, mark: str) -> None:
    operator.erase(operator.remember(f"the {WORD}{mark}q is hidden here").id)


def stress(operator: lamina.Operator, name: str, seconds: float) -> None:
    """Erase until the time is over, at least twice; what became of each."""
    outcomes: Counter[str] = Counter()
    until = time.monotonic() + seconds
    while outcomes.total() < 2 or time.monotonic() < until:
        outcomes[outcome(partial(erase, operator, f"{name}x{outcomes.total()}"))] += 1
    say(outcomes=outcomes)


if __name__ == "__main__":
    main(*sys.argv[1:])
