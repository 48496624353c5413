"""The table `grants`: what other agents may read. Events about it hold only hashes of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec

from lamina.model import hashing
from lamina.model.clock import from_micros, to_micros
from lamina.model.record import plain
from lamina.store.engine.sql import Connection, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables import events
from lamina.store.tables.interfaces import OpenTransaction, RecordSource
from lamina.store.tables.records import Row, only_row, row_hash

# The hash of a row covers these; `salt` follows, and is not covered.
HASHED = (
    "number", "agent", "user", "layer", "tag", "record", "granted_at", "expires_at", "ended_at",
)  # fmt: skip
COLUMNS = (*HASHED, "salt")
SELECT = f"SELECT {', '.join(COLUMNS)} FROM grants"
INSERT = f"INSERT INTO grants ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
TOLD = "grants"  # the detail in which events list grants
GRANT, END = "grant", "grant.end"


class Terms(msgspec.Struct, frozen=True):
    """The content of a grant: an agent, and a layer, tag or record, of one user or of all."""

    agent: str
    user: str | None = None
    layer: str | None = None
    tag: str | None = None
    record: str | None = None
    expires_at: datetime | None = None

    @property
    def covers(self) -> str:
        """The layer, tag or record that is shared, in words."""
        name = next(name for name in ("layer", "tag", "record") if getattr(self, name) is not None)
        return f"{name} {getattr(self, name)}"


class Grant(Terms, frozen=True, kw_only=True):
    """Terms that an agent has granted; the number is the event's."""

    number: int
    giver: str
    granted_at: datetime
    ended_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Tell whether it is in force at a time. One that was ended stays ended."""
        if self.ended_at is not None or now < self.granted_at:
            return False
        return self.expires_at is None or now < self.expires_at

    def is_like(self, terms: Terms) -> bool:
        """Tell whether it shares the same with the same agent, for however long."""
        compared = ("agent", "user", "layer", "tag", "record")
        return all(getattr(self, name) == getattr(terms, name) for name in compared)

    def to_dict(self) -> dict[str, Any]:
        order = ("number", "giver", *HASHED[1:])
        return {name: plain(getattr(self, name)) for name in order}


def given(store: RecordSource) -> list[Grant]:
    """Read every grant of a store, including ended ones, oldest first."""
    with translated(store.database.address):
        return _all(store, store.database.reader())


def in_transaction(store: RecordSource, transaction: OpenTransaction) -> list[Grant]:
    """Read every grant as `given` does, within a transaction."""
    return _all(store, transaction.db)


def add(store: RecordSource, transaction: OpenTransaction, terms: Terms) -> Grant:
    """Store a grant, and record it in the event."""
    ends = None if terms.expires_at is None else to_micros(terms.expires_at)
    what = (terms.agent, terms.user, terms.layer, terms.tag, terms.record)
    row = (transaction.number, *what, to_micros(transaction.now), ends, None, store.salts.next())
    transaction.cursor.execute(INSERT, row)
    _mention(transaction, row)
    return _grant(store, row)


def end(store: RecordSource, transaction: OpenTransaction, number: int) -> Grant:
    """End an existing grant, and record it in the event."""
    update = "UPDATE grants SET ended_at = ? WHERE number = ?"
    transaction.cursor.execute(update, (to_micros(transaction.now), number))
    row = only_row(transaction.db, f"{SELECT} WHERE number = ?", (number,))
    assert row is not None, "the caller has looked"
    _mention(transaction, row)
    return _grant(store, row)


def remove(
    transaction: OpenTransaction,
    records: Collection[str] = (),
    tags: Collection[str] = (),
    user: str | None = None,
) -> list[int]:
    """Delete every grant, ended or not, that names one of these records, tags or this user.

    The event records each; their numbers are returned. The text of the terms is also in the note of
    the event with the same number, and in the notes of the events from `ending`.
    """
    query = (
        "SELECT number FROM grants WHERE record IN (SELECT value FROM json_each(?))"
        " OR tag IN (SELECT value FROM json_each(?)) OR user = ? ORDER BY number"
    )
    named = (hashing.encode(sorted(records)).decode(), hashing.encode(sorted(tags)).decode(), user)
    numbers = [number for (number,) in rows(transaction.db, query, named)]
    for number in numbers:
        transaction.cursor.execute("DELETE FROM grants WHERE number = ?", (number,))
        transaction.tell(TOLD, {"grant": number, "hash": None})
    return numbers


def ending(connection: Connection, numbers: Collection[int]) -> list[int]:
    """Find the events that ended these grants."""
    query = "SELECT seq, body FROM events WHERE body ->> 'action' = ? ORDER BY seq"
    ended = (
        (seq, events.body_of(body).details.get(TOLD, ()))
        for seq, body in rows(connection, query, (END,))
    )
    return [seq for seq, entries in ended if any(entry["grant"] in numbers for entry in entries)]


def digest(row: Sequence[Any]) -> str:
    """Hash a row for its event; without the salt, the hash reveals nothing."""
    return row_hash(tuple(row[:-1]), row[-1]).hex()


def written(store: RecordSource) -> list[dict[str, Any]]:
    """Convert every row to its form in an export."""
    every = rows(store.database.reader(), f"{SELECT} ORDER BY number")
    return [{**_grant(store, row).to_dict(), "salt": row[-1].hex()} for row in every]


def _mention(transaction: OpenTransaction, row: Row) -> None:
    transaction.tell(TOLD, {"grant": row[0], "hash": digest(row)})


def _all(store: RecordSource, connection: Connection) -> list[Grant]:
    return [_grant(store, row) for row in rows(connection, f"{SELECT} ORDER BY number")]


def _grant(store: RecordSource, row: Row) -> Grant:
    number, agent, user, layer, tag, record, granted, expires, ended, _ = row
    expires_at = None if expires is None else from_micros(expires)
    terms = (agent, user, layer, tag, record, expires_at)
    return Grant(
        *terms,
        number=number,
        giver=store.agent,
        granted_at=from_micros(granted),
        ended_at=None if ended is None else from_micros(ended),
    )
