"""Tastes become proposals: which keys of a profile follow from what people said that they like. Pure."""

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
    """A key of somebody's profile, and the value that facts give it."""

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
    """The keys whose value is neither known nor waits already. Lists keep what is in the profile, and grow.

    `is_rejected` knows the values of a user's key that stay out.
    """
    owners = _owners(profiles)
    grouped: dict[tuple[str | None, str], list[Fact]] = {}
    for fact in facts:
        if (
            attributes.is_preference(fact.attribute)
            and not fact.negated
            and fact.state is State.ACTIVE
        ):
            key = _key(fact, owners)
            if not is_rejected(fact.user, key, fact.value):
                grouped.setdefault((fact.user, key), []).append(fact)
    known, proposed = _by_key(profiles), _by_key(waiting)
    made = []
    for (user, key), some in sorted(
        grouped.items(), key=lambda item: (item[0][0] or "", item[0][1])
    ):
        place = user, words.normalise(key)
        value = _value(some, known.get(place, []))
        if not any(
            _is_same(one, value) for one in (*known.get(place, []), *proposed.get(place, []))
        ):
            made.append(_taste(user, key, value, some, proposed.get(place, [])))
    return made


def _taste(
    user: str | None, key: str, value: Any, some: Sequence[Fact], waiting: Sequence[Record]
) -> Taste:
    sources = dict.fromkeys(source for fact in some for source in fact.evidence)
    former = tuple(one.id for one in waiting if one.metadata.get("origin") == ORIGIN)
    return Taste(
        user,
        key,
        value,
        tuple(sources)[:MOST_EVIDENCE],
        rules.lowest_trust(fact.trust for fact in some),
        former,
    )


def _value(some: Sequence[Fact], known: Sequence[Record]) -> Any:
    """The newest value, or all that hold beside what the profile has."""
    if not attributes.of(some[0].attribute).many:
        return max(some, key=lambda fact: (fact.valid_from, fact.record)).value
    before = [line for record in known for line in profile.texts_of(record.metadata.get("value"))]
    lines = [
        *before,
        *(fact.value for fact in sorted(some, key=lambda fact: (fact.valid_from, fact.record))),
    ]
    return list({words.normalise(line): line for line in reversed(lines)}.values())[::-1]


def _key(fact: Fact, owners: Mapping[str | None, str]) -> str:
    """The attribute for whom the profile is about, and the name before it for everybody else."""
    name = fact.attribute.replace(":", "_").replace(" ", "_")
    subject = words.normalise(fact.subject)
    owner = owners.get(fact.user)
    if subject == owner or (fact.user is not None and subject == words.normalise(fact.user)):
        return name
    return f"{'-'.join(words.WORD.findall(subject))}.{name}"


def _owners(profiles: Iterable[Record]) -> dict[str | None, str]:
    """Whom each profile is about, where it says so."""
    named = [
        one for one in profiles if profile.same_key(str(one.metadata.get("profile_key")), "name")
    ]
    return {one.user: words.normalise(str(one.metadata.get("value"))) for one in named}


def _by_key(records: Iterable[Record]) -> dict[tuple[str | None, str], list[Record]]:
    found: dict[tuple[str | None, str], list[Record]] = {}
    for record in records:
        key = words.normalise(str(record.metadata.get("profile_key")))
        found.setdefault((record.user, key), []).append(record)
    return found


def _is_same(record: Record, value: Any) -> bool:
    mine, others = (
        sorted(map(words.normalise, profile.texts_of(one)))
        for one in (record.metadata.get("value"), value)
    )
    return mine == others
