"""Facts over time: decide what a claim does to the facts of its slot. Pure."""

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
from lamina.text.words import WORD, normalise, shown

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
    """The source of a claim."""

    record: str  # the id of the turn
    episode: str | None
    user: str | None
    at: datetime  # when it was said
    voice: str  # who said it: another voice is a distinct source
    trust: Trust
    importance: float


class Fact(msgspec.Struct, frozen=True):
    """A value that holds, or held, for a subject."""

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
    said: tuple[datetime, ...]  # the latest times at which it was said

    @property
    def slot(self) -> Slot:
        return slot(self.user, self.subject, self.attribute)

    def holds(self, at: datetime) -> bool:
        """Tell if it was true at a time. A fact superseded without an end was a mistake."""
        if self.valid_to is None:
            return self.valid_from <= at and self.state is State.ACTIVE
        return self.valid_from <= at < self.valid_to

    def said_after(self, at: datetime) -> datetime | None:
        """Find the first time after `at` at which it was said again while it held."""
        return min((said for said in self.said if said > at and self.holds(said)), default=None)

    def to_dict(self) -> dict[str, Any]:
        fields = structs.asdict(self)
        del fields["said"]
        for name in ("valid_from", "valid_to", "last_verified"):
            fields[name] = None if fields[name] is None else iso(fields[name])
        return {
            **fields,
            "state": self.state.value,
            "trust": self.trust.value,
            "evidence": list(self.evidence),
        }


class Effect(StrEnum):
    """The effect of a claim on the facts of its slot."""

    NEW = "new"
    CHANGE = "change"
    REPEAT = "repeat"
    PAST = "past"  # it was so before what is known began
    PROPOSE = "propose"  # the source is trusted less than the facts: a person decides
    KNOWN = "known"  # nothing changes


class Step(NamedTuple):
    """One claim's effect: the facts that it ends, and since when it holds itself."""

    effect: Effect
    why: str
    ends: tuple[Fact, ...] = ()
    fact: Fact | None = None  # the one that it repeats, or that came after it
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    changed: tuple[tuple[Fact, Fact], ...] = ()  # what ends, before and after
    # The first part of what held until then and holds again later; it needs a record.
    earlier: tuple[Fact, ...] = ()


def slot(user: str | None, subject: str, attribute: str) -> Slot:
    """Name the slot that claims compete for: one attribute of one subject."""
    return user, normalise(subject), SHARED.get(attribute, attribute)


def is_fact(record: Record) -> bool:
    """Tell if a record holds a fact with a subject and an attribute."""
    metadata = record.metadata
    if record.layer is not Layer.SEMANTIC:
        return False
    named = isinstance(metadata.get("subject"), str) and isinstance(metadata.get("value"), str)
    return named and attributes.known(str(metadata.get("attribute", "")))


def fact_of(record: Record) -> Fact:
    """Read the fact that a record holds."""
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
    """Parse the times in metadata, which any program may have written."""
    try:
        return tuple(map(clock.moment, said)) if isinstance(said, (list, tuple)) else ()
    except InvalidInput:  # another program's field of the same name
        return ()


def metadata_of(claim: Claim, source: Source) -> dict[str, Any]:
    """Build the metadata of the record that a claim becomes."""
    metadata: dict[str, Any] = {
        "origin": ORIGIN,
        "topic_tags": [claim.attribute],
        "source_episode": source.episode,
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "voices": [source.voice],
        "said": [iso(since(claim, source))],
        "span": [claim.start, claim.end],
        "rule": claim.rule,
    }
    if claim.at > source.at:
        metadata["when"] = iso(claim.at)  # it speaks of a day to come
    if not attributes.of(claim.attribute).many:
        metadata["single"] = True  # only one of them can be active
    if claim.negated:
        metadata["negated"] = True
    return metadata


def since(claim: Claim, source: Source) -> datetime:
    """Find the time since which a claim holds; a plan for June holds since it was made."""
    return min(claim.at, source.at)


def decide(known: Sequence[Fact], claim: Claim, source: Source) -> Step:
    """Decide what a claim does to the facts of its slot, given in the order they came."""
    at = since(claim, source)
    facts = [fact for fact in known if fact.holds(max(at, fact.valid_from))]  # then or later
    same = [fact for fact in facts if says(fact, claim)]
    if step := _restated(same, claim, source, at):
        return step
    rivals = [fact for fact in facts if _excludes(fact, claim) and fact not in same]
    ends = _ended(facts, rivals, claim, at)
    if step := _refused(facts, rivals, ends, source):
        return step
    if claim.negated and not claim.value and not ends:
        return Step(Effect.KNOWN, "nothing of that is known")
    return _inserted(claim, at, ends, _following(same, rivals, ends, at))


def _restated(same: Sequence[Fact], claim: Claim, source: Source, at: datetime) -> Step | None:
    """Decide about a claim that says what a fact says already; None if none holds."""
    if source.trust is Trust.EXTERNAL:
        if any(fact.state is State.ACTIVE for fact in same):
            return Step(Effect.KNOWN, "known already, and who repeats it is trusted less")
        return None
    holding = [fact for fact in same if fact.holds(at)]
    return _repeated(holding[-1], claim, source) if holding else None


