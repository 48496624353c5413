"""Accept HTTP requests only under local names, and only with the token of this memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from lamina.errors import Forbidden, InvalidInput, LaminaError
from lamina.surfaces.http.guard import vouch

METHOD = "POST"  # the server never initiates messages, and has no sessions to end
BEARER = b"bearer "
LONGEST_TOKEN = 256
HEALTH, METRICS = "/health", "/metrics"  # may be requested by GET, the first without a token
CLIENT = "lamina.client"  # the key of a request's scope for the name given to its token
EXTRA_HEADERS = {
    401: (b"www-authenticate", b'Bearer realm="lamina"'),
    405: (b"allow", METHOD.encode()),
}


class TokenScope(NamedTuple):
    """What a token opens: the memory of an agent and a user, and whether it is for tools.

    `client` is the name that the operator gave it, if any.
    """

    whose: tuple[str, str | None]
    tools: bool
    name: str
    client: str | None = None


class Denial(NamedTuple):
    """Why a request is rejected, with its status, and the name of its token."""

    status: int
    error: LaminaError
    token: str | None = None


# None for an invalid token.
Check = Callable[[str], TokenScope | None]
# Notes a refusal in the trail, by the name of a token, with what is missing.
Note = Callable[[str | None, str], None]


class TokenGuard:
    """Middleware that passes requests under a local name with a token for this memory."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Set[bytes],
        origins: Set[bytes],
        whose: tuple[str, str | None],
        check: Check,
        note: Note,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._whose = whose
        self._check = check
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":  # nothing here speaks another protocol
            await send({"type": "websocket.close", "code": 1008})
        elif scope["path"] == HEALTH and self._foreign([*scope["headers"]]) is None:
            await self._app(scope, receive, send)
        elif isinstance(shown := self._shown([*scope["headers"]]), Denial):
            if isinstance(shown.error, Forbidden):
                self._note(shown.token, shown.error.lacks)
            await _refuse(shown.status, shown.error, send)
        elif scope["method"] != METHOD and scope["path"] != METRICS:
            error = InvalidInput(f"use {METHOD}: this server only answers requests")
            await _refuse(405, error, send)
        else:
            vouch(scope)
            await self._app({**scope, CLIENT: shown.client}, receive, send)

    def denial(self, headers: Iterable[tuple[bytes, bytes]]) -> Denial | None:
        """Find a reason to reject a request; None if it may pass."""
        shown = self._shown([*headers])
        return shown if isinstance(shown, Denial) else None

    def _shown(self, pairs: list[tuple[bytes, bytes]]) -> Denial | TokenScope:
        """Find the token in a request, or a reason to reject it."""
        values = [value for name, value in pairs if name == b"authorization"]
        return self._foreign(pairs) or self._token(values)

    def _foreign(self, pairs: list[tuple[bytes, bytes]]) -> Denial | None:
        """Reject other names of this server, and pages of other sites."""
        hosts = [value for name, value in pairs if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            problem = "this server is called by a local name and its port only"
            return Denial(421, Forbidden(problem, lacks="host"))
        if any(value not in self._origins for name, value in pairs if name == b"origin"):
            problem = "pages of other sites may not call this server"
            return Denial(403, Forbidden(problem, lacks="origin"))
        return None

    def _token(self, values: list[bytes]) -> Denial | TokenScope:
        problem = (
            "a token is needed: `Authorization: Bearer …`; `lamina token create --tools` makes one"
        )
        unknown = Denial(401, Forbidden(problem, lacks="token"))
        if len(values) != 1 or len(values[0]) > LONGEST_TOKEN:
            return unknown
        if not values[0].lower().startswith(BEARER):
            return unknown
        try:
            opened = self._check(values[0][len(BEARER) :].strip().decode("ascii", "replace"))
        except LaminaError as error:  # such as a damaged file of tokens: then no token is valid
            return Denial(503, error)
        if opened is None:
            return unknown
        if opened.whose != self._whose:
            problem = "this token is for another memory than the one that is served here"
            return Denial(403, Forbidden(problem, lacks="access"), opened.name)
        if not opened.tools:
            problem = (
                "this token only reads over the HTTP API;"
                " `lamina token create --tools` makes one for tools"
            )
            return Denial(403, Forbidden(problem, lacks="tools"), opened.name)
        return opened


async def _refuse(status: int, error: LaminaError, send: Send) -> None:
    body = msgspec.json.encode(error.to_dict(), enc_hook=str)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status in EXTRA_HEADERS:
        headers.append(EXTRA_HEADERS[status])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
