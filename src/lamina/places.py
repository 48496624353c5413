"""Where only one active record can stand: a profile key, a project, a fact, a tool. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lamina import text
from lamina.model import Draft, Layer, Record

Place = tuple[Layer, str | None, str]


def place(memory: Record | Draft) -> Place | None:
    """The place of a memory, of one user; none for what may stand beside others."""
    name = None
    if memory.layer is Layer.PROFILE:
        name = str(memory.metadata.get("profile_key", ""))
    elif memory.layer is Layer.SEMANTIC:
        project = project_name(memory)
        name = f"project:{project}" if project is not None else _fact(memory.metadata)
    elif memory.layer is Layer.WORLD:
        name = world_entry(memory)
    return None if name is None else (memory.layer, memory.user, text.normalise(name))


def world_entry(memory: Record | Draft) -> str | None:
    """The kind and name of the tool or integration that a record defines, if it defines one."""
    kind, name = memory.metadata.get("world"), memory.metadata.get("name")
    is_entry = memory.layer is Layer.WORLD and kind in ("tool", "integration") and isinstance(name, str)
    return f"{kind} {name}" if is_entry else None


def project_name(memory: Record | Draft) -> str | None:
    """The project that a record sums up; nothing for any other record."""
    project = memory.metadata.get("project")
    name = project.get("project_name") if isinstance(project, Mapping) and memory.kind == "project" else None
    return name if isinstance(name, str) else None


def _fact(metadata: Mapping[str, object]) -> str | None:
    if metadata.get("single") is not True or metadata.get("negated") is True:
        return None
    return f"{metadata.get('subject', '')}.{metadata.get('attribute', '')}"
