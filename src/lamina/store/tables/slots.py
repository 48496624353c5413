"""What stands in the place of a record, where only one active record can stand."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lamina.model import hashing, slots
from lamina.model.record import Draft, Record, State
from lamina.model.slots import Slot
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import Row

FACETS = "SELECT record FROM facets WHERE name = ? AND value IN (SELECT value FROM json_each(?))"
ROWS = f"{records.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND state = ? ORDER BY seq"


def find(store: RecordSource, connection: Connection, memory: Record | Draft) -> list[Row]:
    """The active rows in the place of a memory, without itself."""
    here = slots.slot(memory)
    if here is None:
        return []
    own = memory.id if isinstance(memory, Record) else None
    return [row for row in among(store, connection, {here}).get(here, ()) if row[1] != own]


def among(
    store: RecordSource, connection: Connection, wanted: Collection[Slot]
) -> dict[Slot, list[Row]]:
    """The active rows in each of some places, asked for at once."""
    found: dict[Slot, list[Row]] = {}
    for row in holding(
        connection, {slots.slot_facet(user, name) for _, user, name in wanted}, State.ACTIVE
    ):
        here = slots.slot(store.record(row))
        if here is not None and here in wanted:
            found.setdefault(here, []).append(row)
    return found


def holding(connection: Connection, wanted: Collection[tuple[str, str]], state: State) -> list[Row]:
    """The rows in a state that have one of some facets, which are all of one name.

    Two questions, because as one an engine that has not counted its rows may rather read all of them.
    """
    if not wanted:
        return []
    names, values = {name for name, _ in wanted}, sorted(value for _, value in wanted)
    numbers = [number for (number,) in rows(connection, FACETS, (*names, _listed(values)))]
    return rows(connection, ROWS, (_listed(numbers), state)) if numbers else []


def _listed(values: list[Any]) -> str:
    return hashing.encode(values).decode()
