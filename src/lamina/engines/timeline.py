"""Choose the facts that a timeline shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.engines import facts
from lamina.engines.facts import Fact
from lamina.model.record import Record, State


def without_restated(known: Sequence[Fact], records: Iterable[Record]) -> list[Fact]:
    """Leave out facts that were replaced by a record that says the same: it includes their time."""
    by_id = {record.id: record for record in records}

    def is_restated(fact: Fact) -> bool:
        newer = by_id.get(by_id[fact.record].superseded_by or "")
        if fact.valid_to is not None or newer is None or not facts.is_fact(newer):
            return False
        return facts.says(fact, facts.known_claim(facts.fact_of(newer)))

    return [fact for fact in known if fact.state is State.ACTIVE or not is_restated(fact)]
