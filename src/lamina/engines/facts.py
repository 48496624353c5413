"""Facts over time: decide what a claim does to the facts of its slot. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from lamina.engines import decision
from lamina.engines.claims import Claim, attributes
from lamina.engines.decision import Effect, Relation, Standing, Time
from lamina.errors import InvalidInput
from lamina.model import clock, rules
from lamina.model.record import Layer, Record, State, Trust, iso
from lamina.text.words import WORD, normalise, shown

ORIGIN = "sleep"
# Nobody likes and dislikes the same thing: a claim about the one ends the other.
SHARED = {"dislikes": "likes"}
# The beginning of such a value identifies it: Lisbon, Portugal is Lisbon, but New York is not York.
NAMES = frozenset({"lives_in", "employer", "origin", "visited", "name", "partner"})
ARTICLES = frozenset("a an the my our his her their some".split())
UNNAMED = frozenset("wife husband partner girlfriend boyfriend fiancé fiancée spouse".split())
NAMED = frozenset({"sibling", "child", "partner", "pet"})
# A distinct source removes this share of the doubt, multiplied by its own confidence.
CORROBORATION = 0.5
MOST_SAID = 50
# The fields of a fact's metadata that are ours; all others belong to its author.
FIELDS = frozenset(
    "source_episode subject attribute value voices said span rule when single negated ends"
    " reason".split()
)
# Attributes whose values are equal only if all words are.
EXACT = frozenset({"did", "plan", "goal", "decision", "age", "birthday"})
# Attributes that mention a future day, but hold already.
TIMELESS = frozenset({"plan", "goal", "decision", "did", "visited", "birthday"})
Slot = tuple[str | None, str, str]


class Source(msgspec.Struct, frozen=True, gc=False):
    """The source of a claim."""

    record: str  # the id of the turn
    episode: str | None
    user: str | None
    at: datetime  # when it was said
    voice: str  # who said it; another voice is a distinct source
    trust: Trust
    importance: float


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A value that holds or held for a subject."""

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
    groundless: bool = False  # all of its evidence was forgotten, superseded or erased
    reason: str = ""  # the reason for a decision

    @property
    def slot(self) -> Slot:
        return slot(self.user, self.subject, self.attribute)

    def holds(self, at: datetime) -> bool:
        """Tell if it held at a time. A fact that was superseded without an end never did."""
        if self.valid_to is None:
            return self.valid_from <= at and self.state is State.ACTIVE
        return self.valid_from <= at < self.valid_to

    def said_after(self, at: datetime) -> datetime | None:
        """Return the first time after `at` at which it was said again while it held."""
        return min((said for said in self.said if said > at and self.holds(said)), default=None)

    def to_dict(self) -> dict[str, Any]:
        fields = structs.asdict(self)
        del fields["said"]
        if not self.reason:
            del fields["reason"]
        for name in ("valid_from", "valid_to", "last_verified"):
            fields[name] = None if fields[name] is None else iso(fields[name])
        return {
            **fields,
            "state": self.state.value,
            "trust": self.trust.value,
            "evidence": list(self.evidence),
        }


class Step(NamedTuple):
    """The effect of one claim: the facts that it ends, and since when it holds itself."""

    effect: Effect
    why: str
    ends: tuple[Fact, ...] = ()
    fact: Fact | None = None  # the one that it repeats, or that follows it
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    changed: tuple[tuple[Fact, Fact], ...] = ()  # the facts that end, before and after
    # The earlier parts of facts that hold again later; they need their own records.
    earlier: tuple[Fact, ...] = ()
    restates: Fact | None = None  # the fact that is replaced by a record that says the same


@lru_cache(10_000)  # called whenever a fact is read
def slot(user: str | None, subject: str, attribute: str) -> Slot:
    """Return the slot for which claims compete: one attribute of one subject."""
    return user, normalise(subject), SHARED.get(attribute, attribute)


def sharing(attribute: str) -> tuple[str, ...]:
    """List the attributes whose claims compete with those of an attribute."""
    place = SHARED.get(attribute, attribute)
    return (place, *(other for other, shared in SHARED.items() if shared == place))


def is_fact(record: Record) -> bool:
    """Tell if a record contains a fact with a subject and an attribute."""
    metadata = record.metadata
    if record.layer is not Layer.SEMANTIC:
        return False
    named = isinstance(metadata.get("subject"), str) and isinstance(metadata.get("value"), str)
    return named and attributes.known(str(metadata.get("attribute", "")))


