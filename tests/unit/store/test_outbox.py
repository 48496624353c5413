"""What a copy needs to follow the store: the records that events were about, and whether its
history is still ours."""

from __future__ import annotations

import pytest
from msgspec import structs

from lamina import Operator
from lamina.model.record import State
from lamina.store.tables import outbox
from lamina.store.tables.outbox import Position
from lamina.store.tables.records import COLUMN
from tests.conftest import STORE_ID, move


def ids(changes: outbox.Changes | None) -> list[str]:
    assert changes is not None
    return [row[COLUMN["id"]] for row in changes.rows]


def test_the_head(op: Operator) -> None:
    """B7: an empty store has a position too, and every change moves it."""
    assert outbox.head(op._scope.store.database) == Position(STORE_ID)
    op.remember("tea")
    assert outbox.head(op._scope.store.database) == Position(
        STORE_ID, 1, op._scope.store.head().hash.hex()
    )


def test_what_happened_after_a_position(op: Operator) -> None:
    """B7: each record once, as it is now, in the order in which it was first told of;
    then nothing more."""
    database = op._scope.store.database
    tea = op.remember("tea")
    start = outbox.head(database)
    coffee = op.remember("coffee")
    move(op, tea.id, state=State.TOMBSTONED)
    move(op, coffee.id, importance=0.9)
    changes = outbox.after(database, start, 100)
    assert ids(changes) == [coffee.id, tea.id]
    assert changes is not None
    assert (changes.events, changes.gone, changes.position) == (3, [], outbox.head(database))
    nothing = outbox.after(database, changes.position, 100)
    assert nothing == outbox.Changes(0, [], [], changes.position)


def test_working_memory_is_not_told_of(op: Operator) -> None:
    """L10: notes of runs are never copied; what remains of a run is its end."""
    op.run("task").note("scratch")
    assert ids(outbox.after(op._scope.store.database, Position(STORE_ID), 100)) == []
    assert outbox.active(op._scope.store.database, 0, 10) == []


@pytest.mark.parametrize("limit", [1, 700, 1200])
def test_a_stretch_ends_with_an_event(op: Operator, limit: int) -> None:
    """B7: stretches are bounded, and follow one another without a gap."""
    made = op.remember_many([{"content": f"memory {n}"} for n in range(1600)])
    position, found, stretches = Position(STORE_ID), list[str](), 0
    while (
        changes := outbox.after(op._scope.store.database, position, limit)
    ) is not None and changes.events:
        found += ids(changes)
        assert len(changes.rows) < limit + 500
        position, stretches = changes.position, stretches + 1
    assert found == [record.id for record in made]
    assert stretches == {1: 4, 700: 2, 1200: 2}[limit]


def test_another_history_is_told(op: Operator) -> None:
    """B7: an event of another store, one that never was, and one with another hash
    cannot be followed."""
    op.remember("tea")
    here = outbox.head(op._scope.store.database)
    assert outbox.after(op._scope.store.database, here, 10) is not None
    for other in ({"store": "6" * 32}, {"event": 2}, {"hash": "00" * 32}, {"hash": ""}):
        assert outbox.after(op._scope.store.database, structs.replace(here, **other), 10) is None


def test_active_rows_in_parts(op: Operator) -> None:
    """B7: everything that counts, in the order of `seq`, part by part."""
    made = op.remember_many([{"content": f"memory {n}"} for n in range(5)])
    move(op, made[2].id, state=State.TOMBSTONED)
    assert [row[0] for row in outbox.active(op._scope.store.database, 0, 3)] == [1, 2, 4]
    assert [row[0] for row in outbox.active(op._scope.store.database, 4, 3)] == [5]
