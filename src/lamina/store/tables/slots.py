"""Find the active record that holds a slot, which only one active record may hold."""

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
ROWS = (
    f"{records.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    " AND state = ? ORDER BY seq"
)


def find(store: RecordSource, connection: Connection, memory: Record | Draft) -> list[Row]:
    """Find the other active rows that hold the slot of a memory."""
    slot = slots.slot(memory)
    if slot is None:
        return []
    own = memory.id if isinstance(memory, Record) else None
    return [row for row in among(store, connection, {slot}).get(slot, ()) if row[1] != own]


def among(
    store: RecordSource, connection: Connection, wanted: Collection[Slot]
) -> dict[Slot, list[Row]]:
    """Find the active rows that hold each of some slots, in one query."""
    holders: dict[Slot, list[Row]] = {}
    facets = {slots.slot_facet(user, name) for _, user, name in wanted}
    for row in holding(connection, facets, State.ACTIVE):
        slot = slots.slot(store.record(row))
        if slot is not None and slot in wanted:
            holders.setdefault(slot, []).append(row)
    return holders


def holding(connection: Connection, wanted: Collection[tuple[str, str]], state: State) -> list[Row]:
    """Find the rows in a state that have one of some facets, all with the same name.

    It uses two queries: for a join, an engine without statistics may read every row.
    """
    if not wanted:
        return []
    names, values = {name for name, _ in wanted}, sorted(value for _, value in wanted)
    numbers = [number for (number,) in rows(connection, FACETS, (*names, _json(values)))]
    return rows(connection, ROWS, (_json(numbers), state)) if numbers else []


def _json(values: list[Any]) -> str:
    return hashing.encode(values).decode()
