"""Plots as shapes in a box that is stretched to its place; words stay outside, so that they are never distorted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 1000.0, 100.0
STEPS = (1, 2, 4, 5, 10)
LEAST = 2.0  # at the top of a scale
LABELS = 4
WIDEST = 60.0  # a few columns stay columns


class Series(NamedTuple):
    """Values of one kind, one for each column."""

    name: str
    tone: str
    values: Sequence[float]


class Box(NamedTuple):
    """A rectangle of the plot."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    title: str = ""


class Chart(NamedTuple):
    """A plot with its words, and its values as a table for who does not see it."""

    name: str
    title: str
    about: str
    columns: Sequence[str]
    series: Sequence[Series]
    boxes: Sequence[Box]
    top: float
    labels: Sequence[str]
    unit: str
    column: str

    @property
    def scale(self) -> tuple[float, ...]:
        """What stands beside the plot, from its top to its ground."""
        return (self.top, self.top / 2, 0)


def bars(
    name: str,
    title: str,
    about: str,
    columns: Sequence[str],
    series: Sequence[Series],
    *,
    unit: str = "",
    gap: float = 0.2,
    column: str = "day",
) -> Chart:
    """Columns, each with the values of all series upon each other; without a gap they make an area."""
    highest = max(
        (sum(values) for values in zip(*(one.values for one in series), strict=True)), default=0
    )
    top = ceiling(highest)
    room = WIDTH / max(1, len(columns))
    gap = max(gap, 1 - WIDEST / room)
    boxes = []
    for place, label in enumerate(columns):
        below = [0.0, *accumulate(one.values[place] for one in series)]
        for one, ground in zip(series, below, strict=False):
            value = one.values[place]
            if value > 0:
                height = HEIGHT * value / top
                y = HEIGHT - HEIGHT * ground / top - height
                told = f"{label}: {amount(value)}{unit} {one.name}"
                boxes.append(
                    Box(
                        _round((place + gap / 2) * room),
                        _round(y),
                        _round(room * (1 - gap)),
                        _round(height),
                        one.tone,
                        told,
                    )
                )
    shown = [one for one in series if any(one.values)]
    return Chart(name, title, about, columns, shown, boxes, top, spread(columns), unit, column)


def ceiling(highest: float) -> float:
    """The next number that halves well."""
    if highest <= LEAST:
        return LEAST
    size = 10.0 ** floor(log10(highest))
    return next(step * size for step in STEPS if step * size >= highest)


def spread(columns: Sequence[str], number: int = LABELS) -> list[str]:
    """A few labels at equal distances, the first and the last among them."""
    if len(columns) <= number:
        return list(columns)
    return [columns[round(place * (len(columns) - 1) / (number - 1))] for place in range(number)]


def amount(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _round(value: float) -> float:
    return round(value, 2)
