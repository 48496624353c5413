"""Deciding: machines propose, people confirm and reject, and what was decided can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from lamina import rules, text
from lamina.clock import Clock, is_id
from lamina.engines import profile, review
from lamina.engines.review import Entry
from lamina.errors import InvalidInput, NotFound, Refused
from lamina.model import Actor, Draft, Layer, Record, Role, State
from lamina.store.records import PLACE, Filter, Row
from lamina.store.store import Store
from lamina.store.transaction import Transaction

EVERY = 1 << 31
Visible = Callable[[str, object], Record]


class Reviews:
    """What one actor may propose and decide, within one scope.

    `visible` finds a record within the scope, or says that there is none; `draft` makes valid memories; `note_crossing` is
    told which evidence was out of reach.
    """

    def __init__(
        self,
        store: Store,
        actor: Actor,
        user: str | None,
        clock: Clock,
        draft: Callable[[object], Draft],
        visible: Visible,
        note_crossing: Callable[[str], object],
    ) -> None:
        self._store = store
        self._actor = actor
        self._user = user
        self._clock = clock
        self._draft = draft
        self._visible = visible
        self._note_crossing = note_crossing

    def proposals(self) -> list[tuple[Record, list[str]]]:
        """What waits for a decision, with the records that each would replace; those with most effect first."""
        waiting = self._store.listed(Filter(self._user, states=(State.CONSTRAINED,)), EVERY)
        active = self._store.listed(Filter(self._user, (Layer.PROFILE,), (State.ACTIVE,)), EVERY)
        return review.ranked(waiting, active)

    def propose_profile(self, key: str, value: Any, reason: str, evidence: Sequence[str]) -> Record:
        """Propose a value of the profile. An agent needs evidence; an operator's own statement is kept as one."""
        (given,) = profile.patch_items({key: value})
        why = _reason(reason)
        if not evidence and self._actor.role is not Role.OPERATOR:
            raise InvalidInput("a proposal needs evidence: the ids of the records that it rests on")
        with self._store.change(self._actor, "profile.propose", self._clock(), note={"reason": why}) as transaction:
            sources = list(evidence) or [self._statement(transaction, *given).id]
            made = self._of_profile(*given, why, sources)
            transaction.check_evidence(made, self._note_crossing)
            trusts = [record.trust for one in sources if is_id(one) and (record := self._found(transaction, one)) is not None]
            (stored,) = transaction.insert([structs.replace(made, trust=rules.lowest_trust([made.trust, *trusts]))])
        return stored

    def confirm(self, record_id: str, reason: str | None = None) -> Record:
        """Activate a proposal, and supersede what it replaces; nothing happens if that has changed since."""
        self._visible("confirm", record_id)
        with self._change("confirm", reason) as transaction:
            row = self._row(transaction, record_id)
            entry = self._entry(row)
            review.check_pending(entry.record)
            replaced = self._replaced(transaction, entry.record)
            review.check_fresh(entry, replaced)
            ids = tuple(dict.fromkeys((*entry.record.supersedes, *(other.record.id for other in replaced))))
            confirmed = transaction.update(row, state=State.ACTIVE, **({"supersedes": ids} if ids else {}))
            for other in replaced:
                gone = {"superseded_by": record_id, "valid_to": transaction.now}
                transaction.update(self._row(transaction, other.record.id), state=State.SUPERSEDED, **gone)
        return confirmed

    def reject(self, record_id: str, reason: str) -> Record:
        """Put a proposal aside for good."""
        self._visible("reject", record_id)
        with self._change("reject", _reason(reason)) as transaction:
            row = self._row(transaction, record_id)
            review.check_pending(self._store.record(row))
            return transaction.update(row, state=State.TOMBSTONED)

    def rollback(self, record_id: str, reason: str | None = None) -> Record:
        """Take an active record back; what it had superseded is active again."""
        self._visible("rollback", record_id)
        with self._change("rollback", reason) as transaction:
            row = self._row(transaction, record_id)
            record = self._store.record(row)
            review.check_active(record, "rolled back")
            before = [one for name in record.supersedes if (one := self._found(transaction, name)) is not None]
            gone = transaction.update(row, state=State.TOMBSTONED)
            for one in review.restored(record, before):
                back = self._row(transaction, one.id)
                transaction.update(back, state=State.ACTIVE, superseded_by=None, valid_to=None)
        return gone

    def forget(self, record_id: str, reason: str | None = None) -> Record:
        """Hide a record, and nothing else."""
        self._visible("forget", record_id)
        with self._change("forget", reason) as transaction:
            row = self._row(transaction, record_id)
            review.check_active(self._store.record(row), "forgotten")
            return transaction.update(row, state=State.TOMBSTONED)

    def correct(self, record_id: str, content: str, reason: str) -> Record:
        """Replace what a record says by what is so; the old text stays in its lineage."""
        self._visible("correct", record_id)
        with self._change("correct", _reason(reason)) as transaction:
            row = self._row(transaction, record_id)
            record = self._store.record(row)
            review.check_active(record, "corrected")
            made = self._draft({"content": content, "kind": record.kind, "tags": record.tags, "importance": record.importance})
            metadata: Mapping[str, Any] = record.metadata
            if record.layer is Layer.PROFILE:
                metadata = {**metadata, "value": content}
                made = structs.replace(made, content=profile.content_of(str(metadata["profile_key"]), content))
            same = {"layer": record.layer, "user": record.user, "session": record.session, "speaker": record.speaker}
            made = structs.replace(made, metadata=metadata, evidence=record.evidence, occurred_at=record.occurred_at, **same)
            rules.check_contract(record.layer, metadata)
            return transaction.replace([row], made)

    def undo(self, event: int, reason: str | None = None) -> list[Record]:
        """Take back what an event did, when nothing has happened to its records since."""
        with self._change("undo", reason, {"undoes": _event_number(event)}) as transaction:
            found = transaction.event(event)
            if found is None:
                raise NotFound(f"there is no event {event}")
            last = {change.record: transaction.last_event(change.record) for change in found.changes}
            changes = review.check_undoable(found, last, self._actor.role)
            for change in changes:
                self._visible("undo", change.record)
            return [self._taken_back(transaction, change) for change in reversed(changes)]

    def _taken_back(self, transaction: Transaction, change: Any) -> Record:
        """One record as it was; one that the event itself had made is set aside."""
        if change.before:
            return transaction.undo(change)
        return transaction.update(self._row(transaction, change.record), state=State.TOMBSTONED)

    def _replaced(self, transaction: Transaction, proposal: Record) -> list[Entry]:
        """The records that a proposal would take the place of, as they are now."""
        if proposal.layer is Layer.PROFILE:
            chosen = Filter(None, (Layer.PROFILE,), (State.ACTIVE,))
            rows = transaction.listed(chosen)
            return review.same_place(proposal, map(self._entry, rows))
        return [self._entry(self._row(transaction, name)) for name in review.named(proposal)]

    def _statement(self, transaction: Transaction, key: str, value: Any) -> Record:
        """What an operator says, kept as what it is: something that was said."""
        said = f"{self._actor.name} said: {profile.content_of(key, value)}"
        (made,) = transaction.insert([self._draft({"content": said, "layer": Layer.EPISODIC, "kind": "user_interaction"})])
        return made

    def _of_profile(self, key: str, value: Any, reason: str, evidence: Sequence[str]) -> Draft:
        metadata = {"profile_key": key, "value": value, "reason": reason}
        rules.check_contract(Layer.PROFILE, metadata)
        content = profile.content_of(key, value)
        kind = profile.kind_of(key)
        made = self._draft({"content": content, "kind": kind, "metadata": metadata, "evidence": list(evidence)})
        return structs.replace(made, layer=Layer.PROFILE, state=State.CONSTRAINED)

    def _change(self, action: str, reason: str | None, details: Mapping[str, Any] | None = None) -> Transaction:
        if self._actor.role is not Role.OPERATOR:
            raise Refused(f"{action} is for operators: agents propose, people decide")
        note = None if reason is None else {"reason": _reason(reason)}
        return self._store.change(self._actor, action, self._clock(), note=note, details=details)

    def _row(self, transaction: Transaction, record_id: str) -> Row:
        row = transaction.find(record_id)
        if row is None:
            raise Refused(f"the record {text.shown(record_id)} is archived; bring it back first: `lamina archive restore`")
        return row

    def _found(self, transaction: Transaction, record_id: str) -> Record | None:
        row = transaction.find(record_id)
        return self._store.get(record_id) if row is None else self._store.record(row)

    def _entry(self, row: Row) -> Entry:
        return Entry(self._store.record(row), row[PLACE["event"]])


def _reason(value: object) -> str:
    """Why, in a few words that somebody can read later."""
    if not isinstance(value, str) or not text.is_visible(value):
        raise InvalidInput(f"reason {text.shown(value)} is empty; say why")
    return rules.content(value, 4096)


def _event_number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"event {text.shown(value)} is not the number of an event; see `lamina audit log`")
    return value
