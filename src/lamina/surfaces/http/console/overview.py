"""The first page: how much is remembered, what happens to it, and what needs a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from lamina.memory.agent import Memory
from lamina.memory.browsing import Browsed, Move
from lamina.memory.operator import Operator
from lamina.model.record import LONG_TERM, Layer, State
from lamina.surfaces.http.console import charts, formatting, page, timings
from lamina.surfaces.http.console.charts import Chart, Series
from lamina.surfaces.http.console.formatting import spoken
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import CurrentCaller
from lamina.text.words import counted

DAYS = 30
CHANGES = 3_000  # that plots cover
SHOWN = 8
LOOKED_THROUGH = 200  # newest reads in which to find the last recalls
WEEK = timedelta(days=7)
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Recall(NamedTuple):
    """A recall: who asked what, and how much was found."""

    at: datetime
    actor: str
    action: str
    query: str
    found: int


@router.get("/")
async def overview(
    request: Request, caller: CurrentCaller, given: Annotated[Form, Query()]
) -> Response:
    now, latest = caller.service.clock(), page.console_of(request).timings.latest

    home, (agent, user, *_) = caller.service.home.path, caller.visitor

    def typed(*verb: str) -> str:
        return formatting.command(home, agent, user, *verb)

    def values(memory: Memory) -> dict[str, Any]:
        status = memory.status()
        plots = [*_memories(memory, now)]
        recalls: list[Recall] = []
        if isinstance(memory, Operator):
            plots += [*_trail(memory, now, _waiting(status["records"])), *_latency(latest)]
            recalls = _recalls(memory)
        pending = memory.pending()
        newest = memory.browsing.browse(since=now - WEEK, limit=SHOWN)
        return {
            "status": status,
            "tiles": _tiles(status, newest),
            "layers": _table(status["records"]),
            "plots": plots,
            "pending": pending[-SHOWN:][::-1],
            "waiting": len(pending),
            "newest": newest.records,
            "recalls": recalls,
            "refused": status.get("refused"),
            "steps": [*_steps(status, typed)],
            "idle": [job["job"] for job in status.get("jobs", []) if job["last_run"] is None],
            "run": typed("run", "--once"),
        }

    return await page.show(request, caller, "overview.html", values)


def _steps(status: Mapping[str, Any], typed: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Describe what needs a person, each with its command."""
    if waiting := _waiting(status["records"]):
        waits = counted(waiting, "proposal waits", "proposals wait")
        yield f"{waits} for a decision", typed("review")
    jobs = status.get("jobs", [])
    if jobs and not any(job["last_run"] for job in jobs):
        yield "No job has ever run: nothing is promoted, indexed or expired", typed("run", "--once")
    for job in jobs:
        if job["failures"]:
            failed = f"{spoken(job['job'])} failed: {job['outcome']}"
            yield failed, typed("run", "--once")


def _recalls(operator: Operator) -> list[Recall]:
    """List the last recalls and what each found. The trail covers all users."""
    if operator.user is not None:
        return []
    asked = [read for read in operator.audit_reads(LOOKED_THROUGH) if read.note.get("query")]
    return [
        Recall(read.at, str(read.actor), read.action, str(read.note["query"]), len(read.records))
        for read in asked[:SHOWN]
    ]


def _tiles(
    status: Mapping[str, Any], newest: Browsed
) -> list[tuple[str, int, str, dict[str, Any]]]:
    """Summarise the important numbers, each with a link to what it counts."""
    records: Mapping[str, Mapping[str, int]] = status["records"]
    active = {layer: states.get(State.ACTIVE, 0) for layer, states in records.items()}
    long_term = sum(active.get(layer, 0) for layer in LONG_TERM)
    layers = {"layer": [layer.value for layer in LONG_TERM]}
    return [
        ("active memories", sum(active.values()), "/records", {}),
        ("of them long-term", long_term, "/records", layers),
        (f"new in {WEEK.days} days", newest.total, "/records", {}),
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
    number = {(one.layer, one.day): one.number for one in memory.browsing.growth(_midnight(now))}
    series = [
        Series(spoken(layer.value), f"layer-{layer}", [number.get((layer, day), 0) for day in days])
        for layer in layers
    ]
    total = counted(sum(number.values()), "memory", "memories")
    about = f"{total} in {DAYS} days, by when it happened, in every state"
    yield charts.bars("memories", "Memories per layer and day", about, _labels(days), series)


def _trail(operator: Operator, now: datetime, waiting: int) -> Iterator[Chart]:
    """Plot what moved to long-term memory, and how much waited for a person."""
    if operator.user is not None:  # the trail covers all users
        return
    days = _days(now)
    labels = _labels(days)
    moves = operator.browsing.moves(_midnight(now), CHANGES)
    promoted: Counter[date] = Counter()
    for move in moves:
        promoted[move.at.date()] += move.promoted
    values = [promoted[day] for day in days]
    moved = counted(sum(values), "memory", "memories")
    about = f"{moved} moved from short-term to long-term memory in {DAYS} days"
    if len(moves) == CHANGES:
        about = f"among the newest {CHANGES:,} changes, {about}"
    series = [Series("promoted", "promoted", values)]
    yield charts.bars("promotions", "Promotions per day", about, labels, series)
    numbers = backlog(waiting, moves, days)
    proposals = counted(waiting, "proposal waits", "proposals wait")
    about = f"{proposals} now; at most {max(numbers):,} did at the end of a day"
    series = [Series("waiting", "waiting", numbers)]
    yield charts.bars("backlog", "Review backlog", about, labels, series, gap=0)


def backlog(now_waiting: int, moves: Iterable[Move], days: Sequence[date]) -> list[int]:
    """Count what waited at the end of each day, backwards from now: the newest moves come first."""
    waiting, ends, left = now_waiting, {}, list(days)
    for move in moves:
        while left and move.at.date() <= left[-1]:
            ends[left.pop()] = waiting
        waiting -= move.waiting
    return [ends.get(day, max(0, waiting)) for day in days]


def _latency(latest: tuple[float, ...]) -> Iterator[Chart]:
    """Plot how long the latest recalls took on this server."""
    columns = [
        counted(len(latest) - 1 - index, "recall before", "recalls before")
        for index in range(len(latest))
    ]
    columns[-1:] = ["the newest"] if latest else []
    about = "nobody has searched since the server was started"
    if times := timings.summary(latest):
        about = (
            f"half of the latest {len(latest)} within {times['median']:.1f} ms,"
            f" 95 % of them within {times['slow']:.1f} ms"
        )
    series = [Series("recall", "recall", [round(value, 1) for value in latest])]
    yield charts.bars(
        "latency",
        "Recall latency",
        about,
        columns,
        series,
        unit=" ms",
        column="recall",
        labels=("the oldest", "the newest") if len(latest) > 1 else columns,
    )


def _midnight(now: datetime) -> datetime:
    """Return the start of the first plotted day."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)


def _days(now: datetime) -> list[date]:
    return [now.date() - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]


def _labels(days: Sequence[date]) -> list[str]:
    return [f"{day.day} {day:%b}" for day in days]
