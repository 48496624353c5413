"""What other agents may read: rows that are given and ended by events which hold no words of them."""

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
from lamina.store.tables.records import Row, one, row_hash

# The hash of a row covers these; `salt` follows and is not covered.
HASHED = (
    "number",
    "agent",
    "user",
    "layer",
    "tag",
    "record",
    "granted_at",
    "expires_at",
    "ended_at",
)
COLUMNS = (*HASHED, "salt")
SELECT = f"SELECT {', '.join(COLUMNS)} FROM grants"
INSERT = f"INSERT INTO grants ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
TOLD = "grants"  # where events tell of them
GRANT, END = "grant", "grant.end"


class Terms(msgspec.Struct, frozen=True):
    """To whom something is given, and what: a layer, a tag or a record, of one user or of all."""

    agent: str
    user: str | None = None
    layer: str | None = None
    tag: str | None = None
    record: str | None = None
    expires_at: datetime | None = None

    @property
    def covers(self) -> str:
        """What is given, in words."""
        name = next(name for name in ("layer", "tag", "record") if getattr(self, name) is not None)
        return f"{name} {getattr(self, name)}"


class Grant(Terms, frozen=True, kw_only=True):
    """Something that was given by an agent; its number is that of the event which gave it."""

    number: int
    giver: str
    granted_at: datetime
    ended_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether it holds at a time. What was ended stays so, whatever the clock says."""
        return (
            self.ended_at is None
            and self.granted_at <= now
            and (self.expires_at is None or now < self.expires_at)
        )

    def is_like(self, terms: Terms) -> bool:
        """Whether it gives the same to the same agent, for however long."""
        return all(
            getattr(self, name) == getattr(terms, name)
            for name in ("agent", "user", "layer", "tag", "record")
        )

    def to_dict(self) -> dict[str, Any]:
        order = (
            "number",
            "giver",
            "agent",
            "user",
            "layer",
            "tag",
            "record",
            "granted_at",
            "expires_at",
            "ended_at",
        )
        return {name: plain(getattr(self, name)) for name in order}


def given(store: RecordSource) -> list[Grant]:
    """Every grant of a store, the ended ones too, in their order."""
    with translated(store.database.address):
        return [
            _grant(store, row) for row in rows(store.database.reader(), f"{SELECT} ORDER BY number")
        ]


def in_transaction(store: RecordSource, transaction: OpenTransaction) -> list[Grant]:
    """The same, as a transaction sees them."""
    return [_grant(store, row) for row in rows(transaction.db, f"{SELECT} ORDER BY number")]


def add(store: RecordSource, transaction: OpenTransaction, terms: Terms) -> Grant:
    """Keep a grant, and tell of it."""
    ends = None if terms.expires_at is None else to_micros(terms.expires_at)
    what = (terms.agent, terms.user, terms.layer, terms.tag, terms.record)
    row = (transaction.number, *what, to_micros(transaction.now), ends, None, store.salts.next())
    transaction.cursor.execute(INSERT, row)
    _tell(transaction, row)
    return _grant(store, row)


def end(store: RecordSource, transaction: OpenTransaction, number: int) -> Grant:
    """End a grant that is there, and tell of it."""
    transaction.cursor.execute(
        "UPDATE grants SET ended_at = ? WHERE number = ?", (to_micros(transaction.now), number)
    )
    row = one(transaction.db, f"{SELECT} WHERE number = ?", (number,))
    assert row is not None, "the caller has looked"
    _tell(transaction, row)
    return _grant(store, row)


def remove(
    transaction: OpenTransaction,
    records: Collection[str] = (),
    tags: Collection[str] = (),
    user: str | None = None,
) -> list[int]:
    """Take out every grant, ended or not, that names one of these records, tags or this user, and tell of it; their numbers.

    The words of what was given are also in the note of the event with the same number, and in those of `ending`.
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
    """The events that ended some grants."""
    found = rows(
        connection, "SELECT seq, body FROM events WHERE body ->> 'action' = ? ORDER BY seq", (END,)
    )
    told = ((seq, events.body_of(body).details.get(TOLD, ())) for seq, body in found)
    return [seq for seq, said in told if any(one["grant"] in numbers for one in said)]


def digest(row: Sequence[Any]) -> str:
    """What an event says about a row: nothing, once its salt is gone."""
    return row_hash(tuple(row[:-1]), row[-1]).hex()


def written(store: RecordSource) -> list[dict[str, Any]]:
    """Every row as an export holds it."""
    found = rows(store.database.reader(), f"{SELECT} ORDER BY number")
    return [{**_grant(store, row).to_dict(), "salt": row[-1].hex()} for row in found]


def _tell(transaction: OpenTransaction, row: Row) -> None:
    transaction.tell(TOLD, {"grant": row[0], "hash": digest(row)})


def _grant(store: RecordSource, row: Row) -> Grant:
    number, agent, user, layer, tag, record, granted, expires, ended, _ = row
    return Grant(
        agent,
        user,
        layer,
        tag,
        record,
        None if expires is None else from_micros(expires),
        number=number,
        giver=store.agent,
        granted_at=from_micros(granted),
        ended_at=None if ended is None else from_micros(ended),
    )
