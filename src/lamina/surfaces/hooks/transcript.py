"""The end of a conversation that an agent keeps as JSON lines, for events that do not say what it was about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lamina.store.engine import raw_file

TAIL = 256 * 1024  # bytes from the end: the last exchange is nearly always in there


def last_reply(path: str | None) -> str | None:
    """What the assistant said last."""
    return next(
        (
            said
            for role, message in _newest(path)
            if role == "assistant" and (said := _said(message))
        ),
        None,
    )


def last_task(path: str | None) -> str | None:
    """What another agent was last asked to do, or else what the user asked for."""
    for role, message in _newest(path):
        if role == "assistant" and (task := _handed_on(message)):
            return task
        if role == "user" and (said := _said(message)):
            return said
    return None


def _newest(path: str | None) -> Iterator[tuple[str, Any]]:
    """Who said what, the newest first. A file that is none of this kind has nothing to say."""
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
        place = Path(path).expanduser()
        if not place.is_file():  # a pipe would have us wait
            return b""
        with raw_file.opened(place) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            return file.read(TAIL)
    except (
        OSError,
        RuntimeError,
    ):  # it is only one of the ways to know: the event goes on without it
        return b""


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"] for part in _parts(content, "text") if isinstance(part.get("text"), str)
    )


def _handed_on(content: Any) -> str | None:
    asked = [
        part["input"] for part in _parts(content, "tool_use") if isinstance(part.get("input"), dict)
    ]
    return next(
        (one["prompt"] for one in reversed(asked) if isinstance(one.get("prompt"), str)), None
    )


def _parts(content: Any, kind: str) -> list[dict[str, Any]]:
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == kind]
