"""Time recalls on this server since it was started."""

from __future__ import annotations

from collections import deque
from statistics import median, quantiles
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lamina.surfaces.http.metrics import Recalls

RECALLS = frozenset({"/memory/search", "/memory/context", "/search"})
MOST = 60
OK = 200


class Timings:
    """The latest recalls, in milliseconds, newest last."""

    def __init__(self) -> None:
        self._latest: deque[float] = deque(maxlen=MOST)
        self._number = 0
        self._total = 0.0

    def add(self, milliseconds: float) -> None:
        self._latest.append(milliseconds)
        self._number += 1
        self._total += milliseconds

    @property
    def recalls(self) -> Recalls:
        """All recalls since the server was started, and how long the latest took."""
        times = summary(self.latest)
        return Recalls(self._number, self._total, times.get("median"), times.get("slow"))

    @property
    def latest(self) -> tuple[float, ...]:
        return tuple(self._latest)


class TimingMiddleware:
    """Times each recall that is answered, by page or API."""

    def __init__(self, app: ASGIApp, timings: Timings) -> None:
        self._app = app
        self._timings = timings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_recall(scope):
            await self._app(scope, receive, send)
            return
        statuses = []

        async def note_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        start = perf_counter()
        await self._app(scope, receive, note_status)
        if statuses == [OK]:
            self._timings.add((perf_counter() - start) * 1000)


def _is_recall(scope: Scope) -> bool:
    """Return whether a request is a search: with a query, or for a context with a goal."""
    if scope["type"] != "http" or scope["path"] not in RECALLS:
        return False
    return b"query=" in scope["query_string"] or b"goal=" in scope["query_string"]


def summary(latest: tuple[float, ...]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    if len(latest) < 2:
        return {"median": latest[0], "slow": latest[0]} if latest else {}
    return {"median": median(latest), "slow": quantiles(latest, n=20)[-1]}