def _ended(facts: Sequence[Fact], rivals: Sequence[Fact], claim: Claim, at: datetime) -> list[Fact]:
    """List the facts that end: rivals that held then, and what a correction takes back."""
    ends = [fact for fact in rivals if fact.holds(at)]
    return ends + [fact for fact in _taken_back(facts, claim, at) if fact not in ends]


def _refused(
    facts: Sequence[Fact], rivals: Sequence[Fact], ends: Sequence[Fact], source: Source
) -> Step | None:
    """Propose a claim whose source is trusted less than a fact that it would end."""
    at_stake = [fact for fact in facts if fact in rivals or fact in ends]
    active = [fact for fact in at_stake if fact.state is State.ACTIVE]
    is_weaker = any(_is_trusted_less(source.trust, fact) for fact in (*active, *ends))
    if source.trust is Trust.EXTERNAL or is_weaker:
        return Step(Effect.PROPOSE, "who says so is trusted less: a person decides", tuple(active))
    return None


def _following(
    same: Sequence[Fact], rivals: Sequence[Fact], ends: Sequence[Fact], at: datetime
) -> tuple[datetime, Fact] | None:
    """Find what was said next in the slot: a later fact, or one that ends and was said again."""
    again = [(said, fact) for fact in ends if (said := fact.said_after(at))]
    later = [(fact.valid_from, fact) for fact in (*same, *rivals) if fact.valid_from > at]
    return min((*again, *later), key=lambda moment: moment[0], default=None)


def _inserted(
    claim: Claim, at: datetime, ends: Sequence[Fact], following: tuple[datetime, Fact] | None
) -> Step:
    """Place a claim in time: it ends what held, and holds until the next thing that was said."""
    begin = _beginning(claim, at, ends)
    changed = tuple((fact, _after(fact, claim, at, begin)) for fact in ends)
    again = (fact for fact in ends if fact.said_after(at))
    earlier = tuple(_until(fact, begin) for fact in again if fact.valid_from < begin)
    if following is None and not ends:
        return Step(Effect.NEW, "not known before", valid_from=begin)
    if following is None:
        effect, why, until, fact = Effect.CHANGE, _ending(claim, ends), None, None
    else:
        until, fact = following
        effect, why = Effect.PAST, "something newer is known"
        if says(fact, claim):
            effect, why, until = Effect.REPEAT, "held before it was known", None
    return Step(effect, why, tuple(ends), fact, begin, until, changed, earlier)


def _beginning(claim: Claim, at: datetime, ends: Sequence[Fact]) -> datetime:
    """Find since when a claim holds: a correction, ever since the wrong value did."""
    if not (claim.corrects and ends):
        return at
    affirmed = [fact for fact in ends if not fact.negated]
    return min(fact.valid_from for fact in affirmed or ends)


def _ending(claim: Claim, ends: Sequence[Fact]) -> str:
    """Say which values a claim ends."""
    verb = "takes back" if claim.corrects else "ends"
    return f"{verb} {', '.join(shown(fact.value, 40) for fact in ends)}"


def _after(fact: Fact, claim: Claim, at: datetime, begin: datetime) -> Fact:
    """End a fact by a claim; if it was said again later, it holds since then."""
    again = fact.said_after(at)
    if again is not None:
        return structs.replace(fact, valid_from=again)
    return _until(fact, None if claim.corrects and fact.valid_from >= begin else begin)


def _until(fact: Fact, end: datetime | None) -> Fact:
    """Supersede a fact at a time; without one, it never held."""
    return structs.replace(fact, state=State.SUPERSEDED, valid_to=end)


def is_over(before: Fact, after: Fact) -> bool:
    """Tell if a fact that a claim ends does not hold again later."""
    return before.valid_from == after.valid_from


def after(
    known: Iterable[Fact], claim: Claim, source: Source, step: Step, record: str | None
) -> list[Fact]:
    """Apply a step to the facts of a slot; `record` is the id of the new fact's record, if any."""
    # By id: a fact is slow to compare, and these are the very facts of `known`.
    changed = {id(fact): new for fact, new in step.changed}
    if step.effect is Effect.REPEAT and step.fact is not None:
        changed[id(step.fact)] = repeated(step.fact, claim, source, step.valid_from)
    facts = [changed.get(id(fact), fact) for fact in known] if changed else list(known)
    new = [] if record is None else [made(record, claim, source, step)]
    return [*facts, *step.earlier, *new]


def made(record: str, claim: Claim, source: Source, step: Step) -> Fact:
    """Build the fact that a claim becomes."""
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
    """Renew a fact by a claim that says the same; `begin` if it held before it was known."""
    # A source that could not end the fact cannot renew it.
    renewals = () if _is_trusted_less(source.trust, fact) else (since(claim, source),)
    return structs.replace(
        fact,
        valid_from=begin or fact.valid_from,
        last_verified=max(fact.last_verified or source.at, source.at),
        confidence=surer(fact, claim, source),
        evidence=tuple(dict.fromkeys((*fact.evidence, source.record))),
        voices=tuple(dict.fromkeys((*fact.voices, source.voice))),
        said=tuple(sorted({*fact.said, *renewals})[-MOST_SAID:]),
    )


