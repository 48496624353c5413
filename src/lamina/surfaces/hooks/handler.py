"""Handle one hook call of a coding agent, from its input to our answer. It can stop at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.failsafe.spool import OUTAGES
from lamina.memory.agent import Memory
from lamina.surfaces import project
from lamina.surfaces.hooks import capture, protocol, transcript
from lamina.surfaces.hooks.protocol import Event
from lamina.surfaces.hooks.switches import Switches

MOST_BYTES = 4 * 1024 * 1024
PIECE = 64 * 1024
TOLD = (protocol.START, protocol.PROMPT, protocol.SPAWN)
ALL, PROMPTS = "all", "prompts"  # values of the setting hooks.capture
# Events without a context, of which only the use of a tool is stored.
IGNORED = (None, protocol.TOOL, "notification")
ENDS = ("stop", "subagent-stop", "pre-compact", "session-end")  # the agent awaits no answer


class CallOptions(msgspec.Struct, frozen=True):
    """A call's options: which hook, plain text or JSON, a key; a late call only keeps."""

    kind: str | None
    plain: bool = False
    key: str | None = None
    is_late: bool = False


class HookCall:
    """The progress of a call. Another thread may read it while the call is running."""

    def __init__(
        self,
        wanted: CallOptions,
        switches: Switches,
        opened: Callable[[], Memory],
        upkeep: Callable[[Memory], None],
        tell: Callable[[str], None],
        captured: Callable[[], str] = lambda: PROMPTS,
    ) -> None:
        """`captured` reads the setting hooks.capture, when an event depends on it."""
        self.wanted = wanted
        self.data = b""
        self.event: Event | None = None
        self.context = ""
        self.unkept = False  # True while something should be stored and is not yet
        self._switches = switches
        self._opened = opened
        self._upkeep = upkeep
        self._tell = tell
        self._captured = captured

    def run(self, stream: BinaryIO | None) -> None:
        """Do everything; a failure is noted, and what was done before remains."""
        try:
            self.data = read_all(stream)
            if self._switches.enabled:
                self._serve(protocol.read(self.data, self.wanted.kind, plain=self.wanted.plain))
        except LaminaError as error:
            self._end(error.message)
        except Exception as error:  # noqa: BLE001 - the agent goes on, whatever is wrong with a memory
            self._end(repr(error))

    def answer(self) -> bytes:
        """Make the answer for the agent from what is done so far."""
        if self.wanted.is_late:
            return b""
        return protocol.answer(self.event, self.context, plain=self.wanted.plain)

    def _end(self, problem: str) -> None:
        self.unkept = False
        self._tell(problem)

    def _serve(self, event: Event) -> None:
        self.event = event
        self._switches = within(self._switches, event)
        message, reply, use = self._to_keep(event)
        self.unkept = bool(message or reply or use)
        if event.kind in IGNORED and use is None:
            return
        with self._opened() as memory:
            if not self.wanted.is_late:
                self._answer(memory, event)
            if use is not None:
                memory.remember_tool_use(use, event.session, self._switches.project)
                self.unkept = False
            if message or reply:
                capture.keep(
                    memory,
                    message,
                    reply,
                    event.session,
                    self._key(event, reply),
                    self._switches.project,
                )
                self.unkept = False
            if event.kind in ENDS or self.wanted.is_late:
                self._upkeep(memory)

    def _answer(self, memory: Memory, event: Event) -> None:
        """Find the context; a store that cannot be read does not prevent capturing."""
        try:
            self.context = self._context(memory, event)
        except OUTAGES as error:
            self._tell(error.message)

    def _key(self, event: Event, reply: str | None) -> str | None:
        """Make a key for a reply: the same words twice in a session are one event sent twice.

        Prompts with the same words are separate events.
        """
        if reply and event.session:
            return capture.reply_key(event.session, reply)
        return self.wanted.key

    def _context(self, memory: Memory, event: Event) -> str:
        if event.compacted and event.session:
            memory.compacted(event.session)
        if event.kind not in TOLD:
            return ""
        from lamina.surfaces.hooks import context  # only a search needs all that this imports

        if event.kind == protocol.START:
            return context.at_start(memory, event.folder, self._switches, event.session)
        if event.kind == protocol.PROMPT and event.message:
            return context.before(memory, event.message, event.session, self._switches)
        if event.kind == protocol.SPAWN:
            task = event.task or transcript.last_task(event.transcript)
            return context.before(memory, task, None, self._switches) if task else ""
        return ""

    def _to_keep(self, event: Event) -> tuple[str | None, str | None, Mapping[str, Any] | None]:
        """Choose what to store of an event: a message; a reply or a tool's use, if wanted."""
        if event.kind == protocol.PROMPT:
            return event.message, None, None
        if event.kind == protocol.TOOL and self._captured() == ALL:
            return None, None, event.tool
        if event.kind in (protocol.STOP, "subagent-stop") and self._wants_replies():
            return None, event.reply or transcript.last_reply(event.transcript), None
        return None, None, None

    def _wants_replies(self) -> bool:
        return self._switches.store_responses or self._captured() == ALL


def within(switches: Switches, event: Event) -> Switches:
    """Set the project of an event: that of the environment, or else of its folder."""
    if switches.project is not None:
        return switches
    return msgspec.structs.replace(switches, project=project.of_folder(event.cwd))


def read_all(stream: BinaryIO | None) -> bytes:
    """Read all input, even if it is too long: otherwise the writer would hang."""
    if stream is None:
        return b""
    data = bytearray()
    size = 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if size <= MOST_BYTES:
            data += piece
    if size > MOST_BYTES:
        raise InvalidInput(f"standard input has {size:,} bytes; a hook takes {MOST_BYTES:,}")
    return bytes(data)
