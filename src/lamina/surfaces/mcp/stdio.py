"""Serve a client that has started this process, over pipes, until it closes its end.

The SDK's own `stdio_server` has two bugs; once they are fixed, delete this module and `frames`:

- It drops pending answers when its input ends:
  https://github.com/modelcontextprotocol/python-sdk/issues/2678
- It limits neither the number of open requests nor the length of a line:
  https://github.com/modelcontextprotocol/python-sdk/issues/1333
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from lamina.surfaces import signals
from lamina.surfaces.mcp import frames

CHUNK = 64 * 1024
CHUNKS = 4  # to read ahead
MOST_OPEN = 256  # unanswered requests; beyond this, the client has to wait too
CANCELLED = "notifications/cancelled"


class PipeReader:
    """Read a pipe in a thread that does not delay the end of the server."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._room = threading.Semaphore(CHUNKS)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="lamina-stdin", daemon=True).start()
        while chunk := await self._chunks.get():
            self._room.release()
            yield chunk

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        chunk = b"-"
        while chunk:
            self._room.acquire()
            try:
                chunk = os.read(self._source, CHUNK)
            except OSError:  # the same as end of input
                chunk = b""
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:  # the server has ended meanwhile
                return


class OpenRequests:
    """The requests without an answer yet: those of the client, and our questions to it."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._questions: set[int | str] = set()
        self._changed = asyncio.Event()

    def received(self, message: types.JSONRPCMessage) -> None:
        """Note a message from the client."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif not isinstance(message, types.JSONRPCNotification):
            self._questions.discard(message.id or 0)
        elif message.method == CANCELLED:
            self._done((message.params or {}).get("requestId"))

    def sent(self, message: types.JSONRPCMessage) -> None:
        """Take note of a message to the client."""
        if isinstance(message, types.JSONRPCRequest):
            self._questions.add(message.id)
            self._changed.set()
        elif isinstance(message, types.JSONRPCNotification):
            if message.method == CANCELLED:
                self._questions.discard((message.params or {}).get("requestId", 0))
        else:
            self._done(message.id)

    def _done(self, request: object) -> None:
        if isinstance(request, (int, str)) and request in self._ids:
            self._ids.discard(request)
            self._changed.set()

    async def below(self, number: int) -> None:
        """Wait until the client has fewer than `number` open requests."""
        while len(self._ids) >= number:
            await self._change()

    async def left_open(self) -> AsyncIterator[int | str]:
        """Yield our open questions after a client has gone, until its requests are answered."""
        while self._ids:
            while self._questions:
                yield self._questions.pop()
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()


async def serve(server: Server[Any], source: int, target: int) -> None:
    """Serve one client until it closes its pipe or a signal arrives; finish its requests first."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered = OpenRequests()
    async with anyio.create_task_group() as group:
        with _ended_by_signals(group.cancel_scope.cancel):
            group.start_soon(_receive, source, to_server, to_client.clone(), unanswered)
            group.start_soon(_send, target, from_server, unanswered, group.cancel_scope.cancel)
            await server.run(from_client, to_client, server.create_initialization_options())


async def _receive(
    source: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    unanswered: OpenRequests,
) -> None:
    splitter = frames.Splitter()

    async def take(line: bytes, is_whole: bool) -> None:
        frame = frames.read(line, is_whole)
        if frame.answer is not None:
            await to_client.send(SessionMessage(frame.answer))
        elif frame.message is not None:
            await unanswered.below(MOST_OPEN)
            unanswered.received(frame.message)
            await to_server.send(SessionMessage(frame.message))

    async with to_server, to_client:
        async for chunk in PipeReader(source):
            for line in splitter.feed(chunk):
                await take(*line)
        for line in splitter.rest():
            await take(*line)
        async for question in unanswered.left_open():
            await to_server.send(SessionMessage(_closed(question)))


def _closed(question: int | str) -> types.JSONRPCError:
    data = types.ErrorData(code=types.CONNECTION_CLOSED, message="the client closed its pipe")
    return types.JSONRPCError(jsonrpc="2.0", id=question, error=data)


async def _send(
    target: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    unanswered: OpenRequests,
    end: Callable[[], object],
) -> None:
    async with from_server:
        async for item in from_server:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            if not await _write(target, line.encode(errors="replace") + b"\n"):
                end()  # the client no longer reads
                return
            unanswered.sent(item.message)


async def _write(target: int, data: bytes) -> bool:
    """Write to a pipe in a thread that does not delay the end; return False if that failed."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def finish(is_written: bool) -> None:
        if not done.done():
            done.set_result(is_written)

    def write() -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(target, view) :]
        except OSError:
            pass
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(finish, not view)

    threading.Thread(target=write, name="lamina-stdout", daemon=True).start()
    return await done


@contextlib.contextmanager
def _ended_by_signals(end: Callable[[], object]) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server like a closed pipe, if the platform allows."""
    loop = asyncio.get_running_loop()
    numbers = signals.heard() if sys.platform != "win32" else []
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def own_pipes() -> Iterator[tuple[int, int]]:
    """Reserve standard input and output for the protocol; other code cannot read from them.

    Whatever it prints goes to standard error.
    """
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error was closed before we started
        os.dup2(nothing, 1)
    os.close(nothing)
    try:
        yield source, target
    finally:
        sys.stdout.flush()
        os.dup2(target, 1)
        os.dup2(source, 0)


def run(server: Server[Any]) -> None:
    """Serve the client that has started this process."""
    with own_pipes() as (source, target):
        asyncio.run(serve(server, source, target))
