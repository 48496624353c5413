"""Exports of a full store, and what is read from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamina import Operator
from lamina.model import hashing
from lamina.model.record import State
from tests.conftest import CONTRACTS, TESTER, Desk, move, supersede

Export = dict[str, Any]
STATES = [State.ACTIVE, State.CONSTRAINED, State.SUPERSEDED, State.TOMBSTONED]


def fill(desk: Desk) -> Operator:
    """A store with every layer in every state, with users, keys, evidence, runs, notes
    and odd values."""
    op, ana = desk.operator(), desk.operator(user="ana")
    last = op.remember(
        "the first", key="k1", tags=["A", "猫"], speaker="Ben", session="s1", source="chat"
    )
    for layer, metadata in CONTRACTS.items():
        for state in STATES:
            handle = ana if state is State.CONSTRAINED else op
            at = "1969-12-31T23:59:59.999999Z"
            record = handle.remember(
                f"{layer} {state}", layer=layer, metadata=metadata, evidence=[last.id, "./a"], at=at
            )
            if state is State.SUPERSEDED:
                supersede(op, record.id, last.id)
            elif state is not State.ACTIVE:
                move(op, record.id, state=state, importance=0.1 + 0.2)
            last = record
    ana.remember(
        "for ana\n\u2028 “quoted” \\ 😀",
        key="k1",
        metadata={"n": 1e22, "z": -0.0, "i": 2**62, "ü": [None, True]},
    )
    op.run("open run").note("a note", source="web:x")
    op.run("closed run").close("done")
    with op._scope.store.change(
        TESTER, "test", op._scope.clock(), note={"reason": "a reason"}, details={"n": 1}
    ):
        pass
    return op


def load(path: Path) -> Export:
    loaded: Export = json.loads(path.read_bytes())
    return loaded


# What somebody may have done to a file, and in which way it is then read.
def chained(export: Export) -> Export:
    """Make the hashes fit again, as somebody would who knows the format."""
    last = hashing.chain_seed(export["store"], export["agent"], "events")
    for event in export["events"]:
        last = hashing.chain_hash(last, event["body"].encode())
        event["hash"] = last.hex()
    return export
