"""Decide in a transaction what may become active.

Nothing that was rejected comes back, no two records share a slot, and programs may make only a
limited number of proposals a day. These rules are here because they must be checked atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.errors import Conflict, Refused
from lamina.model import slots
from lamina.model.record import Actor, Draft, Record, Role, State
from lamina.store.engine.sql import Cursor
from lamina.store.tables import erased, records, rejections
from lamina.store.tables import slots as slot_rows
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

if TYPE_CHECKING:
    from lamina.store.core.store import Store


class Guard:
    """Checks every record that one transaction creates or activates."""

    def __init__(self, store: Store, actor: Actor, now: int, cursor: Cursor) -> None:
        self._store = store
        self._actor = actor
        self._now = now
        self._cursor = cursor
        self._db = cursor.connection
        self.refused: dict[str, None] = {}  # rejected records whose values were brought back
        self._any_rejected: bool | None = None  # read when it is first needed
        self._proposed = 0
        self._taken: dict[slots.Slot, str] = {}  # the slots that this transaction has filled

    def check_new(self, record: Record) -> None:
        """Refuse what was rejected, and more proposals of programs than people can review in a day.

        A new record may share the slot of another one, since its author may write there. Only a
        record that comes back must find its slot free.
        """
        self.refuse_rejected(record)
        if record.state is State.CONSTRAINED and self._actor.role is not Role.OPERATOR:
            if not self.allowance():
                most = self._store.settings["review.per_day"]
                limit = f"{most:,} proposals a day is the limit (setting review.per_day)"
                raise Refused(f"{limit}; try again tomorrow")
            self._proposed += 1

    def check_active(self, record: Record) -> None:
        """Refuse to activate what was rejected."""
        self.refuse_rejected(record)
        self.take_slot(record)

    def arriving(self, record: Record) -> State:
        """Choose the state in which a record from elsewhere arrives.

        Others may refer to it, so it is never turned away, but it need not become active.
        """
        if self.rejected(record) is not None:
            return State.TOMBSTONED
        if record.state is State.ACTIVE and self._is_taken(record):
            return State.CONSTRAINED  # a person decides
        self.take_slot(record)
        return record.state

    def _is_taken(self, record: Record) -> bool:
        """Tell whether another record holds the slot of a record that arrives."""
        return bool(self.slot_holders(record)) or slots.slot(record) in self._taken

    def refuse_rejected(self, memory: Record | Draft) -> None:
        """Raise if the value of a memory was rejected."""
        rejected = self.rejected(memory)
        if rejected is not None:
            what = f"this value was rejected, in record {rejected}"
            do = f"`lamina review lift {rejected} --reason …` lets it in again"
            raise Refused(f"{what}; {do}", rejected=rejected)

    def rejected(self, memory: Record | Draft) -> str | None:
        """Find the rejected record whose value a memory repeats, in whatever disguise.

        The attempt is noted in the trail.
        """
        if self._any_rejected is None:
            self._any_rejected = rejections.any_rejected(self._db)
        rejected = rejections.barred(self._db, memory) if self._any_rejected else None
        if rejected is not None:
            self.note_refused(rejected)
        return rejected

    def check_there(self, ids: Sequence[str]) -> None:
        """Raise if a record was erased in the meantime: nothing derived from it may be stored."""
        for gone in erased.among(self._db, ids):
            raise Conflict(f"the record {gone} was erased meanwhile; try again", erased=gone)

    def is_erased(self, user: str | None, content: str, key: str | None = None) -> bool:
        """Tell whether a text or its key was erased here: people may bring it back, no file may."""
        store_id = self._store.id
        if erased.is_back(self._db, store_id, user, content):
            return True
        return key is not None and erased.has_key(self._db, store_id, user, key)

    def refuse_erased(self, user: str | None, key: str) -> None:
        """Raise if a key belonged to an erased record: a retry must not store it again."""
        if erased.has_key(self._db, self._store.id, user, key):
            what = f"the key {words.shown(key)} was that of a record that is erased"
            raise Conflict(f"{what}; use another one")

    def note_refused(self, rejected: str) -> None:
        """Note in the trail that the value of a rejected record was brought back."""
        self.refused[rejected] = None

    def bar(self, record: Record, fingerprints: Sequence[bytes]) -> None:
        """Refuse these values from now on."""
        rejections.add(self._cursor, record.id, record.user, fingerprints)
        self._any_rejected = None

    def lift(self, record_id: str) -> int:
        """Stop refusing the values of a rejected record; return how many there are."""
        return rejections.lift(self._cursor, record_id)

    def allowance(self) -> int:
        """Count how many more proposals programs may make today."""
        left = rejections.allowance(self._store, self._db, self._now)
        return max(0, left - self._proposed)

    def slot_holders(self, memory: Record | Draft) -> list[Row]:
        """Find the other active rows that hold the slot of a memory."""
        return slot_rows.find(self._store, self._db, memory)

    def saying(self, facet: tuple[str, str], state: State) -> list[Row]:
        """List the rows in a state that have a facet, the oldest first."""
        return slot_rows.holding(self._db, [facet], state)

    def take_slot(self, record: Record) -> None:
        """Note that a record has taken a slot: at the end, no other record may hold it."""
        if record.state is State.ACTIVE and (slot := slots.slot(record)) is not None:
            self._taken[slot] = record.id

    def check_slots(self) -> None:
        """Raise if two records hold the same slot."""
        for record_id in self._taken.values():
            row = records.by_id(self._db, record_id)
            if row is not None and row[COLUMN["state"]] == State.ACTIVE:
                for other in self.slot_holders(self._store.record(row)):
                    holder = other[COLUMN["id"]]
                    what = f"{holder} stands where {record_id} would"
                    do = "correct it or roll it back first"
                    raise Conflict(f"{what}: {do}", record=holder)

    def count(self) -> dict[str, int] | None:
        """Store how many proposals were made; return what the event says about them."""
        if not self._proposed:
            return None
        number, self._proposed = self._proposed, 0
        return rejections.count_more(self._cursor, self._now, number)
