"""How long recalls took, as the server has seen it since it was started."""

from __future__ import annotations

from collections import deque
from statistics import median, quantiles
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

RECALLS = frozenset({"/memory/search", "/memory/context", "/search"})
MOST = 60
OK = 200


class Timings:
    """The latest recalls, in milliseconds, the newest last."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=MOST)

    def add(self, milliseconds: float) -> None:
        self._latest.append(milliseconds)

    @property
    def latest(self) -> tuple[float, ...]:
        return tuple(self._latest)


class Timed:
    """Times each recall that is answered, whoever asks and in whatever form."""

    def __init__(self, app: ASGIApp, timings: Timings) -> None:
        self._app = app
        self._timings = timings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["path"] not in RECALLS
            or b"query=" not in _asked(scope)
        ):
            await self._app(scope, receive, send)
            return
        answered = []

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered.append(message["status"])
            await send(message)

        begun = perf_counter()
        await self._app(scope, receive, noted)
        if answered == [OK]:
            self._timings.add((perf_counter() - begun) * 1000)


def _asked(scope: Scope) -> bytes:
    """What is asked; a context has a goal in the place of a query."""
    return bytes(scope["query_string"]).replace(b"goal=", b"query=")


def summary(latest: tuple[float, ...]) -> dict[str, float]:
    """The middle one and the slow end."""
    if len(latest) < 2:
        return {"median": latest[0], "slow": latest[0]} if latest else {}
    return {"median": median(latest), "slow": quantiles(latest, n=20)[-1]}
