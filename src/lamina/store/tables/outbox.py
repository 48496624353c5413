"""The outbox for copies of the memories, which follow the events from a position on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import events, meta, records
from lamina.store.tables.records import Row

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database

# Events that are read at once; each may cover hundreds of records.
SOME = 20
NO_EVENT = 1 << 62  # no history gets this far, and databases can hardly count higher
LIVE = "state = 'active' AND layer <> 'working'"


class Position(msgspec.Struct, frozen=True):
    """A point in the history of a store: an event, and the hash that covers all up to it."""

    store: str
    event: int = 0
    hash: str = ""


class Changes(msgspec.Struct, frozen=True):
    """The effect of the events after a position: rows as they are now, and ids without a row."""

    events: int
    rows: list[Row]
    gone: list[str]
    position: Position


def head(database: Database) -> Position:
    """Read the position of the last event."""
    with database.moment() as connection:
        last = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").get
        if last is None:
            return Position(_store(connection))
        return Position(_store(connection), last[0], last[1].hex())


def after(database: Database, position: Position, limit: int) -> Changes | None:
    """Read what happened after a position, until this many records have changed.

    None if the position belongs to another history, for example after a backup was restored: then
    nothing can be followed from there.
    """
    with database.moment() as connection:
        return changes(connection, position, limit)


def changes(connection: Connection, position: Position, limit: int) -> Changes | None:
    """Do the same as `after` for a caller that already reads at one moment."""
    if not _is_known(connection, position):
        return None
    ids: dict[str, None] = {}  # in the order of the events
    last, number = position, 0
    for seq, body, digest in _events(connection, position.event):
        ids |= dict.fromkeys(_ids(events.body_of(body)))
        last, number = Position(position.store, seq, digest.hex()), number + 1
        if len(ids) >= limit:
            break
    now = {record_id: records.by_id(connection, record_id) for record_id in ids}
    gone = [record_id for record_id, row in now.items() if row is None]
    return Changes(number, [row for row in now.values() if row is not None], gone, last)


def active(database: Database, after_seq: int, limit: int) -> list[Row]:
    """Read the next active rows, by number; working memory is never among them."""
    with database.moment() as connection:
        query = f"{records.SELECT} WHERE seq > ? AND {LIVE} ORDER BY seq LIMIT ?"
        return rows(connection, query, (after_seq, limit))


def every_active(database: Database, limit: int) -> Iterator[list[Row]]:
    """Yield all active rows by number, in lists of at most `limit`."""
    last = 0
    while batch := active(database, last, limit):
        yield batch
        last = batch[-1][records.COLUMN["seq"]]


def _store(connection: Connection) -> str:
    return str(meta.get(connection, "store_id"))


def _is_known(connection: Connection, position: Position) -> bool:
    if position.store != _store(connection) or not 0 <= position.event < NO_EVENT:
        return False
    digest = connection.execute("SELECT hash FROM events WHERE seq = ?", (position.event,)).get
    return position.event == 0 or (isinstance(digest, bytes) and digest.hex() == position.hash)


def _events(connection: Connection, last: int) -> Iterator[tuple[int, str, bytes]]:
    query = "SELECT seq, body, hash FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
    while batch := rows(connection, query, (last, SOME)):
        yield from batch
        last = batch[-1][0]


def _ids(body: events.Body) -> Iterator[str]:
    """Yield the records of an event, except new working memory, which is never copied."""
    for group in body.made:
        if group.layer != "working":
            yield from (record_id for record_id, _ in group.records)
    yield from (change.id for change in body.changes)
