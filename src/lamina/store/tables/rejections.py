"""Values that were rejected, by their fingerprints, and how much machines have proposed today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from lamina.model.clock import to_micros
from lamina.model.record import Draft, Record, State
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables import events
from lamina.store.tables.interfaces import RecordSource

REJECT, LIFT, ERASE = "reject", "lift", "erase"
# The event that rejects tells what it bars in its note, where it can be erased; the one that lifts names the record.
BARRED = "barred"
# An erasure may take such a note with it; what it bars is then told again, by the record, in the note of the erasure.
STILL_BARRED = "still_barred"
PROPOSED = "proposed"  # where an event tells how many proposals machines have made on its day
DAY = 86_400_000_000


class Rejections:
    """What plans ask about rejected values and about the number of proposals."""

    def __init__(self, store: RecordSource) -> None:
        self._store = store

    def of(self, memory: Record | Draft) -> str | None:
        """The rejected record whose value a memory would bring back."""
        with self._reader() as connection:
            return barred(connection, memory) if any_rejected(connection) else None

    def any(self) -> bool:
        """Whether anything was rejected at all."""
        with self._reader() as connection:
            return any_rejected(connection)

    def every(self) -> Barred:
        """All rejected values, for whoever asks about many memories."""
        with self._reader() as connection:
            return Barred(
                rows(connection, "SELECT fingerprint, record, user FROM rejected ORDER BY record")
            )

    def has(self, record_id: str) -> bool:
        """Whether what a record says is kept out."""
        with self._reader() as connection:
            return bool(
                connection.execute(
                    "SELECT EXISTS (SELECT 1 FROM rejected WHERE record = ?)", (record_id,)
                ).get
            )

    def allowance(self, now: datetime) -> int:
        """How many more proposals machines may make today."""
        with self._reader() as connection:
            return allowance(self._store, connection, to_micros(now))

    @contextmanager
    def _reader(self) -> Iterator[Connection]:
        with translated(self._store.database.address):
            yield self._store.database.reader()


class Barred:
    """Rejected values, read once."""

    def __init__(self, found: Iterable[tuple[bytes, str, str | None]]) -> None:
        self.records: dict[str, None] = {}  # in their order
        self._by_fingerprint: dict[bytes, list[tuple[str, str | None]]] = {}
        for fingerprint, record, user in found:
            self.records[record] = None
            self._by_fingerprint.setdefault(fingerprint, []).append((record, user))

    def of(self, memory: Record | Draft) -> str | None:
        """The rejected record whose value a memory would bring back; the same answer as `barred` gives."""
        from lamina.model import rejection

        if not self.records or not rejection.is_guarded(memory):
            return None
        for fingerprint in rejection.fingerprints(memory):
            for record, user in self._by_fingerprint.get(fingerprint, ()):
                if user is None or memory.user is None or user == memory.user:
                    return record
        return None


def allowance(store: RecordSource, connection: Connection, now: int) -> int:
    return max(0, int(store.settings["review.per_day"]) - count_today(connection, now))


def any_rejected(connection: Connection) -> bool:
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM rejected)").get)


def find(connection: Connection, user: str | None, fingerprints: Iterable[bytes]) -> str | None:
    """The rejected record that says one of these; one that concerns everybody bars it for each, and the other way round."""
    concerned = "(user IS NULL OR ?2 IS NULL OR user = ?2)"
    query = f"SELECT record FROM rejected WHERE fingerprint = ?1 AND {concerned} ORDER BY record LIMIT 1"
    for fingerprint in fingerprints:
        if (found := connection.execute(query, (fingerprint, user)).get) is not None:
            return str(found)
    return None


def barred(connection: Connection, memory: Record | Draft) -> str | None:
    """The rejected record whose value a memory would bring back to where it could be believed."""
    from lamina.model import (
        rejection,  # most stores never reject anything, and need no table of look-alikes
    )

    if not rejection.is_guarded(memory):
        return None
    return find(connection, memory.user, rejection.fingerprints(memory))


def add(cursor: Cursor, record: str, user: str | None, fingerprints: Sequence[bytes]) -> None:
    insert = "INSERT INTO rejected (fingerprint, record, user) VALUES (?, ?, ?)"
    cursor.executemany(insert, [(fingerprint, record, user) for fingerprint in fingerprints])


def lift(cursor: Cursor, record: str) -> int:
    """Let in again what a record says; how many values that are."""
    cursor.execute("DELETE FROM rejected WHERE record = ?", (record,))
    number: int = cursor.connection.changes()
    return number


def forget(cursor: Cursor, gone: Sequence[str]) -> None:
    """Remove the values of rejected records that are erased."""
    bound = [(record_id,) for record_id in gone]
    cursor.executemany("DELETE FROM rejected WHERE record = ?", bound)


def told(connection: Connection) -> set[tuple[bytes, str]]:
    """What the events say is rejected, and not lifted since."""
    query = "SELECT seq, body FROM events WHERE body ->> 'action' IN (?, ?, ?) ORDER BY seq"
    found: dict[str, Sequence[str]] = {}
    for seq, text in rows(connection, query, (REJECT, LIFT, ERASE)):
        body, note = events.body_of(text), events.notes_of(connection, seq).get(0, {})
        told = note.get(BARRED, ()) if body.action == REJECT else ()
        found |= {change.id: told if waited(change.before) else () for change in body.changes}
        found |= note.get(STILL_BARRED, {}) if body.action == ERASE else {}
    return {
        (bytes.fromhex(one), record)
        for record, fingerprints in found.items()
        for one in fingerprints
    }


def waited(before: Mapping[str, Any]) -> bool:
    """Whether a record is what was rejected, and was not only hidden with it."""
    return bool(before.get("state") == State.CONSTRAINED)


def derived(connection: Connection) -> list[tuple[bytes, str, str | None]]:
    """The rows of the table as they follow from the events, each with the user of its record."""
    query = (
        "SELECT user FROM records WHERE id = ?1 UNION ALL SELECT user FROM archived WHERE id = ?1"
    )
    return [
        (one, record, connection.execute(query, (record,)).get)
        for one, record in sorted(told(connection))
    ]


def rebuild(connection: Connection) -> None:
    """Make the table anew from the events."""
    connection.execute("DELETE FROM rejected")
    connection.executemany(
        "INSERT INTO rejected (fingerprint, record, user) VALUES (?, ?, ?)", derived(connection)
    )


def count_today(connection: Connection, now: int) -> int:
    """How many proposals machines have made since the day began."""
    found = connection.execute("SELECT number FROM proposed WHERE day = ?", (now // DAY,)).get
    return int(str(found or 0))


def count_more(cursor: Cursor, now: int, number: int) -> dict[str, int]:
    """Count proposals; what the event tells of it: how many more, and how many that makes on its
    day."""
    cursor.execute("DELETE FROM proposed WHERE day < ?", (now // DAY,))
    cursor.execute(
        "INSERT INTO proposed (day, number) VALUES (?, ?)"
        " ON CONFLICT (day) DO UPDATE SET number = proposed.number + excluded.number",
        (now // DAY, number),
    )
    return {"day": now // DAY, "more": number, "number": count_today(cursor.connection, now)}
