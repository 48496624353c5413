"""Carry out the decision about a claim, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import facts
from lamina.engines.claims import Claim, attributes
from lamina.engines.decision import Effect
from lamina.engines.facts import Fact, Source, Step
from lamina.model import hashing, rules
from lamina.model.record import Draft, Layer, State, iso
from lamina.store.core.transaction import Transaction
from lamina.store.tables.records import COLUMN, Row

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

MOST_EVIDENCE = 100


class FactRecords:
    """Create the records of facts, and change those that a claim ends or repeats.

    The statement itself can become the record of its fact: as a draft stored now (`own`), or as
    an existing row (`row`) that gets the fields of a fact.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def drafted(self, claim: Claim, source: Source, step: Step, own: Draft | None = None) -> Draft:
        """Draft the record of a fact."""
        made = self._derived(claim, source) if own is None else own
        metadata = facts.metadata_of(claim, source, step.restates)
        if own is not None:
            metadata = _with_own(metadata, own.metadata)
        if step.effect is Effect.PROPOSE:
            metadata["ends"] = [fact.record for fact in step.ends]
        old = step.restates
        evidence = (*made.evidence, *(old.evidence if old else ()))
        return structs.replace(
            made,
            layer=Layer.SEMANTIC,
            state=_state(step),
            metadata=metadata,
            evidence=tuple(dict.fromkeys(evidence))[:MOST_EVIDENCE],
            valid_from=step.valid_from or claim.at,
            valid_to=step.valid_to,
            last_verified=source.at,
            supersedes=(*made.supersedes, *_superseded(step)),
            superseded_by=step.fact.record if step.effect is Effect.PAST and step.fact else None,
        )

    def _derived(self, claim: Claim, source: Source) -> Draft:
        """Draft a sentence with its source as evidence."""
        content = attributes.sentence(
            claim.subject, claim.attribute, claim.value, negated=claim.negated
        )
        item = {
            "content": f"{content}, because {claim.reason}" if claim.reason else content,
            "kind": _kind(claim.attribute),
            "evidence": [source.record],
            "at": min(claim.at, source.at),
            "importance": source.importance,
            "confidence": claim.confidence,
        }
        made = self._scope.draft(item)
        trust = rules.lowest_trust((made.trust, source.trust))
        return structs.replace(made, user=source.user, trust=trust)

    def apply(
        self,
        transaction: Transaction,
        claim: Claim,
        source: Source,
        step: Step,
        made: Draft | None = None,
        row: Row | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> tuple[Step, str | None]:
        """Carry out a step; return it with its records, and the id of a new fact.

        `more` are other fields of the row to change.
        """
        record: str | None = None
        newest = None if step.fact is None else step.fact.record
        if step.effect is Effect.KNOWN:
            return step, None
        if step.effect is Effect.REPEAT:
            assert step.fact is not None
            verify(transaction, step.fact, claim, source, step)
        elif step.effect is Effect.END:
            newest = None
        elif row is not None:
            newest = record = row[COLUMN["id"]]
            transaction.update(row, **_grown(row, claim, source, step, more or {}))
        else:
            assert made is not None
            newest = record = transaction.insert([made])[0].id
        earlier = tuple(self._split(transaction, fact, newest) for fact in step.earlier)
        for fact, after in step.changed:
            _change(transaction, fact, after, newest)
        return step._replace(earlier=earlier), record

    def _split(self, transaction: Transaction, fact: Fact, newest: str | None) -> Fact:
        """Create a separate record for the first period of a fact that holds again later."""
        whole = self._scope.store.record(found(transaction, fact))
        same = {
            name: getattr(whole, name)
            for name in Draft.__struct_fields__
            if name not in ("key", "supersedes")
        }
        part = {"state": fact.state, "valid_to": fact.valid_to, "superseded_by": newest}
        return structs.replace(fact, record=transaction.insert([Draft(**{**same, **part})])[0].id)


def _grown(
    row: Row, claim: Claim, source: Source, step: Step, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields that turn a record into the fact that it states."""
    own, old = more.get("metadata", hashing.decode(row[COLUMN["metadata"]])), step.restates
    fields: dict[str, Any] = {
        **more,
        "metadata": _with_own(facts.metadata_of(claim, source, old), own),
        "valid_from": step.valid_from or claim.at,
        "last_verified": source.at,
    }
    if step.effect is Effect.PAST:
        fields |= {"state": State.SUPERSEDED, "valid_to": step.valid_to}
        fields["superseded_by"] = step.fact.record if step.fact else None
    if superseded := _superseded(step):
        earlier = hashing.decode(row[COLUMN["supersedes"]])
        fields["supersedes"] = tuple(dict.fromkeys((*earlier, *superseded)))
    if old is not None:
        known = hashing.decode(row[COLUMN["evidence"]])
        evidence = [
            one for one in dict.fromkeys((*known, *old.evidence)) if one != row[COLUMN["id"]]
        ]
        fields["evidence"] = tuple(evidence)[: max(MOST_EVIDENCE, len(known))]
    return fields


def _kind(attribute: str) -> str:
    if attribute == "decision":
        return "decision"
    return "preference" if attributes.is_preference(attribute) else "fact"


def _with_own(told: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the fields of a fact with the metadata that its author gave the record."""
    stated = {name: value for name, value in told.items() if name in facts.FIELDS}
    given = {name: value for name, value in own.items() if name not in facts.FIELDS}
    return {**told, **given, **stated}


def _state(step: Step) -> State:
    if step.effect is Effect.PROPOSE:
        return State.CONSTRAINED
    return State.SUPERSEDED if step.effect is Effect.PAST else State.ACTIVE


def _superseded(step: Step) -> tuple[str, ...]:
    return tuple(fact.record for fact, after in step.changed if facts.is_over(fact, after))


def verify(transaction: Transaction, fact: Fact, claim: Claim, source: Source, step: Step) -> None:
    """Note that a fact was repeated."""
    row = found(transaction, fact)
    again = facts.repeated(fact, claim, source, step.valid_from)
    fields: dict[str, Any] = {"last_verified": again.last_verified, "confidence": again.confidence}
    if step.valid_from is not None:
        fields["valid_from"] = step.valid_from
    if source.record not in fact.evidence and len(fact.evidence) < MOST_EVIDENCE:
        fields["evidence"] = again.evidence
    if superseded := _superseded(step):
        earlier = hashing.decode(row[COLUMN["supersedes"]])
        fields["supersedes"] = tuple(dict.fromkeys((*earlier, *superseded)))
    if (again.voices, again.said) != (fact.voices, fact.said):
        told = {"voices": list(again.voices), "said": [iso(at) for at in again.said]}
        fields["metadata"] = {**hashing.decode(row[COLUMN["metadata"]]), **told}
    transaction.update(row, **fields)


def _change(transaction: Transaction, fact: Fact, after: Fact, newest: str | None) -> None:
    """Change the time in which a fact holds, because of a newer one."""
    row = found(transaction, fact)
    fields: dict[str, Any] = {}
    if facts.is_over(fact, after):
        fields = {"state": after.state, "superseded_by": newest, "valid_to": after.valid_to}
    if after.valid_from != fact.valid_from:
        fields["valid_from"] = after.valid_from
    transaction.update(row, **fields)


def found(transaction: Transaction, fact: Fact) -> Row:
    """Find the row of a fact."""
    row = transaction.find(fact.record)
    assert row is not None, "nobody else can write now"
    return row


def believed(made: Draft) -> Draft:
    """Return a draft as if it were believed: a rejected value must not be a past fact either."""
    return structs.replace(made, state=State.ACTIVE) if made.state is State.SUPERSEDED else made
