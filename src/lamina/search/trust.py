"""Weigh records by their trust (V8): a little in the score, and a reserve among the candidates.

No text from outside can take the reserve, however many there are. Where a search asks for stale
records, active ones have a reserve, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Trust
from lamina.search import current, hits
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import TRUSTS, Mask, Rows

# They decide among texts that fit about as well. What fits clearly better has more than this from
# its words or its meaning.
WEIGHTS = {Trust.OPERATOR: 0.06, Trust.AGENT: 0.0, Trust.EXTERNAL: -0.06}
_BY_NUMBER = np.zeros(len(TRUSTS) + 1)
for _trust, _weight in WEIGHTS.items():
    _BY_NUMBER[TRUSTS[_trust]] = _weight


def part(request: Request, rows: Rows) -> Column:
    """Return the part of the score that says who vouches for each row."""
    weights: Column = _BY_NUMBER[request.look.catalogue["trust"][rows]]
    return weights


def best_of(request: Request, rows: Rows, score: NDArray[Any], number: int, own: int) -> Rows:
    """Return the places of the highest scores, with those of the best own and active records."""
    best = hits.best_of(request, rows, score, number)
    if len(best) < number:
        return best
    if request.has_outside:
        best = np.union1d(best, _best_among(request, rows, score, ~request.is_outside(rows), own))
    if current.has_stale(request.chosen):
        active = current.is_active(request, rows)
        best = np.union1d(best, _best_among(request, rows, score, active, number))
    return best


def _best_among(
    request: Request, rows: Rows, score: NDArray[Any], members: Mask, number: int
) -> Rows:
    among = np.flatnonzero(members)
    return among[hits.best_of(request, rows[among], score[among], number)]
