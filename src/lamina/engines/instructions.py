"""Choose the instructions that apply: of several about one topic, the latest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lamina.engines import facts, profile
from lamina.engines.facts import Fact
from lamina.engines.tastes import Topic, Topics
from lamina.model import rules, slots
from lamina.model.record import Record, State
from lamina.text import words


class Applying(NamedTuple):
    """The instructions that apply, and those that do not any more."""

    confirmed: list[Record]  # entries of the profile
    waiting: list[Record]  # facts that nobody has confirmed
    over: Mapping[str, Record]  # ids of other entries, with the later fact that contradicts each


def applying(entries: Sequence[Record], told: Sequence[Record]) -> Applying:
    """Compare the instructions in a profile with the active facts about instructions.

    `told` includes facts about names: together with the profile they tell whose an entry is.
    """
    confirmed = [one for one in entries if profile.is_standing(one)]
    by_key = {words.normalise(profile.key_of(one)): one for one in confirmed}
    records = {one.id: one for one in told}
    waiting: list[Record] = []
    over: dict[str, Record] = {}
    known = Topics(map(facts.fact_of, filter(facts.is_fact, told)), entries)
    for (_, key), topic in known.by_place.items():
        if not topic.attribute.startswith(slots.INSTRUCTION):
            continue
        entry = by_key.get(key)
        later = None if entry is None else _contradicting(topic, entry)
        if entry is not None and later is not None:
            over[entry.id] = records[later.record]
        if entry is None or later is not None:
            waiting += [records[one.record] for one in topic.holding[-1:]]
    return Applying([one for one in confirmed if one.id not in over], waiting, over)


def _contradicting(topic: Topic, entry: Record) -> Fact | None:
    """Find the later fact that contradicts all of an entry and is trusted no less, if any."""
    lines = profile.texts_of(entry.metadata.get("value"))
    against = [found[0] for line in lines if (found := topic.against(line, entry))]
    if not lines or len(against) < len(lines):
        return None
    fact = against[-1]
    is_later = fact.state is State.ACTIVE and max(fact.said) > entry.occurred_at
    is_trusted = rules.lowest_trust((fact.trust, entry.trust)) is entry.trust
    return fact if is_later and is_trusted else None
