"""Fit items into a budget (C4): less room for lower ranks, best sentences first. Pure.

Many short lines contain the evidence more often, a few long ones contain more of the answer. The
first lines have the most room, and all have enough for a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.search.context.item import Item
from lamina.search.context.lines import Line, Lines

FIRST, FALL, LEAST = 400, 0.6, 85  # characters of the first line's text, and of the following
BOUND = 160  # of what binds in a topic, which takes no place from what was found
ENOUGH = 55  # less room is not enough for a line


def packed(items: Iterable[Item], budget: int, lines: Lines, share: float = 1.0) -> list[Line]:
    """Write the items that fit, in order; the remaining room lengthens those that were cut.

    At first each one gets only a share of the usual room.
    """
    made: list[Line] = []
    left, place = budget, 0
    for item in items:
        line = lines.of(item)
        wanted = BOUND if item.bound else int(share * _room(place))
        room = min(wanted, left - len(line.label) - 1)
        if room < ENOUGH:
            break
        if line.fill(room):
            made.append(line)
            left -= len(line.text) + 1
            place += not item.bound
    _lengthen(made, left)
    return made


def _room(place: int) -> int:
    """Return how many characters the text of a line may have."""
    return max(LEAST, int(FIRST * FALL**place))


def _lengthen(made: Sequence[Line], left: int) -> None:
    """Give the remaining room to lines that are cut, in order."""
    for line in made:
        if left <= 0:
            return
        if line.is_cut:
            before = len(line.said)
            line.fill(before + left)
            left -= len(line.said) - before
