"""Proposals: what machines and people submit for review, and the queue in which it waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import correction, facts, profile, review
from lamina.errors import Conflict, InvalidInput, Refused
from lamina.memory import review_queue
from lamina.memory.review_queue import Queue, entry
from lamina.memory.scope import Part
from lamina.model import rules, slots
from lamina.model.record import Draft, Event, Layer, Record, Role, State
from lamina.model.rejection import ENDS, replaced_ids
from lamina.store.core.transaction import EVERY, Transaction
from lamina.store.tables.records import Filter, Row
from lamina.text.words import normalise

if TYPE_CHECKING:
    from lamina.engines.compaction import Group

# This event returns a record to the queue that was active before.
QUARANTINE = "revoke"
PROPOSE = "profile.propose"
POSSIBLE = "possible"
CORRECTION = "correction"  # the origin of a proposal to replace a fact


class Proposals(Part):
    """Propose changes within a scope, and list what waits for a decision."""

    def waiting(self, limit: int | None, after: str | None) -> Queue:
        """List what waits for a decision; items with the most effect first."""
        queue = review_queue.read(self._store, self._scope.user, limit, after)
        self._scope.audit("proposals", tuple(one.record.id for one in queue))
        return queue

    def propose_profile(self, key: str, value: Any, reason: str, evidence: Sequence[str]) -> Record:
        """Propose a value of the profile, with evidence.

        An operator's own statement counts as evidence. If the same value is already proposed, that
        proposal only gets the new evidence.
        """
        given, *others = profile.patch_items({rules.label(key, "key"): value})
        if others:
            raise InvalidInput(
                f"{key} holds {1 + len(others)} values; propose them one by one, such as {given[0]}"
            )
        why = rules.reason(reason)
        rests_on = rules.evidence(evidence or ())
        if not rests_on and self._scope.actor.role is not Role.OPERATOR:
            raise InvalidInput("a proposal needs evidence: the ids of the records that it rests on")
        with self._store.change(
            self._scope.actor, PROPOSE, self._scope.clock(), note={"reason": why}
        ) as transaction:
            sources = list(rests_on) or [self._statement(transaction, *given).id]
            made = self._of_profile(*given, why, sources)
            transaction.check_evidence(made, self._scope.note_crossing)
            made = transaction.derived(made)
            transaction.guard.refuse_rejected(made)
            same = self._saying_the_same(transaction, made)
            if same is None:
                return transaction.insert([made])[0]
            return self._joined(transaction, same, made)

    def propose_correction(self, record: Record, text: str, reason: str) -> Record:
        """Propose another text for a record. Proposing the same text again adds nothing."""
        why, right = rules.reason(reason), rules.content(text)
        correction.check(record, right)
        if record.layer is Layer.PROFILE:
            key = str(record.metadata["profile_key"])
            value = profile.read(key, right)
            return self.propose_profile(key, value, why, record.evidence or (record.id,))
        made = self._in_place_of(record, right, why)
        with self._store.change(
            self._scope.actor, "correct.propose", self._scope.clock(), note={"reason": why}
        ) as transaction:
            said = normalise(made.content)
            for waiting in self._waiting(record.layer):
                if replaced_ids(waiting) == [record.id] and normalise(waiting.content) == said:
                    return waiting
            made = transaction.derived(made)
            transaction.guard.refuse_rejected(made)
            return transaction.insert([made])[0]

    def request_forget(self, record: Record, reason: str) -> Record:
        """Ask a person to forget a record. Asking again adds nothing."""
        why = rules.reason(reason)
        with self._store.change(
            self._scope.actor, "forget.request", self._scope.clock(), note={"reason": why}
        ) as transaction:
            earlier = self.earlier_request(record)
            if earlier is None:
                return self.ask_to_forget(transaction, record, why)
            if earlier.state is State.CONSTRAINED:
                return earlier
            raise Refused(
                f"a request to forget {record.id} was declined, in record {earlier.id}",
                rejected=earlier.id,
            )

    def ask_to_forget(self, transaction: Transaction, record: Record, why: str) -> Record:
        """Store a request to forget a record, which waits for a person to decide."""
        item = {
            "content": f"Forget {record.id}: {why}",
            "layer": Layer.EPISODIC,
            "kind": "request",
            "metadata": {review.FORGET: record.id},
        }
        made = structs.replace(
            self._scope.draft({**item, "evidence": [record.id]}),
            state=State.CONSTRAINED,
            user=record.user,
        )
        transaction.check_evidence(made, self._scope.note_crossing)
        (request,) = transaction.insert([transaction.derived(made)])
        transaction.guard.check_new(request)
        return request

    def earlier_request(self, record: Record) -> Record | None:
        """Find the waiting request to forget a record, or else one that was declined."""
        chosen = Filter(
            record.user,
            (Layer.EPISODIC,),
            (State.CONSTRAINED, State.TOMBSTONED),
            metadata=rules.facets({review.FORGET: record.id}),
        )
        asked = [one for one in self._store.listed(chosen, EVERY) if _asks_for(one, record)]
        waiting = [one for one in asked if one.state is State.CONSTRAINED]
        declined = (one for one in asked if self._store.rejections.has(one.id))
        return waiting[0] if waiting else next(declined, None)

    def compact(self, create: bool) -> list[dict[str, Any]]:
        """Group semantic records that could be merged; with `create`, propose each group."""
        from lamina.engines import compaction

        groups = self._group(Layer.SEMANTIC, "semantic.compact", compaction.compact, create)
        return self._grouped(groups)

    def dedup(self, create: bool) -> list[dict[str, Any]]:
        """Group procedures of the same workflow; with `create`, propose each group."""
        from lamina.engines import compaction

        groups = self._group(Layer.PROCEDURAL, "procedural.dedup", compaction.dedup, create)
        return self._grouped(groups)

    def _grouped(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self._scope.audit("proposals", tuple(one for group in groups for one in group["sources"]))
        self._scope.changed(sum("proposal" in group for group in groups))
        return groups

    def expire(self) -> int:
        """Dismiss proposals that have waited too long; records that were active before stay."""
        days, now = self._store.settings["review.expire_days"], self._scope.clock()
        if not days:
            return 0
        chosen = Filter(self._scope.user, states=(State.CONSTRAINED,))
        waiting = [entry(self._store, row) for row in self._store.rows(chosen)]
        late = [one for one in waiting if one.record.updated_at <= now - timedelta(days=days)]
        if not late:
            return 0
        told = self._store.histories([one.record.id for one in late])
        wanted = [
            (one.record.seq, one.event) for one in late if not _was_active(told[one.record.id])
        ]
        with self._store.change(self._scope.actor, "proposals.expire", now) as transaction:
            return len(
                [
                    transaction.update(row, state=State.TOMBSTONED)
                    for row in transaction.unchanged(wanted)
                ]
            )

    def _group(
        self,
        layer: Layer,
        action: str,
        plan: Callable[[Sequence[Record]], list[Group]],
        create: bool,
    ) -> list[dict[str, Any]]:
        """List groups with their status: possible, proposed, or why neither."""
        told = [_waits_already(record) for record in self._waiting(layer)]
        if not create:
            with self._store.snapshot():
                rejected = self._store.rejections.of
                return told + [
                    self._told(group, made, rejected) for group, made in self._groups(layer, plan)
                ]
        with self._store.change(self._scope.actor, action, self._scope.clock()) as transaction:
            for group, made in self._groups(layer, plan):
                found = self._told(group, made, transaction.guard.rejected)
                if (
                    found["outcome"] == POSSIBLE
                    and self._scope.actor.role is not Role.OPERATOR
                    and not transaction.guard.allowance()
                ):
                    found["outcome"] = "the daily limit of proposals is reached"
                if found["outcome"] == POSSIBLE:
                    found |= {"outcome": "proposed", "proposal": transaction.insert([made])[0].id}
                told.append(found)
        return told

    def _groups(
        self, layer: Layer, plan: Callable[[Sequence[Record]], list[Group]]
    ) -> list[tuple[Group, Draft]]:
        active = self._store.listed(Filter(self._scope.user, (layer,), (State.ACTIVE,)), EVERY)
        taken = {one for record in self._waiting(layer) for one in replaced_ids(record)}
        return [
            (group, self._of_group(group))
            for group in plan([one for one in active if one.id not in taken])
        ]

    def _waiting(self, layer: Layer) -> list[Record]:
        """List the proposals of a layer that would replace records."""
        found = self._store.listed(Filter(self._scope.user, (layer,), (State.CONSTRAINED,)), EVERY)
        return [record for record in found if replaced_ids(record)]

    def _told(
        self, group: Group, made: Draft, rejected: Callable[[Draft], str | None]
    ) -> dict[str, Any]:
        """Describe a group for people, and say whether it could be proposed."""
        told: dict[str, Any] = {
            "why": group.why,
            "layer": group.layer.value,
            "content": made.content,
            "outcome": POSSIBLE,
        }
        told["sources"] = [one.id for one in group.sources]
        if differences := group.metadata.get(review.DIFFERENCES):
            told[review.DIFFERENCES] = differences
        barred = rejected(made)
        return (
            told if barred is None else {**told, "outcome": "rejected before", "rejected": barred}
        )

    def _saying_the_same(self, transaction: Transaction, made: Draft) -> Row | None:
        """Find a waiting proposal that says the same; raise if there is such an active record."""
        said = slots.value_facet(
            made.user, str(made.metadata["profile_key"]), made.metadata.get("value")
        )
        for state in (State.ACTIVE, State.CONSTRAINED):
            for row in reversed(transaction.guard.saying(said, state)):
                record = self._store.record(row)
                if (record.layer, record.user) == (made.layer, made.user) and _is_same(
                    record.metadata, made.metadata
                ):
                    if state is State.ACTIVE:
                        raise Conflict(
                            f"{made.content} is known already, in record {record.id}",
                            record=record.id,
                        )
                    return row
        return None

    def _joined(self, transaction: Transaction, row: Row, made: Draft) -> Record:
        """Add evidence to a proposal, unless the evidence is less trusted than the proposal."""
        record = self._store.record(row)
        evidence = tuple(dict.fromkeys((*record.evidence, *made.evidence)))
        if (
            rules.lowest_trust([record.trust, made.trust]) is not record.trust
            or evidence == record.evidence
        ):
            return record
        return transaction.update(row, evidence=evidence)

    def _statement(self, transaction: Transaction, key: str, value: Any) -> Record:
        """Store the statement of an operator as an episode."""
        said = f"{self._scope.actor.name} said: {profile.content_of(key, value)}"
        (made,) = transaction.insert(
            [
                self._scope.draft(
                    {"content": said, "layer": Layer.EPISODIC, "kind": "user_interaction"}
                )
            ]
        )
        return made

    def _of_profile(self, key: str, value: Any, reason: str, evidence: Sequence[str]) -> Draft:
        item = profile.item(key, value, reason, self._store.settings["content.max_bytes"])
        made = rules.in_layer(
            Layer.PROFILE, self._scope.draft({**item, "evidence": list(evidence)})
        )
        return structs.replace(made, state=State.CONSTRAINED)

    def _in_place_of(self, record: Record, text: str, reason: str) -> Draft:
        """Draft a text to replace a record; for a fact, it is parsed again."""
        kept = {name: one for name, one in record.metadata.items() if name not in facts.FIELDS}
        if facts.is_fact(record):
            kept["origin"] = CORRECTION
            text = correction.sentence(record, text)
        item = {
            "content": text,
            "kind": record.kind,
            "tags": record.tags,
            "importance": record.importance,
            "evidence": list(record.evidence),
            "speaker": record.speaker,
            "session": record.session,
            "metadata": {**kept, ENDS: [record.id], "reason": reason},
        }
        made = rules.in_layer(record.layer, self._scope.draft(item))
        return structs.replace(made, state=State.CONSTRAINED, user=record.user)

    def _of_group(self, group: Group) -> Draft:
        item: dict[str, Any] = {
            "content": group.content,
            "kind": group.kind,
            "tags": group.tags,
            "metadata": group.metadata,
        }
        item |= {
            "importance": group.importance,
            "confidence": group.confidence,
            "at": group.occurred_at,
        }
        item["speaker"] = group.speaker
        made = rules.in_layer(
            group.layer, self._scope.draft({**item, "evidence": [one.id for one in group.sources]})
        )
        trust = rules.lowest_trust([made.trust, group.trust])
        return structs.replace(made, state=State.CONSTRAINED, trust=trust, user=group.user)


def _asks_for(request: Record, record: Record) -> bool:
    return review.to_forget(request) == record.id


def _was_active(told: Sequence[Event]) -> bool:
    return any(
        change.before.get("state") == State.ACTIVE for event in told for change in event.changes
    )


def _waits_already(record: Record) -> dict[str, Any]:
    told = {
        "why": "proposed before",
        "layer": record.layer.value,
        "content": record.content,
        "outcome": "waits already",
    }
    return {**told, "sources": replaced_ids(record), "proposal": record.id}


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    same_key = profile.same_key(str(one.get("profile_key")), str(other.get("profile_key")))
    return same_key and profile.same_value(one.get("value"), other.get("value"))
