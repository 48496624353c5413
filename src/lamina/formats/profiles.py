"""Profiles and projects in files of other programs: each entry becomes a memory to review.

Pure. A later statement about the same entry replaces an earlier one from such a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamina.engines import compression, profile
from lamina.errors import InvalidInput
from lamina.formats import entries
from lamina.formats.entries import Action, Entry, Fields
from lamina.model import hashing, rules
from lamina.model.record import Layer, State
from lamina.text.words import shown

REASON = "it was in the profile of an imported file"
ABOUT = ("last_updated", "evidence_ids", "conflicts", "seq")  # what a summary says about itself
EMPTY: tuple[object, ...] = (None, "", [], {})


def of_profile(fields: Fields, origin: str) -> list[Entry]:
    """Read a profile as one memory for each of its keys."""
    return _of_keys(entries.unplaced(fields, ABOUT), origin, _shared(fields))


def of_key(key: object, value: object, origin: str, more: Fields) -> list[Entry]:
    """Read one key of a profile; the JSON of a whole profile is read as that profile."""
    name, value = rules.label(key, "key"), _plain(value)
    if isinstance(value, Mapping) and profile.same_key(name, "user_profile"):
        return _of_keys(entries.unplaced(value, ABOUT), origin, {**more, **_shared(value)})
    return _of_keys({name: value}, origin, more)


def _shared(fields: Fields) -> dict[str, Any]:
    """Read what a summary says about itself, which applies to all its entries."""
    sources = entries.texts(fields.get("evidence_ids"), "evidence_ids")
    told = {name: value for name, value in fields.items() if value is not None}
    return entries.times(told, "last_updated") | entries.evidence({"evidence": sources})


def _of_keys(told: Fields, origin: str, more: Fields) -> list[Entry]:
    patch = {name: value for name, value in told.items() if value not in EMPTY}
    if not patch:
        raise InvalidInput("this profile is empty")
    return [_entry(key, value, origin, more) for key, value in profile.patch_items(patch)]


def of_project(fields: Fields, origin: str) -> Entry:
    """Read the state of a project as one memory."""
    name = rules.label(fields.get("project_name"), "project_name")
    sections = {part: entries.texts(fields.get(part), part) for part in profile.SECTIONS}
    tag = rules.tag(f"{compression.PROJECT_TAG}{name}")
    content = profile.content_of_project(name, sections).encode()[: rules.MAX_CONTENT_BYTES]
    item = {
        **_shared(fields),
        "content": content.decode(errors="ignore"),
        "kind": "project",
        "tags": [tag],
        "metadata": {
            "origin": compression.ORIGIN,
            "topic_tags": [tag],
            "project": {"project_name": name, **sections},
        },
    }
    return _stated(item, f"{origin}.{name}", Layer.SEMANTIC)


def _plain(value: object) -> object:
    """Unpack the JSON of an object or a list from a column; return any other text unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return entries.unpacked(value)
        except InvalidInput:  # a text that only begins like one
            return value
    return value


def _entry(key: str, value: Any, origin: str, more: Fields) -> Entry:
    item = profile.item(key, value, REASON, rules.MAX_CONTENT_BYTES)
    return _stated({**more, **item}, f"{origin}.{key}", Layer.PROFILE)


def _stated(item: dict[str, Any], name: str, layer: Layer) -> Entry:
    if len(name) > rules.MAX_LABEL:
        raise InvalidInput(f"{shown(name, 80)} is too long for the name of an entry")
    key = (name, hashing.encode(item["metadata"]).decode())
    return Entry(
        item,
        name,
        long=True,
        layer=layer,
        state=State.ACTIVE,
        key=key,
        action=Action.REPLACE,
    )
