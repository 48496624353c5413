"""What a copy of the memories needs to follow them: events are its outbox, and a position says how far it has come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import events, meta, records
from lamina.store.tables.records import Row

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database

# Events that are read at once; each may tell of hundreds of records.
SOME = 20
NO_EVENT = 1 << 62  # no history gets that far, and no database counts much further
LIVE = "state = 'active' AND layer <> 'working'"


class Position(msgspec.Struct, frozen=True):
    """A place in the history of one store: an event, and the hash that fixes everything up to it."""

    store: str
    event: int = 0
    hash: str = ""


class Changes(msgspec.Struct, frozen=True):
    """What events after a position were about: rows as they are now, and the ids that have no row any more."""

    events: int
    rows: list[Row]
    gone: list[str]
    position: Position


def head(database: Database) -> Position:
    """The end of the history."""
    with database.moment() as connection:
        last = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").get
        return Position(
            _store(connection), *((0, "") if last is None else (last[0], last[1].hex()))
        )


def after(database: Database, position: Position, limit: int) -> Changes | None:
    """What happened next, until so many records have changed; None when the position is of another history.

    Another store has been imported, or a backup restored: then nothing can be followed from there.
    """
    with database.moment() as connection:
        return changes(connection, position, limit)


def changes(connection: Connection, position: Position, limit: int) -> Changes | None:
    """The same, for who looks at one moment already."""
    if not _is_known(connection, position):
        return None
    told: dict[str, None] = {}
    last, number = position, 0
    for seq, body, digest in _events(connection, position.event):
        told |= dict.fromkeys(_ids(events.body_of(body)))
        last, number = Position(position.store, seq, digest.hex()), number + 1
        if len(told) >= limit:
            break
    found = {record_id: records.by_id(connection, record_id) for record_id in told}
    there = [row for row in found.values() if row is not None]
    return Changes(
        number, there, [record_id for record_id, row in found.items() if row is None], last
    )


def active(database: Database, after_seq: int, limit: int) -> list[Row]:
    """The next rows that count, in their order; working memory never does."""
    with database.moment() as connection:
        query = f"{records.SELECT} WHERE seq > ? AND {LIVE} ORDER BY seq LIMIT ?"
        return rows(connection, query, (after_seq, limit))


def every_active(database: Database, limit: int) -> Iterator[list[Row]]:
    """All rows that count, in their order, so many at a time."""
    last = 0
    while found := active(database, last, limit):
        yield found
        last = found[-1][records.COLUMN["seq"]]


def _store(connection: Connection) -> str:
    return str(meta.get(connection, "store_id"))


def _is_known(connection: Connection, position: Position) -> bool:
    if position.store != _store(connection) or not 0 <= position.event < NO_EVENT:
        return False
    found = connection.execute("SELECT hash FROM events WHERE seq = ?", (position.event,)).get
    return position.event == 0 or (isinstance(found, bytes) and found.hex() == position.hash)


def _events(connection: Connection, last: int) -> Iterator[tuple[int, str, bytes]]:
    query = "SELECT seq, body, hash FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
    while found := rows(connection, query, (last, SOME)):
        yield from found
        last = found[-1][0]


def _ids(body: events.Body) -> Iterator[str]:
    """The records that an event tells of. Those of working memory are never copied."""
    for group in body.made:
        if group.layer != "working":
            yield from (record_id for record_id, _ in group.records)
    yield from (change.id for change in body.changes)
