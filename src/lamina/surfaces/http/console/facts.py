"""What is known about somebody, as intervals on a time line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from lamina.engines.facts import Fact
from lamina.memory.agent import Memory
from lamina.model.record import State
from lamina.surfaces.http.console import page
from lamina.surfaces.http.console.charts import WIDTH
from lamina.surfaces.http.console.page import Form, PageRoute
from lamina.surfaces.http.dependencies import Who

MARKS = 4
LEAST = 6.0  # what holds for a moment is still seen
DAY = timedelta(days=1)
router = APIRouter(route_class=PageRoute, include_in_schema=False)


class About(Form):
    """About whom."""

    subject: Annotated[str | None, Field(max_length=1000, description="about whom")] = None


class Lane(NamedTuple):
    """A fact, and where it lies on the line."""

    fact: Fact
    x: float
    width: float
    standing: str


class Line(NamedTuple):
    """All that is and was known about somebody, attribute by attribute, from the first day until now."""

    groups: Sequence[tuple[str, list[Lane]]]
    marks: Sequence[str]


@router.get("/facts")
async def facts(request: Request, who: Who, given: Annotated[About, Query()]) -> Response:
    now = who.service.clock()

    def found(memory: Memory) -> dict[str, Any]:
        number = Counter(fact.subject for fact in memory.facts())
        subject = given.subject or next((name for name, _ in number.most_common(1)), None)
        known = memory.timeline(subject) if subject is not None else []
        return {
            "subjects": sorted(number.items()),
            "subject": subject,
            "line": line(known, now),
            "number": len(known),
        }

    return await page.show(request, who, "facts.html", found)


def line(known: Sequence[Fact], now: datetime) -> Line:
    """The lanes of some facts; the line ends now, and begins with the first of them."""
    start = min((fact.valid_from for fact in known), default=now)
    end = max((fact.valid_to or now for fact in known), default=now)
    end = max(now, end, start + DAY)
    groups: dict[str, list[Lane]] = {}
    for fact in known:
        groups.setdefault(fact.attribute, []).append(_lane(fact, start, end, now))
    marks = [start + (end - start) * place / (MARKS - 1) for place in range(MARKS)]
    return Line(sorted(groups.items()), [f"{mark.day} {mark:%b %Y}" for mark in marks])


def _lane(fact: Fact, start: datetime, end: datetime, now: datetime) -> Lane:
    whole = end - start
    x = WIDTH * ((fact.valid_from - start) / whole)
    width = WIDTH * ((fact.valid_to or now) - fact.valid_from) / whole
    width = max(LEAST, width)
    x = min(x, WIDTH - width)
    return Lane(fact, round(x, 2), round(width, 2), _standing(fact, now))


def _standing(fact: Fact, now: datetime) -> str:
    """Whether it holds, held once, or had been a mistake."""
    if fact.holds(now):
        return "holds"
    return "mistake" if fact.state is State.SUPERSEDED and fact.valid_to is None else "held"
