"""A line between clients and a server that can be cut, held up and slowed down."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.servers.processes import HOST, free_port

Result = TypeVar("Result")
CHUNK = 65_536
PATIENCE_SECONDS = 30.0
# With this a close is a reset: the other side reads "connection reset by peer" instead of an end.
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """Listens on a port of the loopback and passes everything on to another, as long as nothing is
    wrong with the line.

    What it is told holds when the call is back. It lives in a thread of its own and may be told
    from any other.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = free_port()
        self._refusing = False
        self._delay_seconds = 0.0
        self._bytes_left: int | None = None
        self._lines: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy of {target}")
        self._thread.start()
        self._requests, self._answers = asyncio.Event(), asyncio.Event()
        self._server = self._call(asyncio.start_server(self._connected, HOST, self.port))
        self.heal()

    def cut(self) -> None:
        """Reset every connection that there is now. New ones go through."""
        self._call(self._cut())

    def cut_after(self, sent: int) -> None:
        """Reset every connection once clients have sent so many bytes more. The last of them may or
        may not arrive."""
        self._call(self._change(_bytes_left=sent))

    def refuse(self) -> None:
        """Reset every connection, and new ones as soon as they come, until `heal`."""
        self._call(self._change(_refusing=True))
        self.cut()

    def stall(self, *, requests: bool = True, answers: bool = True) -> None:
        """Hold back what clients send, what the server answers, or both. After `heal` it goes on
        its way: nothing is lost."""
        self._call(self._flow(not requests, not answers))

    def delay(self, seconds: float) -> None:
        """Hold back every piece for a while, each way, until `heal`."""
        self._call(self._change(_delay_seconds=seconds))

    def heal(self) -> None:
        """Nothing is wrong with the line any more."""
        self._call(self._change(_refusing=False, _delay_seconds=0.0, _bytes_left=None))
        self._call(self._flow(True, True))

    def close(self) -> None:
        """Reset every connection and listen no longer."""
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_SECONDS)

    async def _change(self, **faults: bool | float | int | None) -> None:
        vars(self).update(faults)

    async def _flow(self, requests: bool, answers: bool) -> None:
        for way, flows in ((self._requests, requests), (self._answers, answers)):
            if flows:
                way.set()
            else:
                way.clear()

    def _cut_now(self) -> list[asyncio.Task[None]]:
        lines = list(self._lines)
        for line in lines:
            for end in self._lines[line]:
                _reset(end)
            line.cancel()
        return lines

    async def _cut(self) -> None:
        await asyncio.gather(*self._cut_now(), return_exceptions=True)

    async def _close(self) -> None:
        await self._change(_refusing=True)
        # Also those that are being accepted: closing the server under them would leave them open.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            self._cut_now()
            await asyncio.wait(others)
        self._server.close()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Pass on until an end breaks or is cut. Only the passing is ever cancelled, so that both
        ends are closed however it stops."""
        ends = [client]
        line = asyncio.create_task(self._pass_on(reader, ends))
        self._lines[line] = ends
        await asyncio.wait([line])
        if line.cancelled() or line.exception() is not None:
            # Whichever end broke, the other is told in the same way.
            for end in ends:
                _reset(end)
        for end in ends:
            end.close()
        await asyncio.gather(*(end.wait_closed() for end in ends), return_exceptions=True)
        del self._lines[line]

    async def _pass_on(
        self, reader: asyncio.StreamReader, ends: list[asyncio.StreamWriter]
    ) -> None:
        (client,) = ends
        if self._refusing:
            raise ConnectionRefusedError
        answering, server = await asyncio.open_connection(HOST, self.target)
        ends.append(server)
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(self._pump(reader, server, self._requests))
            pumps.create_task(self._pump(answering, client, self._answers))

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, way: asyncio.Event
    ) -> None:
        while data := await source.read(CHUNK):
            if self._delay_seconds:
                await asyncio.sleep(self._delay_seconds)
            await way.wait()
            sink.write(data)
            await sink.drain()
            if way is self._requests:
                self._count(len(data))
        await way.wait()
        sink.write_eof()

    def _count(self, sent: int) -> None:
        if self._bytes_left is not None:
            self._bytes_left -= sent
            if self._bytes_left <= 0:
                self._bytes_left = None
                self._cut_now()


def _reset(end: asyncio.StreamWriter) -> None:
    if not end.transport.is_closing():
        opened: socket.socket = end.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    end.transport.abort()
