"""Facts over time: what a claim does to what is known, one value or many, until something contradicts it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from lamina.engines.claims import Claim, attributes
from lamina.errors import InvalidInput
from lamina.model import clock, rules
from lamina.model.record import Layer, Record, State, Trust, iso
from lamina.text import words as text

ORIGIN = "sleep"
# Who likes something does not dislike it: what is said of the one ends the other.
SHARED = {"dislikes": "likes"}
# The beginning of such a value says it all: Lisbon, Portugal is Lisbon, but New York is not York.
NAMES = frozenset({"lives_in", "employer", "origin", "visited", "name", "partner"})
ARTICLES = frozenset("a an the my our his her their some".split())
UNNAMED = frozenset("wife husband partner girlfriend boyfriend fiancé fiancée spouse".split())
# A distinct source takes away this share of the doubt, times how sure it is itself.
CORROBORATION = 0.5
MOST_SAID = 50
Slot = tuple[str | None, str, str]


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
    said: tuple[datetime, ...]  # of when somebody said so, the latest times

    @property
    def slot(self) -> Slot:
        return slot(self.user, self.subject, self.attribute)

    def holds(self, at: datetime) -> bool:
        """Whether it was true at a time. What was superseded without an end had been a mistake."""
        ended = self.valid_to is not None and self.valid_to <= at
        return (
            self.valid_from <= at
            and not ended
            and (self.state is State.ACTIVE or self.valid_to is not None)
        )

    def said_after(self, at: datetime) -> datetime | None:
        """When it was said again after a time, while it held."""
        return min((said for said in self.said if said > at and self.holds(said)), default=None)

    def to_dict(self) -> dict[str, Any]:
        told = structs.asdict(self)
        del told["said"]
        for name in ("valid_from", "valid_to", "last_verified"):
            told[name] = None if told[name] is None else iso(told[name])
        return {
            **told,
            "state": self.state.value,
            "trust": self.trust.value,
            "evidence": list(self.evidence),
        }


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
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    changed: tuple[tuple[Fact, Fact], ...] = ()  # what ends, before and after
    earlier: tuple[
        Fact, ...
    ] = ()  # what held until then and again later: its first part, which needs a record


def slot(user: str | None, subject: str, attribute: str) -> Slot:
    """What claims contradict each other about: the same thing of the same person."""
    return user, text.normalise(subject), SHARED.get(attribute, attribute)


def is_fact(record: Record) -> bool:
    """Whether a record holds a fact with a subject and an attribute."""
    metadata = record.metadata
    named = isinstance(metadata.get("subject"), str) and isinstance(metadata.get("value"), str)
    return (
        record.layer is Layer.SEMANTIC
        and named
        and attributes.known(str(metadata.get("attribute", "")))
    )


def fact_of(record: Record) -> Fact:
    """The fact that a record holds."""
    metadata = record.metadata
    voices = metadata.get("voices")
    since = record.valid_from or record.occurred_at
    return Fact(
        record.id,
        record.user,
        metadata["subject"],
        metadata["attribute"],
        metadata["value"],
        metadata.get("negated") is True,
        record.state,
        since,
        record.valid_to,
        record.last_verified,
        record.confidence,
        record.trust,
        record.evidence,
        tuple(voices) if isinstance(voices, (list, tuple)) else (),
        _times(metadata.get("said")) or (since, record.last_verified or since),
    )


def _times(said: object) -> tuple[datetime, ...]:
    """The times in metadata, which anybody may have written."""
    try:
        return tuple(map(clock.moment, said)) if isinstance(said, (list, tuple)) else ()
    except InvalidInput:  # somebody else's word for something else
        return ()


def metadata_of(claim: Claim, source: Source) -> dict[str, Any]:
    """What the record of a fact says beside its words."""
    told: dict[str, Any] = {
        "origin": ORIGIN,
        "topic_tags": [claim.attribute],
        "source_episode": source.episode,
    }
    told |= {
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "voices": [source.voice],
    }
    told["said"] = [iso(since(claim, source))]
    told |= {"span": [claim.start, claim.end], "rule": claim.rule}
    if claim.at > source.at:
        told["when"] = iso(claim.at)  # it speaks of a day to come
    if not attributes.of(claim.attribute).many:
        told["single"] = True  # only one of them can be active
    return {**told, "negated": True} if claim.negated else told


def since(claim: Claim, source: Source) -> datetime:
    """The time that a claim is about; a plan for June is one since it was made."""
    return min(claim.at, source.at)


def decide(known: Sequence[Fact], claim: Claim, source: Source) -> Step:
    """What a claim does to the facts of its place that hold or held once, in the order in which they came."""
    at = since(claim, source)
    known = [
        fact for fact in known if fact.holds(max(at, fact.valid_from))
    ]  # what held then or later
    same = [fact for fact in known if says(fact, claim)]
    if source.trust is Trust.EXTERNAL and any(fact.state is State.ACTIVE for fact in same):
        return Step(Effect.KNOWN, "known already, and who repeats it is trusted less")
    holding = [fact for fact in same if fact.holds(at)]
    if holding and source.trust is not Trust.EXTERNAL:
        return _repeated(holding[-1], claim, source)
    rivals = [fact for fact in known if _excludes(fact, claim) and fact not in same]
    ends = [fact for fact in rivals if fact.holds(at)]
    ends += [fact for fact in _taken_back(known, claim, at) if fact not in ends]
    active = [
        fact for fact in known if fact.state is State.ACTIVE and (fact in rivals or fact in ends)
    ]
    if source.trust is Trust.EXTERNAL or any(
        _is_trusted_less(source.trust, fact) for fact in (*active, *ends)
    ):
        return Step(Effect.PROPOSE, "who says so is trusted less: a person decides", tuple(active))
    if claim.negated and not claim.value and not ends:
        return Step(Effect.KNOWN, "nothing of that is known")
    later = [(fact.valid_from, fact) for fact in (*same, *rivals) if fact.valid_from > at]
    again = [(said, fact) for fact in ends if (said := fact.said_after(at))]
    return _inserted(claim, at, ends, min((*again, *later), key=lambda one: one[0], default=None))


def _inserted(
    claim: Claim, at: datetime, ends: Sequence[Fact], following: tuple[datetime, Fact] | None
) -> Step:
    """A claim among what was said before and after: it holds until the next thing that was said, and ends what held."""
    begin = at
    if claim.corrects and ends:  # it was so ever since the wrong thing was
        begin = min(
            fact.valid_from for fact in ([fact for fact in ends if not fact.negated] or ends)
        )
    changed = tuple((fact, _after(fact, claim, at, begin)) for fact in ends)
    earlier = tuple(
        _until(fact, begin) for fact in ends if fact.said_after(at) and fact.valid_from < begin
    )
    until, fact = following or (None, None)
    if fact is not None and says(fact, claim):
        return Step(
            Effect.REPEAT,
            "held before it was known",
            tuple(ends),
            fact,
            begin,
            None,
            changed,
            earlier,
        )
    if fact is not None:
        return Step(
            Effect.PAST,
            "something newer is known",
            tuple(ends),
            fact,
            begin,
            until,
            changed,
            earlier,
        )
    if not ends:
        return Step(Effect.NEW, "not known before", valid_from=begin)
    told = "takes back" if claim.corrects else "ends"
    what = ", ".join(text.shown(fact.value, 40) for fact in ends)
    return Step(Effect.CHANGE, f"{told} {what}", tuple(ends), None, begin, None, changed, earlier)


def _after(fact: Fact, claim: Claim, at: datetime, begin: datetime) -> Fact:
    """What becomes of a fact that a claim ends: it holds again since it was said again, if it was."""
    again = fact.said_after(at)
    if again is not None:
        return structs.replace(fact, valid_from=again)
    return _until(fact, None if claim.corrects and fact.valid_from >= begin else begin)


def _until(fact: Fact, end: datetime | None) -> Fact:
    """A fact that held until a time, or never."""
    return structs.replace(fact, state=State.SUPERSEDED, valid_to=end)


def is_over(before: Fact, after: Fact) -> bool:
    """Whether a fact that a claim ends does not hold again later."""
    return before.valid_from == after.valid_from


def after(
    known: Iterable[Fact], claim: Claim, source: Source, step: Step, record: str | None
) -> list[Fact]:
    """The facts of a place after a step; `record` is the new one's, if there is one."""
    changed = {
        id(fact): new for fact, new in step.changed
    }  # a fact is slow to compare, and these are among them
    if step.effect is Effect.REPEAT and step.fact is not None:
        changed[id(step.fact)] = repeated(step.fact, claim, source, step.valid_from)
    found = [changed.get(id(fact), fact) for fact in known] if changed else list(known)
    return [*found, *step.earlier, *([] if record is None else [made(record, claim, source, step)])]


