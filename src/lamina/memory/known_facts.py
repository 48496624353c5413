"""The facts of some slots while claims change them, and what people have said before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from msgspec import structs

from lamina.engines import fact_lists, facts
from lamina.engines.claims import Claim
from lamina.engines.decision import Effect
from lamina.engines.facts import Fact, Slot, Source, Step
from lamina.model.record import Record, State
from lamina.text import words

TOLD = (State.ACTIVE, State.SUPERSEDED)
UNKNOWN = "somebody"
BELIEVED = (Effect.NEW, Effect.CHANGE, Effect.PAST)  # the effects that make a fact


Versions = Mapping[int, int]  # the last event of each record, by its number


class FactReader:
    """Read the facts of a store repeatedly, each fact only when it has changed."""

    def __init__(self) -> None:
        self._versions: Versions = {}
        self._facts: dict[int, Fact | None] = {}  # None if it is no fact

    def read(self, changed: Callable[[Versions], tuple[Versions, Sequence[Record]]]) -> list[Fact]:
        """Return the facts in any state, in order of their beginning.

        `changed` returns the current versions, and the records that differ from the given ones.
        """
        self._versions, new = changed(self._versions)
        fresh = {one.seq: facts.fact_of(one) if facts.is_fact(one) else None for one in new}
        known = {**self._facts, **fresh}
        self._facts = {number: known.get(number) for number in self._versions}
        return fact_lists.in_order(filter(None, self._facts.values()))


class KnownFacts:
    """The facts by subject as claims change them, and which facts came from which turn."""

    def __init__(self, known: Sequence[Fact]) -> None:
        """`known` are the facts in order of their beginning."""
        told = (fact for fact in known if fact.state in TOLD)
        self._topics = {place: Topic(found) for place, found in fact_lists.by_slot(told).items()}
        self._taken: dict[str, list[Fact]] = {}
        for fact in known:
            for turn in (fact.record, *fact.evidence):
                self._taken.setdefault(turn, []).append(fact)

    def decide(self, claim: Claim, source: Source) -> Step:
        """Decide what a claim does now."""
        if any(facts.says(fact, claim) for fact in self._taken.get(source.record, ())):
            return Step(Effect.KNOWN, "taken from there already")
        return facts.decide(self._topic(claim, source).near(claim), claim, source)

    def has(self, claim: Claim, source: Source) -> bool:
        """Return whether a claim repeats a known fact."""
        return any(facts.says(fact, claim) for fact in self._topic(claim, source).near(claim))

    def hear(self, claim: Claim, source: Source, step: Step, record: str | None) -> None:
        """Note the outcome of a claim; `record` is the id of a new fact."""
        topic = self._topic(claim, source)
        new = record if step.effect in BELIEVED else None  # a proposal is not known yet
        topic.become(facts.after(topic.facts, claim, source, step, new))

    def _topic(self, claim: Claim, source: Source) -> Topic:
        """Find the facts of the slot that a claim is about."""
        place: Slot = facts.slot(source.user, claim.subject, claim.attribute)
        return self._topics.setdefault(place, Topic([]))


class Topic:
    """The facts of one slot in order, indexed by word, so that long lists are searched quickly."""

    def __init__(self, known: list[Fact]) -> None:
        self.facts: list[Fact] = []
        self._by_word: dict[str, list[int]] = {}
        self.become(known)

    def become(self, known: list[Fact]) -> None:
        """Replace the facts: the earlier values must keep their order, and new ones may follow."""
        for place in range(len(self.facts), len(known)):
            for word in set(facts.words(known[place].value)):
                self._by_word.setdefault(word, []).append(place)
        self.facts = known

    def near(self, claim: Claim) -> list[Fact]:
        """List the facts that may say the same as a claim, or the opposite."""
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

    def __init__(self, known: Sequence[Fact]) -> None:
        """`known` are the facts in order of their beginning."""
        told = [fact for fact in known if fact.state in TOLD]
        self._known = KnownFacts(told)
        self._claims: dict[tuple[str | None, str], list[Claim]] = {}  # by user and speaker
        for fact in told:
            claim = facts.known_claim(fact)
            if fact.state is not State.ACTIVE:
                claim = structs.replace(claim, until=fact.valid_to or fact.valid_from)
            # People know what others have noted about them.
            for voice in {*fact.voices, words.normalise(fact.subject)}:
                self._keep(fact.user, voice, claim)

    def by(self, user: str | None, session: Sequence[Record]) -> list[Claim]:
        """List what the speakers of a session have said before, the latest last."""
        voices = dict.fromkeys(voice_of(record) for record in session)
        found = [claim for voice in voices for claim in self._claims.get((user, voice), ())]
        once = {id(claim): claim for claim in found}  # a speaker may have noted it of another
        return sorted(once.values(), key=attrgetter("at"))

    def hear(self, claim: Claim, source: Source) -> None:
        """Note a claim, and update the facts with it."""
        step = self._known.decide(claim, source)
        self._known.hear(claim, source, step, source.record)
        if step.effect in BELIEVED or step.effect is Effect.END:
            self._keep(source.user, source.voice, claim)

    def _keep(self, user: str | None, voice: str, claim: Claim) -> None:
        self._claims.setdefault((user, voice), []).append(claim)


def voice_of(record: Record) -> str:
    """Name the one who says what a record says."""
    return words.normalise(record.source or record.speaker or UNKNOWN)


def source_of(record: Record, episode: str | None = None) -> Source:
    """Describe a record as the source of claims."""
    at, voice = record.occurred_at, voice_of(record)
    return Source(
        record.id, episode or record.id, record.user, at, voice, record.trust, record.importance
    )
