"""Plan proposals for the profile from facts: tastes, names and standing instructions. Pure.

The profile follows the facts. A key consists of the subject and the attribute of a fact; its entry
in the profile is compared with the facts of the same slot. Whatever they contradict, or rests on
facts that no longer hold, is left out of the next proposal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from lamina.engines import facts as knowledge
from lamina.engines import profile
from lamina.engines.claims import Claim, attributes
from lamina.engines.facts import ORIGIN, Fact
from lamina.model import rules
from lamina.model.record import Record, State, Trust
from lamina.text import cues, words

MOST_EVIDENCE = 100
NAME = "name"
# The attributes of facts that belong in a profile, and the prefixes of others.
ATTRIBUTES = (NAME, *sorted(attributes.PREFERENCES))
BEGINNINGS = (attributes.FAVOURITE, attributes.INSTRUCTION)
# Names of speakers that mean the person whom the profile is about.
SELF = frozenset({"me", "myself", *(who for who, cue in cues.ROLES.items() if cue == cues.USER)})
Place = tuple[str | None, str]  # a user, and a key of their profile as it is compared


class Contradiction(NamedTuple):
    """A value in the profile that the facts no longer support."""

    record: str  # the profile record
    key: str
    value: str
    fact: str  # the record of the fact that contradicts it, or that has ended
    why: str

    def to_dict(self) -> dict[str, Any]:
        return self._asdict()


class Taste(msgspec.Struct, frozen=True):
    """A key of a user's profile, and the value that facts give it."""

    user: str | None
    key: str
    value: Any  # None if nothing is proposed
    evidence: tuple[str, ...]
    trust: Trust
    replaces: tuple[str, ...] = ()  # proposals for the key that were made here before
    ends: tuple[str, ...] = ()  # records of the profile of which nothing is left
    dropped: tuple[Contradiction, ...] = ()  # values in the profile without support by facts


class Topic(msgspec.Struct, frozen=True):
    """The facts for one key of a profile, in any state, oldest first."""

    key: str
    subject: str
    attribute: str
    facts: list[Fact]  # including the attribute that excludes this one, such as `dislikes`

    @property
    def holding(self) -> list[Fact]:
        """The facts that hold now and give the key a value."""
        own = (fact for fact in self.facts if fact.attribute == self.attribute)
        return [fact for fact in own if fact.state is State.ACTIVE and not fact.negated]

    def against(self, line: str, entry: Record) -> tuple[Fact, str] | None:
        """Find the fact that contradicts a line of a profile record, and the reason."""
        begin = entry.occurred_at
        claim = Claim(self.subject, self.attribute, line, 0, 0, begin, 1.0, "profile")
        active = [fact for fact in self.facts if fact.state is State.ACTIVE]
        if any(knowledge.says(fact, claim) for fact in active):
            return None
        for fact in reversed(active):
            if knowledge.excludes(fact, claim):
                return fact, _sentence(fact)
        for fact in reversed(self.facts):
            is_believed = fact.state is State.ACTIVE
            if not is_believed and knowledge.says(fact, claim) and _rests_on(entry, fact):
                return fact, f"it holds no longer: {_sentence(fact)}"
        return None


class Topics:
    """The facts by key of the profile; `profiles` tell whom they are about."""

    def __init__(self, facts: Iterable[Fact], profiles: Iterable[Record]) -> None:
        told = [fact for fact in facts if is_about_profile(fact)]
        told.sort(key=lambda fact: (fact.valid_from, fact.record))
        owners = _Owners(told, profiles)
        self.by_place: dict[Place, Topic] = {}
        for fact in told:
            for attribute in knowledge.sharing(fact.attribute):
                key = owners.key(fact, attribute)
                place = fact.user, words.normalise(key)
                topic = Topic(key, fact.subject, attribute, [])
                self.by_place.setdefault(place, topic).facts.append(fact)

    def contradictions(self, entry: Record) -> list[Contradiction]:
        """List the values in a profile record that the facts contradict."""
        key = str(entry.metadata.get("profile_key"))
        topic = self.by_place.get((entry.user, words.normalise(key)))
        found = []
        for line in profile.texts_of(entry.metadata.get("value")) if topic else ():
            if topic and (against := topic.against(line, entry)):
                fact, why = against
                found.append(Contradiction(entry.id, key, line, fact.record, why))
        return found


def is_about_profile(fact: Fact) -> bool:
    """Tell if a fact belongs in a profile."""
    return fact.attribute in ATTRIBUTES or fact.attribute.startswith(BEGINNINGS)


def plan(
    facts: Iterable[Fact],
    profiles: Sequence[Record],
    waiting: Sequence[Record],
    is_rejected: Callable[[str | None, str, str], bool] = lambda user, key, value: False,
) -> list[Taste]:
    """Propose the keys whose value is neither in the profile nor under review.

    Lists keep what is in the profile and not contradicted, and grow. `is_rejected` tells which
    values of a user's key were rejected.
    """
    topics = Topics(facts, profiles)
    known, proposed = _by_key(profiles), _by_key(waiting)
    tastes = []
    for place in sorted(topics.by_place, key=lambda place: (place[0] or "", place[1])):
        topic, user = topics.by_place[place], place[0]
        held = [one for one in topic.holding if not is_rejected(user, topic.key, one.value)]
        active, pending = known.get(place, []), proposed.get(place, [])
        taste = _taste(user, topic, held, active, pending, topics)
        if taste is not None:
            tastes.append(taste)
    return tastes


