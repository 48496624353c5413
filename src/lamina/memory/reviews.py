"""Decide: confirm, reject, correct and revoke records, and undo a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from lamina.engines import correction, facts, profile, review
from lamina.engines.claims import attributes
from lamina.engines.decision import Effect
from lamina.engines.review import VersionedRecord
from lamina.errors import Conflict, Forbidden, NotFound, Refused
from lamina.memory import profile_facts
from lamina.memory.proposals import PROPOSE, QUARANTINE
from lamina.memory.scope import Part
from lamina.model import rejection, rules, slots
from lamina.model.clock import is_id
from lamina.model.record import Draft, Event, Layer, Record, Role, State
from lamina.store.core.transaction import Transaction
from lamina.store.tables import lineage, rejections, sleep
from lamina.store.tables.grounds import grounds
from lamina.store.tables.records import COLUMN, Filter, Row
from lamina.text import words

EDITED = "edited before it was confirmed"


class Reviews(Part):
    """Apply the decisions of an operator within a scope."""

    def confirm(
        self, record_id: str, reason: str | None = None, content: str | None = None
    ) -> Record:
        """Activate a proposal and supersede what it replaces, unless that has changed since.

        With `content` the person rewords it: the original proposal is superseded at once.
        """
        record = self._scope.visible("confirm", record_id)
        self._scope.parts.statements.read_ahead([record], self._scope.clock())
        with self._change("confirm", reason) as transaction:
            confirmed = self._confirmed(transaction, record_id)
            if content is None:
                return confirmed
            return self._corrected(transaction, confirmed, content, reason or EDITED)

    def _confirmed(self, transaction: Transaction, record_id: str) -> Record:
        row = self._row(transaction, record_id)
        entry = self._entry(row)
        review.check_pending(entry.record)
        review.check_no_request(entry.record)
        self._check_world(entry.record)
        replaced = self._replaced(transaction, entry.record)
        review.check_fresh(entry, replaced)
        review.check_grounded(entry.record, grounds(transaction.db, entry.record))
        review.check_supported(entry.record, profile_facts.outdated(self._store, [entry.record]))
        statements = self._scope.parts.statements
        stated = statements.confirm(transaction, entry.record)
        if stated is None:
            return self._activated(transaction, row, replaced)
        statements.become(transaction, row, stated)
        if stated.step.effect is Effect.PAST:
            return self._store.record(self._row(transaction, record_id))
        ended = {fact.record for fact, _ in stated.step.changed}
        left = [other for other in replaced if other.record.id not in ended]
        return self._activated(transaction, self._row(transaction, record_id), left)

    def _activated(
        self, transaction: Transaction, row: Row, replaced: Sequence[VersionedRecord]
    ) -> Record:
        """Activate a proposal in place of others; as a fact, it may be active already."""
        proposal = self._store.record(row)
        others = [other.record.id for other in replaced]
        ids = tuple(dict.fromkeys((*proposal.supersedes, *others)))
        if proposal.state is State.ACTIVE and ids == proposal.supersedes:
            return proposal
        confirmed = transaction.update(
            row, state=State.ACTIVE, **({"supersedes": ids} if ids else {})
        )
        gone = {
            "superseded_by": proposal.id,
            "valid_to": proposal.valid_from or transaction.now,
        }
        for name in others:
            transaction.update(self._row(transaction, name), state=State.SUPERSEDED, **gone)
        return confirmed

    def _check_world(self, record: Record) -> None:
        if self._scope.user is not None and slots.world_entry(record) is not None:
            raise Forbidden(
                f"the world model is for all users of {self._store.agent}; open the handle without"
                " a user",
                lacks="access",
            )

    def reject(self, record_id: str, reason: str | None = None) -> Record:
        """Dismiss a proposal and bar its value, unless the value is active already.

        A statement that was stored only as its evidence is hidden with it, and so is the fact of a
        standing instruction, which must not be followed. An active fact is rolled back.
        """
        self._scope.visible("reject", record_id)
        with self._change(rejections.REJECT, reason) as transaction:
            row = self._row(transaction, record_id)
            record = self._store.record(row)
            if record.state is State.ACTIVE and facts.is_fact(record):
                return self._rolled_back(transaction, row, record)
            review.check_pending(record)
            found = [transaction.find(name) for name in rejection.replaced_ids(record)]
            others = [self._store.record(one) for one in found if one is not None]
            if slots.slot(record) is not None:
                others += [entry.record for entry in self._replaced(transaction, record)]
            barred = review.barred(record, others)
            # What the profile says already still holds, and so does the underlying fact.
            orders = self._instructions(transaction, record) if barred else []
            said = [self._store.record(order) for order in orders]
            transaction.bar(record, [*barred, *review.fingerprints(said)])
            rejected = transaction.update(row, state=State.TOMBSTONED)
            for hidden in (*self._statements(transaction, record), *orders):
                transaction.update(hidden, state=State.TOMBSTONED)
            return rejected

    def _instructions(self, transaction: Transaction, proposal: Record) -> list[Row]:
        """Find the facts that state the standing instruction of a proposal."""
        if proposal.layer is not Layer.PROFILE:
            return []
        reader = transaction.cursor.connection
        found = sleep.active(reader, slots.INSTRUCTION, proposal.user)
        return [row for row in found if profile.orders_the_same(proposal, self._store.record(row))]

    def _statements(self, transaction: Transaction, proposal: Record) -> list[Row]:
        """Find statements that were stored only as evidence of this proposal."""
        found = [row for one in proposal.evidence if (row := transaction.find(one)) is not None]
        return [
            row
            for row in found
            if self._is_statement(transaction, self._store.record(row), proposal)
        ]

    def _is_statement(self, transaction: Transaction, record: Record, proposal: Record) -> bool:
        if record.layer is not Layer.EPISODIC or record.state is not State.ACTIVE:
            return False
        if self._store.history(record.id)[0].action != PROPOSE:
            return False  # somebody really said it
        others = [
            one
            for one in lineage.resting(transaction.cursor.connection, record.id, None)
            if one != proposal.id
        ]
        resting = [
            self._store.record(row) for one in others if (row := transaction.find(one)) is not None
        ]
        return not any(one.state in rejection.BELIEVABLE for one in resting)

    def lift(self, record_id: str, reason: str) -> Record:
        """Allow the value of a rejected proposal again. It has to be proposed anew."""
        self._scope.visible("review lift", record_id)
        with self._change(rejections.LIFT, rules.reason(reason)) as transaction:
            row = self._row(transaction, record_id)
            if not transaction.guard.lift(record_id):
                raise Refused(f"no value of the record {record_id} is kept out")
            return transaction.update(row)

    def revoke(self, source: str, reason: str) -> list[Record]:
        """Return everything that came from a source, or was derived from it, to review.

        Records that it had superseded become active again.
        """
        note = {"reason": rules.reason(reason), "source": rules.label(source, "source")}
        with self._change(QUARANTINE, note=note, undivided=True) as transaction:
            rows, tainted = transaction.tainted(source, self._scope.user)
            moved = []
            for row in rows:
                record = self._store.record(row)
                moved.append(transaction.update(row, state=State.CONSTRAINED))
                before = [
                    one
                    for name in record.supersedes
                    if (one := self._found(transaction, name)) is not None
                ]
                for one in review.restored(record, before):
                    if (
                        one.id not in tainted
                        and transaction.guard.rejected(structs.replace(one, state=State.ACTIVE))
                        is None
                    ):
                        self._bring_back(transaction, one.id)
        return moved

    def revocable(self, source: str) -> tuple[list[Record], int]:
        """List what `revoke` would return to review, and count the archived records."""
        rules.label(source, "source")
        self._check_operator("revoke")
        return lineage.revocable(self._store, source, self._scope.user)

    def rollback(self, record_id: str, reason: str | None = None) -> Record:
        """Hide an active record; records that it had superseded become active again."""
        self._scope.visible("rollback", record_id)
        with self._change("rollback", reason) as transaction:
            row = self._row(transaction, record_id)
            record = self._store.record(row)
            review.check_active(record, "rolled back")
            return self._rolled_back(transaction, row, record)

    def _rolled_back(self, transaction: Transaction, row: Row, record: Record) -> Record:
        """Hide a record, and reactivate what it had superseded.

        The value of a fact is barred: the next turn that says so would bring it back.
        """
        gone = transaction.update(row, state=State.TOMBSTONED)
        barred = self._keep_out(transaction, record)
        for one in self._before(transaction, record, barred):
            self._bring_back(transaction, one.id)
        return gone

    def _keep_out(self, transaction: Transaction, record: Record) -> list[bytes]:
        """Bar the value of a fact that is rolled back or forgotten; ignore other records."""
        if not facts.is_fact(record):
            return []
        barred = rejection.fingerprints(record)
        transaction.bar(record, barred)
        return barred

    def _before(
        self, transaction: Transaction, record: Record, barred: Sequence[bytes]
    ) -> list[Record]:
        """Find what held before a record; skip records that state a barred value."""
        names = record.supersedes
        before = [one for name in names if (one := self._found(transaction, name)) is not None]
        found: list[Record] = []
        for one in review.restored(record, before):
            if barred and review.says_one_of(one, barred):
                found += self._before(transaction, one, barred)
            else:
                found.append(one)
        return found

    def forget(self, record_id: str, reason: str | None = None) -> Record:
        """Hide a record, and nothing else; bar the value of a fact."""
        self._scope.visible("forget", record_id)
        with self._change("forget", reason) as transaction:
            row = self._row(transaction, record_id)
            record = self._store.record(row)
            review.check_active(record, "forgotten")
            gone = transaction.update(row, state=State.TOMBSTONED)
            self._keep_out(transaction, record)
            self._close_requests(transaction, gone)
            return gone

    def _close_requests(self, transaction: Transaction, gone: Record) -> None:
        """Close the requests to forget a record that is now forgotten. Undo opens them again."""
        chosen = Filter(
            gone.user,
            (Layer.EPISODIC,),
            (State.CONSTRAINED,),
            metadata=rules.facets({review.FORGET: gone.id}),
        )
        for row in transaction.listed(chosen):
            if review.to_forget(self._store.record(row)) == gone.id:
                transaction.update(row, state=State.TOMBSTONED)

    def correct(self, record_id: str, content: str, reason: str) -> Record:
        """Replace the text of a record with the right one; the old text stays in its lineage."""
        self._scope.visible("correct", record_id)
        with self._change("correct", rules.reason(reason)) as transaction:
            record = self._store.record(self._row(transaction, record_id))
            return self._corrected(transaction, record, content, rules.reason(reason))

    def _corrected(
        self, transaction: Transaction, record: Record, content: str, reason: str
    ) -> Record:
        """Replace a record with one with another text, as part of a decision."""
        review.check_active(record, "corrected")
        correction.check_kind(record)
        if facts.is_fact(record):
            return self._corrected_fact(transaction, record, content)
        said, metadata = review.corrected(record, content, reason)
        row = self._row(transaction, record.id)
        made = self._drafted_like(record, said, metadata)
        if record.layer is not Layer.SEMANTIC:
            return transaction.replace([row], made, never_true=record.valid_from is not None)
        right = self._scope.parts.statements.insert(
            transaction, structs.replace(made, supersedes=(record.id,))
        )
        gone = {"superseded_by": right.id, "valid_to": transaction.now}
        transaction.update(row, state=State.SUPERSEDED, **gone)
        return right

    def _corrected_fact(self, transaction: Transaction, record: Record, content: str) -> Record:
        """Replace a fact with the right one, given as a sentence or as its value."""
        claim = correction.read(facts.fact_of(record), rules.content(content))
        said = attributes.sentence(
            claim.subject, claim.attribute, claim.value, negated=claim.negated
        )
        made = self._drafted_like(record, said, record.metadata)
        return self._scope.parts.statements.correct(transaction, record, claim, made)

    def _drafted_like(self, record: Record, said: str, metadata: Mapping[str, Any]) -> Draft:
        """Draft another text to replace a record."""
        fields = {"kind": record.kind, "tags": record.tags, "importance": record.importance}
        made = self._scope.draft({"content": said, "metadata": metadata, **fields})
        same = {"user": record.user, "session": record.session, "speaker": record.speaker}
        made = rules.in_layer(record.layer, structs.replace(made, evidence=record.evidence, **same))
        return structs.replace(made, occurred_at=record.occurred_at, valid_from=record.valid_from)

    def undo(self, event: int, reason: str | None = None) -> list[Record]:
        """Undo what an event did, if its records have not changed since.

        Values that it barred are allowed again.
        """
        with self._change("undo", reason, {"undoes": rules.event_number(event)}) as transaction:
            found = transaction.event(event)
            if found is None or not self._is_visible(found):
                raise NotFound(f"there is no event {event}; `lamina audit log` lists the newest")
            last = transaction.settled_events([change.record for change in found.changes])
            since = transaction.events({number for number in last.values() if number > event})
            later = {record: since[number] for record, number in last.items() if number > event}
            _check_takes_back(found, last, later)
            changes = review.check_undoable(found, last, self._scope.actor.role)
            for change in changes:
                transaction.guard.lift(change.record)
            return [self._taken_back(transaction, change) for change in reversed(changes)]

    def _is_visible(self, event: Event) -> bool:
        """Return whether all changes of an event are in this scope; note attempts beyond it."""
        try:
            for change in event.changes:
                self._scope.visible("undo", change.record)
        except NotFound:
            return False
        return True

    def _taken_back(self, transaction: Transaction, change: Any) -> Record:
        """Restore a record's former state; hide a record that the event created."""
        if change.before:
            return transaction.undo(change)
        return transaction.update(self._row(transaction, change.record), state=State.TOMBSTONED)

    def _replaced(self, transaction: Transaction, proposal: Record) -> list[VersionedRecord]:
        """Find the records that a proposal would replace, as they are now."""
        here = slots.slot(proposal)
        if here is None:
            return [
                self._entry(self._row(transaction, name))
                for name in rejection.replaced_ids(proposal)
            ]
        if not review.may_replace(proposal, self._store.history(proposal.id)):
            return []
        return [self._entry(row) for row in transaction.guard.slot_holders(proposal)]

    def _bring_back(self, transaction: Transaction, record_id: str) -> None:
        """Make a superseded record active again."""
        back = self._row(transaction, record_id)
        transaction.update(back, state=State.ACTIVE, superseded_by=None, valid_to=None)

    def _change(
        self,
        action: str,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        note: Mapping[str, Any] | None = None,
        undivided: bool = False,
    ) -> Transaction:
        self._check_operator(action)
        if reason is not None:
            note = {"reason": rules.reason(reason)}
        return self._store.change(
            self._scope.actor, action, self._scope.clock(), note, details, undivided=undivided
        )

    def _check_operator(self, action: str) -> None:
        if self._scope.actor.role is not Role.OPERATOR:
            raise Forbidden(
                f"{action} is for operators: agents propose, people decide", lacks="operator"
            )

    def _row(self, transaction: Transaction, record_id: str) -> Row:
        row = transaction.find(record_id)
        if row is None:
            raise Refused(
                f"the record {words.shown(record_id)} is archived; bring it back first: `lamina"
                " archive restore`"
            )
        return row

    def _found(self, transaction: Transaction, record_id: str) -> Record | None:
        row = transaction.find(record_id)
        return self._store.get(record_id) if row is None else self._store.record(row)

    def _entry(self, row: Row) -> VersionedRecord:
        return VersionedRecord(self._store.record(row), row[COLUMN["event"]])


