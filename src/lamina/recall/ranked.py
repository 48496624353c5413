"""From the named parts of scores to hits: rounded before they are compared, so that every machine orders them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model import Hit, Hits, Record
from lamina.recall.ask import Ask, Column
from lamina.store.catalogue import Rows

DIGITS = 9
CHUNK = 256
Order = Callable[[Record], Any]
Parts = dict[str, float]


def hits(ask: Ask, rows: Rows, parts: Mapping[str, Column], confidence: float | None = None) -> Hits:
    """The best of some rows. The parts of a score add up to it."""
    rounded = {name: np.round(part, DIGITS) for name, part in parts.items()}
    score = np.round(sum(rounded.values(), np.zeros(len(rows))), DIGITS)
    best = best_of(ask, rows, score, ask.limit)
    found = ask.look.records(rows[best].tolist(), ask.chosen)
    made = [
        Hit(found[number], float(score[place]), {name: float(part[place]) for name, part in rounded.items() if part[place]})
        for place, number in zip(best.tolist(), rows[best].tolist(), strict=True)
        if number in found
    ]
    return Hits(made, ask.notes, confidence)


def best_of(ask: Ask, rows: Rows, score: NDArray[Any], number: int) -> Rows:
    """The places of the highest scores; of equal ones, those that matter more and are newer."""
    places = np.arange(len(score))
    if len(score) > number:
        least = np.partition(score, len(score) - number)[len(score) - number]
        places = np.flatnonzero(score >= least)
    importance = ask.look.catalogue["importance"][rows[places]]
    order: Rows = places[np.lexsort((-rows[places], -importance, -score[places]))]
    return order[:number]


def bounded(ask: Ask, rows: Rows, bound: Column, parts_of: Callable[[Record], Parts | None], order: Order) -> Hits:
    """The best rows by a score that only the record itself tells, which is never above a bound that its row tells.

    Records are read from the highest bound down, until no unread one could still be among the best.
    """
    made: list[Hit] = []
    for part, ceiling in _chunks(rows, bound):
        if len(made) >= ask.limit and made[ask.limit - 1].score > ceiling:
            break
        for record in ask.look.records(part.tolist(), ask.chosen).values():
            parts = parts_of(record)
            if parts is not None:
                made.append(Hit(record, round(sum(parts.values()), DIGITS), parts))
        made.sort(key=lambda hit: (-hit.score, order(hit.record)))
        del made[ask.limit :]
    return Hits(made, ask.notes)


def _chunks(rows: Rows, bound: Column) -> Iterator[tuple[Rows, float]]:
    descending = np.lexsort((-rows, -bound))
    for start in range(0, len(rows), CHUNK):
        some = descending[start : start + CHUNK]
        yield rows[some], float(bound[some[0]]) + 10**-DIGITS
