"""What stands in the place of a record, where only one active record can stand."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from lamina import canon, places
from lamina.model import Draft, Record
from lamina.places import Place
from lamina.store import records
from lamina.store.records import Row
from lamina.store.sql import Connection, rows

if TYPE_CHECKING:
    from lamina.store.store import Store

ACTIVE = (
    f"{records.SELECT} WHERE state = 'active' AND seq IN"
    f" (SELECT record FROM facets WHERE name = '{places.PLACE}' AND value IN (SELECT value FROM json_each(?)))"
    " ORDER BY seq"
)


def find(store: Store, connection: Connection, memory: Record | Draft) -> list[Row]:
    """The active rows in the place of a memory, without itself."""
    here = places.place(memory)
    if here is None:
        return []
    own = memory.id if isinstance(memory, Record) else None
    return [row for row in among(store, connection, {here}).get(here, ()) if row[1] != own]


def among(store: Store, connection: Connection, wanted: Collection[Place]) -> dict[Place, list[Row]]:
    """The active rows in each of some places, asked for at once."""
    marks = {places.place_facet(user, name)[1] for _, user, name in wanted}
    found: dict[Place, list[Row]] = {}
    for row in rows(connection, ACTIVE, (canon.encode(sorted(marks)).decode(),)):
        here = places.place(store.record(row))
        if here is not None and here in wanted:
            found.setdefault(here, []).append(row)
    return found
