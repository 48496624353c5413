"""Name the slot of a memory, which holds one active record: a profile key, a project, a fact, a
tool. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from lamina.model import hashing
from lamina.model.record import Draft, Layer, Record
from lamina.text import words

Slot = tuple[Layer, str | None, str]
# The facets that find records by their slot, and by their value in it.
SLOT, VALUE = "@place", "@value"
# How the attribute of a standing instruction begins.
INSTRUCTION = "instruction:"
# The names in metadata without which a memory has no slot.
NAMES = frozenset({"profile_key", "project", "single", "world"})


def slot(memory: Record | Draft) -> Slot | None:
    """Name the slot of a memory, for one user; None if it may exist beside others."""
    name = None
    if memory.layer is Layer.PROFILE:
        name = str(memory.metadata.get("profile_key", ""))
    elif memory.layer is Layer.SEMANTIC:
        project = project_name(memory)
        name = f"project:{project}" if project is not None else _fact(memory.metadata)
    elif memory.layer is Layer.WORLD:
        name = world_entry(memory)
    return None if name is None else (memory.layer, memory.user, words.normalise(name))


def facets(user: str | None, metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the index holds about the slots that a record with this metadata could have.

    They do not include layer and kind: after finding a record by one of these, compare the slots.
    """
    for name in _names(metadata):
        yield slot_facet(user, words.normalise(name))
    if "profile_key" in metadata:
        yield value_facet(user, str(metadata["profile_key"]), metadata.get("value"))


def slot_facet(user: str | None, name: str) -> tuple[str, str]:
    """Return the facet that all records of one slot share."""
    return SLOT, _digest(user, name)


def value_facet(user: str | None, key: str, value: Any) -> tuple[str, str]:
    """Return the facet of all records that give a profile key the same value.

    Case, width and spacing do not matter.
    """
    plain = words.normalise(value) if isinstance(value, str) else [value]
    return VALUE, _digest(user, words.normalise(key), plain)


def _digest(*parts: Any) -> str:
    """Hash a key: short enough for an index, and without its words."""
    return sha256(hashing.encode(parts)).hexdigest()[:32]


def _names(metadata: Mapping[str, Any]) -> Iterator[str]:
    if "profile_key" in metadata:
        yield str(metadata["profile_key"])
    if (project := _project(metadata)) is not None:
        yield f"project:{project}"
    if (fact := _fact(metadata)) is not None:
        yield fact
    if (entry := _world(metadata)) is not None:
        yield entry


def world_entry(memory: Record | Draft) -> str | None:
    """Return the kind and name of the tool or integration that a record defines, if any."""
    return _world(memory.metadata) if memory.layer is Layer.WORLD else None


def _world(metadata: Mapping[str, Any]) -> str | None:
    kind, name = metadata.get("world"), metadata.get("name")
    return f"{kind} {name}" if kind in ("tool", "integration") and isinstance(name, str) else None


def project_name(memory: Record | Draft) -> str | None:
    """Return the project that a record summarises; None for any other record."""
    return _project(memory.metadata) if memory.kind == "project" else None


def _project(metadata: Mapping[str, Any]) -> str | None:
    project = metadata.get("project")
    name = project.get("project_name") if isinstance(project, Mapping) else None
    return name if isinstance(name, str) else None


def _fact(metadata: Mapping[str, object]) -> str | None:
    if metadata.get("single") is not True or metadata.get("negated") is True:
        return None
    return f"{metadata.get('subject', '')}.{metadata.get('attribute', '')}"
