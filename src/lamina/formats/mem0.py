"""mem0's memories, as its `get_all` gives them, and the events of its history. Pure."""

from __future__ import annotations

import hashlib
from typing import Any

from lamina.errors import InvalidInput, Refused
from lamina.formats import entries
from lamina.formats.entries import Doing, Entry, Fields
from lamina.model import rules
from lamina.model.record import Layer, Record, iso
from lamina.text.words import shown

LISTS = ("results", "memories", "relations")
TABLE = "history"
EVENT = (
    "id",
    "memory_id",
    "old_memory",
    "new_memory",
    "event",
    "created_at",
    "updated_at",
    "is_deleted",
    "actor_id",
    "role",
)
EVENTS = {
    "ADD": Doing.TELL,
    "UPDATE": Doing.REPLACE,
    "DELETE": Doing.REMOVE,
    "NONE": None,
    "NOOP": None,
}
# What a memory says that has a place of its own here; the rest is kept with the metadata.
PLACED = frozenset(
    "id memory hash metadata created_at updated_at user_id run_id actor_id categories".split()
)
CARRIED = frozenset(
    "id user content metadata tags session speaker occurred_at last_verified state".split()
)


def is_ours(line: Fields) -> bool:
    """Whether a line looks like a memory, an event or a relation of mem0."""
    return (
        isinstance(line.get("memory"), str)
        or line.keys() >= {"memory_id", "event"}
        or is_relation(line)
    )


def is_relation(line: Fields) -> bool:
    return (
        "relationship" in line
        and "source" in line
        and not line.keys().isdisjoint(("target", "destination"))
    )


def entries_of(line: Fields) -> list[Entry]:
    """A line as memories to store."""
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
    item = {"kind": "fact", **entries.told(metadata), "content": fields.get("memory")}
    item |= {"metadata": entries.beside(metadata, more, "mem0")} | entries.times(
        fields, "created_at"
    )
    item["tags"] = [*tags, *item.get("tags", ())]
    return _with_speaker(fields, item)


def _with_speaker(fields: Fields, item: dict[str, Any]) -> Entry:
    """Who said it, in which run, for whom."""
    for name, ours in (("actor_id", "speaker"), ("run_id", "session")):
        if name in fields:
            item[ours] = fields[name]
    changed = fields.get("updated_at")
    touched = (
        entries.moment(changed, "updated_at")
        if changed not in (None, fields.get("created_at"))
        else None
    )
    return Entry(
        item, entries.identity(fields), fields.get("user_id"), long=True, last_verified=touched
    )


def _relation(line: Fields) -> Entry:
    fields = {name: value for name, value in line.items() if value is not None}
    source, related = fields.get("source"), fields.get("relationship")
    target = fields.get("target", fields.get("destination"))
    if "user_id" not in fields:
        raise Refused(
            "this relation does not say whose it is, so that everybody would see it; add its user_id"
        )
    if not all(isinstance(one, str) for one in (source, related, target)):
        raise InvalidInput(f"the relation {shown(line)} is not between two names")
    more = {name: value for name, value in fields.items() if name != "user_id"}
    item = {"kind": "fact", "content": f"{source} {related} {target}", "metadata": more}
    return Entry(item, None, fields.get("user_id"), long=True)


def _event(line: Fields) -> list[Entry]:
    """What a line of the history did. One that did nothing is nothing."""
    fields = {name: value for name, value in line.items() if value is not None}
    doing = EVENTS.get(str(fields.get("event")).upper(), Doing.TELL)
    if str(fields.get("event")).upper() not in EVENTS:
        raise InvalidInput(f"event {shown(fields.get('event'))} is none of {', '.join(EVENTS)}")
    if doing is None:
        return []
    text = fields.get("old_memory" if doing is Doing.REMOVE else "new_memory")
    more = {
        name: value
        for name, value in fields.items()
        if name not in (*EVENT, "user_id", "run_id", "metadata")
    }
    more |= {
        ours: fields[name]
        for name, ours in (("id", "history_id"), ("role", "role"))
        if name in fields
    }
    metadata = entries.beside(entries.mapping(fields.get("metadata", {}), "metadata"), more, "mem0")
    item = {"kind": "fact", "content": text, "metadata": metadata}
    when = fields.get("updated_at") if doing is not Doing.TELL else None
    item |= entries.times(
        {"created_at": when or fields["created_at"]} if "created_at" in fields or when else {},
        "created_at",
    )
    entry = _with_speaker({**fields, "updated_at": None}, item)
    return [entry._replace(id=rules.label(fields["memory_id"], "memory_id"), doing=doing)]


def _hash(text: object) -> str:
    """What mem0 knows a text again by; it guards nothing."""
    return hashlib.md5(str(text).encode(errors="replace"), usedforsecurity=False).hexdigest()


def refusal(record: Record) -> str | None:
    """Why a record has no place in such a file."""
    return None if record.state == "active" else f"mem0 cannot say that a memory is {record.state}"


def line_of(record: Record) -> dict[str, Any]:
    """A record as one of `get_all`. What mem0 has no field for is in the metadata, where nothing else has that name."""
    made = {
        "id": record.id,
        "memory": record.content,
        "hash": _hash(record.content),
        "metadata": entries.telling(record),
        "categories": list(record.tags),
        "created_at": iso(record.occurred_at),
        "updated_at": iso(record.last_verified or record.occurred_at),
        "agent_id": record.agent,
    }
    more = {"user_id": record.user, "run_id": record.session, "actor_id": record.speaker}
    return made | {name: value for name, value in more.items() if value is not None}


def lost(record: Record) -> list[str]:
    """The fields of a record that its line does not hold."""
    layer = entries.tier(record) if record.layer is not Layer.SHORT_TERM else set()
    return entries.missing(record, CARRIED | entries.carried(record) | layer)
