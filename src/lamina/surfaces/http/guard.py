"""Check the host, origin, method and size of every request, and add headers to every answer.

Starlette's TrustedHostMiddleware is not enough: it ignores the port, so that pages of another
server on this machine would pass, uses the first of two Host headers, and answers in plain text.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from http import HTTPMethod

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.errors import Forbidden, InvalidInput, LaminaError
from lamina.surfaces.http import errors
from lamina.text.words import shown

METHODS = ("GET", "HEAD")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT = 80
# Sent by browsers: how the requesting page is related to us. A page of another port is not ours.
OWN_SITES = (b"none", b"same-origin")
HEADERS = {
    b"content-security-policy": (
        b"default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self';"
        b" form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}
CLOSE = (b"connection", b"close")
IS_HEAD = "lamina.is_head"
VOUCH = "lamina.vouch"  # a function of the connection, to call when it has shown a token


class Limits(msgspec.Struct, frozen=True):
    """The most that a client may ask for, and the longest that it may take."""

    url_bytes: int = 16 * 1024
    header_bytes: int = 32 * 1024
    body_bytes: int = 0  # a read-only server accepts none
    arrival_seconds: float = 5.0  # until the head of a request has arrived
    answer_seconds: float = 20.0  # until the memory has answered
    request_seconds: float = 30.0  # until the answer has been taken
    threads: int = 4
    waiting: int = 64  # requests that wait for a free thread
    connections: int = 256  # beyond these, a connection without a token is dropped for a new one


class Refusal(msgspec.Struct, frozen=True):
    """An error with which a request is turned away."""

    status: int
    error: LaminaError
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Guard:
    """Middleware in front of the app; it rejects requests without looking at tokens."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Iterable[bytes],
        origins: Iterable[bytes],
        limits: Limits,
        note: Callable[[str, str], None],
        methods: tuple[str, ...] = METHODS,
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)
        self._limits = limits
        self._note = note  # takes what was requested, and what was missing
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks another protocol
            await send({"type": "websocket.close", "code": 1008})
            return
        is_head = scope["method"] == "HEAD"
        own = {**scope, "method": "GET", IS_HEAD: True} if is_head else scope
        guarded = _guarded(send, is_head)
        refusal = self.refusal(scope)
        if refusal is None:
            await self._app(own, receive, guarded)
        else:
            if isinstance(refusal.error, Forbidden):
                self._note(known_method(scope["method"]), refusal.error.lacks)
            await _refuse(refusal, guarded)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Find a reason to reject a request, if there is one."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        return (
            self._foreign(headers)
            or self._unknown_method(scope["method"])
            or self._oversized(scope, headers)
        )

    def _foreign(self, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        """Reject hosts and origins that are not ours, because of DNS rebinding."""
        hosts = [*_values(headers, b"host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            name = _joined(hosts)
            problem = f"this server is not called {name}; use the address that it printed"
            return Refusal(403, Forbidden(problem, lacks="host"))
        origins = [*_values(headers, b"origin")]
        if origins and (len(origins) != 1 or origins[0] not in self._origins):
            problem = f"pages of {_joined(origins)} may not call this server"
            return Refusal(403, Forbidden(problem, lacks="origin"))
        sites = [*_values(headers, b"sec-fetch-site")]
        if any(site not in OWN_SITES for site in sites):
            problem = "pages of other sites may not call this server"
            return Refusal(403, Forbidden(problem, lacks="origin"))
        return None

    def _oversized(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> Refusal | None:
        limits = self._limits
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.url_bytes:
            problem = f"an address has at most {limits.url_bytes:,} bytes; ask for less at once"
            return Refusal(414, InvalidInput(problem), (CLOSE,))
        sizes = [*_values(headers, b"content-length")]
        if sum(len(name) + len(value) for name, value in headers) > limits.header_bytes:
            problem = f"headers have at most {limits.header_bytes:,} bytes"
            return Refusal(431, InvalidInput(problem), (CLOSE,))
        if any(_values(headers, b"transfer-encoding")) or not all(map(self._fits, sizes)):
            return Refusal(413, InvalidInput(self._too_much), (CLOSE,))
        return None

    def _fits(self, size: bytes) -> bool:
        return size.isdigit() and int(size[:20]) <= self._limits.body_bytes

    @property
    def _too_much(self) -> str:
        most = self._limits.body_bytes
        return f"a form has at most {most:,} bytes" if most else "a request to read has no body"

    def _unknown_method(self, method: str) -> Refusal | None:
        if method in self._methods:
            return None
        error = Forbidden(
            "this server only reads: use GET or HEAD; decisions are made with the command `lamina`",
            lacks="operator",
        )
        return Refusal(405, error, ((b"allow", ", ".join(self._methods).encode()), CLOSE))


def own_names(port: int, remote: Iterable[str] = ()) -> tuple[set[bytes], set[bytes]]:
    """List our own hosts and origins: the loopback's, and given remote names."""
    hosts = {f"{name}:{port}" for name in LOOPBACK} | ({*LOOPBACK} if port == HTTP_PORT else set())
    origins = {f"http://{host}" for host in hosts}
    for name in remote:
        both = {name, f"{name}:{port}"}
        hosts |= both
        origins |= {f"{scheme}://{host}" for scheme in ("http", "https") for host in both}
    return {host.encode() for host in hosts}, {origin.encode() for origin in origins}


def vouch(scope: Scope) -> None:
    """Tell the connection that its client has shown a token, so that others are dropped first."""
    note = scope.get(VOUCH)
    if note is not None:
        note()


def known_method(name: str) -> str:
    """Return the method of a request if it is a known one; other input is not for the trail."""
    return name if name in HTTPMethod.__members__ else "request"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> Iterator[bytes]:
    return (value for name, value in headers if name == wanted)


def _joined(values: list[bytes]) -> str:
    return shown(b", ".join(values).decode("latin-1"), 80) if values else "nothing at all"


def _guarded(send: Send, is_head: bool) -> Send:
    """Add our headers to answers that have none of their own; drop the body for HEAD."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            names = {name.lower() for name, _ in own}
            added = [(name, value) for name, value in HEADERS.items() if name not in names]
            message = {**message, "headers": own + added}
        elif message["type"] == "http.response.body" and is_head:
            message = {**message, "body": b""}
        await send(message)

    return guarded


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = errors.body(refusal.error)
    headers = [
        (b"content-type", errors.JSON.encode()),
        (b"content-length", str(len(body)).encode()),
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