def fact_of(record: Record) -> Fact:
    """Read the fact in a record."""
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
        reason=reason if isinstance(reason := metadata.get("reason"), str) else "",
    )


def _times(said: object) -> tuple[datetime, ...]:
    """Parse times in metadata, which any program may have written."""
    try:
        return tuple(map(clock.moment, said)) if isinstance(said, (list, tuple)) else ()
    except InvalidInput:  # a field of another program with the same name
        return ()


def metadata_of(claim: Claim, source: Source, restates: Fact | None = None) -> dict[str, Any]:
    """Build the metadata of the record for a claim, which may replace a fact."""
    said = {since(claim, source), *(restates.said if restates else ())}
    metadata: dict[str, Any] = {
        "origin": ORIGIN,
        "topic_tags": [claim.attribute],
        "source_episode": source.episode,
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "voices": list(_voices(source, restates)),
        "said": [iso(at) for at in sorted(said)[-MOST_SAID:]],
        "span": [claim.start, claim.end],
        "rule": claim.rule,
    }
    if claim.at > source.at:
        metadata["when"] = iso(claim.at)  # it mentions a future day
    if not attributes.of(claim.attribute).many:
        metadata["single"] = True  # only one of them can be active
    if claim.negated:
        metadata["negated"] = True
    if claim.project is not None:
        metadata["project"] = claim.project
    if claim.reason:
        metadata["reason"] = claim.reason
    return metadata


def _voices(source: Source, restates: Fact | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(restates.voices if restates else ()), source.voice)))


def planned(claim: Claim, source: Source) -> Claim:
    """Turn a state that begins in the future into a plan, since it does not hold yet."""
    if claim.at <= source.at or claim.negated or claim.attribute in TIMELESS:
        return claim
    said = attributes.sentence(claim.subject, claim.attribute, claim.value)
    what = said.removeprefix(claim.subject).lstrip(" :'")
    return structs.replace(claim, attribute="plan", value=what, replaces=None, corrects=False)


def since(claim: Claim, source: Source) -> datetime:
    """Return the time since which a claim holds; a plan for June holds since it was made."""
    return min(claim.at, source.at)


def decide(known: Sequence[Fact], claim: Claim, source: Source) -> Step:
    """Decide what a claim does to the facts of its slot, given in order of arrival."""
    return _over(known, claim, source) if claim.until else _held(known, claim, source)


def _held(known: Sequence[Fact], claim: Claim, source: Source) -> Step:
    """Decide about a state that holds, or that held until something else was said."""
    at = _placed(known, claim, source)
    facts = _lasting(known, at)
    same = [fact for fact in facts if says(fact, claim)]
    # By id: comparing facts is slow, and these are the same objects as in `known`.
    others = {id(fact) for fact in facts} - {id(fact) for fact in same}
    rivals = [fact for fact in facts if id(fact) in others and excludes(fact, claim)]
    ends = [fact for fact in rivals if fact.holds(at)] or _only(facts, claim, at)
    taken_back = others - {id(fact) for fact in ends}
    ends += [fact for fact in _taken_back(facts, claim, at) if id(fact) in taken_back]
    following = _following(same, rivals, ends, at)
    saying = _saying(same, source, at)
    if saying is not None and not (claim.corrects and ends):
        relation, time = _repeats(saying, claim, source), Time.WITH_SAME
    else:
        relation, time = _relation(claim, ends), _time(claim, saying, following)
    row = decision.row(relation, _standing(ends, source), time)
    if row.effect is Effect.PROPOSE:
        return Step(row.effect, row.why, tuple(_active(facts, rivals, ends)))
    if relation in (Relation.NOTED, Relation.SAME):
        return Step(row.effect, row.why, fact=saying)
    if row.effect is Effect.KNOWN:
        return Step(row.effect, row.why)
    if time is Time.WITH_SAME and saying is not None:
        following = saying.valid_from, saying
    return _inserted(row, claim, at, ends, following)


def _lasting(known: Sequence[Fact], at: datetime) -> list[Fact]:
    """List the facts that held at a time or later. They are many, so this makes no calls."""
    return [
        fact
        for fact in known
        if (
            fact.state is State.ACTIVE
            if fact.valid_to is None
            else at < fact.valid_to and fact.valid_from < fact.valid_to
        )
    ]


