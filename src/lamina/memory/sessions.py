"""Sessions of an agent: keep what matters of its tools' actions, and sum up the last session."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from lamina.engines import recap, tool_events
from lamina.engines.recap import Recap
from lamina.engines.tool_events import Note, ToolUse
from lamina.errors import InvalidInput
from lamina.memory.scope import Part
from lamina.model import hashing, rules
from lamina.model.record import Layer, Record, State, Trust
from lamina.store.tables.records import Filter
from lamina.text import fence
from lamina.text.words import one_line

SOURCE = "hook"
TAG = "tool-use"
MOST_NOTES = 400  # per session: more means a loop, or a flood
MOST_RECORDS = 1000  # the newest of a session
LOOKED_AT = 200  # newest records in which to find the last session
WHERE = (Layer.SHORT_TERM, Layer.EPISODIC)
HEAD, TAIL = 4_000, 12_000  # characters of an output that are read, at its beginning and end
LONGEST = 4_000  # characters of each other text
NONE = ""  # a name that no project has: it matches what belongs to none


class Sessions(Part):
    """Keep and sum up what happened in the sessions of an agent."""

    def note(
        self, use: Mapping[str, Any], session: str | None, project: str | None
    ) -> list[Record]:
        """Store what matters later about one use of a tool."""
        checked = _checked(use)
        name = None if session is None else rules.label(session, "session")
        earlier = self._notes(name)
        if len(earlier) >= MOST_NOTES:
            return []
        made = tool_events.notes(checked, earlier)
        return self._scope.parts.remember.many([_item(one, name, project) for one in made])

    def recap(self, project: str | None, session: str | None) -> Recap | None:
        """Sum up a session, or the last one of a project, or the last one without a project."""
        from lamina.search.context import noise  # storing notes does not need vectors

        name = None if project is None else rules.label(project, "project")
        chosen = None if session is None else rules.label(session, "session")
        if chosen is None:
            chosen = self._last(name)
        wanted = Filter(self._scope.user, WHERE, (State.ACTIVE,), session=chosen, project=name)
        listed = [] if chosen is None else self._scope.resilient.listed(wanted, MOST_RECORDS)
        made = recap.recap(listed, noise.is_small_talk)
        self._scope.audit("recap", () if made is None else made.records)
        return made

    def _last(self, project: str | None) -> str | None:
        """Return the session of the newest turn that belongs to a project, or to none."""
        beside = NONE if project is None else None
        wanted = Filter(self._scope.user, WHERE, (State.ACTIVE,), project=project, beside=beside)
        newest = self._scope.resilient.listed(wanted, LOOKED_AT)
        return next((one.session for one in newest if one.session is not None), None)

    def _notes(self, session: str | None) -> list[Record]:
        """Read the notes of a session, oldest first. A hook's own lookups do not count as reads."""
        if session is None:
            return []
        wanted = Filter(self._scope.user, WHERE, (State.ACTIVE,), tags=(TAG,), session=session)
        listed = self._scope.resilient.listed(wanted, MOST_NOTES)
        return sorted(listed, key=lambda one: (one.created_at, one.seq))


def _checked(use: object) -> ToolUse:
    """Check a use of a tool, and remove secrets and our fence from its texts."""
    from lamina.text.secrets import detection  # most handles note no tools

    if not isinstance(use, Mapping):
        raise InvalidInput(f"the use of a tool is a {type(use).__name__}, not a mapping")
    try:
        given = msgspec.convert({**use}, ToolUse)
    except (msgspec.ValidationError, TypeError) as error:
        raise InvalidInput(f"the use of a tool is not valid: {one_line(str(error), 200)}") from None

    def clean(text: str, head: int = LONGEST, tail: int = 0) -> str:
        return str(detection.redacted(fence.unfenced(_ends(text, head, tail))))

    return ToolUse(
        clean(given.tool),
        None if given.command is None else clean(given.command),
        None if given.path is None else clean(given.path),
        clean(given.before),
        clean(given.after),
        clean(given.output, HEAD, TAIL),
        given.failed,
        given.is_new,
    )


def _ends(text: str, head: int, tail: int) -> str:
    """Keep the beginning and end of a text, in whole lines: half a secret is not recognised."""
    text = text.replace("\0", "").encode(errors="replace").decode()
    if len(text) <= head + tail:
        return text
    first = text[:head]
    last = text[-tail:].partition("\n")[2] if tail else ""
    return f"{first.rpartition(chr(10))[0] if tail else first}\n{last}"


def _item(note: Note, session: str | None, project: str | None) -> dict[str, Any]:
    """Make a short-term memory of a note, stored once per session."""
    parts = [session, note.event, note.content, note.about.get("after", "")]
    digest = hashlib.blake2b(hashing.encode(parts), digest_size=16).hexdigest()
    return {
        "content": note.content,
        "kind": note.kind,
        "importance": note.importance,
        "metadata": note.metadata,
        "tags": [TAG],
        "source": SOURCE,
        "trust": Trust.EXTERNAL if note.external else None,
        "speaker": "tool" if note.external else "assistant",
        "session": session,
        "project": project,
        "key": f"tool-{digest}",
    }
