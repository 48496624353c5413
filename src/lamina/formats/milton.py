"""Milton's lines: a `record_type`, and the payload that it calls for. Pure.

Its document says `payload`, but its program reads `data`: both are read, and both are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lamina.errors import InvalidInput
from lamina.formats import entries, profiles
from lamina.formats.entries import Entry, Fields
from lamina.model.record import Layer, Record, iso
from lamina.text.words import shown

ADDED = ("instructions", "conflicts")  # fields of a profile that are not in the document
ITEM, PROFILE, PROJECT = "memory_item", "user_profile", "project_memory"
PAYLOADS: Mapping[str, tuple[str, ...]] = {
    ITEM: tuple("id ts agent type content tags importance source request_id evidence".split()),
    PROFILE: tuple(
        "name preferences schedule relationships interests communication_style environment"
        " stable_facts do_not_assume last_updated evidence_ids".split()
    ),
    PROJECT: ("project_name", "goals", "blockers", "next_steps", "evidence_ids"),
}
# Other names for the same type, in lower case and without separators between words.
SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("memoryitem", "memory", "item", "shortterm", "longterm"), ITEM),
    **dict.fromkeys(("userprofile", "profile"), PROFILE),
    **dict.fromkeys(("projectmemory", "project"), PROJECT),
}
WRAPPERS = ("payload", "data")
SIGNS = re.compile(r"[^a-z]")
# Fields that may be beside those of an item.
BESIDE = ("timestamp", "score", "metadata", "committed", "promoted_at", "user", "seq")

CARRIED = frozenset(
    "id user kind content importance tags source evidence state occurred_at".split()
)


def line_of(record: Record) -> dict[str, Any]:
    """Write a record as a line; `seq` beside the payload preserves the order."""
    payload = {
        "id": record.id,
        "ts": iso(record.occurred_at),
        "agent": record.agent,
        "type": record.kind,
        "content": record.content,
        "tags": list(record.tags),
        "importance": record.importance,
        "source": record.source,
        "request_id": record.metadata.get("request_id"),
        "evidence": list(record.evidence),
        **entries.user_field(record),
    }
    return {**_wrapped(ITEM, payload), "seq": record.seq}


def long_line_of(record: Record) -> dict[str, Any]:
    """Write a record as a line of a file for both tiers: `committed` marks a long-term one."""
    line = line_of(record)
    return line if record.layer is Layer.SHORT_TERM else {**line, "committed": True}


def profile_line(profile: Fields) -> dict[str, Any]:
    """Write a UserProfile as a line, with all fields of its document.

    The document has no instructions: they are written as preferences, with their full keys.
    """
    fields = {name: value for name, value in profile.items() if name not in ADDED}
    told = profile.get("instructions") or {}
    always = {f"instructions.{topic}": said for topic, said in told.items()}
    preferences = {**(profile.get("preferences") or {}), **always}
    return _summary(PROFILE, {**fields, "preferences": preferences})


def project_line(project: Fields) -> dict[str, Any]:
    """Write a ProjectMemory as a line, with all fields of its document."""
    return _summary(PROJECT, project)


def _summary(record_type: str, fields: Fields) -> dict[str, Any]:
    payload = entries.checked(fields, PAYLOADS[record_type], f"a {record_type}")
    return _wrapped(record_type, {name: payload.get(name) for name in PAYLOADS[record_type]})


def _wrapped(record_type: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"record_type": record_type, **dict.fromkeys(WRAPPERS, payload)}


def payload_of(line: Fields) -> tuple[str, dict[str, Any]]:
    """Read the type of a line, in any spelling, and its fields, wrapped or inline."""
    spelled = line.get("record_type", ITEM)
    record_type = SPELLINGS.get(_letters(spelled)) if isinstance(spelled, str) else None
    if record_type is None:
        raise InvalidInput(f"unknown record_type {shown(spelled)}; known are {', '.join(PAYLOADS)}")
    inline = entries.unplaced(line, ("record_type", *WRAPPERS))
    payload = _payload(line)
    if twice := sorted(inline.keys() & payload.keys()):
        raise InvalidInput(f"{twice[0]} is both beside the payload and in it")
    names = (*PAYLOADS[record_type], *(BESIDE if record_type == ITEM else ("seq",)))
    return record_type, entries.checked({**payload, **inline}, names, f"a {record_type}")


def _letters(record_type: str) -> str:
    return SIGNS.sub("", record_type.lower())


def _payload(line: Fields) -> Mapping[str, Any]:
    """Unwrap the fields of a line; if they have two names, both must be the same."""
    given = entries.pick(line, *WRAPPERS)
    for name, payload in given.items():
        if not isinstance(payload, Mapping):
            raise InvalidInput(f"{name} {shown(payload)} is not an object")
    payloads = list(given.values())
    if any(payload != payloads[0] for payload in payloads):
        raise InvalidInput("payload and data say different things")
    return payloads[0] if payloads else {}


def entries_of(line: Fields) -> list[Entry]:
    """Read a line as memories to store: one for an item, and one for each key of a profile."""
    record_type, fields = payload_of(line)
    if record_type == ITEM:
        return [_item(line, fields)]
    if record_type == PROJECT:
        return [profiles.of_project(fields, PROJECT)]
    return profiles.of_profile(fields, PROFILE)


def _item(line: Fields, fields: Fields) -> Entry:
    item = entries.pick(fields, "content", "tags", "source")
    item |= entries.importance(fields) | entries.times(fields, "ts", "timestamp")
    item |= entries.evidence(fields)
    if "type" in fields:
        item["kind"] = fields["type"]
    if metadata := _metadata(fields):
        item["metadata"] = metadata
    tier = entries.pick(fields, "committed", "promoted_at")
    return Entry(
        item,
        entries.id_of(fields),
        fields.get("user"),
        entries.is_long(tier) or _letters(str(line.get("record_type", ""))) == "longterm",
        promoted_at=entries.promoted_at(fields),
        realm=str(fields.get("agent", "")),
    )


def _metadata(fields: Fields) -> dict[str, Any]:
    metadata = fields.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata {shown(metadata)} is not an object")
    return {**entries.pick(fields, "agent", "request_id"), **metadata}


def refusal(record: Record) -> str | None:
    """Say why a record has no line in Milton's files."""
    if record.state == "active":
        return None
    return f"Milton cannot say that a memory is {record.state}"


def lost(record: Record) -> list[str]:
    """Name the fields of a record that its line does not hold."""
    return entries.lost(record, CARRIED | entries.implied_layer(record), {"request_id"})
