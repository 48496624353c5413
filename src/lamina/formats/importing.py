"""How entries of a file become records: checked like any other, external unless trusted, each of them once."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from msgspec import structs

from lamina.errors import Conflict, InvalidInput, LaminaError, Refused
from lamina.formats.entries import Doing, Entry, Fields
from lamina.formats.lines import Line
from lamina.model import hashing, rules, slots
from lamina.model.clock import is_id
from lamina.model.record import Draft, Layer, Record, State, Trust
from lamina.model.rules import BELIEVED
from lamina.model.slots import Slot
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.tables import records
from lamina.store.tables.records import Row
from lamina.text.words import shown

# What is wrong with one entry. Everything else is wrong with the import.
WRONG = (InvalidInput, Refused, Conflict)
TAKEN_PLACE = "something else is known there already; `lamina correct` changes what it says"


class Policy(StrEnum):
    """What happens when something is here already.

    What is here stays as it is; or grows by the evidence and metadata that the file adds; or is superseded by what the file
    says, where that is another text.
    """

    SKIP = "skip"
    MERGE = "merge"
    REPLACE = "replace"


def policy(value: object) -> Policy:
    """What a caller wants to happen, or an error that lists what can be wanted."""
    try:
        return Policy(value if isinstance(value, str) else "")
    except ValueError:
        known = [str(one) for one in Policy]
        raise InvalidInput(
            f"unknown on_conflict {shown(value)}; known are {', '.join(known)}", known=known
        ) from None


class Arrivals:
    """Takes in the lines of one file within one transaction."""

    def __init__(
        self,
        store: Store,
        transaction: Transaction,
        draft: Callable[[object], Draft],
        trusted: bool,
        entries_of: Callable[[Fields], list[Entry]],
        name: str = "lines",
        policy: Policy = Policy.SKIP,
    ) -> None:
        self.taken = self.skipped = self.grown = self.replaced = self.removed = self.pending = 0
        self.lost: Counter[str] = Counter()
        self._store = store
        self._transaction = transaction
        self._draft = draft
        self._trusted = trusted
        self._entries_of = entries_of
        self._name = name
        self._policy = policy
        self._waiting: list[tuple[Draft, Entry, int]] = []
        self._keys: dict[str, int] = {}  # of those that wait, with their lines
        self._places: set[Slot] = set()  # where those that wait will stand
        self._first = 0  # the number of the first record that came from this file
        self._lines = array("Q")  # the lines of all that came, one after the other
        self._ids: dict[
            str, str
        ] = {}  # the new ids of records that others may succeed or be succeeded by
        self._lineage: list[tuple[str, str]] = []  # which id of the file is succeeded by which

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def take(self, line: Line) -> list[LaminaError]:
        """Take a line in; what is wrong with it, for each of its entries."""
        try:
            if line.value is None:
                raise InvalidInput(line.problem or "this is no line")
            found = self._entries_of(line.value)
        except WRONG as error:
            return [error]
        wrong: list[LaminaError] = []
        for entry in found:
            try:
                self._add(entry, line.number, self._key(entry, line.value))
            except WRONG as error:
                wrong.append(error)
        return wrong

    def flush(self) -> None:
        """Store what waits."""
        made = self._transaction.insert([draft for draft, _, _ in self._waiting])
        for record, (_, entry, number) in zip(made, self._waiting, strict=True):
            self._note(record, entry, number)
        self.taken += len(made)
        self._waiting, self._keys, self._places = [], {}, set()

    def finish(self) -> None:
        """Store the rest, and tie together what succeeded what."""
        self.flush()
        for before, after in dict.fromkeys(self._lineage):
            old, new = (self._row(self._ids.get(name)) for name in (before, after))
            if old is None or new is None:
                continue
            self._tie(self._store.record(old), old, self._store.record(new), new)

    def _tie(self, old: Record, row: Row, new: Record, new_row: Row) -> None:
        # Who is not trusted replaces nothing: taking back such a record would bring back what nobody has confirmed.
        if self._trusted and old.id not in new.supersedes:
            self._transaction.update(new_row, supersedes=(*new.supersedes, old.id))
        if old.state is State.SUPERSEDED and old.superseded_by is None:
            until = new.valid_from or new.occurred_at
            self._transaction.update(row, superseded_by=new.id, valid_to=until)

    def _key(self, entry: Entry, line: Fields) -> str:
        """What an entry is known again by: all that it says."""
        if entry.key is not None:
            return f"{self._name}:{_digest(hashing.encode(entry.key))}"
        return f"jsonl:{_digest(hashing.encode(line))}"

    def _add(self, entry: Entry, number: int, key: str) -> None:
        """Take one entry in, or raise what is wrong with it."""
        named = (
            key
            if entry.id is None
            else f"{self._name}:{_digest(hashing.encode([entry.realm, entry.id]))}"
        )
        draft = self._drafted(entry, named)
        here, is_same = self._known(key, named, draft, entry)
        if entry.doing is Doing.REMOVE:
            self._remove(here)
        elif here is None:
            self._add_new(draft, entry, number, named)
        elif is_same or here.content == draft.content:
            self._meet(here, draft, entry)
        elif entry.doing is Doing.REPLACE or self._policy is Policy.REPLACE:
            self._replace([self._latest(here)], structs.replace(draft, key=key), entry, number)
        else:
            raise Conflict(
                f"the record {here.id} is here with another text; `lamina correct` changes what it says,"
                " and --on-conflict replace puts this one in its place"
            )

    def _add_new(self, draft: Draft, entry: Entry, number: int, key: str) -> None:
        self._check(draft)
        place = slots.slot(draft) if draft.state is State.ACTIVE else None
        if place is not None:
            if place in self._places:
                self.flush()
            if standing := self._transaction.guard.standing(draft):
                if self._policy is not Policy.REPLACE:
                    raise Conflict(TAKEN_PLACE)
                self._replace([self._store.record(row) for row in standing], draft, entry, number)
                return
            self._places.add(place)
        self._waiting.append((self._resolved(draft), entry, number))
        self._keys[key] = number

    def _check(self, draft: Draft) -> None:
        if self._transaction.guard.is_erased(draft.user, draft.content, draft.key):
            raise Refused("what this says was erased here; an import does not bring it back")
        self._transaction.guard.refuse_rejected(draft)

    def _drafted(self, entry: Entry, key: str) -> Draft:
        item = {**entry.item, "key": key}
        if (
            entry.id is not None
        ):  # where it came from, under the name by which others there refer to it
            item["evidence"] = [*item.get("evidence", ()), f"record:{entry.id}"]
        if not self._trusted:
            item["trust"] = Trust.EXTERNAL
        draft = self._draft(item)
        layer = _layer(entry, draft)
        metadata = draft.metadata
        if layer is Layer.SEMANTIC:
            metadata = rules.kept_contract(metadata, "import", draft.tags)
        rules.check_contract(layer, metadata)
        since = None
        if entry.last_verified is not None or entry.state is State.SUPERSEDED:
            since = draft.occurred_at or entry.last_verified or self._transaction.now
        return structs.replace(
            draft,
            layer=layer,
            state=_state(entry, layer, draft.trust),
            metadata=metadata,
            promoted_at=entry.promoted_at,
            user=self._transaction.user(entry.user),
            valid_from=since,
            last_verified=entry.last_verified,
        )

    def _known(
        self, key: str, named: str, draft: Draft, entry: Entry
    ) -> tuple[Record | None, bool]:
        """The record that this entry is about, if the store has it, and whether it is certain that it says the same.

        Raises when the file has the entry twice.
        """
        for one in dict.fromkeys((key, named)):
            if (waiting := self._keys.get(one)) is not None:
                if entry.doing is Doing.TELL and self._says_same(one, draft):
                    raise Conflict(f"this is the same as line {waiting}")
                self.flush()
            found = self._transaction.find_key(one, draft.user)
            if found is None:
                continue
            came = self._first and found.archived is None and found.seq >= self._first
            if came and entry.doing is Doing.TELL and found.content == draft.content:
                raise Conflict(f"this is the same as line {self._lines[found.seq - self._first]}")
            return found, one == key
        return self._own(entry, draft.user), False

    def _says_same(self, key: str, draft: Draft) -> bool:
        return any(one.key == key and one.content == draft.content for one, _, _ in self._waiting)

    def _own(self, entry: Entry, user: str | None) -> Record | None:
        """The record of this user that has this very id, of this store or one that was merged into it."""
        record_id = entry.id
        if (
            record_id is None
            or not is_id(record_id)
            or not records.exists(self._transaction.db, record_id)
        ):
            return None
        row = self._row(record_id)
        found = self._store.get(record_id) if row is None else self._store.record(row)
        if found is None:
            raise Refused(
                f"the record {record_id} was erased here; an import does not bring it back"
            )
        if found.user != user:
            return None
        if entry.doing is not Doing.TELL and not self._trusted:
            raise Refused(
                f"the record {record_id} did not come from such a file; --trust lets the file change it"
            )
        return found

    def _meet(self, here: Record, draft: Draft, entry: Entry) -> None:
        """Something that is here already: it stays, or grows where it may."""
        self._remember(entry, here)
        row = self._row(here.id)
        fresh = self._resolved(draft)
        evidence = tuple(dict.fromkeys((*here.evidence, *fresh.evidence)))
        metadata = {**fresh.metadata, **here.metadata}
        if (
            self._policy is not Policy.MERGE
            or row is None
            or (evidence, metadata) == (here.evidence, here.metadata)
        ):
            self.skipped += 1
            return
        self._check_trust(here, "change")
        if set(fresh.tags) - set(here.tags):
            self.lost["tags"] += 1
        self._transaction.update(row, evidence=evidence, metadata=metadata)
        self.grown += 1

    def _replace(self, gone: list[Record], draft: Draft, entry: Entry, number: int) -> None:
        """Supersede what is here by what the file says."""
        for record in gone:
            if record.state is not State.ACTIVE or record.archived is not None:
                where = "archived" if record.archived is not None else record.state
                raise Conflict(
                    f"the record {record.id} is here with another text, and is {where}: nothing takes its place"
                )
            if record.user != draft.user:
                raise Refused(
                    f"the record {record.id} is another user's, so that this does not take its place"
                )
            known = record.layer in BELIEVED or draft.layer in BELIEVED
            if draft.trust is Trust.EXTERNAL and (known or record.trust is not Trust.EXTERNAL):
                raise Refused(
                    f"the record {record.id} is more trusted than this file; --trust lets the file replace it"
                )
        if draft.state is not State.ACTIVE:
            raise Refused(f"this is {draft.state}, so that it replaces nothing")
        self._check(draft)
        self.flush()
        rows = {record.id: row for record in gone if (row := self._row(record.id)) is not None}
        rows |= {self._store.record(row).id: row for row in self._transaction.guard.standing(draft)}
        made = self._transaction.replace(list(rows.values()), self._resolved(draft))
        if (
            entry.doing is Doing.REPLACE and draft.occurred_at is not None
        ):  # the file says since when
            for row in filter(None, map(self._row, rows)):
                self._transaction.update(row, valid_to=draft.occurred_at)
        self._note(made, entry, number)
        self.replaced += 1

    def _remove(self, here: Record | None) -> None:
        """A memory that the file says is gone: here it is hidden."""
        latest = None if here is None else self._latest(here)
        row = None if latest is None or latest.state is not State.ACTIVE else self._row(latest.id)
        if latest is None or row is None:
            self.skipped += 1
            return
        self._check_trust(latest, "remove")
        self._transaction.update(row, state=State.TOMBSTONED)
        self.removed += 1

    def _check_trust(self, record: Record, change: str) -> None:
        if not self._trusted and (record.trust is not Trust.EXTERNAL or record.layer in BELIEVED):
            raise Refused(
                f"the record {record.id} is more trusted than this file; --trust lets the file {change} it"
            )

    def _latest(self, record: Record) -> Record:
        """What stands now where a record stood."""
        while record.state is State.SUPERSEDED and record.superseded_by is not None:
            row = self._row(record.superseded_by)
            if row is None:
                break
            record = self._store.record(row)
        return record

    def _note(self, record: Record, entry: Entry, number: int) -> None:
        """Keep what is needed of a record that was just made."""
        self._first = self._first or record.seq
        self._lines.append(number)
        self.pending += record.state is State.CONSTRAINED
        self._remember(entry, record)

    def _remember(self, entry: Entry, record: Record) -> None:
        if entry.state is None or entry.id is None:  # the format knows no lineage
            return
        self._ids[entry.id] = record.id
        self._lineage += [(one, entry.id) for one in entry.succeeds]
        if entry.succeeded_by is not None:
            self._lineage.append((entry.id, entry.succeeded_by))

    def _row(self, record_id: str | None) -> Row | None:
        return None if record_id is None else records.by_id(self._transaction.db, record_id)

    def _resolved(self, draft: Draft) -> Draft:
        """The draft, in which references to records that are not here stay as words."""
        if not draft.evidence:
            return draft
        unknown = set(self._transaction.unresolved(draft))
        return structs.replace(
            draft,
            evidence=tuple(f"record:{one}" if one in unknown else one for one in draft.evidence),
        )


def _layer(entry: Entry, draft: Draft) -> Layer:
    """Where a memory goes: the layer that it says if it may be there, else where its tier and kind lead."""
    if not entry.long:
        return Layer.SHORT_TERM
    if entry.layer is not None and (draft.trust is not Trust.EXTERNAL or entry.state is not None):
        return entry.layer
    return rules.long_term_layer(draft.kind, draft.trust)


def _state(entry: Entry, layer: Layer, trust: Trust) -> State:
    if entry.state is None:
        return State.ACTIVE
    return state_of_untrusted(layer, entry.state) if trust is Trust.EXTERNAL else entry.state


def state_of_untrusted(layer: Layer, state: State) -> State:
    """Keep what nobody trusts from being believed, now or in the past: a person looks at it first."""
    if layer not in BELIEVED:
        return state
    return {State.ACTIVE: State.CONSTRAINED, State.SUPERSEDED: State.TOMBSTONED}.get(state, state)


def external(number: int) -> dict[str, int]:
    """What a report says of records that came in as external because nobody trusted their file."""
    return {"external": number} if number else {}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
