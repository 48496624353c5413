"""The graph of the MCP reference memory server: entities with observations, and relations between them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import entries
from lamina.formats.entries import Entry, Fields
from lamina.model.record import Record
from lamina.text.words import is_visible, shown

LISTS = ("entities", "relations")
ENTITY = ("type", "name", "entityType", "observations")
RELATION = ("type", "from", "to", "relationType")
# Where a record is in the graph.
NAME, TYPE, PART, FROM, TO, RELATED = "entity", "entity_type", "graph", "from", "to", "relation"
WHOLE, EDGE, OBSERVED = "entity", "relation", "observation"
OTHERS = "memory"


def is_ours(line: Fields) -> bool:
    """Whether a line looks like an entity or a relation."""
    return line.get("type") in ("entity", "relation") or not line.keys().isdisjoint(
        ("entityType", "relationType")
    )


def entries_of(line: Fields) -> list[Entry]:
    """Each observation is a memory that says of what; so are a relation, and an entity of which nothing was observed."""
    if line.get("type") == "relation" or "relationType" in line:
        return [_relation(line)]
    fields = entries.known(line, ENTITY, "an entity")
    name, kind = _name(fields, "name"), _name(fields, "entityType")
    observed = entries.texts(fields.get("observations", []), "observations")
    if not observed:
        return [_entry(name, {NAME: name, TYPE: kind, PART: WHOLE}, (name, kind))]
    return [_observation(name, kind, one) for one in dict.fromkeys(observed)]


def _observation(name: str, kind: str, observed: str) -> Entry:
    """An observation after the name of what it is about, unless it begins with that; metadata says that it was put there."""
    metadata, key = {NAME: name, TYPE: kind}, (name, kind, observed)
    if not is_visible(observed) or observed.casefold().startswith(f"{name} ".casefold()):
        return _entry(observed, metadata, key)
    return _entry(_about(name) + observed, {**metadata, PART: OBSERVED}, key)


def _about(name: str) -> str:
    return f"{name}: "


def _relation(line: Fields) -> Entry:
    fields = entries.known(line, RELATION, "a relation")
    start, end, kind = (_name(fields, name) for name in ("from", "to", "relationType"))
    return _entry(
        f"{start} {kind} {end}",
        {FROM: start, TO: end, RELATED: kind, PART: EDGE},
        (start, kind, end, EDGE),
    )


def _entry(content: str, metadata: dict[str, Any], key: tuple[str, ...]) -> Entry:
    return Entry({"content": content, "kind": "fact", "metadata": metadata}, long=True, key=key)


def _name(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} {shown(value)} is not a name")
    return value


def refusal(record: Record) -> str | None:
    """Why a record has no place in a graph."""
    if record.user is not None:
        return "the graph cannot say whose it is"
    return (
        None
        if record.state == "active"
        else f"the graph cannot say that a memory is {record.state}"
    )


def lines_of(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """The graph that records make: entities in the order in which they first appear, then relations."""
    entities: dict[tuple[str, str], dict[str, None]] = {}
    relations: dict[tuple[str, str, str], None] = {}
    for record in records:
        if (edge := _edge(record)) is not None:
            relations[edge] = None
            continue
        observed = entities.setdefault(_entity(record), {})
        if record.metadata.get(PART) != WHOLE:
            observed[_observed(record)] = None
    for (name, kind), observed in entities.items():
        yield {"type": "entity", "name": name, "entityType": kind, "observations": list(observed)}
    for start, kind, end in relations:
        yield {"type": "relation", "from": start, "to": end, "relationType": kind}


def _observed(record: Record) -> str:
    """What was observed, without the name that was put before it."""
    if record.metadata.get(PART) != OBSERVED:
        return record.content
    return record.content.removeprefix(_about(_entity(record)[0]))


def _entity(record: Record) -> tuple[str, str]:
    """Of what a record was observed: what it says itself, else who said it, else the agent whose memory it is."""
    name, kind = record.metadata.get(NAME), record.metadata.get(TYPE)
    if isinstance(name, str) and name and isinstance(kind, str) and kind:
        return name, kind
    subject = record.metadata.get("subject")
    if isinstance(subject, str) and subject:
        return subject, "subject"
    return (record.speaker, "speaker") if record.speaker else (record.agent, OTHERS)


def _edge(record: Record) -> tuple[str, str, str] | None:
    if record.metadata.get(PART) != EDGE:
        return None
    start, kind, end = (record.metadata.get(name) for name in (FROM, RELATED, TO))
    if (
        isinstance(start, str)
        and isinstance(kind, str)
        and isinstance(end, str)
        and start
        and kind
        and end
    ):
        return start, kind, end
    return None


def lost(record: Record) -> list[str]:
    """The fields of a record that the graph does not hold."""
    missing = entries.missing(record, {"content", "state"})
    of_graph = {NAME, TYPE, PART, FROM, TO, RELATED, "subject", "origin", "topic_tags"}
    return [name for name in missing if name != "metadata" or record.metadata.keys() - of_graph]