def _placed(known: Sequence[Fact], claim: Claim, source: Source) -> datetime:
    """Return since when a claim holds, given the facts of its slot.

    "I work at Siemens since March" holds since March, unless something else was said to hold after
    that; then it holds since it was said.
    """
    at = since(claim, source)
    if claim.since is None or claim.since >= at:
        return at
    later = [fact for fact in known if claim.since < fact.valid_from <= at]
    is_rivalled = any(excludes(fact, claim) and not says(fact, claim) for fact in later)
    return at if is_rivalled else claim.since


def _saying(same: Sequence[Fact], source: Source, at: datetime) -> Fact | None:
    """Find the fact that already says a claim; for external text, any active one."""
    if source.trust is Trust.EXTERNAL:
        holding = [fact for fact in same if fact.state is State.ACTIVE]
    else:
        holding = [fact for fact in same if fact.holds(at)]
    return holding[-1] if holding else None


def _repeats(fact: Fact, claim: Claim, source: Source) -> Relation:
    """Tell if a repetition is new or already noted."""
    is_noted = since(claim, source) in fact.said and source.voice in fact.voices
    is_old = source.at <= (fact.last_verified or source.at)
    is_trusted = source.trust is not Trust.EXTERNAL
    return Relation.NOTED if is_noted and is_old and is_trusted else Relation.SAME


def _relation(claim: Claim, ends: Sequence[Fact]) -> Relation:
    """Return the relation of a claim to the facts that it ends."""
    if not ends:
        return Relation.UNKNOWN if claim.negated and not claim.value else Relation.NEW
    if claim.corrects:
        return Relation.RETRACTION if claim.negated else Relation.CORRECTION
    return Relation.DENIAL if claim.negated else Relation.RIVAL


def _time(claim: Claim, saying: Fact | None, following: tuple[datetime, Fact] | None) -> Time:
    """Return what is known about the time after a claim."""
    if saying is not None:
        return Time.WITH_SAME
    if following is None:
        return Time.LATEST
    return Time.BEFORE_SAME if says(following[1], claim) else Time.BEFORE_OTHER


def _standing(ends: Sequence[Fact], source: Source) -> Standing:
    """Compare the trust in a source with that in the facts that it would end."""
    if source.trust is Trust.EXTERNAL:
        return Standing.EXTERNAL
    is_less = any(is_trusted_less(source.trust, fact) for fact in ends)
    return Standing.LESS if is_less else Standing.ENOUGH


def _active(facts: Sequence[Fact], rivals: Sequence[Fact], ends: Sequence[Fact]) -> list[Fact]:
    """List the active facts that a claim contradicts, in order."""
    at_stake = {id(fact) for fact in (*rivals, *ends)}
    return [fact for fact in facts if id(fact) in at_stake and fact.state is State.ACTIVE]


def _over(known: Sequence[Fact], claim: Claim, source: Source) -> Step:
    """Decide about a past state: it makes no present fact, but may end one."""
    until = claim.until or source.at
    saying = [fact for fact in known if says(fact, claim)]
    ends = [fact for fact in saying if fact.state is State.ACTIVE and max(fact.said) <= source.at]
    begin, end = _free(known, claim, claim.at, max(claim.at, until))
    told = [fact for fact in saying if fact.valid_to is not None]
    is_told = any(begin == end or _overlaps(fact, begin, end) for fact in told)
    relation = Relation.OVER if ends else Relation.RECALLED if is_told else Relation.PAST
    row = decision.row(relation, _standing(ends, source), Time.LATEST)
    why = row.why.format(ended=_values(ends))
    if row.effect is Effect.PROPOSE:
        return Step(row.effect, why, tuple(ends), valid_from=begin, valid_to=end)
    if row.effect is Effect.END:
        changed = tuple((fact, _ended(fact, claim, until, source.at)) for fact in ends)
        return Step(row.effect, why, tuple(ends), ends[-1], changed=changed)
    if row.effect is Effect.PAST:
        return Step(row.effect, why, valid_from=begin, valid_to=end)
    return Step(row.effect, why)


def _ended(fact: Fact, claim: Claim, until: datetime, told: datetime) -> Fact:
    """End a fact when the claim says, or, if it began only later, when that was said."""
    after = _until(fact, until if until > fact.valid_from else told)
    is_older = claim.at < min(until, fact.valid_from)
    return structs.replace(after, valid_from=claim.at) if is_older else after


