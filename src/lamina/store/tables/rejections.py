"""The tables `rejected` and `proposed`: rejected values, and programs' proposals on each day."""

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

REJECT, LIFT, ERASE, UNDO = "reject", "lift", "erase", "undo"
BARRING = (REJECT, "rollback", "forget")  # actions that may keep a value out
# A barring event lists the fingerprints in its note, by record or, in older ones, for the rejected
# proposal. A lifting event names the record, and so does one that undoes the decision.
BARRED = "barred"
# An erasure may erase such a note; its own note then lists the fingerprints by record.
STILL_BARRED = "still_barred"
PROPOSED = "proposed"  # the detail with the number of programs' proposals on the event's day
DAY = 86_400_000_000


class Rejections:
    """Answer questions of plans about rejected values and the number of proposals."""

    def __init__(self, store: RecordSource) -> None:
        self._store = store

    def of(self, memory: Record | Draft) -> str | None:
        """Find the rejected record whose value a memory repeats."""
        with self._reader() as connection:
            return barred(connection, memory) if any_rejected(connection) else None

    def any(self) -> bool:
        """Tell whether anything was rejected at all."""
        with self._reader() as connection:
            return any_rejected(connection)

    def every(self) -> RejectedValues:
        """Read all rejected values, to check many memories."""
        query = "SELECT fingerprint, record, user FROM rejected ORDER BY record"
        with self._reader() as connection:
            return RejectedValues(rows(connection, query))

    def has(self, record_id: str) -> bool:
        """Tell whether the value of a record is rejected."""
        query = "SELECT EXISTS (SELECT 1 FROM rejected WHERE record = ?)"
        with self._reader() as connection:
            return bool(connection.execute(query, (record_id,)).get)

    def allowance(self, now: datetime) -> int:
        """Count how many more proposals programs may make today."""
        with self._reader() as connection:
            return allowance(self._store, connection, to_micros(now))

    @contextmanager
    def _reader(self) -> Iterator[Connection]:
        with translated(self._store.database.address):
            yield self._store.database.reader()


class RejectedValues:
    """Rejected values, read once."""

    def __init__(self, rejected: Iterable[tuple[bytes, str, str | None]]) -> None:
        self.records: dict[str, None] = {}  # in order
        self._by_fingerprint: dict[bytes, list[tuple[str, str | None]]] = {}
        for fingerprint, record, user in rejected:
            self.records[record] = None
            self._by_fingerprint.setdefault(fingerprint, []).append((record, user))

    def of(self, memory: Record | Draft) -> str | None:
        """Find the rejected record whose value a memory repeats, as `barred` does."""
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
    """Find the rejected record with one of these fingerprints.

    A rejection without a user bars a value for every user, and a memory without a user is barred by
    a rejection of any user.
    """
    query = (
        "SELECT record FROM rejected WHERE fingerprint = ?1"
        " AND (user IS NULL OR ?2 IS NULL OR user = ?2) ORDER BY record LIMIT 1"
    )
    for fingerprint in fingerprints:
        if (record_id := connection.execute(query, (fingerprint, user)).get) is not None:
            return str(record_id)
    return None


def barred(connection: Connection, memory: Record | Draft) -> str | None:
    """Find the rejected record whose value a memory would bring back as active."""
    # Imported here: most stores never reject anything, and do not need the table of look-alikes.
    from lamina.model import rejection

    if not rejection.is_guarded(memory):
        return None
    return find(connection, memory.user, rejection.fingerprints(memory))


def add(cursor: Cursor, record: str, user: str | None, fingerprints: Sequence[bytes]) -> None:
    insert = "INSERT INTO rejected (fingerprint, record, user) VALUES (?, ?, ?)"
    cursor.executemany(insert, [(fingerprint, record, user) for fingerprint in fingerprints])


def lift(cursor: Cursor, record: str) -> int:
    """Stop barring the values of a record, and count its fingerprints."""
    cursor.execute("DELETE FROM rejected WHERE record = ?", (record,))
    number: int = cursor.connection.changes()
    return number


def forget(cursor: Cursor, gone: Sequence[str]) -> None:
    """Remove the values of rejected records that were erased."""
    bound = [(record_id,) for record_id in gone]
    cursor.executemany("DELETE FROM rejected WHERE record = ?", bound)


def rejected_by_events(connection: Connection) -> set[tuple[bytes, str]]:
    """Collect the fingerprints, with records, that events have barred and not lifted since."""
    actions = (*BARRING, LIFT, ERASE, UNDO)
    query = f"SELECT seq, body FROM events WHERE body ->> 'action' IN ({_marks(actions)})"
    rejected: dict[str, Sequence[str]] = {}
    for seq, text in rows(connection, f"{query} ORDER BY seq", actions):
        body, note = events.body_of(text), events.notes_of(connection, seq).get(0, {})
        if body.action in (LIFT, UNDO):
            rejected |= {change.id: () for change in body.changes if _lifts(body.action, change)}
        if body.action in BARRING:
            rejected |= barred_by([(change.id, change.before) for change in body.changes], note)
        rejected |= note.get(STILL_BARRED, {}) if body.action == ERASE else {}
    return {
        (bytes.fromhex(fingerprint), record)
        for record, fingerprints in rejected.items()
        for fingerprint in fingerprints
    }


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _lifts(action: str, change: events.ChangedRecord) -> bool:
    """Tell if an event lifts the bar on a record's values."""
    return action == LIFT or change.before.get("state") == State.TOMBSTONED


def barred_by(
    changed: Iterable[tuple[str, Mapping[str, Any]]], note: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Read from the note of an event which fingerprints it bars, by record.

    `changed` has the ids of its records, each with its fields before the event.
    """
    listed = note.get(BARRED, ())
    if isinstance(listed, Mapping):
        return dict(listed)
    # An older event: it barred the proposal, not the statement that was hidden with it.
    return {record: list(listed) for record, before in changed if waited(before) and listed}


def waited(before: Mapping[str, Any]) -> bool:
    """Tell whether a record was the rejected proposal, and was not just hidden with it."""
    return bool(before.get("state") == State.CONSTRAINED)


def derived(connection: Connection) -> list[tuple[bytes, str, str | None]]:
    """Derive the rows of `rejected` from the events, each with the user of its record."""
    query = (
        "SELECT user FROM records WHERE id = ?1 UNION ALL SELECT user FROM archived WHERE id = ?1"
    )
    return [
        (fingerprint, record, connection.execute(query, (record,)).get)
        for fingerprint, record in sorted(rejected_by_events(connection))
    ]


def rebuild(connection: Connection) -> None:
    """Rebuild `rejected` from the events."""
    connection.execute("DELETE FROM rejected")
    insert = "INSERT INTO rejected (fingerprint, record, user) VALUES (?, ?, ?)"
    connection.executemany(insert, derived(connection))


def count_today(connection: Connection, now: int) -> int:
    """Count the proposals that programs have made since the day began."""
    number = connection.execute("SELECT number FROM proposed WHERE day = ?", (now // DAY,)).get
    return int(str(number or 0))


def count_more(cursor: Cursor, now: int, number: int) -> dict[str, int]:
    """Add to the proposals of the day; return the day, the increase and the sum for the event."""
    cursor.execute("DELETE FROM proposed WHERE day < ?", (now // DAY,))
    cursor.execute(
        "INSERT INTO proposed (day, number) VALUES (?, ?)"
        " ON CONFLICT (day) DO UPDATE SET number = proposed.number + excluded.number",
        (now // DAY, number),
    )
    return {"day": now // DAY, "more": number, "number": count_today(cursor.connection, now)}
