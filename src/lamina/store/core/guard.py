"""What may be believed: nothing rejected, nothing that comes back to a taken place, and only so many proposals a day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.errors import Conflict, Refused
from lamina.model import slots
from lamina.model.record import Actor, Draft, Record, Role, State
from lamina.store.engine.sql import Cursor
from lamina.store.tables import erased, records, rejections
from lamina.store.tables import slots as standing
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

if TYPE_CHECKING:
    from lamina.store.core.store import Store


class Guard:
    """Watches one transaction: every record that it makes or activates passes here."""

    def __init__(self, store: Store, actor: Actor, now: int, cursor: Cursor) -> None:
        self._store = store
        self._actor = actor
        self._now = now
        self._cursor = cursor
        self.refused: dict[str, None] = {}  # rejected records whose values somebody brought back
        self._any_rejected: bool | None = None  # asked for when it matters
        self._proposed = 0
        self._places: dict[slots.Slot, str] = {}  # where this transaction has put a record

    def check_new(self, record: Record) -> None:
        """Refuse what was rejected before, and more proposals of machines than people can read in a day.

        Whoever may write here may also write beside what stands there: only what comes back must find its place free.
        """
        self.refuse_rejected(record)
        if record.state is State.CONSTRAINED and self._actor.role is not Role.OPERATOR:
            if not self.allowance():
                most = self._store.settings["review.per_day"]
                raise Refused(
                    f"{most:,} proposals a day are all that is taken (setting review.per_day); try again tomorrow"
                )
            self._proposed += 1

    def check_active(self, record: Record) -> None:
        """Refuse that what was rejected becomes active."""
        self.refuse_rejected(record)
        self.take_place(record)

    def arriving(self, record: Record) -> State:
        """The state in which a record from elsewhere may arrive: others may refer to it, but it may not be believed."""
        if self.rejected(record) is not None:
            return State.TOMBSTONED
        if record.state is State.ACTIVE and (
            self.standing(record) or slots.slot(record) in self._places
        ):
            return State.CONSTRAINED  # something else stands there: a person decides
        self.take_place(record)
        return record.state

    def refuse_rejected(self, memory: Record | Draft) -> None:
        """Raise when somebody has rejected what a memory says."""
        found = self.rejected(memory)
        if found is not None:
            raise Refused(
                f"this value was rejected, in record {found}; `lamina review lift {found} --reason …` lets it in again",
                rejected=found,
            )

    def rejected(self, memory: Record | Draft) -> str | None:
        """The rejected record whose value a memory brings back, in whatever disguise; the attempt is told in the trail."""
        if self._any_rejected is None:
            self._any_rejected = rejections.any_rejected(self._cursor.connection)
        found = rejections.barred(self._cursor.connection, memory) if self._any_rejected else None
        if found is not None:
            self.note_refused(found)
        return found

    def check_there(self, ids: Sequence[str]) -> None:
        """Raise when one of some records is erased: what was made of it meanwhile must not be stored."""
        for gone in erased.among(self._cursor.connection, ids):
            raise Conflict(f"the record {gone} was erased meanwhile; try again", erased=gone)

    def is_erased(self, user: str | None, content: str, key: str | None = None) -> bool:
        """Whether a text or its key was erased here; only somebody who says it anew may bring it back, no file."""
        given = (self._cursor.connection, self._store.id, user)
        return erased.is_back(*given, content) or (key is not None and erased.has_key(*given, key))

    def refuse_erased(self, user: str | None, key: str) -> None:
        """Raise when a key was that of an erased record: a retry must not store it once more."""
        if erased.has_key(self._cursor.connection, self._store.id, user, key):
            raise Conflict(
                f"the key {words.shown(key)} was that of a record that is erased; use another one"
            )

    def note_refused(self, rejected: str) -> None:
        """Tell in the trail that somebody has brought back what was rejected in a record."""
        self.refused[rejected] = None

    def bar(self, record: Record, fingerprints: Sequence[bytes]) -> None:
        """Keep values out from now on."""
        rejections.add(self._cursor, record.id, record.user, fingerprints)
        self._any_rejected = None

    def lift(self, record_id: str) -> int:
        """Let in again what a rejected record says; how many values that are."""
        return rejections.lift(self._cursor, record_id)

    def allowance(self) -> int:
        """How many more proposals machines may make today."""
        return max(
            0,
            rejections.allowance(self._store, self._cursor.connection, self._now) - self._proposed,
        )

    def standing(self, memory: Record | Draft) -> list[Row]:
        """The active rows that stand where a memory would stand, without itself."""
        return standing.find(self._store, self._cursor.connection, memory)

    def saying(self, facet: tuple[str, str], state: State) -> list[Row]:
        """The rows in a state that have a facet, the oldest first."""
        return standing.holding(self._cursor.connection, [facet], state)

    def take_place(self, record: Record) -> None:
        """Remember that a record has come to stand where only one can: at the end there must be no other."""
        if record.state is State.ACTIVE and (here := slots.slot(record)) is not None:
            self._places[here] = record.id

    def check_places(self) -> None:
        """Raise when two records have come to stand in one place."""
        for record_id in self._places.values():
            row = records.by_id(self._cursor.connection, record_id)
            if row is not None and row[COLUMN["state"]] == State.ACTIVE:
                for other in self.standing(self._store.record(row)):
                    name = other[COLUMN["id"]]
                    raise Conflict(
                        f"{name} stands where {record_id} would: correct it or roll it back first",
                        record=name,
                    )

    def count(self) -> dict[str, int] | None:
        """Keep how much was proposed, with what was; what the event tells of it."""
        if not self._proposed:
            return None
        number, self._proposed = self._proposed, 0
        return rejections.count_more(self._cursor, self._now, number)
