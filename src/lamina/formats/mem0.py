"""mem0's memories, as its `get_all` returns them, and the events of its history. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput, Refused
from lamina.formats import entries
from lamina.formats.entries import Action, Entry, Fields
from lamina.model import rules
from lamina.model.record import Layer, Record, iso
from lamina.text.words import shown

LISTS = ("results", "memories", "relations")
TABLE = "history"
EVENT = tuple(
    "id memory_id old_memory new_memory event created_at updated_at is_deleted actor_id"
    " role".split()
)
COLUMNS = EVENT
ACTIONS: Mapping[str, Action | None] = {
    "ADD": Action.TELL,
    "UPDATE": Action.REPLACE,
    "DELETE": Action.REMOVE,
    "NONE": None,
    "NOOP": None,
}
# Fields of a memory that have a field here; the others are put in the metadata.
PLACED = frozenset(
    "id memory hash metadata created_at updated_at user_id run_id actor_id categories".split()
)
CARRIED = frozenset(
    "id user content metadata tags session speaker occurred_at last_verified state".split()
)


def is_ours(line: Fields) -> bool:
    """Tell whether a line looks like a memory, an event or a relation of mem0."""
    is_event = line.keys() >= {"memory_id", "event"}
    return isinstance(line.get("memory"), str) or is_event or is_relation(line)


def is_relation(line: Fields) -> bool:
    """Tell whether a line looks like a relation of mem0."""
    has_end = "target" in line or "destination" in line
    return has_end and line.keys() >= {"relationship", "source"}


def entries_of(line: Fields) -> list[Entry]:
    """Read a line as memories to store."""
    if "memory_id" in line:
        return _event(line)
    if is_relation(line):
        return [_relation(line)]
    return [_memory(line)]


def _memory(line: Fields) -> Entry:
    fields = {name: value for name, value in line.items() if value is not None}
    metadata = entries.mapping(fields.get("metadata", {}), "metadata")
    more = {name: value for name, value in fields.items() if name not in PLACED}
    if "hash" in fields and fields["hash"] != _hash(fields.get("memory")):
        more["hash"] = fields["hash"]
    tags = entries.texts(fields.get("categories"), "categories")
    item = {"kind": "fact", **entries.fields_in(metadata), "content": fields.get("memory")}
    item["metadata"] = entries.join_metadata(metadata, more, "mem0")
    item |= entries.times(fields, "created_at")
    item["tags"] = [*tags, *item.get("tags", ())]
    return _entry(fields, item)


def _entry(fields: Fields, item: dict[str, Any]) -> Entry:
    """Add to an item its speaker, run and user, and when it was last verified."""
    for name, ours in (("actor_id", "speaker"), ("run_id", "session")):
        if name in fields:
            item[ours] = fields[name]
    updated, verified = fields.get("updated_at"), None
    if updated not in (None, fields.get("created_at")):
        verified = entries.moment(updated, "updated_at")
    user = fields.get("user_id")
    return Entry(item, entries.id_of(fields), user, long=True, last_verified=verified)


def _relation(line: Fields) -> Entry:
    fields = {name: value for name, value in line.items() if value is not None}
    source, related = fields.get("source"), fields.get("relationship")
    target = fields.get("target", fields.get("destination"))
    if "user_id" not in fields:
        raise Refused(
            "this relation does not say whose it is, so that everybody would see it;"
            " add its user_id"
        )
    if not all(isinstance(name, str) for name in (source, related, target)):
        raise InvalidInput(f"the relation {shown(line)} is not between two names")
    more = {name: value for name, value in fields.items() if name != "user_id"}
    item = {"kind": "fact", "content": f"{source} {related} {target}", "metadata": more}
    return Entry(item, None, fields.get("user_id"), long=True)


def _event(line: Fields) -> list[Entry]:
    """Read a line of the history; if it changed nothing, there is nothing to store."""
    fields = {name: value for name, value in line.items() if value is not None}
    event = str(fields.get("event")).upper()
    if event not in ACTIONS:
        raise InvalidInput(f"event {shown(fields.get('event'))} is none of {', '.join(ACTIONS)}")
    action = ACTIONS[event]
    if action is None:
        return []
    content = fields.get("old_memory" if action is Action.REMOVE else "new_memory")
    item: dict[str, Any] = {"kind": "fact", "content": content, "metadata": _event_metadata(fields)}
    times = entries.pick(fields, "created_at")
    if action is not Action.TELL and fields.get("updated_at"):
        times["created_at"] = fields["updated_at"]
    item |= entries.times(times, "created_at")
    entry = _entry({**fields, "updated_at": None}, item)
    return [entry._replace(id=rules.label(fields["memory_id"], "memory_id"), action=action)]


def _event_metadata(fields: Fields) -> dict[str, Any]:
    """Return the metadata of an event, including its fields that have no other place."""
    placed = {*EVENT, "user_id", "run_id", "metadata"}
    more = {name: value for name, value in fields.items() if name not in placed}
    for name, ours in (("id", "history_id"), ("role", "role")):
        if name in fields:
            more[ours] = fields[name]
    metadata = entries.mapping(fields.get("metadata", {}), "metadata")
    return entries.join_metadata(metadata, more, "mem0")


def _hash(text: object) -> str:
    """Return the hash by which mem0 recognises a text; it is not for security."""
    return hashlib.md5(str(text).encode(errors="replace"), usedforsecurity=False).hexdigest()


def refusal(record: Record) -> str | None:
    """Say why a record has no place in such a file."""
    return None if record.state == "active" else f"mem0 cannot say that a memory is {record.state}"


def line_of(record: Record) -> dict[str, Any]:
    """Write a record as `get_all` does; metadata holds what has no field, under free names."""
    line = {
        "id": record.id,
        "memory": record.content,
        "hash": _hash(record.content),
        "metadata": entries.metadata_of(record),
        "categories": list(record.tags),
        "created_at": iso(record.occurred_at),
        "updated_at": iso(record.last_verified or record.occurred_at),
        "agent_id": record.agent,
    }
    more = {"user_id": record.user, "run_id": record.session, "actor_id": record.speaker}
    return line | {name: value for name, value in more.items() if value is not None}


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its line does not hold."""
    layer = entries.implied_layer(record) if record.layer is not Layer.SHORT_TERM else set()
    return entries.lost(record, CARRIED | entries.readable_again(record) | layer)
