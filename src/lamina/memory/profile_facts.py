"""Compare profiles with the facts that they are based on."""

from __future__ import annotations

from collections.abc import Sequence

from lamina.engines import facts, tastes
from lamina.engines.facts import ORIGIN, Fact
from lamina.engines.tastes import Contradiction, Topics
from lamina.model.record import Layer, Record, State
from lamina.store.core.store import Store
from lamina.store.core.transaction import EVERY
from lamina.store.tables.records import Filter


def facts_of_profiles(store: Store, user: str | None) -> list[Fact]:
    """Read the facts that belong in a profile, in any state: those of one user, or of all."""
    found = store.night.facts_with(tastes.ATTRIBUTES, tastes.BEGINNINGS, user)
    return [facts.fact_of(one) for one in found if facts.is_fact(one)]


def people(store: Store, state: State) -> list[Record]:
    """Read the records of all profiles."""
    return store.listed(Filter(None, (Layer.PROFILE,), (state,)), EVERY)


def conflicts(store: Store, entries: Sequence[Record], user: str | None) -> list[Contradiction]:
    """List what records of profiles say that the facts now contradict."""
    if not entries:
        return []
    topics = Topics(facts_of_profiles(store, user), people(store, State.ACTIVE))
    return [one for entry in entries for one in topics.contradictions(entry)]


def outdated(store: Store, waiting: Sequence[Record]) -> dict[str, str]:
    """Explain for each outdated proposal of sleep for a profile why the facts have overtaken it."""
    made = [
        one
        for one in waiting
        if one.layer is Layer.PROFILE and one.metadata.get("origin") == ORIGIN
    ]
    return {
        one.record: f"{one.key} {one.value}: {one.why}"
        for one in reversed(conflicts(store, made, None))
    }