def _check_takes_back(
    event: Event, last: Mapping[str, int], later: Mapping[str, Event | None]
) -> None:
    """Refuse what cannot be undone, and say what can be done instead."""
    number, made = event.seq, [change.record for change in event.changes if not change.before]
    if event.action == "undo":
        undone = event.details.get("undoes")
        raise Refused(
            f"event {number} is the undo of event {undone}, which cannot be undone; repeat what"
            f" event {undone} did"
        )
    if event.action not in review.UNDONE:
        if made and len(made) == len(event.changes):
            more = f", and so for {len(made) - 1} more" if made[1:] else ""
            raise Refused(
                f"event {number} is {event.action!r} and stays; `lamina forget {made[0]}` hides"
                f" what it made{more}"
            )
        return
    if any(settled < number for settled in last.values()):
        raise Conflict(
            f"event {number} was undone already; to restore its effect, repeat its action:"
            f" {event.action}"
        )
    for record, since in later.items():
        if since is not None:
            then = (
                f"; `lamina undo {since.seq}` first"
                if since.action in review.UNDONE
                else ", which cannot be undone"
            )
            by = f"event {since.seq} ({since.action!r})"
            changed = f"{record} has changed since event {number}, by {by}"
            raise Conflict(changed + then, record=record)


def what_stays(
    rejected: Record,
    get: Callable[[str], Record | None],
    resting_on: Callable[[str], Sequence[str]],
) -> list[str]:
    """Name each fact that stays although a proposal with the same content was rejected.

    It stays because it is evidence of the proposal, or shares evidence with it. `get` returns
    None for an erased record.
    """
    told = rejected.metadata.get("value")
    said = {
        words.normalise(str(one)) for one in (told if isinstance(told, (list, tuple)) else (told,))
    }
    evidence = [one for one in rejected.evidence if is_id(one) and get(one) is not None]
    near = [
        get(name)
        for name in dict.fromkeys(other for one in evidence for other in (one, *resting_on(one)))
    ]
    known = [
        one for one in near if one is not None and one.state is State.ACTIVE and facts.is_fact(one)
    ]
    same = [one.id for one in known if words.normalise(one.metadata["value"]) in said]
    return [
        f"the fact {one} that it rests on stays; `lamina forget {one}` hides it" for one in same
    ]
