"""Select facts from records for a reader, or group them by slot. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from lamina.engines.facts import Fact, Slot, fact_of, is_fact
from lamina.model.record import Record
from lamina.text.words import normalise


def of_records(records: Iterable[Record]) -> list[Fact]:
    """Read the facts among records, in the order in which they began."""
    return in_order(map(fact_of, filter(is_fact, records)))


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


def _reading_order(fact: Fact) -> tuple[str, str, datetime, bool, str]:
    """Order facts by their beginning; one that ended when another began comes before it."""
    is_over = fact.valid_to == fact.valid_from
    return normalise(fact.subject), fact.attribute, fact.valid_from, not is_over, fact.record


def in_order(facts: Iterable[Fact]) -> list[Fact]:
    """Sort facts by their beginning."""
    return sorted(facts, key=lambda fact: (fact.valid_from, fact.record))


def by_slot(facts: Iterable[Fact]) -> Mapping[Slot, list[Fact]]:
    """Group facts by their slot, each in the order given."""
    slots: dict[Slot, list[Fact]] = {}
    for fact in facts:
        slots.setdefault(fact.slot, []).append(fact)
    return slots
