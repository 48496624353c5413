"""Compare what a server's candidates find with what a file finds, on real conversations.

`python -m benchmarks.candidates` puts the turns of the LoCoMo development set into one store, in a
file and on PostgreSQL, with bounds so small that the server estimates everything as it does among a
million memories. It prints the recall of both, how many hits are the same, and how far the scores
of these are apart.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from tests.servers.postgres import Postgres

import lamina
from benchmarks.conversations import Case, items, locomo
from benchmarks.speed import folder
from lamina import Memory
from lamina.store.index import sample
from lamina.store.tables.postgres import candidates

CUT = 10
# Far smaller than for a million memories, so that they have an effect here, too.
BOUNDS = {(sample, "WHOLE"): 20, (candidates, "COUNTED"): 200, (candidates, "SCORED"): 400}
Found = dict[str, float]  # the scores of hits, by the keys of their turns


def told() -> Case:
    """Return all conversations as one, with keys that distinguish them."""
    cases = list(locomo())
    turns = [
        replace(turn, key=f"{case.name}/{turn.key}", session=f"{case.name}/{turn.session}")
        for case in cases
        for turn in case.turns
    ]
    questions = [
        replace(one, gold=frozenset(f"{case.name}/{key}" for key in one.gold))
        for case in cases
        for one in case.questions
        if one.gold
    ]
    turns.sort(key=lambda turn: turn.at)
    return Case("all", 0, tuple(turns), tuple(questions))


def answers(case: Case, home: Path, settings: Mapping[str, Any], every: int) -> list[Found]:
    """Return what a store of the turns finds for some of the questions."""
    now = max(one.now for one in case.questions)
    with lamina.open(home=home, clock=lambda: now, settings=dict(settings)) as memory:
        made = memory.remember_many(items(case.turns))
        keys = {record.id: turn.key for record, turn in zip(made, case.turns, strict=True)}
        memory.index()
        return [found(memory, keys, one.text) for one in case.questions[::every]]


def found(memory: Memory, keys: Mapping[str, str], question: str) -> Found:
    return {keys[hit.record.id]: hit.score for hit in memory.search(question, CUT)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=5, help="ask one question in so many")
    every = parser.parse_args().every
    case = told()
    with folder() as home, Postgres() as server, ExitStack() as stack:
        for (module, name), bound in BOUNDS.items():
            stack.enter_context(mock.patch.object(module, name, bound))
        url = server.url(server.database())
        served = {"store.url": url, "store.search_above": 0}
        file = answers(case, home / "file", {}, every)
        large = answers(case, home / "served", served, every)
    golds = [one.gold for one in case.questions[::every]]
    table = Table("", "file", "server", title=f"{len(golds)} questions, {len(case.turns)} turns")
    recalls = [
        sum(len(gold & one.keys()) / len(gold) for gold, one in zip(golds, hits, strict=True))
        / len(golds)
        for hits in (file, large)
    ]
    table.add_row(f"recall at {CUT}", *(f"{recall:.4f}" for recall in recalls))
    both = [
        (one[key], other[key])
        for one, other in zip(file, large, strict=True)
        for key in one.keys() & other.keys()
    ]
    number = sum(map(len, itertools.chain(file)))
    table.add_row("the same hits", "", f"{len(both) / number:.1%}")
    apart = [abs(ours - theirs) for ours, theirs in both]
    table.add_row(
        "scores apart: mean, most", "", f"{sum(apart) / len(apart):.4f}, {max(apart):.4f}"
    )
    Console().print(table)


if __name__ == "__main__":
    main()