def surer(fact: Fact, claim: Claim, source: Source) -> float:
    """Compute a repeated fact's confidence: only a distinct source corroborates."""
    if source.voice in fact.voices or source.trust is Trust.EXTERNAL:
        return fact.confidence
    return fact.confidence + (1 - fact.confidence) * CORROBORATION * claim.confidence


def same_value(attribute: str, one: str, other: str) -> bool:
    """Tell if two values say the same; one may say it in more words."""
    mine, others = words(one), words(other)
    short, long = sorted((mine, others), key=len)
    if not short or mine == others:
        return mine == others
    if attribute in NAMES:
        return long[: len(short)] == short
    return set(short) <= set(long) and attribute not in ("did", "plan", "goal", "age", "birthday")


def _repeated(fact: Fact, claim: Claim, source: Source) -> Step:
    is_noted = since(claim, source) in fact.said and source.voice in fact.voices
    if is_noted and source.at <= (fact.last_verified or source.at):
        return Step(Effect.KNOWN, "known already")
    return Step(Effect.REPEAT, "says what is known", fact=fact)


def says(fact: Fact, claim: Claim) -> bool:
    """Tell if a fact says what a claim says."""
    if fact.attribute != claim.attribute or fact.negated != claim.negated:
        return False
    if claim.attribute == "partner" and normalise(claim.value) in UNNAMED:
        return True  # "my wife" is the one who was named before
    return same_value(claim.attribute, fact.value, claim.value)


def _taken_back(known: Sequence[Fact], claim: Claim, at: datetime) -> list[Fact]:
    """List what a correction takes back: of many values, only the one that was said last."""
    if not claim.corrects:
        return []
    affirmed = [fact for fact in known if not fact.negated and fact.holds(at)]
    return affirmed[-1:] if attributes.of(claim.attribute).many else affirmed


def _excludes(fact: Fact, claim: Claim) -> bool:
    """Tell if a fact cannot hold beside a claim, unless it says the same."""
    if claim.negated and not claim.value:
        return not fact.negated
    if claim.negated or attributes.of(claim.attribute).many:
        return _contradicts(fact, claim)
    return not fact.negated or not fact.value or _contradicts(fact, claim)


def _contradicts(fact: Fact, claim: Claim) -> bool:
    """Tell if a fact and a claim about one value exclude each other."""
    old = None if fact.negated else claim.replaces
    if old is not None and same_value(claim.attribute, fact.value, old):
        return True
    opposed = (fact.negated != claim.negated) == (fact.attribute == claim.attribute)
    return opposed and same_value(claim.attribute, fact.value, claim.value)


def _is_trusted_less(trust: Trust, fact: Fact) -> bool:
    return trust is not fact.trust and rules.lowest_trust((trust, fact.trust)) is trust


def telling(claim: Claim) -> frozenset[str] | None:
    """List words of which a fact must have one to agree with a claim or contradict it.

    None means that any fact of the slot may.
    """
    own = words(claim.value)
    replaced = () if claim.replaces is None else words(claim.replaces)
    is_single = not (attributes.of(claim.attribute).many or claim.negated)
    is_wordless = not own or (claim.replaces is not None and not replaced)
    if is_single or claim.corrects or claim.attribute == "partner" or is_wordless:
        return None
    return frozenset((*own, *replaced))


@lru_cache(10_000)  # a claim is compared with every fact of its slot
def words(value: str) -> tuple[str, ...]:
    """Split a value into the words that are compared."""
    return tuple(word for word in WORD.findall(normalise(value)) if word not in ARTICLES)


def chosen(records: Iterable[Record], subject: str | None, attribute: str | None) -> list[Fact]:
    """Select facts by the subject's name or first name, in the order in which they began."""
    wanted = None if subject is None else normalise(subject)
    kept = [
        fact
        for fact in map(fact_of, filter(is_fact, records))
        if attribute in (None, fact.attribute) and _is_about(fact, wanted)
    ]
    return sorted(kept, key=_reading_order)


def _is_about(fact: Fact, name: str | None) -> bool:
    subject = normalise(fact.subject)
    return name is None or name in (subject, subject.split(" ")[0])


def _reading_order(fact: Fact) -> tuple[str, str, datetime, str]:
    return normalise(fact.subject), fact.attribute, fact.valid_from, fact.record


def known_claim(fact: Fact) -> Claim:
    """Turn a fact back into a claim, as a reader of turns knows it."""
    return Claim(
        fact.subject, fact.attribute, fact.value, 0, 0, fact.valid_from, fact.confidence, "known"
    )


def by_slot(records: Iterable[Record]) -> Mapping[Slot, list[Fact]]:
    """Group facts by their slot, in the order in which they began."""
    slots: dict[Slot, list[Fact]] = {}
    facts = map(fact_of, filter(is_fact, records))
    for fact in sorted(facts, key=lambda fact: (fact.valid_from, fact.record)):
        slots.setdefault(fact.slot, []).append(fact)
    return slots
