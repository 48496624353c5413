"""Make facts of episodes, a batch of turns at a time, each in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from lamina.engines import facts, summary
from lamina.engines.claims import Claim, Turn, attributes
from lamina.engines.claims.sentences import LONGEST
from lamina.engines.facts import Effect, Fact, Slot, Source, Step
from lamina.errors import Interrupted
from lamina.memory.sleep.reading import Listener
from lamina.model import hashing, rules
from lamina.model.record import Draft, Layer, Record, Role, State, Trust, iso
from lamina.store.core.transaction import Transaction
from lamina.store.tables.records import COLUMN, Row
from lamina.store.tables.sleep import Marks
from lamina.text import words

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

BATCH = 500
ROOM = 500_000  # characters of a batch
MOST_EVIDENCE = 100
ACTION = "sleep"
UNKNOWN = "somebody"
TOLD = (State.ACTIVE, State.SUPERSEDED)
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
    """Read episodes and keep facts, for all users of a store.

    `listener` takes claims from the turns of one session.
    """

    def __init__(
        self, scope: Scope, listener: Listener, check: Callable[[], None] = lambda: None
    ) -> None:
        """`check` is called between texts; it raises Interrupted when sleep should end."""
        self._scope = scope
        self._store = scope.store
        self._listener = listener
        self._sure = scope.settings["sleep.sure"] / 100  # less sure claims are left alone
        self._check = check

    def plan(self) -> list[ClaimEffect]:
        """Say what sleep would do with new turns. Nothing changes; the caller holds a snapshot."""
        told: list[ClaimEffect] = []
        known, heard = (
            KnownFacts(self._store.night.facts(tuple(State), None)),
            EarlierClaims(self._store.night.facts(TOLD, None)),
        )
        marks = self._store.night.slept()
        while True:
            turns, marks = self._store.night.unread(marks, BATCH)
            if not turns:
                return told
            for claim, source in self._said(turns, heard):
                step = known.decide(claim, source)
                barred = self._store.rejections.of(_believed(self._drafted(claim, source, step)))
                told.append(_told(claim, source, step, barred))
                if barred is None:
                    known.hear(claim, source, step, f"new {len(told)}")

    def consolidate(self, progress: Progress | None = None) -> Counter[str]:
        """Read everything new, up to an interruption; count turns and what their claims did."""
        done: Counter[str] = Counter()
        with suppress(Interrupted):
            self._consolidate(done, progress)
        return done

    def _consolidate(self, done: Counter[str], progress: Progress | None) -> None:
        total = self._store.night.count_unread()
        while True:
            marks = self._store.night.slept()
            turns, after = self._unread(marks)
            if not turns:
                return
            said = list(
                self._said(turns, EarlierClaims(self._store.night.facts(TOLD, None)))
            )  # the long part, while others may write
            with self._store.change(self._scope.actor, ACTION, self._scope.clock()) as transaction:
                if transaction.slept() != marks or transaction.has_heard(
                    after
                ):  # somebody else slept meanwhile
                    continue
                if any(
                    transaction.find(turn.id) is None for turn in turns
                ):  # or something was erased or archived
                    continue
                done += self._absorb(transaction, said)
                transaction.sleep_until(after)
                if spent := self._listener.spent:
                    transaction.say(spent)
            done["turns"] += len(turns)
            if progress is not None:
                progress(min(done["turns"], total), total)

    def _unread(self, marks: Marks) -> tuple[list[Record], Marks]:
        """Take the next turns, as many as are read within seconds: an interruption repeats them."""
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
    ) -> Iterator[tuple[Claim, Source]]:
        """Extract the claims of a batch in order, session by session; `heard` follows along."""
        turns = [turn for turn in turns if not summary.is_summary(turn)]
        sessions: dict[tuple[str | None, str | None, bool], list[Record]] = {}
        for record in turns:
            sessions.setdefault(
                (record.user, record.session, record.trust is not Trust.EXTERNAL), []
            ).append(record)
        episodes = self._store.night.episodes([record.id for record in turns])
        found: dict[str, list[tuple[Claim, Source]]] = {}
        for (
            (
                user,
                _,
                trusted,
            ),
            session,
        ) in (
            sessions.items()
        ):  # in the order in which they began: each knows what those before said
            said = [Turn(one.content, one.speaker, one.occurred_at) for one in session]
            read = self._listener.claims(
                said, heard.by(user, session), trusted=trusted, check=self._check
            )
            for record, claims in zip(session, read, strict=True):
                source = _source(record, episodes.get(record.id))
                found[record.id] = [
                    (claim, source) for claim in claims if claim.confidence >= self._sure
                ]
                for claim, _ in found[record.id]:
                    heard.hear(claim, source)
        for record in turns:
            yield from found[record.id]

    def _absorb(
        self, transaction: Transaction, said: Sequence[tuple[Claim, Source]]
    ) -> Counter[str]:
        """Let facts follow from claims, one after the other."""
        done: Counter[str] = Counter()
        if not said:
            return done
        everything = transaction.facts()
        known = KnownFacts(everything)
        waiting = KnownFacts(
            [
                structs.replace(one, state=State.ACTIVE)
                for one in everything
                if one.state is State.CONSTRAINED
            ]
        )
        for claim, source in said:
            self._check()
            step = known.decide(claim, source)
            made = self._drafted(claim, source, step)
            if transaction.guard.rejected(_believed(made)) is not None:
                done["rejected"] += 1
                continue
            if step.effect is Effect.PROPOSE:
                if waiting.has(claim, source) or not self._may_propose(transaction):
                    continue
                waiting.hear(claim, source, step._replace(effect=Effect.NEW, ends=()), "")
            done[step.effect.value] += 1
            known.hear(claim, source, *self._applied(transaction, claim, source, step, made))
        return done

    def _may_propose(self, transaction: Transaction) -> bool:
        """Say whether the queue takes one more proposal today."""
        return self._scope.actor.role is Role.OPERATOR or transaction.guard.allowance() > 0

    def _applied(
        self, transaction: Transaction, claim: Claim, source: Source, step: Step, made: Draft
    ) -> tuple[Step, str | None]:
        """Write what a step says; return the step with its records, and the id of a new fact."""
        if step.effect is Effect.KNOWN:
            return step, None
        if step.effect is Effect.REPEAT:
            assert step.fact is not None
            _verify(transaction, step.fact, claim, source, step)
            newest, record = step.fact.record, None
        else:
            newest = record = transaction.insert([made])[0].id
        earlier = tuple(self._split(transaction, fact, newest) for fact in step.earlier)
        for fact, after in step.changed:
            _change(transaction, fact, after, newest)
        return step._replace(earlier=earlier), record

    def _split(self, transaction: Transaction, fact: Fact, newest: str) -> Fact:
        """Make a record of its own for the first part of a fact that holds again later."""
        whole = self._store.record(_row(transaction, fact))
        same = {
            name: getattr(whole, name)
            for name in Draft.__struct_fields__
            if name not in ("key", "supersedes")
        }
        part = {"state": fact.state, "valid_to": fact.valid_to, "superseded_by": newest}
        return structs.replace(fact, record=transaction.insert([Draft(**{**same, **part})])[0].id)

    def _drafted(self, claim: Claim, source: Source, step: Step) -> Draft:
        """Draft the record of a fact."""
        metadata = facts.metadata_of(claim, source)
        state = State.ACTIVE
        if step.effect is Effect.PROPOSE:
            state, metadata = (
                State.CONSTRAINED,
                {**metadata, "ends": [fact.record for fact in step.ends]},
            )
        elif step.effect is Effect.PAST:
            state = State.SUPERSEDED
        content = attributes.sentence(
            claim.subject, claim.attribute, claim.value, negated=claim.negated
        )
        kind = "preference" if attributes.is_preference(claim.attribute) else "fact"
        item = {
            "content": content,
            "kind": kind,
            "metadata": metadata,
            "evidence": [source.record],
            "at": min(claim.at, source.at),
        }
        made = self._scope.draft(
            {**item, "importance": source.importance, "confidence": claim.confidence}
        )
        return structs.replace(
            made,
            layer=Layer.SEMANTIC,
            state=state,
            user=source.user,
            trust=rules.lowest_trust((made.trust, source.trust)),
            valid_from=step.valid_from or claim.at,
            valid_to=step.valid_to,
            last_verified=source.at,
            supersedes=tuple(
                fact.record for fact, after in step.changed if facts.is_over(fact, after)
            ),
            superseded_by=step.fact.record if step.effect is Effect.PAST and step.fact else None,
        )


class KnownFacts:
    """The facts by subject as they change, and which claims were taken from which turn."""

    def __init__(self, records: Sequence[Record]) -> None:
        told = [record for record in records if record.state in TOLD]
        self._topics = {place: Topic(found) for place, found in facts.by_slot(told).items()}
        self._taken: dict[str, list[Fact]] = {}
        for fact in map(facts.fact_of, filter(facts.is_fact, records)):
            for turn in fact.evidence:
                self._taken.setdefault(turn, []).append(fact)

    def decide(self, claim: Claim, source: Source) -> Step:
        """Decide what a claim does now."""
        if any(facts.says(fact, claim) for fact in self._taken.get(source.record, ())):
            return Step(Effect.KNOWN, "taken from there already")
        return facts.decide(self._topic(claim, source).near(claim), claim, source)

    def has(self, claim: Claim, source: Source) -> bool:
        """Say whether a claim says what is here already."""
        return any(facts.says(fact, claim) for fact in self._topic(claim, source).near(claim))

    def hear(self, claim: Claim, source: Source, step: Step, record: str | None) -> None:
        """Note the outcome of a claim; `record` is the id of a new fact."""
        topic = self._topic(claim, source)
        topic.become(facts.after(topic.facts, claim, source, step, record))

    def _topic(self, claim: Claim, source: Source) -> Topic:
        """Find the facts of the slot that a claim is about."""
        place: Slot = facts.slot(source.user, claim.subject, claim.attribute)
        return self._topics.setdefault(place, Topic([]))


class Topic:
    """The facts of one slot in order, indexed by word: long lists are searched as fast."""

    def __init__(self, known: Sequence[Fact]) -> None:
        self.facts: list[Fact] = []
        self._by_word: dict[str, list[int]] = {}
        self.become(known)

    def become(self, known: Sequence[Fact]) -> None:
        """Replace the facts: the same values in the same order as before, and perhaps more."""
        for place in range(len(self.facts), len(known)):
            for word in set(facts.words(known[place].value)):
                self._by_word.setdefault(word, []).append(place)
        self.facts = list(known)

    def near(self, claim: Claim) -> list[Fact]:
        """List the facts that may say what a claim says, or the contrary."""
        telling = facts.telling(claim)
        if telling is None:
            return self.facts
        return [
            self.facts[place]
            for place in sorted(
                {place for word in telling for place in self._by_word.get(word, ())}
            )
        ]


class EarlierClaims:
    """What people have said so far, still true or not: it helps to understand them later."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._known = KnownFacts(records)
        self._claims: dict[tuple[str | None, str], list[Claim]] = {}  # by the user and who spoke
        for fact in sorted(
            map(facts.fact_of, filter(facts.is_fact, records)),
            key=lambda fact: (fact.valid_from, fact.record),
        ):
            for voice in fact.voices:
                self._keep(fact.user, voice, facts.known_claim(fact))

    def by(self, user: str | None, session: Sequence[Record]) -> list[Claim]:
        """List what the speakers of a session have said before, the latest last."""
        voices = dict.fromkeys(_voice(record) for record in session)
        found = [claim for voice in voices for claim in self._claims.get((user, voice), ())]
        return sorted(found, key=lambda claim: claim.at)

    def hear(self, claim: Claim, source: Source) -> None:
        """Note a claim, and how the facts stand after it."""
        step = self._known.decide(claim, source)
        self._known.hear(claim, source, step, source.record)
        if step.effect in (Effect.NEW, Effect.CHANGE, Effect.PAST):
            self._keep(source.user, source.voice, claim)

    def _keep(self, user: str | None, voice: str, claim: Claim) -> None:
        if not claim.negated:
            self._claims.setdefault((user, voice), []).append(claim)


