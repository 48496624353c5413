"""Weigh records by trust (V8): a little in the score, and with reserved places for candidates.

External texts cannot take the reserved places, however many there are. If a search includes stale
records, active ones have reserved places, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Trust
from lamina.search import current, hits
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import TRUSTS, Mask, Rows
from lamina.store.index.distinct import united

# They decide between texts that fit about equally well. A text that fits clearly better gains more
# than this from its words or its meaning.
WEIGHTS = {Trust.OPERATOR: 0.06, Trust.AGENT: 0.0, Trust.EXTERNAL: -0.06}
_BY_NUMBER = np.zeros(len(TRUSTS) + 1)
for _trust, _weight in WEIGHTS.items():
    _BY_NUMBER[TRUSTS[_trust]] = _weight


def part(request: Request, rows: Rows) -> Column:
    """Return the part of the score for the trust of each row."""
    weights: Column = _BY_NUMBER[request.look.catalogue["trust"][rows]]
    return weights


def best_of(request: Request, rows: Rows, score: NDArray[Any], number: int, own: int) -> Rows:
    """Return the places of the highest scores, plus those of the best own and active records.

    They are in any order.
    """
    best = hits.some_best_of(request, rows, score, number)
    if len(best) == number:
        for members, reserve in _reserves(request, rows, number, own):
            among = np.flatnonzero(members)
            some = hits.some_best_of(request, rows[among], score[among], reserve)
            best = united(best, among[some])
    return best


def foremost(request: Request, rows: Rows | slice, score: NDArray[Any], number: int) -> Rows:
    """Return the same places without order, including all that tie with the last."""
    best = hits.foremost(score, number)
    for members, reserve in _reserves(request, rows, number, number):
        among = np.flatnonzero(members)
        best = united(best, among[hits.foremost(score[among], reserve)])
    return best


def _reserves(
    request: Request, rows: Rows | slice, number: int, own: int
) -> Iterator[tuple[Mask, int]]:
    """Yield groups of rows with reserved places, and how many places each group has."""
    if request.has_outside:
        yield ~request.is_outside(rows), own
    if current.has_stale(request.chosen):
        yield current.is_active(request, rows), number
