"""Weigh records by their trust (V8): a little in the score, and a reserve among the candidates.

No text from outside can take the reserve, however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Trust
from lamina.search import hits
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import TRUSTS, Rows

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
    """Return the places of the highest scores, together with those of the best own records."""
    best = hits.best_of(request, rows, score, number)
    if not request.has_outside or len(best) < number:
        return best
    inside = np.flatnonzero(~request.is_outside(rows))
    return np.union1d(best, inside[hits.best_of(request, rows[inside], score[inside], own)])
