"""Tell an agent at the start of a session what the last one of its project was about."""

from __future__ import annotations

from lamina.memory.agent import Memory


def told(memory: Memory, project: str | None, room: int) -> str:
    """Return the recap of the last session, fenced as data; "" if there is none, or no room."""
    made = memory.recap(project)
    text = "" if made is None else made.fenced()
    return text if len(text) <= room else ""