def _free(
    known: Sequence[Fact], claim: Claim, begin: datetime, end: datetime
) -> tuple[datetime, datetime]:
    """Find the part of a period in which no excluding fact is known.

    If it is empty, return the end, or the beginning of what holds then: the state held before that.
    """
    others = [fact for fact in known if excludes(fact, claim) and not fact.negated]
    if begin == end and (holding := [fact for fact in others if fact.holds(end)]):
        end = min(fact.valid_from for fact in holding)  # before what holds by now
        return end, end
    for fact in sorted(others, key=lambda fact: fact.valid_from):
        if fact.holds(begin):
            begin = fact.valid_to or end
        elif fact.holds(fact.valid_from) and begin < fact.valid_from < end:
            end = fact.valid_from
    return (begin, end) if begin < end else (end, end)


def _overlaps(fact: Fact, begin: datetime, end: datetime) -> bool:
    """Tell if a fact that has ended held at some time within a period."""
    return fact.valid_to is not None and fact.valid_from < end and fact.valid_to > begin


def _following(
    same: Sequence[Fact], rivals: Sequence[Fact], ends: Sequence[Fact], at: datetime
) -> tuple[datetime, Fact] | None:
    """Find what comes next in the slot: a later fact, or one that ends and was said again."""
    again = [(said, fact) for fact in ends if (said := fact.said_after(at))]
    later = [(fact.valid_from, fact) for fact in (*same, *rivals) if fact.valid_from > at]
    return min((*again, *later), key=lambda moment: moment[0], default=None)


def _inserted(
    row: decision.Row,
    claim: Claim,
    at: datetime,
    ends: Sequence[Fact],
    following: tuple[datetime, Fact] | None,
) -> Step:
    """Insert a claim in time: it ends what held, and holds until the next statement."""
    begin = _beginning(claim, at, ends)
    changed = tuple((fact, _after(fact, claim, at, begin)) for fact in ends)
    again = (fact for fact in ends if fact.said_after(at))
    earlier = tuple(_until(fact, begin) for fact in again if fact.valid_from < begin)
    until, fact = following or (None, None)
    if row.effect is Effect.REPEAT:
        until = None
        begin = min(begin, fact.valid_from) if fact is not None else begin
    why = row.why.format(ended=_values(ends))
    return Step(row.effect, why, tuple(ends), fact, begin, until, changed, earlier)


def _beginning(claim: Claim, at: datetime, ends: Sequence[Fact]) -> datetime:
    """Return since when a claim holds: a correction, since the wrong value did."""
    if not (claim.corrects and ends):
        return at
    affirmed = [fact for fact in ends if not fact.negated]
    return min(fact.valid_from for fact in affirmed or ends)


def _values(ends: Sequence[Fact]) -> str:
    """Name the values that end."""
    return ", ".join(shown(fact.value, 40) for fact in ends)


def _after(fact: Fact, claim: Claim, at: datetime, begin: datetime) -> Fact:
    """End a fact because of a claim; if it was said again later, it holds since then."""
    again = fact.said_after(at)
    if again is not None:
        return structs.replace(fact, valid_from=again)
    return _until(fact, None if claim.corrects and fact.valid_from >= begin else begin)


def _until(fact: Fact, end: datetime | None) -> Fact:
    """Supersede a fact at a time; None means that it never held."""
    return structs.replace(fact, state=State.SUPERSEDED, valid_to=end)


def taken_back(fact: Fact) -> Fact:
    """Return a fact as it is after it turned out that it never held."""
    return _until(fact, None)


def is_over(before: Fact, after: Fact) -> bool:
    """Tell if a fact that a claim ended does not hold again later."""
    return before.valid_from == after.valid_from or before.state is not after.state


def after(
    known: Iterable[Fact], claim: Claim, source: Source, step: Step, record: str | None
) -> list[Fact]:
    """Apply a step to the facts of a slot; `record` is the id of the new fact's record, if any."""
    # By id: comparing facts is slow, and these are the same objects as in `known`.
    changed = {id(fact): new for fact, new in step.changed}
    if step.effect is Effect.REPEAT and step.fact is not None:
        changed[id(step.fact)] = repeated(step.fact, claim, source, step.valid_from)
    facts = map(changed.get, map(id, known), known) if changed else known
    new = [] if record is None else [made(record, claim, source, step)]
    return [*facts, *step.earlier, *new]


