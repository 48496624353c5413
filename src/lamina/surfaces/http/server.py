"""The server: a socket of this machine, a protocol with little patience, and a clean end."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from lamina.errors import InvalidInput, Refused
from lamina.surfaces import signals
from lamina.surfaces.http import errors
from lamina.surfaces.http.guard import Limits, is_loopback
from lamina.text import shown

PORTS = range(1 << 16)
LARGEST_HEAD = 128 * 1024  # what is longer is not even read
BACKLOG = 128
IDLE_SECONDS = 5
GRACE_SECONDS = 5
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"


def listen(host: str, port: int, remote: Iterable[str] = ()) -> socket.socket:
    """A socket that waits at an address. Anything but this machine's own needs to be asked for."""
    if port not in PORTS:
        raise InvalidInput(f"port {port} is not a number from 0 to {PORTS[-1]:,}")
    if not is_loopback(host) and not [*remote]:
        raise Refused(
            f"{shown(host)} can be reached from other machines; say --allow-remote NAME with the name"
            " that they use, and put a proxy with TLS before it"
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return _bound(*found[0])
    except OSError as error:
        raise InvalidInput(f"port {port} of {shown(host)} cannot be used: {error.strerror}; see --port") from error
    except UnicodeError:
        raise InvalidInput(f"{shown(host)} is not the name of a host") from None


def _bound(family: int, kind: int, protocol: int, _: str, address: Any) -> socket.socket:
    """A socket that says it is of TCP, or asyncio would leave small answers waiting for the next acknowledgement."""
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere this would let two programs have one port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def server(app: ASGIApp, limits: Limits) -> uvicorn.Server:
    """A server for the app, which still has to be run."""

    class Patient(PatientProtocol):
        """The protocol with these limits."""

        patience = limits

    return Server(
        uvicorn.Config(
            app,
            http=Patient,
            ws="none",
            loop="asyncio",
            lifespan="on",
            access_log=False,  # it would hold what was asked for, and links for signing in
            log_config=None,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=limits.connections,
            h11_max_incomplete_event_size=LARGEST_HEAD,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def run(made: uvicorn.Server, listening: socket.socket) -> None:
    """Serve until a signal says that it is enough; then finish what is at hand."""
    made.run(sockets=[listening])


class Server(uvicorn.Server):
    """Ends when a signal says so, and not by that signal: uvicorn would raise it once more when all
    is done."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with signals.handled(self.handle_exit):
            yield


class PatientProtocol(H11Protocol):
    """HTTP for clients that come to an end: a request must arrive, be answered and be taken within its time."""

    patience = Limits()
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._allow(self.patience.arrival_seconds)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._allow(self.patience.request_seconds)

    def on_response_complete(self) -> None:
        self._allow(self.patience.request_seconds)  # it may still be on its way; who is idle meets another limit
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """The answer to what is not HTTP, in our one shape."""
        at_hand: RequestResponseCycle | None = self.cycle
        if at_hand is None or at_hand.response_complete:  # else it would be read as a part of that answer
            body = errors.body(InvalidInput("this is not a request of HTTP, or its head is too long"))
            self.transport.write(BAD_REQUEST % (errors.JSON.encode(), len(body)) + body)
        self.transport.close()

    def _allow(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.loop.call_later(seconds, self.transport.abort)
