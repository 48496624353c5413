"""From the named parts of scores to hits: rounded before they are compared, so that every machine orders them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Hit, Hits, Record, Trust
from lamina.search.copies import Copies
from lamina.search.request import Ask, Column
from lamina.store.index.catalogue import Rows

DIGITS = 9
COPIES = (
    250  # of the best that may be copies of others; from there on, what is from outside is left out
)
CHUNK = 256
Order = Callable[[Record], Any]
Parts = dict[str, float]


class _Found:
    """A record at its place, and how many copies it stands for."""

    def __init__(self, place: int, record: Record) -> None:
        self.place = place
        self.record = record
        self.copies = 0


def hits(
    ask: Ask, rows: Rows, parts: Mapping[str, Column], confidence: float | None = None
) -> Hits:
    """The best of some rows. The parts of a score add up to it."""
    rounded = {name: np.round(part, DIGITS) for name, part in parts.items()}
    score = np.round(sum(rounded.values(), np.zeros(len(rows))), DIGITS)
    made = [
        Hit(
            one.record,
            float(score[one.place]),
            {name: float(part[one.place]) for name, part in rounded.items() if part[one.place]},
            one.copies,
        )
        for one in _distinct(ask, rows, score)
    ]
    return Hits(made, ask.notes, confidence)


def _distinct(ask: Ask, rows: Rows, score: Column) -> list[_Found]:
    """The best records. Of near-copies from outside the first stands for all, which leaves room for others."""
    kept: list[_Found] = []
    originals: list[_Found] = []
    copies = Copies()
    for best in _tried(ask, rows, score):
        records = ask.look.records(rows[best].tolist(), ask.chosen)
        for place in best.tolist():
            record = records.get(int(rows[place]))
            if record is None:
                continue
            found = _Found(place, record)
            if record.trust is Trust.EXTERNAL:
                original, is_new = copies.place(record.content)
                if not is_new:
                    originals[original].copies += 1
                    continue
                originals.append(found)
            kept.append(found)
        if len(kept) >= ask.limit:
            break
    return kept[: ask.limit]


def _tried(ask: Ask, rows: Rows, score: Column) -> Iterator[Rows]:
    """The places of the best rows, some at a time: more than wanted where some may turn out to be copies."""
    best = best_of(ask, rows, score, ask.limit + (COPIES if ask.has_outside else 0))
    for start in range(0, len(best), ask.limit):
        yield best[start : start + ask.limit]
    if len(best) > ask.limit:
        left = np.setdiff1d(np.flatnonzero(~ask.is_outside(rows)), best)
        yield left[best_of(ask, rows[left], score[left], ask.limit)]


def best_of(ask: Ask, rows: Rows, score: NDArray[Any], number: int) -> Rows:
    """The places of the highest scores; of equal ones, those that matter more and are newer."""
    places = np.arange(len(score))
    if len(score) > number:
        least = np.partition(score, len(score) - number)[len(score) - number]
        places = np.flatnonzero(score >= least)
    importance = ask.look.catalogue["importance"][rows[places]]
    order: Rows = places[np.lexsort((-rows[places], -importance, -score[places]))]
    return order[:number]


def bounded(
    ask: Ask, rows: Rows, bound: Column, parts_of: Callable[[Record], Parts | None], order: Order
) -> Hits:
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
