"""Statements that are decided at once: what is written into semantic memory, promoted, confirmed
or corrected is handled as in sleep, in the transaction that writes it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from lamina.engines import fact_lists, facts, steps
from lamina.engines.claims import Claim, Turn, projects
from lamina.engines.claims.extraction import extract
from lamina.engines.claims.sentences import LONGEST
from lamina.engines.decision import Effect
from lamina.engines.facts import Fact, Source, Step
from lamina.errors import Conflict
from lamina.memory.fact_records import FactRecords, believed
from lamina.memory.known_facts import BELIEVED, KnownFacts, source_of
from lamina.memory.scope import Part
from lamina.memory.sleep.facts import is_statement
from lamina.model.record import Draft, Layer, Record, State, Trust
from lamina.store.core.transaction import Transaction
from lamina.store.tables import records
from lamina.store.tables.records import Row

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

AHEAD = 1024  # texts to cache between reading them and the transaction that writes them
TOLD = ("voices", "said", "source_episode", "span")  # what a corrected fact keeps of the wrong one


class Stated(NamedTuple):
    """A claim, its source, and what it does."""

    claim: Claim
    source: Source
    step: Step


class Statements(Part):
    """Extract claims from a text, and update the facts."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self._records = FactRecords(scope)
        self._sure = scope.settings["sleep.sure"] / 100

    def read_ahead(self, memories: Iterable[Draft | Record], now: datetime) -> None:
        """Parse memories before a transaction that writes them, which blocks other writers."""
        for one in islice(memories, AHEAD):
            if len(one.content) <= LONGEST:
                _read(one.content, one.speaker, one.occurred_at or now)

    def insert(self, transaction: Transaction, draft: Draft) -> Record:
        """Store a semantic memory; if it makes exactly one claim, it becomes the fact itself."""
        name = transaction.next_id()
        record = records.new_record(draft, name, 0, self._scope.agent, transaction.now)
        claims = self._claims(record)
        if len(claims) == 1:
            claim, source, step = self._decided(transaction, record, claims[0])
            step = steps.restated(step, source)
            if step.effect in BELIEVED:
                made = self._records.drafted(claim, source, step, draft)
                transaction.guard.refuse_rejected(believed(made))
                self._records.apply(transaction, claim, source, step, made)
                return self._store.record(_row(transaction, name))
        (stored,) = transaction.insert([draft])
        if draft.trust is not Trust.EXTERNAL:
            self._follow(transaction, stored, claims)
        return stored

    def promote(
        self, transaction: Transaction, row: Row, promoted: dict[str, Any]
    ) -> Record | None:
        """Promote a memory into semantic memory; None if what it says cannot be believed there.

        One that repeats a fact, or contradicts a more trusted one, stays an episode.
        """
        record = self._store.record(row)
        claims = self._claims(structs.replace(record, layer=Layer.SEMANTIC))
        if len(claims) != 1:
            moved = transaction.update(row, **promoted)
            self._follow(transaction, moved, claims)
            return moved
        claim, source, step = self._decided(transaction, record, claims[0])
        made = self._records.drafted(claim, source, step)
        if transaction.guard.rejected(believed(made)) is not None:
            return None
        if step.effect not in BELIEVED:
            if step.effect is not Effect.PROPOSE:  # otherwise sleep proposes it
                self._records.apply(transaction, claim, source, step)
            return None
        self._records.apply(transaction, claim, source, step, row=row, more=promoted)
        return self._store.record(_row(transaction, record.id))

    def confirm(self, transaction: Transaction, record: Record) -> Stated | None:
        """Decide what a proposal does once believed; None unless it makes exactly one claim."""
        if record.layer is not Layer.SEMANTIC:
            return None
        if facts.is_fact(record):
            claims = [_proposed(facts.fact_of(record))]
        else:
            claims = self._claims(record)
        if len(claims) != 1:
            return None
        trusted = structs.replace(record, trust=Trust.OPERATOR)
        stated = self._decided(transaction, trusted, claims[0], own=record.id)
        step = steps.retold(steps.restated(stated.step, stated.source))
        if step.effect not in BELIEVED:
            raise Conflict(f"it adds nothing new: {step.why}; reject it, or leave it")
        return stated._replace(step=step)

    def become(self, transaction: Transaction, row: Row, stated: Stated) -> None:
        """Turn a confirmed proposal into the fact that it states, current or past."""
        more: dict[str, Any] = {"state": State.ACTIVE}
        if stated.step.effect is Effect.PAST:  # believed first, then ended: both are legal moves
            row, more = _row(transaction, transaction.update(row, **more).id), {}
        self._records.apply(transaction, *stated, row=row, more=more)

    def propose_end(self, transaction: Transaction, record: Record, why: str) -> Record:
        """Propose that a fact no longer holds; proposing it again adds nothing."""
        fact = facts.fact_of(record)
        claim = structs.replace(
            facts.known_claim(fact), negated=True, at=self._scope.clock(), rule=why
        )
        source = structs.replace(source_of(record), at=claim.at, voice=why)
        made = self._records.drafted(claim, source, Step(Effect.PROPOSE, why, (fact,)))
        waiting = transaction.facts_about(claim.subject, (claim.attribute,))
        for one in waiting:
            if one.state is State.CONSTRAINED and facts.says(facts.fact_of(one), claim):
                return one
        transaction.guard.refuse_rejected(made)
        (proposal,) = transaction.insert([made])
        transaction.guard.check_new(proposal)
        return proposal

    def correct(self, transaction: Transaction, record: Record, claim: Claim, own: Draft) -> Record:
        """Replace a fact with the right one, drafted as `own`; the wrong one never held."""
        fact = facts.fact_of(record)
        source = structs.replace(source_of(record), at=fact.valid_from, trust=own.trust)
        known = self._known(transaction, claim, source, without=record.id)
        step = _said(known.decide(claim, source), fact)
        step = step._replace(changed=((fact, facts.taken_back(fact)), *step.changed))
        made = self._records.drafted(claim, source, step, own)
        told = {name: record.metadata[name] for name in TOLD if name in record.metadata}
        made = structs.replace(made, metadata={**made.metadata, **told})
        transaction.guard.refuse_rejected(believed(made))
        _, name = self._records.apply(transaction, claim, source, step, made)
        if name is None:
            assert step.fact is not None, "a correction makes a fact, or repeats one"
            name = step.fact.record
        return self._store.record(_row(transaction, name))

    def _claims(self, record: Record) -> list[Claim]:
        """Extract the claims of a record that are certain enough."""
        if not is_statement(record):
            return []
        source = source_of(record)
        turn = Turn(record.content, record.speaker, record.occurred_at, record.project)
        found = projects.scoped(_read(turn.text, turn.speaker, record.occurred_at), turn)
        return [facts.planned(one, source) for one in found if one.confidence >= self._sure]

    def _decided(
        self, transaction: Transaction, record: Record, claim: Claim, own: str | None = None
    ) -> Stated:
        source = source_of(record)
        known = self._known(transaction, claim, source, without=own)
        return Stated(claim, source, known.decide(claim, source))

    def _known(
        self, transaction: Transaction, claim: Claim, source: Source, without: str | None = None
    ) -> KnownFacts:
        """Read the facts of the slot that a claim is about."""
        found = transaction.facts_about(claim.subject, facts.sharing(claim.attribute))
        others = (one for one in found if one.id != without and one.user == source.user)
        return KnownFacts(fact_lists.of_records(others))

    def _follow(self, transaction: Transaction, record: Record, claims: list[Claim]) -> None:
        """Update the facts with a record that makes several claims; sleep proposes the others."""
        for claim in claims:
            claim, source, step = self._decided(transaction, record, claim)
            made = self._records.drafted(claim, source, step)
            is_barred = transaction.guard.rejected(believed(made)) is not None
            if step.effect is not Effect.PROPOSE and not is_barred:
                self._records.apply(transaction, claim, source, step, made)


@lru_cache(AHEAD)
def _read(text: str, speaker: str | None, at: datetime) -> tuple[Claim, ...]:
    (found,) = extract([Turn(text, speaker, at)])
    return tuple(found)


def _proposed(fact: Fact) -> Claim:
    """Turn a proposed fact back into its claim; if it has an end, so does the claim."""
    return structs.replace(facts.known_claim(fact), until=fact.valid_to)


def _said(step: Step, instead_of: Fact) -> Step:
    """Make a correction take effect even if the other facts already say the same."""
    if step.effect is not Effect.KNOWN:
        return step
    if step.fact is not None:
        return step._replace(effect=Effect.REPEAT)
    return step._replace(effect=Effect.NEW, valid_from=instead_of.valid_from)


def _row(transaction: Transaction, record_id: str) -> Row:
    row = transaction.find(record_id)
    assert row is not None, "it was just written"
    return row
