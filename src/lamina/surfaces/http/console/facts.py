"""The facts about a subject, as intervals on a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import Field

from lamina.engines.facts import Fact
from lamina.model.record import State
from lamina.surfaces.http.console.charts import WIDTH
from lamina.surfaces.http.console.page import Form

MARKS = 4
LANES = 6  # per attribute in the drawing
LISTED = 200  # rows of the table
LEAST = 6.0  # the width of a moment, so that it is visible
DAY = timedelta(days=1)


class FactsForm(Form):
    """The subject of the facts."""

    subject: Annotated[str | None, Field(max_length=1000, description="about whom")] = None


class Interval(NamedTuple):
    """A fact, and its interval on the timeline."""

    fact: Fact
    x: float
    width: float
    standing: str


class TimeLine(NamedTuple):
    """What is and was known about a subject, by attribute, from the first day until now."""

    groups: Sequence[tuple[str, list[Interval]]]
    marks: Sequence[str]
    rows: Sequence[Interval]  # of the table, newest first
    left_out: int  # facts that did not fit into the drawing
    unlisted: int  # facts that are not even in the table


def line(known: Sequence[Fact], now: datetime) -> TimeLine:
    """Draw facts on a timeline that begins with the first of them and ends now."""
    start = min((fact.valid_from for fact in known), default=now)
    end = max((fact.valid_to or now for fact in known), default=now)
    end = max(now, end, start + DAY)
    intervals = [_interval(fact, start, end, now) for fact in known]
    groups: dict[str, list[Interval]] = {}
    for one in intervals:
        groups.setdefault(one.fact.attribute, []).append(one)
    drawn = [(name, _limited(lanes)) for name, lanes in sorted(groups.items())]
    marks = [start + (end - start) * number / (MARKS - 1) for number in range(MARKS)]
    rows = sorted(intervals, key=lambda one: one.fact.valid_from, reverse=True)
    return TimeLine(
        drawn,
        [f"{mark.day} {mark:%b %Y}" for mark in marks],
        sorted(rows[:LISTED], key=lambda one: one.fact.attribute),
        len(intervals) - sum(len(lanes) for _, lanes in drawn),
        max(0, len(rows) - LISTED),
    )


def _limited(lanes: list[Interval]) -> list[Interval]:
    """Select as many of an attribute as can be seen easily: current ones, then the latest."""
    chosen = sorted(lanes, key=lambda one: (one.standing == "holds", one.fact.valid_from))[-LANES:]
    return sorted(chosen, key=lambda one: (one.fact.valid_from, one.fact.value))


def _interval(fact: Fact, start: datetime, end: datetime, now: datetime) -> Interval:
    whole = end - start
    x = WIDTH * ((fact.valid_from - start) / whole)
    width = max(LEAST, WIDTH * ((fact.valid_to or now) - fact.valid_from) / whole)
    x = min(x, WIDTH - width)
    return Interval(fact, round(x, 2), round(width, 2), _standing(fact, now))


def _standing(fact: Fact, now: datetime) -> str:
    """Describe whether a fact holds, held once, or was a mistake."""
    if fact.holds(now):
        return "holds"
    return "mistake" if fact.state is State.SUPERSEDED and fact.valid_to is None else "held"
