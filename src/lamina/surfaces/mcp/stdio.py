"""The server on a pair of pipes: what a client starts and talks to. It ends when the client closes its end."""

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
CHUNKS = 4  # that are read ahead
MOST_OPEN = 256  # requests that wait for their answer; a client that sends more waits too
CANCELLED = "notifications/cancelled"


class Incoming:
    """What comes from a pipe, read by a thread that nobody has to wait for when the server ends."""

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
            except OSError:  # as good as its end
                chunk = b""
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:  # the server has ended meanwhile
                return


class Open:
    """The requests that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._fewer = asyncio.Event()

    def note(self, message: types.JSONRPCMessage) -> None:
        """Take note of a message that came or goes."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
            return
        if isinstance(message, types.JSONRPCNotification):
            done = (message.params or {}).get("requestId") if message.method == CANCELLED else None
        else:
            done = message.id
        if isinstance(done, (int, str)) and done in self._ids:
            self._ids.discard(done)
            self._fewer.set()

    async def below(self, number: int) -> None:
        """Wait until there are fewer than so many."""
        while len(self._ids) >= number:
            self._fewer.clear()
            await self._fewer.wait()


async def serve(server: Server[Any], source: int, target: int) -> None:
    """Serve one client until it closes its pipe or a signal comes; what it sent before is answered first."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    waiting = Open()
    async with anyio.create_task_group() as group:
        with _ended_by_signals(group.cancel_scope.cancel):
            group.start_soon(_receive, source, to_server, to_client.clone(), waiting)
            group.start_soon(_send, target, from_server, waiting, group.cancel_scope.cancel)
            await server.run(from_client, to_client, server.create_initialization_options())


async def _receive(
    source: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    waiting: Open,
) -> None:
    splitter = frames.Splitter()

    async def take(line: bytes, is_whole: bool) -> None:
        frame = frames.read(line, is_whole)
        if frame.answer is not None:
            await to_client.send(SessionMessage(frame.answer))
        elif frame.message is not None:
            await waiting.below(MOST_OPEN)
            waiting.note(frame.message)
            await to_server.send(SessionMessage(frame.message))

    async with to_server, to_client:
        async for chunk in Incoming(source):
            for line in splitter.feed(chunk):
                await take(*line)
        for line in splitter.rest():
            await take(*line)
        await waiting.below(1)


async def _send(
    target: int,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    waiting: Open,
    end: Callable[[], object],
) -> None:
    async with from_server:
        async for item in from_server:
            line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            if not await _written(target, line.encode(errors="replace") + b"\n"):
                end()  # nobody listens any more
                return
            waiting.note(item.message)


async def _written(target: int, data: bytes) -> bool:
    """Write to a pipe in a thread that nobody has to wait for, should the client not read; whether that went well."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def tell(went_well: bool) -> None:
        if not done.done():
            done.set_result(went_well)

    def write() -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(target, view) :]
        except OSError:
            pass
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(tell, not view)

    threading.Thread(target=write, name="lamina-stdout", daemon=True).start()
    return await done


@contextlib.contextmanager
def _ended_by_signals(end: Callable[[], object]) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server as a closed pipe does, where the platform can."""
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
    """Standard input and output for the protocol alone: whoever else reads gets nothing, and prints to standard error."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # whoever started us has closed it
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
