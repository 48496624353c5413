"""Read the use of a tool from an event, in the terms of the supported agents.

Claude Code, Codex and Gemini CLI name a tool, its input and its response; Cursor has an event for
each kind of tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from lamina.text.patterns import bounded

NAMES = ("tool_name", "toolName")
INPUTS = ("tool_input", "toolArgs", "tool_args")
RESPONSES = ("tool_response", "tool_output", "toolResult", "result_json", "output")
ERRORS = ("error", "error_message")
COMMANDS = ("command", "cmd", "script")
PATHS = ("file_path", "filePath", "path", "notebook_path", "absolute_path")
PATCHES = ("patch", "input", "command")
TEXTS = (
    *("stdout", "stderr", "output", "aggregated_output", "formatted_output"),
    *("llmContent", "text", "content", "error", "message"),
)
CODES = ("exit_code", "exitCode", "returncode", "code")
BEGIN = "*** Begin Patch"
FILE = bounded(r"\*\*\* (Add|Update) File: (\S.*)")
CODE = bounded(
    r"(?:Error: )?(?:process )?exit(?:ed with)? (?:code|status):? (\d{1,5})\b.*", re.IGNORECASE
)
CREATED = bounded(r"\bcreated?\b", re.IGNORECASE)
NEAR = 200  # characters from either end of an output in which its exit code may be named
DEEP = 4  # levels of a response to examine


def read(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Convert an event to the argument of `remember_tool_use`."""
    asked = _mapping(next((given[key] for key in INPUTS if key in given), None)) or given
    answered = next((given[key] for key in RESPONSES if key in given), None)
    answered = _decoded(answered)
    output = _output(given, answered)
    use: dict[str, Any] = {
        "tool": _text(given, NAMES) or "",
        "output": output,
        "failed": _failed(given, answered, output, name),
    }
    if patch := next((text for key in PATCHES if BEGIN in (text := _line(asked.get(key)))), ""):
        return {**use, **_patched(patch)}
    command = next((line for key in COMMANDS if (line := _line(asked.get(key)))), None)
    if command is not None:
        return {**use, "command": command}
    return {**use, "path": _text(asked, PATHS), **_edited(asked, answered, output)}


def _edited(asked: Mapping[str, Any], answered: object, output: str) -> dict[str, Any]:
    """Describe what an edit replaced with what, and whether its file is new."""
    edits = asked.get("edits")
    each = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else [asked]
    before = "\n".join(_text(one, ("old_string", "oldText")) or "" for one in each)
    after = "\n".join(_text(one, ("new_string", "newText", "content")) or "" for one in each)
    kind = answered.get("type") if isinstance(answered, dict) else None
    is_whole = "content" in asked and not before.strip()
    is_new = kind == "create" or (
        is_whole and kind is None and CREATED.search(output[:500]) is not None
    )
    return {"before": before, "after": after, "is_new": is_new}


def _patched(patch: str) -> dict[str, Any]:
    """Read the first file of a patch in Codex's form, and what it replaced with what."""
    lines = patch.splitlines()
    first = next((found for line in lines if (found := FILE.fullmatch(line))), None)
    old = [line[1:] for line in lines if line.startswith("-")]
    new = [line[1:] for line in lines if line.startswith("+")]
    if first is None:
        return {}
    is_new = first[1] == "Add"
    changed = {} if is_new else {"before": "\n".join(old), "after": "\n".join(new)}
    return {"path": first[2], "is_new": is_new, **changed}


def _failed(given: Mapping[str, Any], answered: object, output: str, name: str) -> bool | None:
    """Return whether a tool failed, by its event, its code or its first words; None if unknown."""
    if name.lower().endswith("failure"):
        return True
    for place in (answered, given):
        if not isinstance(place, Mapping):
            continue
        code = next((place[key] for key in CODES if isinstance(place.get(key), int)), None)
        if code is not None:
            return bool(code)
        if place.get("is_error") is True or place.get("success") is False:
            return True
        if isinstance(place.get("error"), (str, dict)) and place["error"]:
            return True
    lines = (line.strip() for line in (output[:NEAR] + "\n" + output[-NEAR:]).splitlines())
    found = next((code for line in lines if (code := CODE.fullmatch(line))), None)
    if found:
        return found[1] != "0"
    return False if name in ("PostToolUse", "postToolUse") else None


def _output(given: Mapping[str, Any], answered: object) -> str:
    """Collect the output of a tool."""
    error = _text(given, ERRORS)
    return "\n".join(filter(None, [error or "", *_said(answered, DEEP)]))


def _said(value: object, levels: int) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not levels:
        return []
    if isinstance(value, list):
        return [text for one in value for text in _said(one, levels - 1)]
    if isinstance(value, dict):
        return [text for key in TEXTS if key in value for text in _said(value[key], levels - 1)]
    return []


def _decoded(value: object) -> object:
    """Decode a response that is JSON in a string, as Cursor sends it."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def _mapping(value: object) -> Mapping[str, Any] | None:
    decoded = _decoded(value)
    return decoded if isinstance(decoded, dict) else None


def _line(value: object) -> str:
    """Format a command, which some agents send as a list of words."""
    if isinstance(value, list):
        words = [word for word in value if isinstance(word, str)]
        is_shell = len(words) == 3 and words[1].startswith("-") and words[1].endswith("c")
        return words[2] if is_shell else " ".join(words)
    return value if isinstance(value, str) else ""


def _text(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next(
        (value for name in names if isinstance(value := given.get(name), str) and value), None
    )