def made(record: str, claim: Claim, source: Source, step: Step) -> Fact:
    """Build the fact for a claim."""
    old = step.restates
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
        source.at if old is None else max(source.at, old.last_verified or source.at),
        claim.confidence if old is None else max(claim.confidence, surer(old, claim, source)),
        source.trust,
        tuple(dict.fromkeys((*(old.evidence if old else ()), source.record))),
        _voices(source, old),
        tuple(sorted({since(claim, source), *(old.said if old else ())})[-MOST_SAID:]),
        reason=claim.reason,
    )


def repeated(fact: Fact, claim: Claim, source: Source, begin: datetime | None = None) -> Fact:
    """Confirm a fact with a claim that says the same; `begin` is given if it held earlier."""
    # A source that could not end the fact cannot confirm it.
    renewals = () if is_trusted_less(source.trust, fact) else (since(claim, source),)
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
    """Return a repeated fact's confidence: only a distinct source raises it."""
    if source.voice in fact.voices or source.trust is Trust.EXTERNAL:
        return fact.confidence
    return fact.confidence + (1 - fact.confidence) * CORROBORATION * claim.confidence


def same_value(attribute: str, one: str, other: str) -> bool:
    """Tell if two values mean the same; one may have more words."""
    mine, others = words(one), words(other)
    short, long = (mine, others) if len(mine) <= len(others) else (others, mine)
    if not short or mine == others:
        return mine == others
    if attribute in NAMES:
        return long[: len(short)] == short
    return attribute not in EXACT and set(long).issuperset(short)


def says(fact: Fact, claim: Claim) -> bool:
    """Tell if a fact says what a claim says."""
    if fact.attribute != claim.attribute or fact.negated != claim.negated:
        return False
    if claim.attribute == "partner" and normalise(claim.value) in UNNAMED:
        return True  # "my wife" is the person who was named before
    return same_value(claim.attribute, fact.value, claim.value)


def _only(known: Sequence[Fact], claim: Claim, at: datetime) -> list[Fact]:
    """Find whom a denial without a name means: "I have no sister" if one sibling is known."""
    if not is_unnamed(claim):
        return []
    affirmed = [fact for fact in known if not fact.negated and fact.holds(at)]
    return affirmed if len(affirmed) == 1 and affirmed[0].value[:1].isupper() else []


def is_unnamed(claim: Claim) -> bool:
    """Tell if a denial names nobody: "sister", "dog"."""
    return claim.negated and claim.attribute in NAMED and claim.value.islower()


def _taken_back(known: Sequence[Fact], claim: Claim, at: datetime) -> list[Fact]:
    """List what a correction takes back: of several facts, the one that it names, or the last."""
    if not claim.corrects:
        return []
    affirmed = [fact for fact in known if not fact.negated and fact.holds(at)]
    if not attributes.of(claim.attribute).many:
        return affirmed
    old = claim.replaces or ""
    named = [fact for fact in affirmed if old and same_value(claim.attribute, fact.value, old)]
    return named or affirmed[-1:]


def excludes(fact: Fact, claim: Claim) -> bool:
    """Tell if a fact and a claim cannot both hold, unless they say the same."""
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


def is_trusted_less(trust: Trust, fact: Fact) -> bool:
    """Tell if a source is trusted less than those of a fact."""
    return trust is not fact.trust and rules.lowest_trust((trust, fact.trust)) is trust


def telling(claim: Claim) -> frozenset[str] | None:
    """Return words, one of which a fact must have to agree with a claim or contradict it.

    None means that any fact of the slot may.
    """
    own = words(claim.value)
    replaced = () if claim.replaces is None else words(claim.replaces)
    is_single = not (attributes.of(claim.attribute).many or claim.negated)
    is_wordless = not own or (claim.replaces is not None and not replaced)
    is_any = is_wordless or is_unnamed(claim)
    if is_single or claim.corrects or claim.attribute == "partner" or is_any:
        return None
    return frozenset((*own, *replaced))


@lru_cache(10_000)  # a claim is compared with every fact of its slot
def words(value: str) -> tuple[str, ...]:
    """Split a value into the words to compare."""
    return tuple(word for word in WORD.findall(normalise(value)) if word not in ARTICLES)


def known_claim(fact: Fact) -> Claim:
    """Turn a fact back into a claim, in the form that readers of turns expect."""
    about = fact.subject, fact.attribute, fact.value
    rest = "known", fact.negated
    return Claim(*about, 0, 0, fact.valid_from, fact.confidence, *rest, reason=fact.reason)
