"""Facts over time: what a claim does to what is known, one value or many, until something contradicts it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from lamina import rules, text
from lamina.engines.claims import Claim, attributes
from lamina.model import Layer, Record, State, Trust, iso

ORIGIN = "sleep"
# Who likes something does not dislike it: what is said of the one ends the other.
SHARED = {"dislikes": "likes"}
# The beginning of such a value says it all: Lisbon, Portugal is Lisbon, but New York is not York.
NAMES = frozenset({"lives_in", "employer", "origin", "visited", "name", "partner"})
ARTICLES = frozenset("a an the my our his her their some".split())
UNNAMED = frozenset("wife husband partner girlfriend boyfriend fiancé fiancée spouse".split())
# A distinct source takes away this share of the doubt, times how sure it is itself.
CORROBORATION = 0.5
Place = tuple[str | None, str, str]


class Source(msgspec.Struct, frozen=True):
    """Where a claim came from."""

    record: str  # the id of the turn
    episode: str | None
    user: str | None
    at: datetime  # when it was said
    voice: str  # who said it: another voice is a distinct source
    trust: Trust
    importance: float


class Fact(msgspec.Struct, frozen=True):
    """One value that holds, or held, for somebody."""

    record: str  # the id of its record
    user: str | None
    subject: str
    attribute: str
    value: str
    negated: bool
    state: State
    valid_from: datetime
    valid_to: datetime | None
    last_verified: datetime | None
    confidence: float
    trust: Trust
    evidence: tuple[str, ...]
    voices: tuple[str, ...]

    @property
    def place(self) -> Place:
        return place(self.user, self.subject, self.attribute)

    def holds(self, at: datetime) -> bool:
        """Whether it was true at a time. What was superseded without an end had been a mistake."""
        ended = self.valid_to is not None and self.valid_to <= at
        return self.valid_from <= at and not ended and (self.state is State.ACTIVE or self.valid_to is not None)

    def to_dict(self) -> dict[str, Any]:
        told = structs.asdict(self)
        for name in ("valid_from", "valid_to", "last_verified"):
            told[name] = None if told[name] is None else iso(told[name])
        return {**told, "state": self.state.value, "trust": self.trust.value, "evidence": list(self.evidence)}


class Effect(StrEnum):
    """What a claim does to what is known."""

    NEW = "new"
    CHANGE = "change"
    REPEAT = "repeat"
    PAST = "past"  # it was so before what is known began
    PROPOSE = "propose"  # somebody who is trusted less says so: a person decides
    KNOWN = "known"  # nothing


class Step(NamedTuple):
    """The effect of one claim: on the facts that it ends, and since when it holds itself."""

    effect: Effect
    why: str
    ends: tuple[Fact, ...] = ()
    fact: Fact | None = None  # the one that it repeats, or that came after it
    cuts: tuple[Fact, ...] = ()  # what held when it began, and ends there
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    never_true: bool = False  # what it ends had been a mistake from the beginning


def place(user: str | None, subject: str, attribute: str) -> Place:
    """What claims contradict each other about: the same thing of the same person."""
    return user, text.normalise(subject), SHARED.get(attribute, attribute)


def is_fact(record: Record) -> bool:
    """Whether a record holds a fact with a subject and an attribute."""
    metadata = record.metadata
    named = isinstance(metadata.get("subject"), str) and isinstance(metadata.get("value"), str)
    return record.layer is Layer.SEMANTIC and named and attributes.known(str(metadata.get("attribute", "")))


def fact_of(record: Record) -> Fact:
    """The fact that a record holds."""
    metadata = record.metadata
    voices = metadata.get("voices")
    return Fact(
        record.id,
        record.user,
        metadata["subject"],
        metadata["attribute"],
        metadata["value"],
        metadata.get("negated") is True,
        record.state,
        record.valid_from or record.occurred_at,
        record.valid_to,
        record.last_verified,
        record.confidence,
        record.trust,
        record.evidence,
        tuple(voices) if isinstance(voices, (list, tuple)) else (),
    )


def metadata_of(claim: Claim, source: Source) -> dict[str, Any]:
    """What the record of a fact says beside its words."""
    told: dict[str, Any] = {"origin": ORIGIN, "topic_tags": [claim.attribute], "source_episode": source.episode}
    told |= {"subject": claim.subject, "attribute": claim.attribute, "value": claim.value, "voices": [source.voice]}
    told |= {"span": [claim.start, claim.end], "rule": claim.rule}
    if claim.at > source.at:
        told["when"] = iso(claim.at)  # it speaks of a day to come
    if not attributes.of(claim.attribute).many:
        told["single"] = True  # only one of them can be active
    return {**told, "negated": True} if claim.negated else told


def decide(known: Sequence[Fact], claim: Claim, source: Source, past: Sequence[Fact] = ()) -> Step:
    """What a claim does to the active facts of its place, in the order in which they came. `past` are those that held once."""
    same = next((fact for fact in reversed(known) if says(fact, claim)), None)
    if same is not None:
        return _repeated(same, claim, source, past)
    ends = _ended(known, claim)
    if source.trust is Trust.EXTERNAL or any(_is_trusted_less(source.trust, fact) for fact in ends):
        return Step(Effect.PROPOSE, "who says so is trusted less: a person decides", tuple(ends))
    if claim.negated and not ends and (not claim.value or _others(known, claim)):
        return Step(Effect.KNOWN, "nothing of that is known")
    since = min(claim.at, source.at)  # a plan for June is one since it was made
    if not claim.corrects and any(fact.valid_from > since for fact in ends):
        return _before(ends, past, claim, since)
    if not ends:
        return Step(Effect.NEW, "not known before", valid_from=since)
    if claim.corrects and not all(fact.negated for fact in ends):
        since = min(fact.valid_from for fact in ends if not fact.negated)
    told = "takes back" if claim.corrects else "ends"
    what = ", ".join(text.shown(fact.value, 40) for fact in ends)
    return Step(Effect.CHANGE, f"{told} {what}", tuple(ends), valid_from=since, never_true=claim.corrects)


def _before(ends: Sequence[Fact], past: Sequence[Fact], claim: Claim, since: datetime) -> Step:
    """A claim about a time before something newer: it held until the next one began, and ends what held when it began."""
    apart = _apart(claim, past)
    holding = [fact for fact in apart if fact.holds(since)]
    if any(says(fact, claim) for fact in holding):
        return Step(Effect.KNOWN, "known of that time already")
    following = min((fact for fact in (*ends, *apart) if fact.valid_from > since), key=lambda fact: fact.valid_from)
    cuts = tuple(fact for fact in holding if fact.valid_from < since)
    return Step(Effect.PAST, "something newer is known", (), following, cuts, since, following.valid_from)


def made(record: str, claim: Claim, source: Source, step: Step) -> Fact:
    """The fact that a claim has become."""
    return Fact(
        record,
        source.user,
        claim.subject,
        claim.attribute,
        claim.value,
        claim.negated,
        State.ACTIVE,
        step.valid_from or claim.at,
        step.valid_to,
        source.at,
        claim.confidence,
        source.trust,
        (source.record,),
        (source.voice,),
    )


def repeated(fact: Fact, claim: Claim, source: Source, since: datetime | None = None) -> Fact:
    """A fact after a claim said the same; `since` when it held before it was known."""
    return structs.replace(
        fact,
        valid_from=since or fact.valid_from,
        last_verified=max(fact.last_verified or source.at, source.at),
        confidence=surer(fact, claim, source),
        evidence=tuple(dict.fromkeys((*fact.evidence, source.record))),
        voices=tuple(dict.fromkeys((*fact.voices, source.voice))),
    )


def surer(fact: Fact, claim: Claim, source: Source) -> float:
    """How sure a fact is after a claim repeats it: repeating corroborates nothing, a distinct source does."""
    if source.voice in fact.voices or source.trust is Trust.EXTERNAL:
        return fact.confidence
    return fact.confidence + (1 - fact.confidence) * CORROBORATION * claim.confidence


def same_value(attribute: str, one: str, other: str) -> bool:
    """Whether two values say the same; one may say it in more words."""
    mine, others = _words(one), _words(other)
    short, long = sorted((mine, others), key=len)
    if not short or mine == others:
        return mine == others
    if attribute in NAMES:
        return long[: len(short)] == short
    return set(short) <= set(long) and attribute not in ("did", "plan", "goal", "age", "birthday")


def _repeated(fact: Fact, claim: Claim, source: Source, past: Sequence[Fact]) -> Step:
    since = min(claim.at, source.at)
    if source.trust is Trust.EXTERNAL:
        return Step(Effect.KNOWN, "known already, and who repeats it is trusted less")
    if since < fact.valid_from:
        return _earlier(fact, claim, since, past)
    if fact.last_verified is not None and source.at <= fact.last_verified and source.voice in fact.voices:
        return Step(Effect.KNOWN, "known already")
    return Step(Effect.REPEAT, "says what is known", fact=fact)


def _earlier(fact: Fact, claim: Claim, since: datetime, past: Sequence[Fact]) -> Step:
    """A fact that held before it was known to, unless something else was in between."""
    apart = _apart(claim, past)
    if any(one.valid_from > since for one in apart):
        return _before((), past, claim, since)
    holding = [one for one in apart if one.holds(since)]
    if any(says(one, claim) for one in holding):
        return Step(Effect.KNOWN, "known of that time already")
    cuts = tuple(one for one in holding if one.valid_from < since)
    return Step(Effect.REPEAT, "held before it was known", (), fact, cuts, since)


def _apart(claim: Claim, past: Sequence[Fact]) -> list[Fact]:
    """What held at other times, where only one thing can."""
    return [] if attributes.of(claim.attribute).many else [fact for fact in past if fact.valid_to is not None]


def says(fact: Fact, claim: Claim) -> bool:
    """Whether a fact says what a claim says."""
    if fact.attribute != claim.attribute or fact.negated != claim.negated:
        return False
    if claim.attribute == "partner" and text.normalise(claim.value) in UNNAMED:  # "my wife" is who she was
        return True
    return same_value(claim.attribute, fact.value, claim.value)


def _ended(known: Sequence[Fact], claim: Claim) -> list[Fact]:
    """The facts that cannot hold beside a claim."""
    said = [fact for fact in known if not fact.negated]
    if claim.corrects and said:
        said = said[-1:] if attributes.of(claim.attribute).many else said
        return said + [fact for fact in known if fact.negated and _contradicts(fact, claim)]
    if claim.negated and not claim.value:
        return [fact for fact in known if not fact.negated]
    if claim.negated or attributes.of(claim.attribute).many:
        return [fact for fact in known if _contradicts(fact, claim)]
    return [fact for fact in known if not fact.negated or not fact.value or _contradicts(fact, claim)]


def _contradicts(fact: Fact, claim: Claim) -> bool:
    """Whether a fact and a claim about one value exclude each other."""
    replaced = claim.replaces is not None and same_value(claim.attribute, fact.value, claim.replaces) and not fact.negated
    opposed = (fact.negated != claim.negated) == (fact.attribute == claim.attribute)
    return replaced or (opposed and same_value(claim.attribute, fact.value, claim.value))


def _others(known: Sequence[Fact], claim: Claim) -> bool:
    """Whether something else is known where only one thing can be."""
    return bool(known) and not attributes.of(claim.attribute).many


def _is_trusted_less(trust: Trust, fact: Fact) -> bool:
    return trust is not fact.trust and rules.lowest_trust((trust, fact.trust)) is trust


def _words(value: str) -> tuple[str, ...]:
    return tuple(word for word in text.WORD.findall(text.normalise(value)) if word not in ARTICLES)


def chosen(records: Iterable[Record], subject: str | None, attribute: str | None) -> list[Fact]:
    """Facts about somebody, by the name or the first name, in the order in which they began."""
    wanted = None if subject is None else text.normalise(subject)
    found = [fact_of(record) for record in records if is_fact(record)]
    kept = [
        fact
        for fact in found
        if (wanted is None or wanted in (text.normalise(fact.subject), *text.normalise(fact.subject).split(" ")[:1]))
        and (attribute is None or fact.attribute == attribute)
    ]
    return sorted(kept, key=lambda fact: (text.normalise(fact.subject), fact.attribute, fact.valid_from, fact.record))


def known_claim(fact: Fact) -> Claim:
    """What is known, as somebody might have said it."""
    return Claim(fact.subject, fact.attribute, fact.value, 0, 0, fact.valid_from, fact.confidence, "known")


def by_place(records: Iterable[Record]) -> Mapping[Place, list[Fact]]:
    """Active facts by what they are about, in the order in which they began."""
    found: dict[Place, list[Fact]] = {}
    for fact in sorted(map(fact_of, filter(is_fact, records)), key=lambda fact: (fact.valid_from, fact.record)):
        found.setdefault(fact.place, []).append(fact)
    return found
