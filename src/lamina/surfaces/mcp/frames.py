"""Messages on a pipe, one per line, with a limit on how much of one is in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import mcp_types as types
import msgspec
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

# The longest memory, with every character escaped, and room for the rest of the message.
LONGEST = 8 * 1024 * 1024
# Clients write the id before the parameters, so that an error about an overlong message can
# name its id.
ID = re.compile(rb'^\s*\{(?:(?!"params").){0,200}?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")', re.S)


class Splitter:
    """Split data from a pipe into lines; of an overlong one yield only the beginning, at once."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun = bytearray()
        self._skips = False  # skip the rest of an overlong line

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the lines that are now complete, each with True if it is whole."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            line = self._extend(end)
            if line is not None:
                yield line
            elif not self._skips:
                yield bytes(self._begun), True
            self._begun.clear()
            self._skips = False
        if rest and (line := self._extend(rest)) is not None:
            yield line

    def rest(self) -> Iterator[tuple[bytes, bool]]:
        """Yield the last line if it has no end."""
        if self._begun:
            yield bytes(self._begun), True

    def _extend(self, part: bytes) -> tuple[bytes, bool] | None:
        """Extend the current line; return its beginning if it has become too long."""
        if self._skips:
            return None
        self._begun += part
        if len(self._begun) <= self._longest:
            return None
        head = bytes(self._begun[:1024])
        self._begun = bytearray()
        self._skips = True
        return head, False


class Frame(NamedTuple):
    """A message, or the error to answer if a line is invalid; neither for an empty line."""

    message: types.JSONRPCMessage | None = None
    answer: types.JSONRPCError | None = None


def read(line: bytes, is_whole: bool = True) -> Frame:
    """Parse a line as a message of the protocol; `is_whole` is False if it was too long."""
    if not is_whole:
        match = ID.search(line)
        message_id = msgspec.json.decode(match.group(1), type=int | str) if match else None
        problem = f"a message has more than {LONGEST:,} bytes; nothing was done"
        return _error(types.INVALID_REQUEST, problem, message_id)
    if not line.strip():
        return Frame()
    try:
        text = line.decode(errors="replace")
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        # A request whose id has a wrong type is parsed as a notification.
        is_notification = isinstance(message, types.JSONRPCNotification)
        if not (is_notification and b'"id"' in line and _has_id(line)):
            return Frame(message)
    except ValidationError as error:
        if error.errors(include_url=False, include_context=False)[0]["type"] == "json_invalid":
            return _error(types.PARSE_ERROR, "a message is not JSON")
    problem = "a message is JSON, but neither a request nor a notification"
    return _error(types.INVALID_REQUEST, problem, _find_id(line))


class _MessageId(msgspec.Struct):
    """The part of an invalid message that might be its id."""

    id: int | str | None = None


def _find_id(line: bytes) -> int | str | None:
    try:
        return msgspec.json.decode(line, type=_MessageId).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _has_id(line: bytes) -> bool:
    try:
        return "id" in msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _error(code: int, problem: str, message_id: int | str | None = None) -> Frame:
    data = types.ErrorData(code=code, message=problem)
    return Frame(answer=types.JSONRPCError(jsonrpc="2.0", id=message_id, error=data))
