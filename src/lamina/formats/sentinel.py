"""Sentinel's two tables: episodes that were, and facts that hold until contradicted. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.errors import Refused
from lamina.formats import entries
from lamina.formats.entries import Entry, Fields
from lamina.model import rules
from lamina.model.hashing import encode
from lamina.model.record import Layer, Record, State, iso

LISTS = ("episodes", "facts")
EPISODE = ("id", "timestamp", "summary", "participants", "tags", "raw_hash", "importance")
FACT = tuple("id content source_episode confidence created last_verified superseded_by".split())
PROFILE = frozenset(
    "preferences schedule relationships interests communication_style environment".split()
)
CARRIED: Mapping[Layer, frozenset[str]] = {
    Layer.EPISODIC: frozenset("id layer state content occurred_at tags importance".split()),
    Layer.SEMANTIC: frozenset(
        "id layer state content occurred_at confidence last_verified superseded_by".split()
    ),
}
STATES: Mapping[Layer, tuple[State, ...]] = {
    Layer.EPISODIC: (State.ACTIVE,),
    Layer.SEMANTIC: (State.ACTIVE, State.SUPERSEDED),
}
# Metadata that has a column of its own, and what semantic memory has from every import.
COLUMNS: Mapping[Layer, frozenset[str]] = {
    Layer.EPISODIC: frozenset({"participants", "raw_hash"}),
    Layer.SEMANTIC: frozenset({"source_episode"}),
}


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like a row of one of the tables, or like the profile."""
    if "summary" in line:
        return not line.keys().isdisjoint(("participants", "raw_hash"))
    return "source_episode" in line or line.keys() >= {"content", "created"} or is_profile(line)


def is_profile(line: Fields) -> bool:
    """Tell whether a line looks like the profile."""
    return len(line.keys() & PROFILE) > 1 and "content" not in line


def entries_of(line: Fields) -> list[Entry]:
    """Read a row as a memory to store."""
    if is_profile(line):
        raise Refused(entries.PROFILE_REFUSED)
    return [_episode(line) if "summary" in line else _fact(line)]


def _episode(line: Fields) -> Entry:
    fields = entries.checked(line, EPISODE, "an episode of Sentinel")
    metadata: dict[str, Any] = entries.pick(fields, "raw_hash")
    if "participants" in fields:
        metadata["participants"] = entries.texts(fields["participants"], "participants")
    item: dict[str, Any] = {
        "content": fields.get("summary"),
        "metadata": metadata,
        "tags": entries.texts(fields.get("tags"), "tags"),
    }
    item |= entries.importance(fields) | entries.times(fields, "timestamp")
    return Entry(item, entries.id_of(fields), None, True, Layer.EPISODIC, state=State.ACTIVE)


def _fact(line: Fields) -> Entry:
    fields = entries.checked(line, FACT, "a fact of Sentinel")
    item = {
        **entries.pick(fields, "content", "confidence"),
        **entries.times(fields, "created"),
        "kind": "fact",
    }
    if "source_episode" in fields:
        item["metadata"] = {"source_episode": fields["source_episode"]}
        item |= entries.evidence({"evidence": [fields["source_episode"]]})
    successor = verified = None
    if "superseded_by" in fields:
        successor = rules.label(fields["superseded_by"], "superseded_by")
    if "last_verified" in fields:
        verified = entries.moment(fields["last_verified"], "last_verified")
    return Entry(
        item,
        entries.id_of(fields),
        long=True,
        layer=Layer.SEMANTIC,
        state=State.ACTIVE if successor is None else State.SUPERSEDED,
        last_verified=verified,
        succeeded_by=successor,
    )


def refusal(record: Record) -> str | None:
    """Say why a record has no row in either table."""
    if record.layer not in CARRIED:
        return f"Sentinel keeps {record.layer} memory elsewhere"
    if record.user is not None:
        return "the tables cannot say whose it is"
    if record.state not in STATES[record.layer]:
        return f"the tables cannot say that it is {record.state}"
    return None


def row_of(record: Record) -> tuple[Any, ...]:
    """Write a record as a row of its table, in the order of the columns."""
    content, metadata, at = record.content, record.metadata, iso(record.occurred_at)
    if record.layer is Layer.EPISODIC:
        people, tags = _json(entries.strings(metadata.get("participants"))), _json(record.tags)
        raw_hash = _text(metadata.get("raw_hash"))
        return (record.id, at, content, people, tags, raw_hash, record.importance)
    verified = None if record.last_verified is None else iso(record.last_verified)
    source, successor = _text(metadata.get("source_episode")), record.superseded_by
    return (record.id, content, source, record.confidence, at, verified, successor)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _json(values: object) -> str:
    return encode(values).decode()


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its row does not hold."""
    metadata = COLUMNS[record.layer] | set(rules.CONTRACTS.get(record.layer, ()))
    return entries.lost(record, CARRIED[record.layer], metadata)
