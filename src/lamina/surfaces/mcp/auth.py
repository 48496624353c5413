"""Let only local names ask the server over HTTP, and only with the token of this memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from lamina.errors import InvalidInput, LaminaError, Refused
from lamina.surfaces.http.guard import vouch

METHOD = "POST"  # we never speak first, and keep no sessions that could be ended
BEARER = b"bearer "
LONGEST_TOKEN = 256
EXTRA_HEADERS = {
    401: (b"www-authenticate", b'Bearer realm="lamina"'),
    405: (b"allow", METHOD.encode()),
}


class TokenScope(NamedTuple):
    """The memory that a token opens, of an agent and a user, and if it is for tools."""

    whose: tuple[str, str | None]
    tools: bool


# None for a token that opens nothing.
Check = Callable[[str], TokenScope | None]


class TokenGuard:
    """Middleware that passes requests to a local name with a token for the memory served here."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Set[bytes],
        origins: Set[bytes],
        whose: tuple[str, str | None],
        check: Check,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._whose = whose
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":  # nothing here speaks another protocol
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := self.refusal(scope["headers"])) is not None:
            await _refuse(*refusal, send)
        elif scope["method"] != METHOD:
            error = InvalidInput(f"use {METHOD}: this server answers, and never speaks first")
            await _refuse(405, error, send)
        else:
            vouch(scope)
            await self._app(scope, receive, send)

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, LaminaError] | None:
        """Find a reason to turn a request away, with its status; None when it may pass."""
        pairs = list(headers)
        hosts = [value for name, value in pairs if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, Refused("this server is called by a local name and its port only")
        if any(value not in self._origins for name, value in pairs if name == b"origin"):
            return 403, Refused("pages of other sites may not ask this server")
        return self._token_refusal([value for name, value in pairs if name == b"authorization"])

    def _token_refusal(self, values: list[bytes]) -> tuple[int, LaminaError] | None:
        unknown = Refused(
            "a token is needed: `Authorization: Bearer …`; `lamina token create --tools` makes one"
        )
        if len(values) != 1 or len(values[0]) > LONGEST_TOKEN:
            return 401, unknown
        if not values[0].lower().startswith(BEARER):
            return 401, unknown
        try:
            opened = self._check(values[0][len(BEARER) :].strip().decode("ascii", "replace"))
        except LaminaError as error:  # such as a damaged file of tokens: no token is valid then
            return 503, error
        if opened is None:
            return 401, unknown
        if opened.whose != self._whose:
            return 403, Refused("this token is for another memory than the one that is served here")
        if not opened.tools:
            return 403, Refused(
                "this token only reads over the HTTP API;"
                " `lamina token create --tools` makes one for tools"
            )
        return None


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
