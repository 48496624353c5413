"""The tools that read by name: a record, a subject, the last hours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lamina.memory.agent import Memory
from lamina.model.record import Record, State, iso
from lamina.surfaces.mcp import answers as r
from lamina.surfaces.mcp import arguments as a
from lamina.surfaces.mcp.quoting import entry, fitted, named, unfenced
from lamina.text import fence, words

if TYPE_CHECKING:
    from lamina.engines.facts import Fact


def get(memory: Memory, given: a.Get) -> r.Read:
    record = memory.get(memory.full_id(given.record_id))
    text, _ = fitted([quoted(record)], given.max_chars)
    return r.Read(
        text=text,
        importance=record.importance,
        superseded_by=record.superseded_by,
        **unfenced(record),
    )


def recent(memory: Memory, given: a.Recent) -> r.Listed:
    records = memory.query_recent(given.hours, given.tags or None, given.limit)
    text, number = fitted([quoted(record) for record in records], given.max_chars)
    return r.Listed(
        text=text or f"nothing happened in the last {given.hours:g} hours",
        records=[r.Quoted(**unfenced(record)) for record in records[:number]],
        left_out=len(records) - number,
    )


def facts(memory: Memory, given: a.Facts) -> r.Known:
    found = memory.facts(given.subject, given.attribute, given.as_of)
    return _known(found, given.subject, given.max_chars)


def timeline(memory: Memory, given: a.Timeline) -> r.Known:
    return _known(memory.timeline(given.subject), given.subject, given.max_chars)


def pending(memory: Memory, given: a.Pending) -> r.Agenda:
    items = memory.pending()
    text, number = fitted([_open(item) for item in items], given.max_chars)
    return r.Agenda(
        text=text or "nothing is open",
        items=[
            r.Open(id=item["id"], why=item["why"], since=item["at"], due=item.get("due"))
            for item in items[:number]
        ],
        left_out=len(items) - number,
    )


def quoted(record: Record) -> str:
    """Quote a record with everything that shows how far to trust it."""
    label = [f"{record.layer} {record.id}", record.kind, f"trust {record.trust}"]
    label += [] if record.state is State.ACTIVE else [record.state.value]
    label.append(_day(record.occurred_at))
    if record.superseded_by is not None:
        label.append(f"superseded by {record.superseded_by}")
    for name in ("source", "speaker", "session"):
        value = getattr(record, name)
        label += named(name, [] if value is None else [value])
    label += named("tags", record.tags) + named("evidence", record.evidence)
    return entry(label, record.content)


def _known(found: Sequence[Fact], subject: str | None, room: int) -> r.Known:
    text, number = fitted([_fact(fact) for fact in found], room)
    about = "" if subject is None else f" about {fence.tamed(words.shown(subject))}"
    return r.Known(
        text=text or f"nothing is known{about}; `search` also finds what was only said",
        facts=[
            r.FactFound(
                id=fact.record,
                state=fact.state.value,
                trust=fact.trust.value,
                confidence=fact.confidence,
                valid_from=iso(fact.valid_from),
                valid_to=None if fact.valid_to is None else iso(fact.valid_to),
            )
            for fact in found[:number]
        ],
        left_out=len(found) - number,
    )


def _fact(fact: Fact) -> str:
    from lamina.engines.claims import attributes

    label = [f"fact {fact.record}", f"trust {fact.trust}", f"confidence {fact.confidence:.2f}"]
    end = "" if fact.valid_to is None else f" to {_day(fact.valid_to)}"
    is_mistake = fact.valid_to is None and fact.state is not State.ACTIVE
    label.append("never held" if is_mistake else f"from {_day(fact.valid_from)}{end}")
    label += ["its evidence is gone"] if fact.groundless else []
    return entry(
        label,
        attributes.sentence(fact.subject, fact.attribute, fact.value, negated=fact.negated),
    )


def _open(item: dict[str, Any]) -> str:
    due = [f"due {item['due']}"] if "due" in item else []
    return entry([item["id"], item["why"], f"since {item['at'][:10]}", *due], item["content"])


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
