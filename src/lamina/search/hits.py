"""Make hits from the named parts of scores.

Scores are rounded before they are compared, so that every machine orders them the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Hit, Hits, Record, Trust
from lamina.search import current
from lamina.search.near_copies import NearCopies
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Rows

DIGITS = 9
# How many more of the best are read if some may be near-copies; after these, only own records.
SPARE = 250
CHUNK = 256
# A sample of one score in this many estimates which are high; the deviations are a safety margin.
SAMPLED, SPREAD = 16, 4.0
Order = Callable[[Record], Any]
Parts = dict[str, float]


class _Ranked:
    """A record, its place among the rows, and the number of near-copies that it represents.

    If it was put before a stale record, it has at least that record's score.
    """

    def __init__(self, place: int, record: Record, least: float = -math.inf) -> None:
        self.place = place
        self.record = record
        self.least = least
        self.copies = 0


def hits(
    request: Request, rows: Rows, parts: Mapping[str, Column], confidence: float | None = None
) -> Hits:
    """Return the best of some rows. A score is the sum of its parts."""
    rounded = np.round(np.array([*parts.values()]), DIGITS)
    # Part by part, in order: another order could round differently.
    total: Column = np.add.reduce(rounded, axis=0)
    score = np.round(total, DIGITS)

    def hit(ranked: _Ranked) -> Hit:
        place, total = ranked.place, float(score[ranked.place])
        values = zip(parts, rounded[:, place].tolist(), strict=True)
        shown = {name: value for name, value in values if value}
        if ranked.least > total:
            shown["current"] = round(ranked.least - total, DIGITS)
            total = ranked.least
        return Hit(ranked.record, total, shown, ranked.copies)

    best = [hit(ranked) for ranked in _distinct(request, rows, score)]
    return Hits(best, request.notes, confidence)


def _distinct(request: Request, rows: Rows, score: Column) -> list[_Ranked]:
    """Return the best records. The first of several external near-copies represents all of them."""
    kept: list[_Ranked] = []
    originals: list[_Ranked] = []
    copies = NearCopies()
    told: set[str] = set()
    for best in _batches(request, rows, score):
        for ranked in _ranked(request, rows, score, best, told):
            if ranked.record.trust is Trust.EXTERNAL:
                original, is_new = copies.add(ranked.record.content)
                if not is_new:
                    originals[original].copies += 1
                    continue
                originals.append(ranked)
            kept.append(ranked)
        if len(kept) >= request.limit:
            break
    return kept[: request.limit]


def _ranked(
    request: Request, rows: Rows, score: Column, best: Rows, told: set[str]
) -> Iterator[_Ranked]:
    """Read the records at some places, with active ones before the stale ones that they replace."""

    def read(places: Rows, least: float = -math.inf) -> Iterator[_Ranked]:
        records = request.look.records(rows[places].tolist(), request.chosen)
        for place in places.tolist():
            if (record := records.get(int(rows[place]))) is not None:
                yield _Ranked(place, record, least)

    def matches(stale: _Ranked, active: list[Record]) -> list[_Ranked]:
        numbers = np.array(sorted(record.seq for record in active), np.int64)
        places = np.flatnonzero(np.isin(rows, request.look.catalogue.rows_of(numbers)))
        order = places[best_of(request, rows[places], score[places], len(places))]
        return list(read(order, float(score[stale.place])))

    return current.first(request, read(best), told, matches)


def _batches(request: Request, rows: Rows, score: Column) -> Iterator[Rows]:
    """Yield the places of the best rows in batches, with spare ones if some may be copies."""
    limit = request.limit
    best = best_of(request, rows, score, limit + (SPARE if request.has_outside else 0))
    for start in range(0, len(best), limit):
        yield best[start : start + limit]
    if len(best) > limit:
        is_left = ~request.is_outside(rows)
        is_left[best] = False
        left = np.flatnonzero(is_left)
        yield left[best_of(request, rows[left], score[left], limit)]


def best_of(request: Request, rows: Rows, score: NDArray[Any], number: int) -> Rows:
    """Return the places of the highest scores; ties go to the more important and newer."""
    return _in_order(request, rows, score, foremost(score, number))[:number]


def some_best_of(request: Request, rows: Rows, score: NDArray[Any], number: int) -> Rows:
    """Return the same places in any order, which is faster."""
    places = foremost(score, number)
    return places if len(places) <= number else _in_order(request, rows, score, places)[:number]


def _in_order(request: Request, rows: Rows, score: NDArray[Any], places: Rows) -> Rows:
    importance = request.look.catalogue["importance"][rows[places]]
    order: Rows = places[np.lexsort((-rows[places], -importance, -score[places]))]
    return order


def foremost(score: NDArray[Any], number: int) -> Rows:
    """Return the places of the highest scores, including all that tie with the last."""
    if len(score) <= number:
        return np.arange(len(score))
    places = _sampled(score, number)
    if len(places) < number:
        places, some = np.arange(len(score)), score
    else:
        some = score[places]
    least = np.partition(some, len(some) - number)[len(some) - number]
    best: Rows = places[some >= least]
    return best


def _sampled(score: NDArray[Any], number: int) -> Rows:
    """Estimate the places of the `number` highest scores from a sample, with some to spare.

    Partitioning all scores of a large store would take as long as the rest of a search.
    """
    sample = score[::SAMPLED]
    share = number / SAMPLED
    rank = int(share + SPREAD * math.sqrt(share)) + 1
    if 2 * rank > len(sample):
        return np.zeros(0, np.int64)
    return np.flatnonzero(score >= np.partition(sample, len(sample) - rank)[len(sample) - rank])


def bounded(
    request: Request,
    rows: Rows,
    bound: Column,
    parts_of: Callable[[Record], Parts | None],
    order: Order,
) -> Hits:
    """Return the best rows by a score that needs the record, given a bound that needs only the row.

    Records are read from the highest bound down, until no unread one could be among the best. An
    active record that comes before a stale one keeps its own score.
    """

    def ranked(records: Iterable[Record]) -> list[Hit]:
        scored = ((record, parts_of(record)) for record in records)
        hits = [
            Hit(record, round(sum(parts.values()), DIGITS), parts)
            for record, parts in scored
            if parts is not None
        ]
        return sorted(hits, key=lambda hit: (-hit.score, order(hit.record)))

    best: list[Hit] = []
    for chunk, ceiling in _chunks(rows, bound):
        if len(best) >= request.limit and best[request.limit - 1].score > ceiling:
            break
        best += ranked(request.look.records(chunk.tolist(), request.chosen).values())
        best.sort(key=lambda hit: (-hit.score, order(hit.record)))
        del best[request.limit :]
    placed = current.first(request, best, set(), lambda _, active: ranked(active))
    return Hits(tuple(islice(placed, request.limit)), request.notes)


def _chunks(rows: Rows, bound: Column) -> Iterator[tuple[Rows, float]]:
    descending = np.lexsort((-rows, -bound))
    for start in range(0, len(rows), CHUNK):
        chunk = descending[start : start + CHUNK]
        yield rows[chunk], float(bound[chunk[0]]) + 10**-DIGITS
