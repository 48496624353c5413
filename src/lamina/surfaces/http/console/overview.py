"""The first page: how much is remembered, what happens to it, and what needs a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import LONG_TERM, Event, Layer, State
from lamina.model.rules import LIMITS
from lamina.surfaces.http.console import charts, page, timings
from lamina.surfaces.http.console.charts import Chart, Series
from lamina.surfaces.http.console.formatting import spoken
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import counted

DAYS = 30
_, MOST = LIMITS
SHOWN = 8
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def overview(
    request: Request, caller: CurrentCaller, given: Annotated[Form, Query()]
) -> Response:
    now, latest = caller.service.clock(), page.console_of(request).timings.latest

    def values(memory: Memory) -> dict[str, Any]:
        plots = [*_memories(memory, now)]
        if isinstance(memory, Operator):
            plots += [*_trail(memory, now), *_latency(latest)]
        status = memory.status()
        pending = memory.pending()
        return {
            "status": status,
            "tiles": _tiles(status),
            "layers": _table(status["records"]),
            "plots": plots,
            "pending": pending[-SHOWN:][::-1],
            "waiting": len(pending),
        }

    return await page.show(request, caller, "overview.html", values)


def _tiles(status: Mapping[str, Any]) -> list[tuple[str, int, str, dict[str, Any]]]:
    """Sum up the numbers that matter, each with a link to what it counts."""
    records: Mapping[str, Mapping[str, int]] = status["records"]
    active = {layer: states.get(State.ACTIVE, 0) for layer, states in records.items()}
    long_term = sum(active.get(layer, 0) for layer in LONG_TERM)
    layers = {"layer": [layer.value for layer in LONG_TERM]}
    return [
        ("active memories", sum(active.values()), "/records", {}),
        ("of them long-term", long_term, "/records", layers),
        ("wait for review", _waiting(records), "/review", {}),
        ("archived", status["archived"], "/archive", {}),
    ]


def _waiting(records: Mapping[str, Mapping[str, int]]) -> int:
    return sum(states.get(State.CONSTRAINED, 0) for states in records.values())


def _table(records: Mapping[str, Mapping[str, int]]) -> list[tuple[str, list[int]]]:
    return [
        (layer.value, [records.get(layer, {}).get(state, 0) for state in State])
        for layer in Layer
        if layer in records
    ]


def _memories(memory: Memory, now: datetime) -> Iterator[Chart]:
    """Plot how many memories of each layer happened on each day."""
    days = _days(now)
    layers = [layer for layer in Layer if layer is not Layer.WORKING]
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    records = memory.list(layers=layers, states=None, since=since, limit=MOST)
    number = Counter((record.layer, record.occurred_at.date()) for record in records)
    series = [
        Series(spoken(layer.value), f"layer-{layer}", [number[layer, day] for day in days])
        for layer in layers
    ]
    about = (
        f"{counted(len(records), 'memory', 'memories')} in {DAYS} days, by when it happened,"
        " in every state"
    )
    if len(records) == MOST:
        about = f"the newest {about}"
    yield charts.bars("memories", "Memories per layer and day", about, _labels(days), series)


def _trail(operator: Operator, now: datetime) -> Iterator[Chart]:
    """Plot what moved to long-term memory, and how much waited for a person."""
    if operator.user is not None:  # the trail is about all users
        return
    days = _days(now)
    labels = _labels(days)
    events = operator.audit_log(MOST)
    promoted = Counter(
        event.at.date()
        for event in events
        for change in event.changes
        if _is_promotion(change.before, change.after)
    )
    values = [promoted[day] for day in days]
    moved = counted(sum(values), "memory", "memories")
    about = f"{moved} moved from short-term to long-term memory in {DAYS} days"
    series = [Series("promoted", "promoted", values)]
    yield charts.bars("promotions", "Promotions per day", about, labels, series)
    waiting = _waiting(operator.status()["records"])
    numbers = backlog(waiting, events, days)
    proposals = counted(waiting, "proposal waits", "proposals wait")
    about = f"{proposals} now; at most {max(numbers):,} did at the end of a day"
    series = [Series("waiting", "waiting", numbers)]
    yield charts.bars("backlog", "Review backlog", about, labels, series, gap=0)


def _is_promotion(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return before.get("layer") == Layer.SHORT_TERM and after.get("layer") in LONG_TERM


def backlog(now_waiting: int, events: Iterable[Event], days: Sequence[date]) -> list[int]:
    """Count what waited at the end of each day, back from now: the newest events come first."""
    waiting, ends, left = now_waiting, {}, list(days)
    for event in events:
        while left and event.at.date() <= left[-1]:
            ends[left.pop()] = waiting
        for change in event.changes:
            waiting += change.before.get("state") == State.CONSTRAINED
            waiting -= change.after.get("state") == State.CONSTRAINED
    return [ends.get(day, max(0, waiting)) for day in days]


def _latency(latest: tuple[float, ...]) -> Iterator[Chart]:
    """Plot how long the latest recalls took, as this server has seen them."""
    columns = [f"{len(latest) - index} ago" for index in range(len(latest))]
    about = "nobody has searched since the server was started"
    if times := timings.summary(latest):
        about = (
            f"half of the latest {len(latest)} within {times['median']:.1f} ms,"
            f" 95 % of them within {times['slow']:.1f} ms"
        )
    series = [Series("recall", "recall", [round(value, 1) for value in latest])]
    yield charts.bars(
        "latency", "Recall latency", about, columns, series, unit=" ms", column="recall"
    )


def _days(now: datetime) -> list[date]:
    return [now.date() - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]


def _labels(days: Sequence[date]) -> list[str]:
    return [f"{day.day} {day:%b}" for day in days]
