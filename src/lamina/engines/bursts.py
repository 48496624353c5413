"""Find bursts: many external memories from one source in an hour, or similar ones (V8). Pure."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from lamina.text.words import one_line

LATELY = timedelta(days=7)  # older bursts have been reported long enough
SLOT = timedelta(minutes=10)  # the interval by which arrivals are counted
WITHIN = 6  # slots that form one burst: an hour
MANY, ALIKE = 100, 20  # memories that make a burst
BEGINNING = 40  # characters that copies have in common


def find(
    arrived: Iterable[tuple[str | None, int, int]], repeated: Iterable[tuple[str | None, int]]
) -> list[dict[str, Any]]:
    """List the sources with a burst, largest first: the most in an hour, and the most similar ones.

    `arrived` counts memories by source and slot, `repeated` those of a source that begin the same.
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
    return sorted(bursts, key=_by_size)


def _by_size(burst: Mapping[str, Any]) -> tuple[int, int, str]:
    return -burst["within_an_hour"], -burst["alike"], burst["source"] or ""


def _most(numbers: Mapping[int, int]) -> int:
    """Return the largest number of memories in consecutive slots of one hour."""
    return max(sum(numbers.get(slot + more, 0) for more in range(WITHIN)) for slot in numbers)


def message(burst: Mapping[str, Any]) -> str:
    """Describe a burst for people. The source is foreign text, so the command quotes it."""
    source = burst["source"]
    where = "without a source" if source is None else f"from source {one_line(source, 60)}"
    if burst["within_an_hour"] >= MANY:
        size = f"{burst['within_an_hour']:,} memories {where} within an hour"
        size += f", {burst['alike']:,} of which begin alike" if burst["alike"] >= ALIKE else ""
    else:
        size = f"{burst['alike']:,} memories {where} begin alike"
    if source is None:
        return f"{size}; `lamina list` shows the newest"
    return f"{size}; `lamina revoke --source {shlex.quote(source)}` puts them under review"
