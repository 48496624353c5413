"""The audit chain: every event holds the hash of the one before it, and no text of any memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from lamina.errors import Corrupt
from lamina.model import hashing
from lamina.model.clock import from_micros
from lamina.model.record import Actor, Change, Event
from lamina.store.engine.sql import Connection, Cursor, rows

SELECT = "SELECT seq, body, hash FROM events"
INSERT = "INSERT INTO events (seq, records, body, hash) VALUES (?, ?, ?, ?)"
INSERT_NOTE = "INSERT INTO notes (event, position, salt, body) VALUES (?, ?, ?, ?)"
UNDO = "undo"
ERASED_NOTES = "erased_notes"  # where an event says which notes are gone
LAST = (1 << 63) - 1  # no event has a higher number
KEPT = 64  # events that a book remembers


@functools.cache
def schema() -> str:
    """The tables and triggers that every chain has."""
    return resources.files("lamina.store.tables").joinpath("chain.sql").read_text("utf-8")


class Made(msgspec.Struct, frozen=True):
    """How an event tells of new records: where they began, and the id and hash of each."""

    layer: str
    state: str
    records: list[tuple[str, bytes]]


class Changed(msgspec.Struct, frozen=True):
    """How an event tells of a record that was there already."""

    id: str
    hash: bytes
    before: dict[str, Any]
    after: dict[str, Any]
    previous: int


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """The text of an event, which its hash is over."""

    action: str
    actor: str
    at: int
    records: int
    seq: int
    surface: str
    made: list[Made] = []
    changes: list[Changed] = []
    details: dict[str, Any] = {}
    notes: list[bytes] = []


_bodies = msgspec.json.Decoder(Body)


def body_of(text: str) -> Body:
    """The text of an event, read back. One that makes no sense was not written by us."""
    try:
        return _bodies.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Corrupt(f"the text of an event is not one: {error}") from None


class News(NamedTuple):
    """What some events have done to what was there before them."""

    changed: list[str]  # the ids of records
    vacated: list[int]  # the numbers whose records have left
    only_made: bool  # they have made new records, and nothing else


class Head(NamedTuple):
    """The end of a chain: its length, the last record number given out, and the hash that fixes all of it."""

    seq: int
    records: int
    hash: bytes


def head(connection: Connection | Cursor, seed: bytes) -> Head:
    last = connection.execute("SELECT seq, records, hash FROM events ORDER BY seq DESC LIMIT 1").get
    return Head(0, 0, seed) if last is None else Head(*last)


def append(
    cursor: Cursor,
    last: Head,
    at: int,
    actor: Actor,
    action: str,
    *,
    records: int,
    made: list[Made] | None = None,
    changes: list[Changed] | None = None,
    details: Mapping[str, Any] | None = None,
    notes: Sequence[Mapping[str, Any]] = (),
) -> Head:
    """Add one event to the chain, inside the caller's transaction. Notes are kept apart, where they can be erased."""
    seq = last.seq + 1
    kept = [
        (seq, place, os.urandom(hashing.SALT_BYTES), hashing.encode(note))
        for place, note in enumerate(notes)
    ]
    hashes = [hashing.salted_hash(salt, payload) for _, _, salt, payload in kept]
    body = Body(
        action,
        str(actor),
        at,
        records,
        seq,
        actor.surface,
        made or [],
        changes or [],
        dict(details or {}),
        hashes,
    )
    encoded = hashing.encode(body)
    digest = hashing.chain_hash(last.hash, encoded)
    cursor.execute(INSERT, (seq, records, encoded.decode(), digest))
    for _, place, salt, payload in kept:
        cursor.execute(INSERT_NOTE, (seq, place, salt, payload.decode()))
    return Head(seq, records, digest)


def read(connection: Connection, seq: int) -> Event | None:
    row = connection.execute(f"{SELECT} WHERE seq = ?", (seq,)).get
    return None if row is None else event_of(row, notes_of(connection, seq))


