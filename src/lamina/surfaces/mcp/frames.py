"""Messages on a pipe: one line each, and never more of one in memory than a limit. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import mcp_types as types
import msgspec
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

LONGEST = (
    8 * 1024 * 1024
)  # the longest memory, with every character escaped, and room for what is around it
# Clients write the id in front of the parameters; so who has sent too much can be told which message that was.
ID = re.compile(rb'^\s*\{(?:(?!"params").){0,200}?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")', re.S)


class Splitter:
    """Cuts what comes from a pipe into lines. Of one that is too long only its beginning is kept, and given away at once."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._begun = bytearray()
        self._skips = False  # the rest of a line that was too long

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """The lines that are complete now, each with whether all of it is there."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            line = self._grown(end)
            if line is not None:
                yield line
            elif not self._skips:
                yield bytes(self._begun), True
            self._begun.clear()
            self._skips = False
        if rest and (line := self._grown(rest)) is not None:
            yield line

    def rest(self) -> Iterator[tuple[bytes, bool]]:
        """The last line, when nothing ends it."""
        if self._begun:
            yield bytes(self._begun), True

    def _grown(self, part: bytes) -> tuple[bytes, bool] | None:
        """The line at hand with one more part; what there is of it, when it has become too long."""
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
    """What a line says: a message, or what to answer because it is none. An empty line says nothing."""

    message: types.JSONRPCMessage | None = None
    answer: types.JSONRPCError | None = None


def read(line: bytes, is_whole: bool = True) -> Frame:
    """A line as a message of the protocol; of one that was too long only the beginning is given."""
    if not is_whole:
        found = ID.search(line)
        name = msgspec.json.decode(found.group(1), type=int | str) if found else None
        return _wrong(
            types.INVALID_REQUEST,
            f"a message has more than {LONGEST:,} bytes; nothing was done",
            name,
        )
    if not line.strip():
        return Frame()
    try:
        message = jsonrpc_message_adapter.validate_json(
            line.decode(errors="replace"), by_name=False
        )
        if (
            not isinstance(message, types.JSONRPCNotification)
            or b'"id"' not in line
            or not _has_id(line)
        ):
            return Frame(message)
    except ValidationError as error:
        if error.errors(include_url=False, include_context=False)[0]["type"] == "json_invalid":
            return _wrong(types.PARSE_ERROR, "a message is not JSON")
    return _wrong(
        types.INVALID_REQUEST,
        "a message is JSON, but neither a request nor a notification",
        _named(line).id,
    )


class _Named(msgspec.Struct):
    """What might be the id of a message that is none."""

    id: int | str | None = None


def _named(line: bytes) -> _Named:
    try:
        return msgspec.json.decode(line, type=_Named)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Named()


def _has_id(line: bytes) -> bool:
    """Whether a message has an id after all: one of a wrong kind, so that it was taken for a notification."""
    try:
        return "id" in msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _wrong(code: int, told: str, name: int | str | None = None) -> Frame:
    return Frame(
        answer=types.JSONRPCError(
            jsonrpc="2.0", id=name, error=types.ErrorData(code=code, message=told)
        )
    )
