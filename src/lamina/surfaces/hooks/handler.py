"""One call of a hook by a coding agent, from what it wrote to what it reads. It may be left at any moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.failsafe.spool import OUTAGES
from lamina.memory.agent import Memory
from lamina.surfaces.hooks import capture, context, protocol, transcript
from lamina.surfaces.hooks.protocol import Event
from lamina.surfaces.hooks.switches import Switches

MOST_BYTES = 4 * 1024 * 1024
PIECE = 64 * 1024
ENDS = ("stop", "subagent-stop", "pre-compact", "session-end")  # nobody waits for an answer then


class Wanted(msgspec.Struct, frozen=True):
    """How a hook was called: which one, whether as plain text, and the key of what it keeps. A late call only keeps."""

    kind: str | None
    plain: bool = False
    key: str | None = None
    is_late: bool = False


class Call:
    """What has been done of a call so far. Another thread may look at it while it is being done."""

    def __init__(
        self,
        wanted: Wanted,
        switches: Switches,
        opened: Callable[[], Memory],
        upkeep: Callable[[Memory], None],
        tell: Callable[[str], None],
    ) -> None:
        self.wanted = wanted
        self.data = b""
        self.event: Event | None = None
        self.context = ""
        self.unkept = False  # whether something is to be kept and is not yet
        self._switches = switches
        self._opened = opened
        self._upkeep = upkeep
        self._tell = tell

    def run(self, stream: BinaryIO | None) -> None:
        """Do everything; whatever fails is told, and what was done before it stays."""
        try:
            self.data = taken(stream)
            if self._switches.enabled:
                self._serve(protocol.read(self.data, self.wanted.kind, plain=self.wanted.plain))
        except LaminaError as error:
            self._end(error.message)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a memory, its agent goes on; it is told
            self._end(repr(error))

    def answer(self) -> bytes:
        """What the agent reads, as far as we have come."""
        return (
            b""
            if self.wanted.is_late
            else protocol.answer(self.event, self.context, plain=self.wanted.plain)
        )

    def _end(self, problem: str) -> None:
        self.unkept = False
        self._tell(problem)

    def _serve(self, event: Event) -> None:
        self.event = event
        message, reply = self._said(event)
        self.unkept = bool(message or reply)
        if event.kind is None:
            return
        with self._opened() as memory:
            if not self.wanted.is_late:
                self._answer(memory, event)
            if message or reply:
                capture.keep(memory, message, reply, event.session, self._key(event, reply))
                self.unkept = False
            if event.kind in ENDS or self.wanted.is_late:
                self._upkeep(memory)

    def _answer(self, memory: Memory, event: Event) -> None:
        """What is remembered about the event. A store that cannot be read keeps nobody from keeping what was said."""
        try:
            self.context = self._told(memory, event)
        except OUTAGES as error:
            self._tell(error.message)

    def _key(self, event: Event, reply: str | None) -> str | None:
        """Prompts with the same words are two; replies with the same words in one session are one that was told twice."""
        return (
            capture.reply_key(event.session, reply) if reply and event.session else self.wanted.key
        )

    def _told(self, memory: Memory, event: Event) -> str:
        if event.kind == protocol.START:
            return context.at_start(memory, event.folder, self._switches)
        if event.kind == protocol.PROMPT and event.message:
            return context.before(memory, event.message, event.session, self._switches)
        if event.kind == protocol.SPAWN and (
            task := event.task or transcript.last_task(event.transcript)
        ):
            return context.before(memory, task, None, self._switches)
        return ""

    def _said(self, event: Event) -> tuple[str | None, str | None]:
        """What an event leaves to keep: the user's message, or a reply if those are wanted."""
        if event.kind == protocol.PROMPT:
            return event.message, None
        if event.kind in (protocol.STOP, "subagent-stop") and self._switches.store_responses:
            return None, event.reply or transcript.last_reply(event.transcript)
        return None, None


def taken(stream: BinaryIO | None) -> bytes:
    """All that was written to us. What is too much is read to its end as well, so that the writer is not left hanging."""
    if stream is None:
        return b""
    kept = bytearray()
    size = 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if size <= MOST_BYTES:
            kept += piece
    if size > MOST_BYTES:
        raise InvalidInput(f"standard input has {size:,} bytes; a hook takes {MOST_BYTES:,}")
    return bytes(kept)
