"""The audit chain: every event holds the hash of the one before it, and no text of any memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
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
UNDO, REINDEX = "undo", "reindex"
ERASED_NOTES = "erased_notes"  # the detail in which an event lists the notes that it erased
LAST = (1 << 63) - 1  # no event has a higher number
KEPT = 64  # events that a `Book` remembers


@functools.cache
def schema() -> str:
    """Read the SQL of the tables and triggers that every chain has."""
    from importlib import resources  # needed only for a new store

    return resources.files("lamina.store.tables").joinpath("chain.sql").read_text("utf-8")


class NewRecords(msgspec.Struct, frozen=True):
    """New records in an event: the layer and state they began in, and the id and hash of each."""

    layer: str
    state: str
    records: list[tuple[str, bytes]]


class ChangedRecord(msgspec.Struct, frozen=True):
    """A record that an event changed: its tracked fields before and after, and its last event."""

    id: str
    hash: bytes
    before: dict[str, Any]
    after: dict[str, Any]
    previous: int


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an event; its hash covers the encoded text of it."""

    action: str
    actor: str
    at: int
    records: int
    seq: int
    surface: str
    made: list[NewRecords] = []
    changes: list[ChangedRecord] = []
    details: dict[str, Any] = {}
    notes: list[bytes] = []


_bodies = msgspec.json.Decoder(Body)


def body_of(text: str) -> Body:
    """Decode the body of an event; raise Corrupt for text that we cannot have written."""
    try:
        return _bodies.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Corrupt(f"the text of an event is not one: {error}") from None


class MadeOutline(msgspec.Struct, frozen=True, gc=False):
    """The layer and state of new records at first; their ids and hashes are only counted."""

    layer: str
    state: str
    records: msgspec.Raw

    @property
    def number(self) -> int:
        return len(msgspec.json.decode(self.records, type=list[msgspec.Raw]))


class ChangedOutline(msgspec.Struct, frozen=True, gc=False):
    """The tracked fields of a record before and after an event."""

    before: dict[str, Any]
    after: dict[str, Any]


class Outline(msgspec.Struct, frozen=True, gc=False):
    """When an event happened, and which records it moved."""

    at: int
    made: list[MadeOutline] = []
    changes: list[ChangedOutline] = []


_outlines = msgspec.json.Decoder(Outline)


class News(NamedTuple):
    """The effect of some events on the records that existed before them."""

    changed: list[str]  # ids of records
    vacated: list[int]  # numbers of records that have left
    only_made: bool  # every event made new records and did nothing else
    reindexed: bool  # everything derived from the records was rebuilt


class Head(NamedTuple):
    """The end of a chain: its length, the last record number, and the hash that covers it all."""

    seq: int
    records: int
    hash: bytes


def head(connection: Connection | Cursor, seed: bytes) -> Head:
    """Find the end of the chain; the first event of a new chain refers to `seed`."""
    last = connection.execute("SELECT seq, records, hash FROM events ORDER BY seq DESC LIMIT 1").get
    if last is None:
        return Head(0, 0, seed)
    found = Head(*last)
    if type(found.hash) is not bytes:  # a page of zeros reads as NULL, whatever the schema says
        raise Corrupt(f"event {found.seq} is damaged; run `lamina audit verify`")
    return found


