"""A uvicorn server on this machine with time limits and a limit on connections.

uvicorn's own limits are not enough: `limit_concurrency` refuses the newest connection, so that
idle ones without a token could lock others out, and only idle connections have a time limit.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.surfaces import signals
from lamina.surfaces.http import errors
from lamina.surfaces.http.guard import VOUCH, Limits, is_loopback
from lamina.text.words import shown

PORTS = range(1 << 16)
LARGEST_HEAD = 128 * 1024  # bytes; a longer one is not even read
BACKLOG = 128
IDLE_SECONDS = 5
GRACE_SECONDS = 5
BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: %b\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n"
)


def listen(host: str, port: int, remote: Iterable[str] = ()) -> socket.socket:
    """Open a socket at an address. One that other machines can reach must be explicitly allowed."""
    if port not in PORTS:
        raise InvalidInput(f"port {port} is not a number from 0 to {PORTS[-1]:,}")
    if not is_loopback(host) and not [*remote]:
        raise Refused(
            f"{shown(host)} can be reached from other machines; say --allow-remote NAME with the"
            " name that they use, and put a proxy with TLS before it"
        )
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return _bound(*addresses[0])
    except OSError as error:
        problem = f"port {port} of {shown(host)} cannot be used: {error.strerror}; see --port"
        raise InvalidInput(problem) from error
    except UnicodeError:
        raise InvalidInput(f"{shown(host)} is not the name of a host") from None


def _bound(family: int, kind: int, protocol: int, _: str, address: Any) -> socket.socket:
    """Bind a socket with the TCP protocol set explicitly.

    Otherwise asyncio would delay small answers until the next acknowledgement.
    """
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere this would let two programs share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except BaseException:
        bound.close()
        raise
    return bound


def server(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """Create a server for the app, to be run later."""

    class LimitedProtocol(PatientProtocol):
        """The protocol with the connections of this server only."""

        opened: ClassVar[dict[PatientProtocol, None]] = {}

    LimitedProtocol.limits = limits
    return Server(
        uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            loop="asyncio",
            lifespan="on",
            access_log=False,  # it would contain queries, and sign-in links
            log_config=None,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=LARGEST_HEAD,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def run(made: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until a signal arrives; then finish the current requests."""
    made.run(sockets=[listening])


class Server(uvicorn.Server):
    """A server that ends normally after a signal; uvicorn would raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with signals.handled(self.handle_exit):
            yield


class Priority(IntEnum):
    """The priority of a connection when there are too many; the lowest is dropped first."""

    IDLE = 0  # no token was shown, and there is no current request
    ASKING = 1  # there is a request, but no token was ever shown
    KNOWN = 2  # a token was shown
    ANSWERED = 3  # a token was shown and there is a request: never dropped


class PatientProtocol(H11Protocol):
    """HTTP with time limits: a request must arrive, be answered and be read within its time.

    Beyond the limit, a new connection replaces the oldest of the lowest priority.
    """

    limits = Limits()
    opened: ClassVar[dict[PatientProtocol, None]] = {}  # of one server, oldest first
    _alarm: asyncio.TimerHandle | None = None
    _is_vouched = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._inside, self.app = self.app, self._introduce
        self._make_room()
        self.opened[self] = None
        self._allow(self.limits.arrival_seconds)

    @property
    def priority(self) -> Priority:
        cycle: RequestResponseCycle | None = self.cycle
        is_asking = cycle is not None and not cycle.response_complete
        if self._is_vouched:
            return Priority.ANSWERED if is_asking else Priority.KNOWN
        return Priority.ASKING if is_asking else Priority.IDLE

    def _make_room(self) -> None:
        """Drop another connection if there are too many, unless all of them are needed."""
        if len(self.opened) < self.limits.connections:
            return
        other = min(self.opened, key=lambda each: each.priority)
        if other.priority is not Priority.ANSWERED:
            # Now, without waiting for the event loop: many may arrive at once.
            del self.opened[other]
            other.transport.abort()

    async def _introduce(self, scope: Any, receive: Any, send: Any) -> None:
        """Call the app, which can vouch for a client; refuse while all connections are needed."""
        if len(self.opened) > self.limits.connections and not self._is_vouched:
            crowded = StoreUnavailable("too many connections at once; try again")
            await errors.answer(crowded, headers={"Connection": "close"})(scope, receive, send)
        else:
            await self._inside({**scope, VOUCH: self._vouch}, receive, send)

    def _vouch(self) -> None:
        self._is_vouched = True

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._allow(self.limits.request_seconds)

    def on_response_complete(self) -> None:
        # The answer may not have been sent yet; idle connections have another limit.
        self._allow(self.limits.request_seconds)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.opened.pop(self, None)
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer input that is not HTTP with an error in our form."""
        cycle: RequestResponseCycle | None = self.cycle
        # Within another answer it would be read as part of that.
        if cycle is None or cycle.response_complete:
            problem = "this is not a request of HTTP, or its head is too long"
            body = errors.body(InvalidInput(problem))
            self.transport.write(BAD_REQUEST % (errors.JSON.encode(), len(body)) + body)
        self.transport.close()

    def _allow(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.loop.call_later(seconds, self.transport.abort)
