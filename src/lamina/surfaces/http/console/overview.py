"""The first page: how much is remembered, what happens to it, and what needs somebody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.memory.operator import Operator
from lamina.model.record import LONG_TERM, Event, Layer, Record, State
from lamina.model.rules import LIMITS
from lamina.surfaces.http.console import charts, page, timings
from lamina.surfaces.http.console.charts import Chart, Series
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Who
from lamina.text.words import counted

DAYS = 30
_, MOST = LIMITS
SHOWN = 8
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def overview(request: Request, who: Who, given: Annotated[Form, Query()]) -> Response:
    now, latest = who.service.clock(), page.console_of(request).timings.latest

    def found(memory: Memory) -> dict[str, Any]:
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

    return await page.show(request, who, "overview.html", found)


def _tiles(status: Mapping[str, Any]) -> list[tuple[str, int, str, dict[str, Any]]]:
    """The numbers that matter, with where to look at what they count."""
    records: Mapping[str, Mapping[str, int]] = status["records"]
    active = {layer: states.get(State.ACTIVE, 0) for layer, states in records.items()}
    waiting = sum(states.get(State.CONSTRAINED, 0) for states in records.values())
    return [
        ("active memories", sum(active.values()), "/records", {}),
        (
            "of them long-term",
            sum(active.get(layer, 0) for layer in LONG_TERM),
            "/records",
            {"layer": [layer.value for layer in LONG_TERM]},
        ),
        ("wait for review", waiting, "/review", {}),
        ("archived", status["archived"], "/archive", {}),
    ]


def _table(records: Mapping[str, Mapping[str, int]]) -> list[tuple[str, list[int]]]:
    return [
        (layer.value, [records.get(layer, {}).get(state, 0) for state in State])
        for layer in Layer
        if layer in records
    ]


def _memories(memory: Memory, now: datetime) -> Iterator[Chart]:
    """How many memories of each layer happened on each day."""
    days = _days(now)
    every = [layer for layer in Layer if layer is not Layer.WORKING]
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    listed = memory.list(layers=every, states=None, since=since, limit=MOST)
    number = Counter((record.layer, record.occurred_at.date()) for record in listed)
    series = [
        Series(_named(layer), f"layer-{layer}", [number[layer, day] for day in days])
        for layer in every
    ]
    yield charts.bars(
        "memories", "Memories per layer and day", _covered(listed), _labels(days), series
    )


def _covered(listed: Sequence[Record]) -> str:
    told = f"{counted(len(listed), 'memory', 'memories')} in {DAYS} days, by when it happened, in every state"
    return f"the newest {told}" if len(listed) == MOST else told


def _trail(operator: Operator, now: datetime) -> Iterator[Chart]:
    """What moved to long-term memory, and how much waited for a person."""
    if operator.user is not None:  # the trail is about everybody
        return
    days = _days(now)
    events = operator.audit_log(MOST)
    promoted = Counter(
        event.at.date()
        for event in events
        for change in event.changes
        if _is_promotion(change.before, change.after)
    )
    values = [promoted[day] for day in days]
    about = f"{counted(sum(values), 'memory', 'memories')} moved from short-term to long-term memory in {DAYS} days"
    yield charts.bars(
        "promotions",
        "Promotions per day",
        about,
        _labels(days),
        [Series("promoted", "promoted", values)],
    )
    waiting = sum(
        states.get(State.CONSTRAINED, 0) for states in operator.status()["records"].values()
    )
    numbers = backlog(waiting, events, days)
    about = f"{counted(waiting, 'proposal waits', 'proposals wait')} now; at most {max(numbers):,} did at the end of a day"
    series = [Series("waiting", "waiting", numbers)]
    yield charts.bars("backlog", "Review backlog", about, _labels(days), series, gap=0)


def _is_promotion(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return before.get("layer") == Layer.SHORT_TERM and after.get("layer") in LONG_TERM


def backlog(now_waiting: int, events: Iterable[Event], days: Sequence[date]) -> list[int]:
    """How many waited at the end of each day, counted back from now: the newest events come first."""
    waiting, found, left = now_waiting, {}, list(days)
    for event in events:
        while left and event.at.date() <= left[-1]:
            found[left.pop()] = waiting
        for change in event.changes:
            came, went = (
                side.get("state") == State.CONSTRAINED for side in (change.after, change.before)
            )
            waiting += went - came
    return [found.get(day, max(0, waiting)) for day in days]


def _latency(latest: tuple[float, ...]) -> Iterator[Chart]:
    """How long the latest recalls took, as this server has seen them."""
    columns = [f"{len(latest) - place} ago" for place in range(len(latest))]
    told = timings.summary(latest)
    about = "nobody has searched since the server was started"
    if told:
        about = f"half of the latest {len(latest)} within {told['median']:.1f} ms, 95 % of them within {told['slow']:.1f} ms"
    series = [Series("recall", "recall", [round(value, 1) for value in latest])]
    yield charts.bars(
        "latency", "Recall latency", about, columns, series, unit=" ms", column="recall"
    )


def _days(now: datetime) -> list[date]:
    return [now.date() - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]


def _labels(days: Sequence[date]) -> list[str]:
    return [f"{day.day} {day:%b}" for day in days]


def _named(layer: Layer) -> str:
    return layer.value.replace("_", " ")