def made(record: str, claim: Claim, source: Source, step: Step) -> Fact:
    """The fact that a claim has become."""
    return Fact(
        record,
        source.user,
        claim.subject,
        claim.attribute,
        claim.value,
        claim.negated,
        State.SUPERSEDED if step.effect is Effect.PAST else State.ACTIVE,
        step.valid_from or claim.at,
        step.valid_to,
        source.at,
        claim.confidence,
        source.trust,
        (source.record,),
        (source.voice,),
        (since(claim, source),),
    )


def repeated(fact: Fact, claim: Claim, source: Source, begin: datetime | None = None) -> Fact:
    """A fact after a claim said the same; `begin` when it held before it was known."""
    told = (
        () if _is_trusted_less(source.trust, fact) else (since(claim, source),)
    )  # who could not end it cannot renew it
    return structs.replace(
        fact,
        valid_from=begin or fact.valid_from,
        last_verified=max(fact.last_verified or source.at, source.at),
        confidence=surer(fact, claim, source),
        evidence=tuple(dict.fromkeys((*fact.evidence, source.record))),
        voices=tuple(dict.fromkeys((*fact.voices, source.voice))),
        said=tuple(sorted({*fact.said, *told})[-MOST_SAID:]),
    )


def surer(fact: Fact, claim: Claim, source: Source) -> float:
    """How sure a fact is after a claim repeats it: repeating corroborates nothing, a distinct source does."""
    if source.voice in fact.voices or source.trust is Trust.EXTERNAL:
        return fact.confidence
    return fact.confidence + (1 - fact.confidence) * CORROBORATION * claim.confidence


