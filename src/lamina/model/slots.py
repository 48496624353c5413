"""Where only one active record can stand: a profile key, a project, a fact, a tool. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from lamina.model import hashing
from lamina.model.record import Draft, Layer, Record
from lamina.text import words

Slot = tuple[Layer, str | None, str]
# The facets that find records by their place, and by the value that they give it.
SLOT, VALUE = "@place", "@value"


def slot(memory: Record | Draft) -> Slot | None:
    """The place of a memory, of one user; none for what may stand beside others."""
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
    """What the index holds about the places that a record with this metadata could have, whatever its layer.

    Whoever finds a record by one of these compares the places: the layer and the kind are not part of it.
    """
    for name in _names(metadata):
        yield slot_facet(user, words.normalise(name))
    if "profile_key" in metadata:
        yield value_facet(user, str(metadata["profile_key"]), metadata.get("value"))


def slot_facet(user: str | None, name: str) -> tuple[str, str]:
    """The same for all records of one place."""
    return SLOT, _digest(user, name)


def value_facet(user: str | None, key: str, value: Any) -> tuple[str, str]:
    """The same for all records that give a key of a profile the same value, whatever the case, width and spacing."""
    said = words.normalise(value) if isinstance(value, str) else [value]
    return VALUE, _digest(user, words.normalise(key), said)


def _digest(*parts: Any) -> str:
    """Short enough to be indexed, however long a key is, and without its words."""
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
    """The kind and name of the tool or integration that a record defines, if it defines one."""
    return _world(memory.metadata) if memory.layer is Layer.WORLD else None


def _world(metadata: Mapping[str, Any]) -> str | None:
    kind, name = metadata.get("world"), metadata.get("name")
    return f"{kind} {name}" if kind in ("tool", "integration") and isinstance(name, str) else None


def project_name(memory: Record | Draft) -> str | None:
    """The project that a record sums up; nothing for any other record."""
    return _project(memory.metadata) if memory.kind == "project" else None


def _project(metadata: Mapping[str, Any]) -> str | None:
    project = metadata.get("project")
    name = project.get("project_name") if isinstance(project, Mapping) else None
    return name if isinstance(name, str) else None


def _fact(metadata: Mapping[str, object]) -> str | None:
    if metadata.get("single") is not True or metadata.get("negated") is True:
        return None
    return f"{metadata.get('subject', '')}.{metadata.get('attribute', '')}"
