"""Sentinel's tables: past episodes, facts that hold until contradicted, and the profile. Pure.

Its document and its program name some columns differently; both are read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from lamina.formats import entries, profiles
from lamina.formats.entries import Entry, Fields
from lamina.model import rules
from lamina.model.hashing import encode
from lamina.model.record import Layer, Record, State, iso

CORE_TABLE = "core_memory"
LISTS = ("episodes", "facts", CORE_TABLE)
EPISODE = ("id", "timestamp", "summary", "participants", "tags", "raw_hash", "importance")
FACT = tuple("id content source_episode confidence created last_verified superseded_by".split())
# Columns of the program that are not in the document.
MORE = ("created_at", "metadata")
CORE = ("key", "value", "updated_at")
COLUMNS = frozenset({*EPISODE, *FACT, *MORE, *CORE})
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
# Metadata that has a column of its own, and the metadata that imports add to semantic memory.
PLACED: Mapping[Layer, frozenset[str]] = {
    Layer.EPISODIC: frozenset({"participants", "raw_hash"}),
    Layer.SEMANTIC: frozenset({"source_episode"}),
}


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like a row of one of the tables, or like the profile."""
    if "summary" in line:
        return not line.keys().isdisjoint(("participants", "raw_hash"))
    names = line.keys()
    if "source_episode" in line or names >= {"content", "created"} or is_profile(line):
        return True
    return names >= {"key", "value"} and names <= set(CORE)


def is_profile(line: Fields) -> bool:
    """Tell whether a line looks like the profile."""
    return len(line.keys() & PROFILE) > 1 and "content" not in line


def entries_of(line: Fields) -> list[Entry]:
    """Read a row as memories to store."""
    fields = {name: value for name, value in line.items() if value is not None}
    if is_profile(line):
        return profiles.of_profile(fields, "user_profile")
    if "summary" in line:
        return [_episode(fields)]
    if line.keys() >= {"key", "value"} and "content" not in line:
        fields = entries.checked(line, CORE, "core memory of Sentinel")
        more = entries.times(fields, "updated_at")
        return profiles.of_key(fields.get("key"), fields.get("value"), CORE_TABLE, more)
    return [_fact(fields)]


def _episode(fields: Fields) -> Entry:
    when, metadata = _when(fields, "timestamp"), _metadata(fields, EPISODE)
    if "participants" in fields:
        metadata["participants"] = entries.texts(fields["participants"], "participants")
    item: dict[str, Any] = {
        "content": fields.get("summary"),
        "metadata": metadata | entries.pick(fields, "raw_hash") | when.unlike,
        "tags": entries.texts(fields.get("tags"), "tags"),
    }
    item |= entries.importance(fields) | when.item
    record_id = _id(fields, "id", "episodes")
    return Entry(item, record_id, None, True, Layer.EPISODIC, state=State.ACTIVE)


def _fact(fields: Fields) -> Entry:
    when, metadata = _when(fields, "created"), _metadata(fields, FACT)
    item = {**entries.pick(fields, "content", "confidence"), **when.item, "kind": "fact"}
    if source := _id(fields, "source_episode", "episodes"):
        metadata["source_episode"] = fields["source_episode"]
        item |= entries.evidence({"evidence": [_reference(source)]})
    if metadata | when.unlike:
        item["metadata"] = metadata | when.unlike
    verified = None
    if "last_verified" in fields:
        verified = entries.moment(fields["last_verified"], "last_verified")
    successor = _id(fields, "superseded_by", "facts")
    return Entry(
        item,
        _id(fields, "id", "facts"),
        long=True,
        layer=Layer.SEMANTIC,
        state=State.ACTIVE if successor is None else State.SUPERSEDED,
        last_verified=verified,
        succeeded_by=successor,
    )


class _When(NamedTuple):
    """The time of a row, and its `created_at` if that differs."""

    item: dict[str, Any]
    unlike: dict[str, Any]


def _when(fields: Fields, name: str) -> _When:
    """Read the time from the document's column or, without it, from the program's."""
    if name not in fields:
        return _When(entries.times(fields, "created_at"), {})
    item, created = entries.times(fields, name), entries.pick(fields, "created_at")
    return _When(item, {} if created.get("created_at") == fields[name] else created)


def _metadata(fields: Fields, names: Collection[str]) -> dict[str, Any]:
    """Join the metadata of a row with the columns that have no field here."""
    metadata = entries.mapping(fields.get("metadata") or {}, "metadata")
    more = entries.unplaced(fields, (*names, *MORE))
    return entries.join_metadata(metadata, more, "sentinel")


def _id(fields: Fields, name: str, table: str) -> str | None:
    """Read an id. Each table counts its own numbers, so they need the name of the table."""
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{table}.{value}"
    return None if value is None else rules.label(value, name)


def _reference(record_id: str) -> str:
    return f"record:{record_id}" if record_id.startswith("episodes.") else record_id


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
    """Convert a value for a text column; of numbers, only ids are written."""
    return str(value) if type(value) in (str, int) else None


def _json(values: object) -> str:
    return encode(values).decode()


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its row does not hold."""
    metadata = PLACED[record.layer] | set(rules.CONTRACTS.get(record.layer, ()))
    return entries.lost(record, CARRIED[record.layer], metadata)
