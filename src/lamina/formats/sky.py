"""Sky's lines, in a form that readers of both of its documents understand. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import entries
from lamina.formats.entries import Entry, Fields
from lamina.model.record import Layer, Record, iso
from lamina.text.words import shown

FIELDS = (
    *("timestamp", "ts", "type", "content", "tags", "importance", "score", "metadata"),
    *("committed", "promoted_at", "user", "id", "seq"),
)

CARRIED = frozenset(
    "id user kind content importance tags metadata state occurred_at promoted_at".split()
)


def line_of(record: Record) -> dict[str, Any]:
    """Write a record as a line, with both names for time and importance."""
    is_long = record.layer is not Layer.SHORT_TERM
    line: dict[str, Any] = {
        "timestamp": iso(record.occurred_at),
        "ts": entries.epoch(record.occurred_at),
        "type": "long" if is_long else "short",
        "content": record.content,
        "tags": list(record.tags),
        "importance": record.importance,
        "score": record.score,
        "metadata": {**record.metadata, "type": record.kind},
    }
    if is_long:
        line["committed"] = True
        if record.promoted_at is not None:
            line["promoted_at"] = entries.epoch(record.promoted_at)
    return {**line, **entries.user_field(record), "id": record.id, "seq": record.seq}


def entry_of(line: Fields) -> Entry:
    """Read a line as a memory to store. Metadata is unchanged, including its kind and tags."""
    fields = entries.checked(line, FIELDS, "a line of Sky")
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata {shown(metadata)} is not an object")
    item = entries.pick(fields, "content", "metadata")
    item |= entries.importance(fields) | entries.times(fields, "timestamp", "ts")
    item["tags"] = _tags(fields, metadata)
    if metadata.get("type") is not None:
        item["kind"] = metadata["type"]
    is_long, promoted_at = entries.is_long(fields), entries.promoted_at(fields)
    record_id, user = entries.id_of(fields), fields.get("user")
    return Entry(item, record_id, user, is_long, promoted_at=promoted_at)


def _tags(fields: Fields, metadata: Fields) -> object:
    """Join the tags of the line and of its metadata, if the latter are a list of texts."""
    tags, more = fields.get("tags", []), metadata.get("tags")
    if not isinstance(tags, list) or not isinstance(more, list):
        return tags
    return [*tags, *more] if all(isinstance(tag, str) for tag in more) else tags


def refusal(record: Record) -> str | None:
    """Say why a record has no line in Sky's files."""
    return None if record.state == "active" else f"Sky cannot say that a memory is {record.state}"


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its line does not hold."""
    # In a line, the kind takes the place of a type that is not one of ours.
    is_other = record.metadata.get("type") not in (None, record.kind)
    missing = entries.lost(record, CARRIED | entries.implied_layer(record))
    return [*missing, "metadata.type"] if is_other else missing
