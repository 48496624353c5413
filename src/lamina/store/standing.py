"""What stands in the place of a record, where only one active record can stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina import places
from lamina.model import Draft, Layer, Record
from lamina.store import records
from lamina.store.records import Row
from lamina.store.sql import Connection, rows

if TYPE_CHECKING:
    from lamina.store.store import Store


def find(store: Store, connection: Connection, memory: Record | Draft) -> list[Row]:
    """The active rows in the place of a memory, without itself."""
    here = places.place(memory)
    if here is None:
        return []
    where, values = _near(memory)
    query = f"{records.SELECT} WHERE layer = ? AND state = 'active' AND user IS NOT DISTINCT FROM ? {where}"
    found = rows(connection, query, (memory.layer, memory.user, *values))
    own = memory.id if isinstance(memory, Record) else None
    return [row for row in found if row[1] != own and places.place(store.record(row)) == here]


def _near(memory: Record | Draft) -> tuple[str, tuple[Any, ...]]:
    """A condition that leaves few rows to look at."""
    if memory.layer in (Layer.PROFILE, Layer.WORLD):
        return "", ()
    if places.project_name(memory) is not None:
        return "AND kind = 'project'", ()
    return "AND seq IN (SELECT record FROM facets WHERE name = 'subject' AND value = ?)", (memory.metadata.get("subject"),)
