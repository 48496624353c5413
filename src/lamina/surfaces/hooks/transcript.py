"""Read the end of an agent's transcript of JSON lines, for events with too little content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lamina.store.engine import raw_file

TAIL = 256 * 1024  # bytes from the end, which nearly always contain the last exchange


def last_reply(path: str | None) -> str | None:
    """Find the assistant's last text."""
    for role, content in _newest(path):
        if role == "assistant" and (text := _text(content)):
            return text
    return None


def last_task(path: str | None) -> str | None:
    """Find the last task given to another agent, or else the user's last request."""
    for role, content in _newest(path):
        if role == "assistant" and (task := _delegated(content)):
            return task
        if role == "user" and (text := _text(content)):
            return text
    return None


def _newest(path: str | None) -> Iterator[tuple[str, Any]]:
    """Yield roles and contents, newest first; nothing for another kind of file."""
    for line in reversed(_tail(path).splitlines()):
        try:
            entry = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        message = entry.get("message") if isinstance(entry, dict) else None
        if isinstance(message, dict) and isinstance(role := message.get("role"), str):
            yield role, message.get("content")


def _tail(path: str | None) -> bytes:
    if not path or "\0" in path:
        return b""
    try:
        file_path = Path(path).expanduser()
        if not file_path.is_file():  # a pipe would block
            return b""
        with raw_file.opened(file_path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return file.read(TAIL)
    except (OSError, RuntimeError):  # it is one of several sources: the event is handled without it
        return b""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in _parts(content, "text")]
    return "\n".join(text for text in texts if isinstance(text, str))


def _delegated(content: Any) -> str | None:
    """Find the prompt of the last tool call that has one."""
    for part in reversed(_parts(content, "tool_use")):
        arguments = part.get("input")
        if isinstance(arguments, dict) and isinstance(arguments.get("prompt"), str):
            return str(arguments["prompt"])
    return None


def _parts(content: Any, kind: str) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]
