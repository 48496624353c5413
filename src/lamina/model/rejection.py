"""What a memory says in the layers that are believed, in a form by which a rejected value is known again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from lamina.model import hashing, rules, slots
from lamina.model.record import Draft, Layer, Record, State
from lamina.text import lookalikes

# The layers that say what is so. What happened may be told, whatever anybody thinks of it.
GUARDED = rules.BELIEVED
BELIEVABLE = frozenset({State.ACTIVE, State.CONSTRAINED})
# Where a proposal names the records that it would take the place of, by its layer: to be one record, or to end them.
REPLACES: Mapping[Layer, str] = {Layer.SEMANTIC: "compacted_from", Layer.PROCEDURAL: "duplicates"}
ENDS = "ends"


def is_guarded(memory: Record | Draft) -> bool:
    """Whether a memory is believed, or may become so when somebody confirms it."""
    return memory.layer in GUARDED and memory.state in BELIEVABLE


def fingerprints(memory: Record | Draft) -> list[bytes]:
    """One for each value that a memory stands for, and one for the records that it would stand in for."""
    told = [fingerprint(memory.layer, key, value) for key, value in _values(memory)]
    if joined := _ids(memory, REPLACES.get(memory.layer, "")):
        told.append(fingerprint(memory.layer, REPLACES[memory.layer], sorted(joined)))
    return list(dict.fromkeys(told))


def fingerprint(layer: Layer, key: str, value: Any) -> bytes:
    """The same for every disguise of a key and its value."""
    return lookalikes.fingerprint(layer, key, value)


def named(proposal: Record | Draft) -> list[str]:
    """The records that a proposal says it would replace."""
    return list(
        dict.fromkeys((*_ids(proposal, REPLACES.get(proposal.layer, "")), *_ids(proposal, ENDS)))
    )


def _ids(memory: Record | Draft, name: str) -> list[str]:
    given = memory.metadata.get(name, ())
    return (
        [item for item in given if isinstance(item, str)]
        if isinstance(given, (list, tuple))
        else []
    )


def project_key(name: str) -> str:
    """Under which key the lines of a project are kept."""
    return f"project:{name}"


def _values(memory: Record | Draft) -> Iterator[tuple[str, Any]]:
    """What a memory says, by its keys. Lists say each of their items: one more beside it is no other value."""
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
        yield (
            f"{metadata.get('subject', '')}.{metadata['attribute']}",
            f"{denied}{metadata.get('value', '')}",
        )
    elif (entry := slots.world_entry(memory)) is not None:
        # A definition is exact: one that differs in a single sign may do something else.
        told = [metadata.get("definition"), metadata.get("config")]
        yield entry, hashlib.sha256(hashing.encode(told)).hexdigest()
    else:
        yield (
            str(metadata.get("workflow", "")) if memory.layer is Layer.PROCEDURAL else "",
            memory.content,
        )
