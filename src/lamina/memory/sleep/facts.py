"""Make facts of what was said and remembered, in batches of one transaction each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from lamina.engines import facts, steps, summary
from lamina.engines.claims import Claim, Turn, attributes
from lamina.engines.claims.sentences import LONGEST
from lamina.engines.decision import Effect
from lamina.engines.facts import Source, Step
from lamina.errors import Interrupted
from lamina.memory.fact_records import FactRecords, believed
from lamina.memory.known_facts import (
    BELIEVED,
    EarlierClaims,
    FactReader,
    KnownFacts,
    source_of,
)
from lamina.memory.sleep.reading import Listener
from lamina.model import rules
from lamina.model.record import Layer, Record, Role, State, Trust
from lamina.store.core.transaction import Transaction
from lamina.store.tables.sleep import Marks

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

BATCH = 500
ROOM = 500_000  # characters in a batch
ACTION = "sleep"
Progress = Callable[[int, int], None]


class ClaimEffect(NamedTuple):
    """What one claim does, for people to read."""

    effect: str
    fact: str
    why: str
    source: str
    rule: str

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


class FactWriter:
    """Extract claims from statements and maintain facts, for all users of a store.

    `listener` extracts claims from the turns of one session.
    """

    def __init__(
        self, scope: Scope, listener: Listener, check: Callable[[], None] = lambda: None
    ) -> None:
        """`check` is called between texts; it raises Interrupted if sleep should end."""
        self._scope = scope
        self._store = scope.store
        self._listener = listener
        self._records = FactRecords(scope)
        self._sure: float = scope.settings["sleep.sure"] / 100  # other claims are only proposed
        self._likely: float = scope.settings["sleep.likely"] / 100  # or ignored
        self._check = check

    def plan(self) -> list[ClaimEffect]:
        """Plan what sleep would do with new turns. Nothing changes; the caller holds a snapshot."""
        told: list[ClaimEffect] = []
        everything = FactReader().read(self._store.night.changed_facts)
        known, heard = KnownFacts(everything), EarlierClaims(everything)
        marks = self._store.night.slept()
        while True:
            turns, marks = self._store.night.unread(marks, BATCH)
            if not turns:
                return told
            for claim, source, is_own in self._said(turns, heard):
                step = self._decided(known, claim, source, is_own)
                barred = self._store.rejections.of(
                    believed(self._records.drafted(claim, source, step))
                )
                told.append(_told(claim, source, step, barred))
                if barred is None:
                    known.hear(claim, source, step, f"new {len(told)}")

    def consolidate(self, progress: Progress | None = None) -> Counter[str]:
        """Read everything new until interrupted; count turns and the effects of their claims."""
        done: Counter[str] = Counter()
        with suppress(Interrupted):
            self._consolidate(done, progress)
        return done

    def _consolidate(self, done: Counter[str], progress: Progress | None) -> None:
        read, total, facts_read = 0, self._store.night.count_unread(), FactReader()
        while True:
            marks = self._store.night.slept()
            turns, after = self._unread(marks)
            if not turns:
                return
            heard = EarlierClaims(facts_read.read(self._store.night.changed_facts))
            said = list(self._said(turns, heard))  # the slow part, during which others may write
            with self._store.change(self._scope.actor, ACTION, self._scope.clock()) as transaction:
                if transaction.slept() != marks or transaction.has_heard(
                    after
                ):  # another process slept meanwhile
                    continue
                if not transaction.holds(turn.id for turn in turns):  # or something was removed
                    continue
                done += self._absorb(transaction, said, facts_read)
                transaction.sleep_until(after)
                if spent := self._listener.spent:
                    transaction.say(spent)
            done["turns"] += sum(not summary.is_of_turns(turn) for turn in turns)
            read += len(turns)
            if progress is not None:
                progress(min(read, total), total)

    def _unread(self, marks: Marks) -> tuple[list[Record], Marks]:
        """Take the next turns, few enough to read within seconds: an interruption repeats them."""
        turns, after = self._store.night.unread(marks, BATCH)
        sizes = accumulate(min(len(turn.content), LONGEST) for turn in turns)
        fitting = sum(size <= ROOM for size in sizes)
        return (
            (turns, after)
            if fitting == len(turns)
            else self._store.night.unread(marks, max(1, fitting))
        )

    def _said(
        self, turns: Sequence[Record], heard: EarlierClaims
    ) -> Iterator[tuple[Claim, Source, bool]]:
        """Extract the claims of a batch in order, session by session; `heard` is updated meanwhile.

        True marks the only claim of a semantic record, which can become the fact itself.
        """
        turns = [turn for turn in turns if is_statement(turn)]
        sessions: dict[tuple[str | None, str | None, bool], list[Record]] = {}
        for record in turns:
            sessions.setdefault(
                (record.user, record.session, record.trust is not Trust.EXTERNAL), []
            ).append(record)
        episodes = self._store.night.episodes([record.id for record in turns])
        found: dict[str, list[tuple[Claim, Source, bool]]] = {}
        # In order of their beginning: each knows what was said in earlier ones.
        for (user, _, trusted), session in sessions.items():
            said = [Turn(one.content, one.speaker, one.occurred_at, one.project) for one in session]
            read = self._listener.claims(
                said, heard.by(user, session), trusted=trusted, check=self._check
            )
            for record, claims in zip(session, read, strict=True):
                source = source_of(record, episodes.get(record.id))
                told = [
                    facts.planned(claim, source)
                    for claim in claims
                    if claim.confidence >= min(self._likely, self._sure)
                ]
                sure = [claim for claim in told if self._is_sure(claim)]
                is_own = record.layer is Layer.SEMANTIC and len(sure) == 1
                found[record.id] = [
                    (claim, source, is_own and self._is_sure(claim)) for claim in told
                ]
                for claim in sure:
                    heard.hear(claim, source)
        for record in turns:
            yield from found[record.id]

    def _is_sure(self, claim: Claim) -> bool:
        return bool(claim.confidence >= self._sure)

    def _decided(self, known: KnownFacts, claim: Claim, source: Source, is_own: bool) -> Step:
        """Decide what a claim does; one that is only likely changes nothing by itself."""
        step = known.decide(claim, source)
        if not self._is_sure(claim):
            return steps.doubted(step)
        return steps.restated(step, source) if is_own else step

    def _absorb(
        self,
        transaction: Transaction,
        said: Sequence[tuple[Claim, Source, bool]],
        facts_read: FactReader,
    ) -> Counter[str]:
        """Update the facts with claims, one after another."""
        done: Counter[str] = Counter()
        if not said:
            return done
        everything = facts_read.read(transaction.changed_facts)
        known = KnownFacts(everything)
        waiting = KnownFacts(
            [
                structs.replace(one, state=State.ACTIVE)
                for one in everything
                if one.state is State.CONSTRAINED
            ]
        )
        for claim, source, is_own in said:
            self._check()
            step = self._decided(known, claim, source, is_own)
            made = self._records.drafted(claim, source, step)
            if transaction.guard.rejected(believed(made)) is not None:
                done["rejected"] += 1
                continue
            if step.effect is Effect.PROPOSE:
                if waiting.has(claim, source) or not self._may_propose(transaction):
                    continue
                waiting.hear(claim, source, step._replace(effect=Effect.NEW, ends=()), "")
            done[step.effect.value] += 1
            is_home = is_own and step.effect in BELIEVED  # a proposal needs a record of its own
            own = transaction.find(source.record) if is_home else None
            applied = self._records.apply(transaction, claim, source, step, made, own)
            known.hear(claim, source, *applied)
        return done

    def _may_propose(self, transaction: Transaction) -> bool:
        """Return whether the queue accepts another proposal today."""
        return self._scope.actor.role is Role.OPERATOR or transaction.guard.allowance() > 0


def is_statement(record: Record) -> bool:
    """Return whether a record may state something that is not a fact yet.

    Records that engines derived from others state nothing of their own.
    """
    if record.layer is Layer.SEMANTIC:
        metadata = record.metadata
        is_derived = metadata.get("origin") in rules.ENGINES or isinstance(
            metadata.get("project"), Mapping
        )
        return not (is_derived or isinstance(metadata.get("attribute"), str))
    return not summary.is_summary(record)


def _told(claim: Claim, source: Source, step: Step, barred: str | None) -> ClaimEffect:
    said = attributes.sentence(claim.subject, claim.attribute, claim.value, negated=claim.negated)
    effect, why = (
        (step.effect.value, step.why) if barred is None else ("rejected", f"rejected in {barred}")
    )
    return ClaimEffect(effect, said, why, source.record, claim.rule)
