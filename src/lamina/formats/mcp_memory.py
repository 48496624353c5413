"""The graph of the MCP reference memory server: entities, observations and relations. Pure."""

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
# Metadata that gives the place of a record in the graph.
NAME, TYPE, PART, FROM, TO, RELATED = "entity", "entity_type", "graph", "from", "to", "relation"
WHOLE, EDGE, OBSERVED = "entity", "relation", "observation"
OTHERS = "memory"


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like an entity or a relation."""
    has_type = line.get("type") in ("entity", "relation")
    return has_type or "entityType" in line or "relationType" in line


def entries_of(line: Fields) -> list[Entry]:
    """Read one memory for each observation, relation, and entity without observations."""
    if line.get("type") == "relation" or "relationType" in line:
        return [_relation(line)]
    fields = entries.checked(line, ENTITY, "an entity")
    name, kind = _name(fields, "name"), _name(fields, "entityType")
    observed = entries.texts(fields.get("observations", []), "observations")
    if not observed:
        return [_entry(name, {NAME: name, TYPE: kind, PART: WHOLE}, (name, kind))]
    return [_observation(name, kind, text) for text in dict.fromkeys(observed)]


def _observation(name: str, kind: str, observed: str) -> Entry:
    """Put the name of the entity before an observation that does not begin with it.

    Metadata records this, so that an export can remove the name again.
    """
    metadata, key = {NAME: name, TYPE: kind}, (name, kind, observed)
    if not is_visible(observed) or observed.casefold().startswith(f"{name} ".casefold()):
        return _entry(observed, metadata, key)
    return _entry(_about(name) + observed, {**metadata, PART: OBSERVED}, key)


def _about(name: str) -> str:
    return f"{name}: "


def _relation(line: Fields) -> Entry:
    fields = entries.checked(line, RELATION, "a relation")
    start, end, kind = (_name(fields, name) for name in ("from", "to", "relationType"))
    metadata = {FROM: start, TO: end, RELATED: kind, PART: EDGE}
    return _entry(f"{start} {kind} {end}", metadata, (start, kind, end, EDGE))


def _entry(content: str, metadata: dict[str, Any], key: tuple[str, ...]) -> Entry:
    return Entry({"content": content, "kind": "fact", "metadata": metadata}, long=True, key=key)


def _name(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} {shown(value)} is not a name")
    return value


def refusal(record: Record) -> str | None:
    """Say why a record has no place in a graph."""
    if record.user is not None:
        return "the graph cannot say whose it is"
    if record.state != "active":
        return f"the graph cannot say that a memory is {record.state}"
    return None


def lines_of(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Build a graph of records: entities in the order of their first record, then relations."""
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
    """Return the observation without the name that was put before it."""
    if record.metadata.get(PART) != OBSERVED:
        return record.content
    return record.content.removeprefix(_about(_entity(record)[0]))


def _entity(record: Record) -> tuple[str, str]:
    """Name the entity of a record: the one in its metadata, its speaker, or its agent."""
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
    match [record.metadata.get(name) for name in (FROM, RELATED, TO)]:
        case [str(start), str(kind), str(end)] if start and kind and end:
            return start, kind, end
    return None


def lost(record: Record) -> list[str]:
    """Name the fields of a record that the graph does not hold."""
    metadata = {NAME, TYPE, PART, FROM, TO, RELATED, "subject", "origin", "topic_tags"}
    return entries.lost(record, {"content", "state"}, metadata)
