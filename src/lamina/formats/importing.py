"""Turn the entries of a file into records once: checked like any other, external unless trusted."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from msgspec import structs

from lamina.errors import Conflict, InvalidInput, LaminaError, Refused
from lamina.formats.entries import Action, Entry, Fields
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

# Errors of one entry. Any other error ends the whole import.
ENTRY_ERRORS = (InvalidInput, Refused, Conflict)
SLOT_TAKEN = "something else is known there already; `lamina correct` changes what it says"


class Policy(StrEnum):
    """What to do with a record that is here already.

    It is left unchanged, or extended by the evidence and metadata that the file adds, or superseded
    if the file has a different text.
    """

    SKIP = "skip"
    MERGE = "merge"
    REPLACE = "replace"


def policy(value: object) -> Policy:
    """Return the policy of this name; raise an error that lists the names if it is unknown."""
    try:
        return Policy(value if isinstance(value, str) else "")
    except ValueError:
        known = [policy.value for policy in Policy]
        raise InvalidInput(
            f"unknown on_conflict {shown(value)}; known are {', '.join(known)}", known=known
        ) from None


class DryRunOver(Exception):  # noqa: N818 - it ends a transaction, and is no error
    """Undo everything that a dry run has done."""


class Arrivals:
    """Imports the lines of one file within one transaction."""

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
        # The keys of drafts not stored yet, with their lines, and the slots that they will hold.
        self._keys: dict[str, int] = {}
        self._slots: set[Slot] = set()
        # The number of the first record created from this file, and the lines of all, in order.
        self._first = 0
        self._lines = array("Q")
        # New ids by the file's ids, and pairs of the file's ids: the second succeeds the first.
        self._ids: dict[str, str] = {}
        self._lineage: list[tuple[str, str]] = []

    @property
    def waiting(self) -> int:
        """The number of drafts that are not stored yet."""
        return len(self._waiting)

    def take(self, line: Line) -> list[LaminaError]:
        """Import a line; return the errors of its entries."""
        try:
            if line.value is None:
                raise InvalidInput(line.problem or "this is not a line")
            entries = self._entries_of(line.value)
        except ENTRY_ERRORS as error:
            return [error]
        errors: list[LaminaError] = []
        for entry in entries:
            told = entry._replace(lost=(*entry.lost, *line.lost))
            try:
                self._add(told, line.number, self._key(entry, line.value))
            except ENTRY_ERRORS as error:
                errors.append(error)
        return errors

    def flush(self) -> None:
        """Store the drafts that are not stored yet."""
        records = self._transaction.insert([draft for draft, _, _ in self._waiting])
        for record, (_, entry, number) in zip(records, self._waiting, strict=True):
            self._note(record, entry, number)
        self.taken += len(records)
        self._waiting, self._keys, self._slots = [], {}, set()

    def finish(self) -> None:
        """Store the rest, and link records with their successors."""
        self.flush()
        for before, after in dict.fromkeys(self._lineage):
            old, new = (self._row(self._ids.get(name)) for name in (before, after))
            if old is None or new is None:
                continue
            self._link(old, new)

    def _link(self, old_row: Row, new_row: Row) -> None:
        old, new = self._store.record(old_row), self._store.record(new_row)
        # An untrusted file replaces nothing: undoing such a record would restore something that was
        # never confirmed.
        if self._trusted and old.id not in new.supersedes:
            self._transaction.update(new_row, supersedes=(*new.supersedes, old.id))
        if old.state is State.SUPERSEDED and old.superseded_by is None:
            until = new.valid_from or new.occurred_at
            self._transaction.update(old_row, superseded_by=new.id, valid_to=until)

    def _key(self, entry: Entry, line: Fields) -> str:
        """Return the key that identifies an entry in later imports: a digest of its content."""
        if entry.key is not None:
            return f"{self._name}:{_digest(hashing.encode(entry.key))}"
        return f"jsonl:{_digest(hashing.encode(line))}"

    def _add(self, entry: Entry, number: int, key: str) -> None:
        """Import one entry, or raise what is wrong with it.

        `key` identifies it by its content, `id_key` by its id, if it has one.
        """
        id_key = key
        if entry.id is not None:
            id_key = f"{self._name}:{_digest(hashing.encode([entry.realm, entry.id]))}"
        draft = self._draft_of(entry, id_key)
        here, is_same = self._find(key, id_key, draft, entry)
        if entry.action is Action.REMOVE:
            self._remove(here)
        elif here is None:
            self._add_new(draft, entry, number, id_key)
        elif is_same or here.content == draft.content:
            self._meet(here, draft, entry)
        elif entry.action is Action.REPLACE and draft.state is State.CONSTRAINED:
            self._propose_instead(self._latest(here), draft, entry, number, key)
        elif entry.action is Action.REPLACE or self._policy is Policy.REPLACE:
            self._replace([self._latest(here)], structs.replace(draft, key=key), entry, number)
        else:
            raise Conflict(
                f"the record {here.id} is here with another text; `lamina correct` changes what"
                " it says, and --on-conflict replace puts this one in its place"
            )

    def _add_new(self, draft: Draft, entry: Entry, number: int, key: str) -> None:
        self._check(draft)
        known = self._saying_the_same(draft)
        if known is not None:
            self._meet(known, draft, entry)
            return
        slot = slots.slot(draft) if draft.state is State.ACTIVE else None
        if slot is not None:
            if slot in self._slots:
                self.flush()
            if holders := self._transaction.guard.slot_holders(draft):
                if self._policy is not Policy.REPLACE:
                    raise Conflict(SLOT_TAKEN)
                self._replace([self._store.record(row) for row in holders], draft, entry, number)
                return
            self._slots.add(slot)
        self._waiting.append((self._resolved(draft), entry, number))
        self._keys[key] = number

    def _saying_the_same(self, draft: Draft) -> Record | None:
        """Find the active record with the same text in the slot of a profile or a project."""
        if draft.state not in (State.ACTIVE, State.CONSTRAINED) or slots.slot(draft) is None:
            return None
        holders = map(self._store.record, self._transaction.guard.slot_holders(draft))
        return next((record for record in holders if record.content == draft.content), None)

    def _propose_instead(
        self, here: Record, draft: Draft, entry: Entry, number: int, key: str
    ) -> None:
        """Propose a newer statement in place of an older one.

        What nobody has confirmed was never active, so the older one is not superseded.
        """
        row = self._row(here.id)
        if row is not None and here.state is State.CONSTRAINED:
            self._transaction.update(row, state=State.TOMBSTONED)
            self.pending -= bool(self._first) and here.seq >= self._first
        self._add_new(structs.replace(draft, key=key), entry, number, key)

    def _check(self, draft: Draft) -> None:
        if self._transaction.guard.is_erased(draft.user, draft.content, draft.key):
            raise Refused("this text was erased here; an import does not bring it back")
        self._transaction.guard.refuse_rejected(draft)

    def _draft_of(self, entry: Entry, key: str) -> Draft:
        item = {**entry.item, "key": key}
        if entry.id is not None:  # its origin, under the id by which other entries refer to it
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

    def _find(
        self, key: str, id_key: str, draft: Draft, entry: Entry
    ) -> tuple[Record | None, bool]:
        """Find the record that an entry is about, and tell whether its content is surely the same.

        Raise if the file has the entry twice.
        """
        is_told = entry.action is Action.TELL
        for known in dict.fromkeys((key, id_key)):
            if (line := self._keys.get(known)) is not None:
                if is_told and self._is_waiting(known, draft):
                    raise Conflict(f"this is the same as line {line}")
                self.flush()
            record = self._transaction.find_key(known, draft.user)
            if record is None:
                continue
            is_ours = self._first and record.archived is None and record.seq >= self._first
            if is_ours and is_told and record.content == draft.content:
                line = self._lines[record.seq - self._first]
                raise Conflict(f"this is the same as line {line}")
            return record, known == key
        return self._find_id(entry, draft.user), False

    def _is_waiting(self, key: str, draft: Draft) -> bool:
        return any(
            waiting.key == key and waiting.content == draft.content
            for waiting, _, _ in self._waiting
        )

    def _find_id(self, entry: Entry, user: str | None) -> Record | None:
        """Find the record of this user with this very id, here or in a store merged into it."""
        record_id = entry.id
        if (
            record_id is None
            or not is_id(record_id)
            or not records.exists(self._transaction.db, record_id)
        ):
            return None
        row = self._row(record_id)
        record = self._store.get(record_id) if row is None else self._store.record(row)
        if record is None:
            raise Refused(
                f"the record {record_id} was erased here; an import does not bring it back"
            )
        if record.user != user:
            return None
        if entry.action is not Action.TELL and not self._trusted:
            raise Refused(
                f"the record {record_id} did not come from such a file;"
                " --trust lets the file change it"
            )
        return record

    def _meet(self, here: Record, draft: Draft, entry: Entry) -> None:
        """Leave an existing record unchanged, or extend it if the policy allows."""
        self._note_lineage(entry, here)
        row = self._row(here.id)
        fresh = self._resolved(draft)
        evidence = tuple(dict.fromkeys((*here.evidence, *fresh.evidence)))
        metadata = {**fresh.metadata, **here.metadata}
        is_more = (evidence, metadata) != (here.evidence, here.metadata)
        if self._policy is not Policy.MERGE or row is None or not is_more:
            self.skipped += 1
            return
        self._check_trust(here, "change")
        if set(fresh.tags) - set(here.tags):
            self.lost["tags"] += 1
        self._transaction.update(row, evidence=evidence, metadata=metadata)
        self.grown += 1

    def _replace(self, gone: list[Record], draft: Draft, entry: Entry, number: int) -> None:
        """Replace existing records by what the file says."""
        for record in gone:
            _check_replaceable(record, draft)
        if draft.state is not State.ACTIVE:
            raise Refused(f"this is {draft.state}, so it replaces nothing")
        self._check(draft)
        self.flush()
        rows = {record.id: row for record in gone if (row := self._row(record.id)) is not None}
        rows |= {
            self._store.record(row).id: row for row in self._transaction.guard.slot_holders(draft)
        }
        successor = self._transaction.replace(list(rows.values()), self._resolved(draft))
        if entry.action is Action.REPLACE and draft.occurred_at is not None:
            for row in filter(None, map(self._row, rows)):  # the file says how long they were valid
                self._transaction.update(row, valid_to=draft.occurred_at)
        self._note(successor, entry, number)
        self.replaced += 1

    def _remove(self, here: Record | None) -> None:
        """Hide the record of a memory that the file says was removed."""
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
                f"the record {record.id} is more trusted than this file;"
                f" --trust lets the file {change} it"
            )

    def _latest(self, record: Record) -> Record:
        """Follow a record to its last successor."""
        while record.state is State.SUPERSEDED and record.superseded_by is not None:
            row = self._row(record.superseded_by)
            if row is None:
                break
            record = self._store.record(row)
        return record

    def _note(self, record: Record, entry: Entry, number: int) -> None:
        """Note the line and the lineage of a record that was just created."""
        self._first = self._first or record.seq
        self._lines.append(number)
        self.pending += record.state is State.CONSTRAINED
        self.lost.update(entry.lost)
        self._note_lineage(entry, record)

    def _note_lineage(self, entry: Entry, record: Record) -> None:
        if entry.state is None or entry.id is None:  # the format has no lineage
            return
        self._ids[entry.id] = record.id
        self._lineage += [(before, entry.id) for before in entry.succeeds]
        if entry.succeeded_by is not None:
            self._lineage.append((entry.id, entry.succeeded_by))

    def _row(self, record_id: str | None) -> Row | None:
        return None if record_id is None else records.by_id(self._transaction.db, record_id)

    def _resolved(self, draft: Draft) -> Draft:
        """Turn references to records that are not here into plain text."""
        if not draft.evidence:
            return draft
        unknown = set(self._transaction.unresolved(draft))
        evidence = (f"record:{item}" if item in unknown else item for item in draft.evidence)
        return structs.replace(draft, evidence=tuple(evidence))


def _check_replaceable(record: Record, draft: Draft) -> None:
    """Raise unless a draft may supersede a record."""
    if record.state is not State.ACTIVE or record.archived is not None:
        where = "archived" if record.archived is not None else record.state
        raise Conflict(
            f"the record {record.id} is here with another text, and is {where}:"
            " nothing takes its place"
        )
    if record.user != draft.user:
        raise Refused(f"the record {record.id} is another user's, so this does not replace it")
    is_believed = record.layer in BELIEVED or draft.layer in BELIEVED
    if draft.trust is Trust.EXTERNAL and (is_believed or record.trust is not Trust.EXTERNAL):
        raise Refused(
            f"the record {record.id} is more trusted than this file;"
            " --trust lets the file replace it"
        )


def _layer(entry: Entry, draft: Draft) -> Layer:
    """Choose the layer that an entry gives, if it is allowed, or that of its tier and kind."""
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
    """Keep an untrusted record from becoming active, now or in the past, before it is reviewed."""
    if layer not in BELIEVED:
        return state
    return {State.ACTIVE: State.CONSTRAINED, State.SUPERSEDED: State.TOMBSTONED}.get(state, state)


def external(number: int) -> dict[str, int]:
    """Report the records that were imported as external because their file was not trusted."""
    return {"external": number} if number else {}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
