"""Plan proposals for the profile from facts about what people like. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from lamina.engines import profile
from lamina.engines.claims import attributes
from lamina.engines.facts import ORIGIN, Fact
from lamina.model import rules
from lamina.model.record import Record, State, Trust
from lamina.text import words

MOST_EVIDENCE = 100


class Taste(msgspec.Struct, frozen=True):
    """A key of a user's profile, and the value that facts give it."""

    user: str | None
    key: str
    value: Any
    evidence: tuple[str, ...]
    trust: Trust
    replaces: tuple[str, ...] = ()  # proposals for the key that were made here before


def plan(
    facts: Iterable[Fact],
    profiles: Sequence[Record],
    waiting: Sequence[Record],
    is_rejected: Callable[[str | None, str, str], bool] = lambda user, key, value: False,
) -> list[Taste]:
    """Propose the keys whose value is neither in the profile nor under review.

    Lists keep what is in the profile, and grow. `is_rejected` knows the values of a user's key
    that stay out.
    """
    owners = _owners(profiles)
    grouped: dict[tuple[str | None, str], list[Fact]] = {}
    for fact in facts:
        if not _is_taste(fact):
            continue
        key = _key(fact, owners)
        if not is_rejected(fact.user, key, fact.value):
            grouped.setdefault((fact.user, key), []).append(fact)
    known, proposed = _by_key(profiles), _by_key(waiting)
    tastes = []
    for user, key in sorted(grouped, key=lambda group: (group[0] or "", group[1])):
        group, slot = grouped[user, key], (user, words.normalise(key))
        active, pending = known.get(slot, []), proposed.get(slot, [])
        value = _value(group, active)
        if not any(_is_same(record, value) for record in (*active, *pending)):
            tastes.append(_taste(user, key, value, group, pending))
    return tastes


def _is_taste(fact: Fact) -> bool:
    is_held = fact.state is State.ACTIVE and not fact.negated
    return is_held and attributes.is_preference(fact.attribute)


def _taste(
    user: str | None, key: str, value: Any, facts: Sequence[Fact], waiting: Sequence[Record]
) -> Taste:
    sources = tuple(dict.fromkeys(source for fact in facts for source in fact.evidence))
    former = tuple(record.id for record in waiting if record.metadata.get("origin") == ORIGIN)
    trust = rules.lowest_trust(fact.trust for fact in facts)
    return Taste(user, key, value, sources[:MOST_EVIDENCE], trust, former)


def _value(facts: Sequence[Fact], known: Sequence[Record]) -> Any:
    """Choose the newest value, or list all that hold after those of the profile."""
    ordered = sorted(facts, key=lambda fact: (fact.valid_from, fact.record))
    if not attributes.of(facts[0].attribute).many:
        return ordered[-1].value
    before = [line for record in known for line in profile.texts_of(record.metadata.get("value"))]
    lines = [*before, *(fact.value for fact in ordered)]
    return list({words.normalise(line): line for line in reversed(lines)}.values())[::-1]


def _key(fact: Fact, owners: Mapping[str | None, str]) -> str:
    """Name the key: the attribute, after the person's name unless the profile is about them."""
    name = fact.attribute.replace(":", "_").replace(" ", "_")
    subject = words.normalise(fact.subject)
    owner = owners.get(fact.user)
    if subject == owner or (fact.user is not None and subject == words.normalise(fact.user)):
        return name
    return f"{'-'.join(words.WORD.findall(subject))}.{name}"


def _owners(profiles: Iterable[Record]) -> dict[str | None, str]:
    """Read whom each user's profile is about, where it has a name."""
    return {
        record.user: words.normalise(str(record.metadata.get("value")))
        for record in profiles
        if profile.same_key(str(record.metadata.get("profile_key")), "name")
    }


def _by_key(records: Iterable[Record]) -> dict[tuple[str | None, str], list[Record]]:
    by_key: dict[tuple[str | None, str], list[Record]] = {}
    for record in records:
        key = words.normalise(str(record.metadata.get("profile_key")))
        by_key.setdefault((record.user, key), []).append(record)
    return by_key


def _is_same(record: Record, value: Any) -> bool:
    return _lines(record.metadata.get("value")) == _lines(value)


def _lines(value: Any) -> list[str]:
    return sorted(map(words.normalise, profile.texts_of(value)))
