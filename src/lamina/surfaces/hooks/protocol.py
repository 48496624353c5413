"""The JSON of coding agents' hooks: parse their events, and answer in their form.

Claude Code, Codex and Gemini CLI share one form, with different names for some events; Cursor
has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from lamina.errors import InvalidInput
from lamina.text.words import one_line, shown

START, PROMPT, STOP, SPAWN = "session-start", "user-prompt", "stop", "subagent-start"
TOOL, COMPACTED = "tool-use", "post-compact"
# Our name of each event, and its names in the supported programs.
EVENTS: Mapping[str, tuple[str, ...]] = {
    START: ("SessionStart", "sessionStart"),
    PROMPT: ("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt", "userPromptSubmitted"),
    STOP: ("Stop", "AfterAgent", "afterAgentResponse"),
    SPAWN: ("SubagentStart", "subagentStart"),
    "subagent-stop": ("SubagentStop", "subagentStop"),
    TOOL: (
        *("PostToolUse", "PostToolUseFailure", "AfterTool", "postToolUse", "postToolUseFailure"),
        *("afterShellExecution", "afterFileEdit"),
    ),
    "pre-compact": ("PreCompact", "PreCompress", "preCompact"),
    COMPACTED: ("PostCompact", "postCompact"),
    "notification": ("Notification", "notification"),
    "session-end": ("SessionEnd", "sessionEnd"),
}
NAMES = {name: event for event, names in EVENTS.items() for name in (event, *names)}
CURSOR = "sessionStart"
MESSAGES = ("prompt", "user_prompt", "message")
REPLIES = ("last_assistant_message", "prompt_response", "response", "text")
TASKS = ("task", "prompt", "description")
SESSIONS = ("session_id", "conversation_id", "sessionId")
EXPECTED = (
    'a JSON object is expected there, such as {"prompt": "how do we deploy?", "session_id": "s1"}'
)
WIDTH = 200  # of a session's id, which other programs choose


class Event(msgspec.Struct, frozen=True):
    """An event in an agent: our kind of it, and the name by which the agent knows it."""

    kind: str | None
    name: str
    message: str | None = None
    reply: str | None = None
    task: str | None = None
    session: str | None = None
    cwd: str = ""
    transcript: str | None = None
    tool: dict[str, Any] | None = None  # a tool's input and result
    compacted: bool = False  # the agent has just lost its earlier context

    @property
    def folder(self) -> str:
        """The name of the folder in which the agent works."""
        return PurePath(self.cwd).name


def read(data: bytes, kind: str | None, *, plain: bool = False) -> Event:
    """Parse an event. Without a kind, its name determines the kind; None if it is not supported."""
    if kind is not None and kind not in NAMES:
        raise InvalidInput(f"there is no hook {shown(kind, 60)}; known are {', '.join(EVENTS)}")
    if plain:
        text = data.decode(errors="replace")
        return Event(NAMES.get(kind or PROMPT), "", message=text, reply=text, task=text)
    given = _object(data)
    name = _text(given, ("hook_event_name", "hookEventName")) or ""
    if kind is None and not name:
        raise InvalidInput(
            "which event is it? Neither EVENT nor the field hook_event_name says;"
            f" known are {', '.join(EVENTS)}"
        )
    spawned, session = given.get("tool_input"), _text(given, SESSIONS)
    event = NAMES.get(kind or name)
    is_compacted = event == START and _text(given, ("source", "trigger")) == "compact"
    return Event(
        event,
        name,
        message=_text(given, MESSAGES),
        reply=_text(given, REPLIES),
        task=_text(given, TASKS) or (_text(spawned, TASKS) if isinstance(spawned, dict) else None),
        session=one_line(session, WIDTH) if session else None,
        cwd=_text(given, ("cwd",)) or _first_root(given),
        transcript=_text(given, ("agent_transcript_path", "transcript_path")),
        tool=_tool(given, name) if event == TOOL else None,
        compacted=is_compacted or event == COMPACTED,
    )


def answer(event: Event | None, context: str, *, plain: bool = False) -> bytes:
    """Encode the context in the form of its event, or an empty object if there is none."""
    if plain:
        return f"{context}\n".encode(errors="replace") if context else b""
    if not context or event is None:
        return b"{}\n"
    name = event.name or EVENTS[event.kind or PROMPT][0]
    if name == CURSOR:
        return msgspec.json.encode({"additional_context": context}) + b"\n"
    output = {"hookEventName": name, "additionalContext": context}
    return msgspec.json.encode({"hookSpecificOutput": output}) + b"\n"


def _object(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise InvalidInput(f"standard input is empty; {EXPECTED}")
    try:
        given = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"standard input is not JSON: {one_line(str(error), WIDTH)}") from None
    if not isinstance(given, dict):
        # Its content is not quoted: others may see the message.
        raise InvalidInput(
            f"standard input is JSON of the type {type(given).__name__}, not an object"
        )
    return given


def _tool(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    from lamina.surfaces.hooks import tools  # most events concern no tool

    return tools.read(given, name)


def _first_root(given: Mapping[str, Any]) -> str:
    """Return the first open folder, which some programs send instead of a single one."""
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) else ""


def _text(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first of some fields that contains a text."""
    return next(
        (value for name in names if isinstance(value := given.get(name), str) and value), None
    )
