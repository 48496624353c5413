"""The server: a socket of this machine, a protocol with little patience, and a clean end."""

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
        raise InvalidInput(
            f"port {port} of {shown(host)} cannot be used: {error.strerror}; see --port"
        ) from error
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
        opened: ClassVar[dict[PatientProtocol, None]] = {}

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


class Claim(IntEnum):
    """Which connections are let go of when there are too many: those with the least claim to stay, the oldest first."""

    IDLE = 0  # no token was shown, and no request is at hand
    ASKING = 1  # a request is at hand, but no token was ever shown
    KNOWN = 2  # a token was shown
    ANSWERED = 3  # and a request is at hand: these stay


class PatientProtocol(H11Protocol):
    """HTTP for clients that come to an end: a request must arrive, be answered and be taken within its time.

    There is room for so many. Whoever comes then takes the place of somebody with less of a claim to it.
    """

    patience = Limits()
    opened: ClassVar[dict[PatientProtocol, None]] = {}  # of one server, the oldest first
    _alarm: asyncio.TimerHandle | None = None
    _is_vouched = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._inside, self.app = self.app, self._introduced
        self._make_room()
        self.opened[self] = None
        self._allow(self.patience.arrival_seconds)

    @property
    def claim(self) -> Claim:
        at_hand: RequestResponseCycle | None = self.cycle
        is_asking = at_hand is not None and not at_hand.response_complete
        if self._is_vouched:
            return Claim.ANSWERED if is_asking else Claim.KNOWN
        return Claim.ASKING if is_asking else Claim.IDLE

    def _make_room(self) -> None:
        """Let go of another connection if there are as many as may be, unless all of them are needed."""
        if len(self.opened) < self.patience.connections:
            return
        other = min(self.opened, key=lambda one: one.claim)
        if other.claim is not Claim.ANSWERED:
            del self.opened[
                other
            ]  # now, and not when the loop comes to it: many may arrive at once
            other.transport.abort()

    async def _introduced(self, scope: Any, receive: Any, send: Any) -> None:
        """The app, which can say that a client is known; or that there is no room, as long as all others are needed."""
        if len(self.opened) > self.patience.connections and not self._is_vouched:
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
            self._allow(self.patience.request_seconds)

    def on_response_complete(self) -> None:
        self._allow(
            self.patience.request_seconds
        )  # it may still be on its way; who is idle meets another limit
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.opened.pop(self, None)
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """The answer to what is not HTTP, in our one shape."""
        at_hand: RequestResponseCycle | None = self.cycle
        if (
            at_hand is None or at_hand.response_complete
        ):  # else it would be read as a part of that answer
            body = errors.body(
                InvalidInput("this is not a request of HTTP, or its head is too long")
            )
            self.transport.write(BAD_REQUEST % (errors.JSON.encode(), len(body)) + body)
        self.transport.close()

    def _allow(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.loop.call_later(seconds, self.transport.abort)