def bodies(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Read the bodies and hashes of the whole chain."""
    yield from connection.execute("SELECT body, hash FROM events ORDER BY seq")


def notes(connection: Connection) -> Iterator[tuple[int, int, bytes, str]]:
    """Read the notes of the whole chain: event, position, salt, body."""
    query = "SELECT event, position, salt, body FROM notes ORDER BY event, position"
    yield from connection.execute(query)


class Book:
    """Events as they are read, the latest of them kept: one event may be about thousands of records."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._kept: dict[int, tuple[Event | None, dict[str, list[Change]]]] = {}

    def event(self, seq: int) -> Event | None:
        return self._page(seq)[0]

    def changes(self, seq: int, record_id: str) -> Sequence[Change]:
        """What an event did to a record: it may have made it and changed it at once."""
        return self._page(seq)[1].get(record_id, ())

    def _page(self, seq: int) -> tuple[Event | None, dict[str, list[Change]]]:
        if seq not in self._kept:
            if len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            event = read(self._connection, seq)
            by_record: dict[str, list[Change]] = {}
            for change in () if event is None else event.changes:
                by_record.setdefault(change.record, []).append(change)
            self._kept[seq] = event, by_record
        return self._kept[seq]


def trail(book: Book, record_id: str, last: int | None) -> Iterator[Event]:
    """The events about a record from the newest back, each with what it did to this record alone."""
    at = last
    while at is not None and (event := book.event(at)) is not None:
        own = book.changes(at, record_id)
        yield msgspec.structs.replace(event, changes=tuple(own))
        at = own[0].previous if own else None


def latest(connection: Connection, limit: int, before: int = LAST) -> list[Event]:
    """Events before one of them, from the newest backwards."""
    found = rows(connection, f"{SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?", (before, limit))
    return [event_of(row, notes_of(connection, row[0])) for row in found]


def actions(connection: Connection, numbers: Collection[int]) -> dict[int, str]:
    """What some events did."""
    query = "SELECT seq, body ->> 'action' FROM events WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    return dict(rows(connection, query, (hashing.encode(sorted(numbers)).decode(),)))


def settled(book: Book, record_id: str, last: int | None) -> int:
    """The last event about a record that was not taken back: an undo leads to the one before what it undid."""
    at = last
    while at is not None and (event := book.event(at)) is not None:
        undone = event.details.get("undoes") if event.action == UNDO else None
        if undone is None:
            return at
        own = book.changes(undone, record_id)
        at = own[0].previous if own else None
    return 0


def news(connection: Connection, since: int) -> News:
    """What the events after a given one have done."""
    changed: dict[str, None] = {}
    vacated: list[int] = []
    only_made = True
    for (body,) in rows(connection, "SELECT body FROM events WHERE seq > ?", (since,)):
        event = body_of(body)
        only_made &= bool(event.made) and not event.changes
        changed |= dict.fromkeys(change.id for change in event.changes)
        vacated += [
            number for change in event.changes if (number := change.before.get("seq")) is not None
        ]
    return News([*changed], vacated, only_made)


def fields_before(connection: Connection, moment: int) -> dict[str, dict[str, Any]]:
    """What records said in their open fields at a time, for those that have changed since. From the newest event back.

    All events are asked for their time: a clock may have been set back.
    """
    is_later = "CAST(body ->> 'at' AS BIGINT) > ? AND body -> 'changes' IS NOT NULL"
    past: dict[str, dict[str, Any]] = {}
    for (text,) in rows(
        connection, f"SELECT body FROM events WHERE {is_later} ORDER BY seq DESC", (moment,)
    ):
        for change in body_of(text).changes:
            past.setdefault(change.id, {}).update(change.before, updated_at=change.previous)
    for fields in past.values():  # so far the event that made them so; now its time
        query = "SELECT CAST(body ->> 'at' AS BIGINT) FROM events WHERE seq = ?"
        fields["updated_at"] = connection.execute(query, (fields["updated_at"],)).get
    return past


def notes_of(connection: Connection, seq: int) -> dict[int, Mapping[str, Any]]:
    """The notes of an event by their position; those that were erased are not there."""
    query = "SELECT position, body FROM notes WHERE event = ?"
    return {position: hashing.decode(body) for position, body in rows(connection, query, (seq,))}


def event_of(row: Sequence[Any], notes: Mapping[int, Mapping[str, Any]]) -> Event:
    seq, text, digest = row
    body = body_of(text)
    try:
        at = from_micros(body.at)
    except OverflowError:
        raise Corrupt(f"event {seq} is damaged; run `lamina audit verify`") from None
    return Event(
        seq,
        at,
        body.action,
        body.actor,
        body.surface,
        tuple(changes_of(body)),
        body.details,
        notes.get(0, {}),
        digest.hex(),
    )


def changes_of(body: Body) -> Iterator[Change]:
    """What an event did, record by record: those it made, then those it changed."""
    for group in body.made:
        after = {"layer": group.layer, "state": group.state}
        for record_id, digest in group.records:
            yield Change(record_id, digest.hex(), {}, after, None)
    for change in body.changes:
        yield Change(change.id, change.hash.hex(), change.before, change.after, change.previous)
