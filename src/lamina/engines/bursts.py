"""Bursts: many memories from one source outside within an hour, or many that begin alike (V8). Pure."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from lamina.text.words import one_line

LATELY = timedelta(days=7)  # older ones have been told long enough
SLOT = timedelta(minutes=10)  # arrivals are counted by so much time
WITHIN = 6  # slots that are one burst together: an hour
MANY, ALIKE = 100, 20  # memories that are one
BEGINNING = 40  # characters in which copies are the same


def found(
    arrived: Iterable[tuple[str | None, int, int]], repeated: Iterable[tuple[str | None, int]]
) -> list[dict[str, Any]]:
    """One entry for each source with a burst, the largest first: the most within an hour, and the most that begin alike.

    `arrived` has the number of memories by source and slot, `repeated` the numbers of a source that begin alike.
    """
    slots: defaultdict[str | None, dict[int, int]] = defaultdict(dict)
    for source, slot, number in arrived:
        slots[source][slot] = number
    alike: defaultdict[str | None, int] = defaultdict(int)
    for source, number in repeated:
        alike[source] = max(alike[source], number)
    bursts = [
        {"source": source, "within_an_hour": number, "alike": alike[source]}
        for source, numbers in slots.items()
        if (number := _most(numbers)) >= MANY or alike[source] >= ALIKE
    ]
    return sorted(
        bursts, key=lambda one: (-one["within_an_hour"], -one["alike"], one["source"] or "")
    )


def _most(numbers: Mapping[int, int]) -> int:
    """The most memories in as many slots in a row as make an hour."""
    return max(sum(numbers.get(slot + more, 0) for more in range(WITHIN)) for slot in numbers)


def message(burst: Mapping[str, Any]) -> str:
    """What to tell a person. The source is somebody else's text, so the command quotes it."""
    source = burst["source"]
    where = "without a source" if source is None else f"from source {one_line(source, 60)}"
    if burst["within_an_hour"] >= MANY:
        told = f"{burst['within_an_hour']:,} memories {where} within an hour"
        told += f", {burst['alike']:,} of which begin alike" if burst["alike"] >= ALIKE else ""
    else:
        told = f"{burst['alike']:,} memories {where} begin alike"
    if source is None:
        return f"{told}; `lamina list` shows the newest"
    return f"{told}; `lamina revoke --source {shlex.quote(source)}` puts them under review"
