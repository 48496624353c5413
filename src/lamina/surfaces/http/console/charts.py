"""Plots as shapes in a box that is stretched to fit; text stays outside to avoid distortion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 1000.0, 100.0
STEPS = (1, 2, 4, 6, 8, 10)  # their halves are whole numbers, from the lowest maximum on
LEAST = 2.0  # the lowest maximum of a scale
LABELS = 4
WIDEST = 60.0  # so that a few columns still look like columns


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
    """A plot with its labels, and its values as a table for people who cannot see it."""

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
        """The labels beside the plot, from top to bottom."""
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
    labels: Sequence[str] | None = None,
) -> Chart:
    """Stack the values of all series in columns; without a gap they form an area."""
    totals = (sum(values) for values in zip(*(each.values for each in series), strict=True))
    top = ceiling(max(totals, default=0))
    room = WIDTH / max(1, len(columns))
    gap = max(gap, 1 - WIDEST / room)
    boxes = []
    for index, label in enumerate(columns):
        x, width = _round((index + gap / 2) * room), _round(room * (1 - gap))
        grounds = [0.0, *accumulate(each.values[index] for each in series)]
        for each, ground in zip(series, grounds, strict=False):
            value = each.values[index]
            if value > 0:
                height = HEIGHT * value / top
                y = HEIGHT - HEIGHT * ground / top - height
                title_ = f"{label}: {amount(value)}{unit} {each.name}"
                boxes.append(Box(x, _round(y), width, _round(height), each.tone, title_))
    drawn = [each for each in series if any(each.values)]
    below = spread(columns) if labels is None else labels
    return Chart(name, title, about, columns, drawn, boxes, top, below, unit, column)


def ceiling(highest: float) -> float:
    """Round up to a number that can be halved well."""
    if highest <= LEAST:
        return LEAST
    size = 10.0 ** floor(log10(highest))
    return next(step * size for step in STEPS if step * size >= highest)


def spread(columns: Sequence[str], number: int = LABELS) -> list[str]:
    """Choose a few labels at equal distances, including the first and the last."""
    if len(columns) <= number:
        return list(columns)
    return [columns[round(index * (len(columns) - 1) / (number - 1))] for index in range(number)]


def amount(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _round(value: float) -> float:
    return round(value, 2)