def _taste(
    user: str | None,
    topic: Topic,
    held: Sequence[Fact],
    active: Sequence[Record],
    pending: Sequence[Record],
    topics: Topics,
) -> Taste | None:
    """Decide what to propose for one key; None for nothing."""
    dropped = [one for record in active for one in topics.contradictions(record)]
    value = _value(topic, held, active, dropped)
    own = [record for record in pending if record.metadata.get("origin") == ORIGIN]
    is_told = any(_is_same(record, value) for record in (*active, *pending))
    if value is not None and not is_told:
        former = tuple(record.id for record in own)
        sources = _sources(topic, held, active)
        return Taste(user, topic.key, value, *sources, former, (), tuple(dropped))
    stale = tuple(record.id for record in own if topics.contradictions(record))
    doubted = {one.record for one in dropped} if value is None else set()
    ends = tuple(record.id for record in active if record.id in doubted)
    if not stale and not ends:
        return None
    return Taste(user, topic.key, None, (), Trust.AGENT, stale, ends, tuple(dropped))


def _sources(
    topic: Topic, facts: Sequence[Fact], active: Sequence[Record]
) -> tuple[tuple[str, ...], Trust]:
    """Return the evidence of a value and the lowest trust; lists include those of the profile."""
    is_kept = attributes.of(topic.attribute).many or not facts
    evidence = [one for fact in facts for one in fact.evidence or (fact.record,)]
    evidence += [one for record in active for one in record.evidence if is_kept]
    trusts = [*(fact.trust for fact in facts), *(one.trust for one in active if is_kept)]
    return tuple(dict.fromkeys(evidence))[:MOST_EVIDENCE], rules.lowest_trust(trusts)


def _value(
    topic: Topic, held: Sequence[Fact], active: Sequence[Record], dropped: Sequence[Contradiction]
) -> Any:
    """Choose the newest value, or list those of the profile and all that hold.

    Return None if nothing is left.
    """
    gone = {(one.record, one.value) for one in dropped}
    before = [
        line
        for record in active
        for line in profile.texts_of(record.metadata.get("value"))
        if (record.id, line) not in gone
    ]
    if not attributes.of(topic.attribute).many:
        return held[-1].value if held else before[-1] if before else None
    lines = [*before, *(fact.value for fact in held)]
    return list({words.normalise(line): line for line in reversed(lines)}.values())[::-1] or None


def _rests_on(entry: Record, fact: Fact) -> bool:
    """Tell if a profile record was made from a fact, or shares its evidence."""
    if entry.metadata.get("origin") == ORIGIN:
        return True
    return not {fact.record, *fact.evidence}.isdisjoint(entry.evidence)


def _sentence(fact: Fact) -> str:
    return attributes.sentence(fact.subject, fact.attribute, fact.value, negated=fact.negated)


class _Owners:
    """Determines whom each user's profile is about."""

    def __init__(self, facts: Iterable[Fact], profiles: Iterable[Record]) -> None:
        self._names: dict[str | None, str] = {
            record.user: str(record.metadata.get("value"))
            for record in profiles
            if profile.same_key(str(record.metadata.get("profile_key")), NAME)
        }
        self._named: dict[str | None, dict[str, str]] = {}  # who stated which name
        for fact in facts:
            if fact.attribute == NAME and fact.state is State.ACTIVE and not fact.negated:
                self._named.setdefault(fact.user, {})[words.normalise(fact.subject)] = fact.value

    def key(self, fact: Fact, attribute: str) -> str:
        """Return a key: the attribute, preceded by the person's name unless it is the profile's."""
        name = _key_of(attribute)
        subject = words.normalise(fact.subject)
        if self._is_owner(fact.user, subject) or (
            attribute == NAME and self._is_only_name(fact.user)
        ):
            return name
        return f"{'-'.join(words.WORD.findall(subject))}.{name}"

    def _is_owner(self, user: str | None, subject: str) -> bool:
        if subject in SELF or (user is not None and subject == words.normalise(user)):
            return True
        owner = self._names.get(user)
        if owner is None:
            return False
        given = self._named.get(user, {}).get(subject, subject)
        return words.normalise(owner) in (subject, words.normalise(given))

    def _is_only_name(self, user: str | None) -> bool:
        """Tell if nobody else stated a name, and the profile has none."""
        return user not in self._names and len(self._named.get(user, {})) <= 1


def _key_of(attribute: str) -> str:
    if attribute.startswith(attributes.INSTRUCTION):
        return profile.instruction_key(attribute)
    return attribute.replace(":", "_").replace(" ", "_")


def _by_key(records: Iterable[Record]) -> Mapping[Place, list[Record]]:
    by_key: dict[Place, list[Record]] = {}
    for record in records:
        key = words.normalise(str(record.metadata.get("profile_key")))
        by_key.setdefault((record.user, key), []).append(record)
    return by_key


def _is_same(record: Record, value: Any) -> bool:
    return says_the_same(record.metadata.get("value"), value)


def says_the_same(one: Any, other: Any) -> bool:
    """Tell if two values say the same, in any order and spelling."""
    return _lines(one) == _lines(other)


def _lines(value: Any) -> list[str]:
    return sorted(map(words.normalise, profile.texts_of(value)))