def same_value(attribute: str, one: str, other: str) -> bool:
    """Whether two values say the same; one may say it in more words."""
    mine, others = words(one), words(other)
    short, long = sorted((mine, others), key=len)
    if not short or mine == others:
        return mine == others
    if attribute in NAMES:
        return long[: len(short)] == short
    return set(short) <= set(long) and attribute not in ("did", "plan", "goal", "age", "birthday")


def _repeated(fact: Fact, claim: Claim, source: Source) -> Step:
    if (
        since(claim, source) in fact.said
        and source.voice in fact.voices
        and source.at <= (fact.last_verified or source.at)
    ):
        return Step(Effect.KNOWN, "known already")
    return Step(Effect.REPEAT, "says what is known", fact=fact)


def says(fact: Fact, claim: Claim) -> bool:
    """Whether a fact says what a claim says."""
    if fact.attribute != claim.attribute or fact.negated != claim.negated:
        return False
    if (
        claim.attribute == "partner" and text.normalise(claim.value) in UNNAMED
    ):  # "my wife" is who she was
        return True
    return same_value(claim.attribute, fact.value, claim.value)


def _taken_back(known: Sequence[Fact], claim: Claim, at: datetime) -> list[Fact]:
    """What a correction says was wrong: what was said to hold, and where there are many, what was said last."""
    said = [fact for fact in known if not fact.negated and fact.holds(at)] if claim.corrects else []
    return said[-1:] if attributes.of(claim.attribute).many else said


def _excludes(fact: Fact, claim: Claim) -> bool:
    """Whether a fact cannot hold beside a claim, unless it says the same."""
    if claim.negated and not claim.value:
        return not fact.negated
    if claim.negated or attributes.of(claim.attribute).many:
        return _contradicts(fact, claim)
    return not fact.negated or not fact.value or _contradicts(fact, claim)


def _contradicts(fact: Fact, claim: Claim) -> bool:
    """Whether a fact and a claim about one value exclude each other."""
    replaced = (
        claim.replaces is not None
        and same_value(claim.attribute, fact.value, claim.replaces)
        and not fact.negated
    )
    opposed = (fact.negated != claim.negated) == (fact.attribute == claim.attribute)
    return replaced or (opposed and same_value(claim.attribute, fact.value, claim.value))


def _is_trusted_less(trust: Trust, fact: Fact) -> bool:
    return trust is not fact.trust and rules.lowest_trust((trust, fact.trust)) is trust


def telling(claim: Claim) -> frozenset[str] | None:
    """Words of which a fact must have one to say what a claim says, or the contrary; nothing when any fact may."""
    own, replaced = words(claim.value), () if claim.replaces is None else words(claim.replaces)
    is_of_any = (
        not (attributes.of(claim.attribute).many or claim.negated)
        or claim.corrects
        or claim.attribute == "partner"
    )
    is_wordless = not own or (claim.replaces is not None and not replaced)
    return None if is_of_any or is_wordless else frozenset((*own, *replaced))


@lru_cache(10_000)  # a claim is compared with everything that is known
def words(value: str) -> tuple[str, ...]:
    """The words of a value that count."""
    return tuple(word for word in text.WORD.findall(text.normalise(value)) if word not in ARTICLES)


def chosen(records: Iterable[Record], subject: str | None, attribute: str | None) -> list[Fact]:
    """Facts about somebody, by the name or the first name, in the order in which they began."""
    wanted = None if subject is None else text.normalise(subject)
    found = [fact_of(record) for record in records if is_fact(record)]
    kept = [
        fact
        for fact in found
        if (
            wanted is None
            or wanted
            in (text.normalise(fact.subject), *text.normalise(fact.subject).split(" ")[:1])
        )
        and (attribute is None or fact.attribute == attribute)
    ]
    return sorted(
        kept,
        key=lambda fact: (
            text.normalise(fact.subject),
            fact.attribute,
            fact.valid_from,
            fact.record,
        ),
    )


def known_claim(fact: Fact) -> Claim:
    """What is known, as somebody might have said it."""
    return Claim(
        fact.subject, fact.attribute, fact.value, 0, 0, fact.valid_from, fact.confidence, "known"
    )


def by_slot(records: Iterable[Record]) -> Mapping[Slot, list[Fact]]:
    """Facts by what they are about, in the order in which they began."""
    found: dict[Slot, list[Fact]] = {}
    for fact in sorted(
        map(fact_of, filter(is_fact, records)), key=lambda fact: (fact.valid_from, fact.record)
    ):
        found.setdefault(fact.slot, []).append(fact)
    return found
