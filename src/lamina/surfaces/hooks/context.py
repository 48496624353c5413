"""Give an agent what it should read now: before a message or a task, and at a session's start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lamina.engines import awareness
from lamina.memory.agent import Memory
from lamina.search.context import LEAST
from lamina.search.context.aim import ends
from lamina.surfaces.hooks import last_session
from lamina.surfaces.hooks.switches import Switches
from lamina.text import fence, words

PENDING = 6  # items that wait for a person
WAITING = 2  # these get at most half of the room


def before(memory: Memory, message: str, session: str | None, switches: Switches) -> str:
    """Gather what is remembered about a message or a task, within the limits."""
    if switches.context_limit == 0 or switches.context_max_chars < LEAST:
        return ""
    return told(memory, message, switches.context_max_chars, session, switches)


def at_start(memory: Memory, about: str, switches: Switches, session: str | None = None) -> str:
    """Gather what helps at the start: pending items, a recap, the profile, the folder."""
    room, limit = switches.context_max_chars, switches.context_limit
    if limit == 0 or room < LEAST:
        return ""
    waiting = pending(memory.pending(), PENDING if limit is None else limit, room // WAITING)
    room -= len(waiting) + 2 if waiting else 0
    last = last_session.told(memory, switches.project, room)
    room -= len(last) + 2 if last else 0
    known = told(memory, about, room, session, switches) if room >= LEAST else ""
    return "\n\n".join(filter(None, (waiting, last, known)))


def told(memory: Memory, message: str, room: int, session: str | None, switches: Switches) -> str:
    """Build the context for a message, which may be longer than a query."""
    limit, project = switches.context_limit, switches.project
    return memory.context(ends(message), room, session, project, most=limit).text


def pending(items: Sequence[Mapping[str, Any]], limit: int, room: int) -> str:
    """List what waits for a person. Proposals are only counted, as their text is not confirmed."""
    reviews = sum(item["why"] == awareness.REVIEW for item in items)
    waiting = words.counted(reviews, "proposal waits", "proposals wait")
    lines = [f"[{waiting} for a person; `lamina review` shows them]"] if reviews else []
    room -= len(fence.fenced("")) + sum(map(len, lines)) + 1
    for item in [item for item in items if item["why"] != awareness.REVIEW][:limit]:
        day = f"due {item['due']}" if "due" in item else item["at"][:10]
        content = fence.tamed(words.reveal(item["content"]))
        line = f"[pending {item['id']}; {item['why']}; {day}]\n| {content}"
        if len(line) >= room:
            break
        lines.append(line)
        room -= len(line) + 1
    return fence.fenced("\n".join(lines)) if lines else ""
