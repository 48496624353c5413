"""Fingerprint what a memory says in the layers that are believed, so that a rejected value is
recognised when it comes back. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from lamina.model import hashing, rules, slots
from lamina.model.record import Draft, Layer, Record, State
from lamina.text import lookalikes

# The layers that state what is true. What happened may be remembered, rejected or not.
GUARDED = rules.BELIEVED
BELIEVABLE = frozenset({State.ACTIVE, State.CONSTRAINED})
# The metadata in which a proposal names the records it would replace, by its layer: to merge them
# or to end them.
REPLACES: Mapping[Layer, str] = {Layer.SEMANTIC: "compacted_from", Layer.PROCEDURAL: "duplicates"}
ENDS = "ends"


def is_guarded(memory: Record | Draft) -> bool:
    """Tell if a memory is accepted as true, or may become so by a confirmation."""
    return memory.layer in GUARDED and memory.state in BELIEVABLE


def fingerprints(memory: Record | Draft) -> list[bytes]:
    """Fingerprint each value that a memory states, and the records that it would replace."""
    prints = [fingerprint(memory.layer, key, value) for key, value in _values(memory)]
    if joined := _ids(memory, REPLACES.get(memory.layer, "")):
        prints.append(fingerprint(memory.layer, REPLACES[memory.layer], sorted(joined)))
    return list(dict.fromkeys(prints))


def fingerprint(layer: Layer, key: str, value: Any) -> bytes:
    """Hash a key and its value, the same for all disguises of them."""
    return lookalikes.fingerprint(layer, key, value)


def replaced_ids(proposal: Record | Draft) -> list[str]:
    """List the records that a proposal says it would replace."""
    replaced = _ids(proposal, REPLACES.get(proposal.layer, ""))
    return list(dict.fromkeys((*replaced, *_ids(proposal, ENDS))))


def _ids(memory: Record | Draft, name: str) -> list[str]:
    value = memory.metadata.get(name)
    items = value if isinstance(value, (list, tuple)) else ()
    return [item for item in items if isinstance(item, str)]


def project_key(name: str) -> str:
    """Return the key under which the lines of a project are kept."""
    return f"project:{name}"


def _values(memory: Record | Draft) -> Iterator[tuple[str, Any]]:
    """Yield the values that a memory states, with their keys.

    A list states each of its items, so that one item more does not change the values of the others.
    """
    metadata = memory.metadata
    project = metadata.get("project") if memory.layer is Layer.SEMANTIC else None
    if isinstance(project, Mapping):
        key = project_key(str(project.get("project_name", "")))
        sections = [lines for lines in project.values() if isinstance(lines, (list, tuple))]
        yield from ((key, line) for lines in sections for line in lines)
    elif memory.layer is Layer.PROFILE:
        value = metadata.get("value")
        items = value if isinstance(value, (list, tuple)) and value else [value]
        yield from ((str(metadata.get("profile_key", "")), item) for item in items)
    elif memory.layer is Layer.SEMANTIC and isinstance(metadata.get("attribute"), str):
        denied = "not " if metadata.get("negated") is True else ""
        key = f"{metadata.get('subject', '')}.{metadata['attribute']}"
        yield key, f"{denied}{metadata.get('value', '')}"
    elif (entry := slots.world_entry(memory)) is not None:
        # A definition is exact: one that differs in a single character may do something else.
        definition = [metadata.get("definition"), metadata.get("config")]
        yield entry, hashlib.sha256(hashing.encode(definition)).hexdigest()
    else:
        is_workflow = memory.layer is Layer.PROCEDURAL
        yield str(metadata.get("workflow", "")) if is_workflow else "", memory.content