def append(
    cursor: Cursor,
    last: Head,
    at: int,
    actor: Actor,
    action: str,
    *,
    records: int,
    made: list[NewRecords] | None = None,
    changes: list[ChangedRecord] | None = None,
    details: Mapping[str, Any] | None = None,
    notes: Sequence[Mapping[str, Any]] = (),
) -> Head:
    """Add one event to the chain, inside the caller's transaction.

    Notes may contain text of memories, so they are separate rows, which can be erased; the event
    holds only their salted hashes.
    """
    seq = last.seq + 1
    salted = [(os.urandom(hashing.SALT_BYTES), hashing.encode(note)) for note in notes]
    body = Body(
        action=action,
        actor=str(actor),
        at=at,
        records=records,
        seq=seq,
        surface=actor.surface,
        made=made or [],
        changes=changes or [],
        details=dict(details or {}),
        notes=[hashing.salted_hash(salt, note) for salt, note in salted],
    )
    encoded = hashing.encode(body)
    digest = hashing.chain_hash(last.hash, encoded)
    cursor.execute(INSERT, (seq, records, encoded.decode(), digest))
    for position, (salt, note) in enumerate(salted):
        cursor.execute(INSERT_NOTE, (seq, position, salt, note.decode()))
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
    """A cache of events and their changes by record: one event may cover thousands of records."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pages: dict[int, tuple[Event | None, dict[str, list[Change]]]] = {}

    def event(self, seq: int) -> Event | None:
        return self._page(seq)[0]

    def changes(self, seq: int, record_id: str) -> Sequence[Change]:
        """List what an event did to a record: it may have created and then changed it."""
        return self._page(seq)[1].get(record_id, ())

    def _page(self, seq: int) -> tuple[Event | None, dict[str, list[Change]]]:
        if seq not in self._pages:
            if len(self._pages) >= KEPT:
                del self._pages[next(iter(self._pages))]
            event = read(self._connection, seq)
            by_record: dict[str, list[Change]] = {}
            for change in () if event is None else event.changes:
                by_record.setdefault(change.record, []).append(change)
            self._pages[seq] = event, by_record
        return self._pages[seq]


def trail(book: Book, record_id: str, last: int | None) -> Iterator[Event]:
    """Yield the events about a record, newest first, with only the changes to this record."""
    seq = last
    while seq is not None and (event := book.event(seq)) is not None:
        changes = book.changes(seq, record_id)
        yield msgspec.structs.replace(event, changes=tuple(changes))
        seq = changes[0].previous if changes else None


def latest(connection: Connection, limit: int, before: int = LAST) -> list[Event]:
    """Read the events before a number, newest first."""
    query = f"{SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?"
    newest = rows(connection, query, (before, limit))
    return [event_of(row, notes_of(connection, row[0])) for row in newest]


def outlines(connection: Connection, since: int, limit: int) -> Iterator[Outline]:
    """Read what the newest events moved, newest first, back to a time."""
    query = "SELECT body FROM events ORDER BY seq DESC LIMIT ?"
    for (text,) in rows(connection, query, (limit,)):
        try:
            outline = _outlines.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Corrupt(f"the text of an event is not one: {error}") from None
        if outline.at < since:
            return
        yield outline


def actions(connection: Connection, numbers: Collection[int]) -> dict[int, str]:
    """Map the numbers of events to their actions."""
    query = (
        "SELECT seq, body ->> 'action' FROM events"
        " WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    return dict(rows(connection, query, (hashing.encode(sorted(numbers)).decode(),)))


def settled(book: Book, record_id: str, last: int | None) -> int:
    """Find the last event about a record that was not undone; 0 if there is none.

    An undo leads to the event before the one it undid.
    """
    seq = last
    while seq is not None and (event := book.event(seq)) is not None:
        undone = event.details.get("undoes") if event.action == UNDO else None
        if undone is None:
            return seq
        changes = book.changes(undone, record_id)
        seq = changes[0].previous if changes else None
    return 0


def news(connection: Connection, since: int) -> News:
    """Summarise what the events after a number have done."""
    changed: dict[str, None] = {}
    vacated: list[int] = []
    only_made, reindexed = True, False
    for (body,) in rows(connection, "SELECT body FROM events WHERE seq > ?", (since,)):
        event = body_of(body)
        only_made &= bool(event.made) and not event.changes
        reindexed |= event.action == REINDEX
        changed |= dict.fromkeys(change.id for change in event.changes)
        numbers = (change.before.get("seq") for change in event.changes)
        vacated += [number for number in numbers if number is not None]
    return News([*changed], vacated, only_made, reindexed)


def fields_before(connection: Connection, moment: int) -> dict[str, dict[str, Any]]:
    """Restore the tracked fields of all records changed since a time, as they were then.

    It goes back from the newest event and checks the time of each: a clock may have been set back.
    """
    is_later = "CAST(body ->> 'at' AS BIGINT) > ? AND body -> 'changes' IS NOT NULL"
    query = f"SELECT body FROM events WHERE {is_later} ORDER BY seq DESC"
    past: dict[str, dict[str, Any]] = {}
    for (text,) in rows(connection, query, (moment,)):
        for change in body_of(text).changes:
            past.setdefault(change.id, {}).update(change.before, updated_at=change.previous)
    # So far, `updated_at` is the number of the event that set the fields; replace it by the time.
    time_of = "SELECT CAST(body ->> 'at' AS BIGINT) FROM events WHERE seq = ?"
    for fields in past.values():
        fields["updated_at"] = connection.execute(time_of, (fields["updated_at"],)).get
    return past


def notes_of(connection: Connection, seq: int) -> dict[int, Mapping[str, Any]]:
    """Read the notes of an event by position, leaving out those that were erased."""
    query = "SELECT position, body FROM notes WHERE event = ?"
    return {position: hashing.decode(body) for position, body in rows(connection, query, (seq,))}


def event_of(row: Sequence[Any], notes: Mapping[int, Mapping[str, Any]]) -> Event:
    seq, text, digest = row
    body = body_of(text)
    try:
        at = from_micros(body.at)
    except OverflowError:
        raise Corrupt(f"event {seq} is damaged; run `lamina audit verify`") from None
    changes, note = tuple(changes_of(body)), notes.get(0, {})
    action, actor, surface, details = body.action, body.actor, body.surface, body.details
    return Event(seq, at, action, actor, surface, changes, details, note, digest.hex())


def changes_of(body: Body) -> Iterator[Change]:
    """Yield what an event did to each record: first those it created, then those it changed."""
    for group in body.made:
        after = {"layer": group.layer, "state": group.state}
        for record_id, digest in group.records:
            yield Change(record_id, digest.hex(), {}, after, None)
    for change in body.changes:
        yield Change(change.id, change.hash.hex(), change.before, change.after, change.previous)