def _voice(record: Record) -> str:
    return words.normalise(record.source or record.speaker or UNKNOWN)


def _source(record: Record, episode: str | None) -> Source:
    at, voice = record.occurred_at, _voice(record)
    return Source(
        record.id, episode or record.id, record.user, at, voice, record.trust, record.importance
    )


def _verify(transaction: Transaction, fact: Fact, claim: Claim, source: Source, step: Step) -> None:
    """Note that a fact was said again."""
    row = _row(transaction, fact)
    again = facts.repeated(fact, claim, source, step.valid_from)
    fields: dict[str, Any] = {"last_verified": again.last_verified, "confidence": again.confidence}
    if step.valid_from is not None:
        fields["valid_from"] = step.valid_from
    if source.record not in fact.evidence and len(fact.evidence) < MOST_EVIDENCE:
        fields["evidence"] = again.evidence
    if (again.voices, again.said) != (fact.voices, fact.said):
        told = {"voices": list(again.voices), "said": [iso(at) for at in again.said]}
        fields["metadata"] = {**hashing.decode(row[COLUMN["metadata"]]), **told}
    transaction.update(row, **fields)


def _change(transaction: Transaction, fact: Fact, after: Fact, newest: str) -> None:
    """Let a fact hold for another time, because of a newer one."""
    row = _row(transaction, fact)
    if facts.is_over(fact, after):
        transaction.update(row, state=after.state, superseded_by=newest, valid_to=after.valid_to)
    else:
        transaction.update(row, valid_from=after.valid_from)


def _row(transaction: Transaction, fact: Fact) -> Row:
    row = transaction.find(fact.record)
    assert row is not None, "nobody else can write now"
    return row


def _believed(made: Draft) -> Draft:
    """Return a draft as if it were believed: a rejected value is no past fact either."""
    return structs.replace(made, state=State.ACTIVE) if made.state is State.SUPERSEDED else made


def _told(claim: Claim, source: Source, step: Step, barred: str | None) -> ClaimEffect:
    said = attributes.sentence(claim.subject, claim.attribute, claim.value, negated=claim.negated)
    effect, why = (
        (step.effect.value, step.why) if barred is None else ("rejected", f"rejected in {barred}")
    )
    return ClaimEffect(effect, said, why, source.record, claim.rule)
