"""What trust counts in a search (V8): a little in the score, and places among the candidates that nobody outside can take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Trust
from lamina.search import hits
from lamina.search.request import Ask, Column
from lamina.store.index.catalogue import TRUSTS, Rows

# Among texts that fit about as well. What fits clearly better has more than this from its words or its meaning.
WEIGHTS = {Trust.OPERATOR: 0.06, Trust.AGENT: 0.0, Trust.EXTERNAL: -0.06}
_BY_NUMBER = np.zeros(len(TRUSTS) + 1)
for _trust, _weight in WEIGHTS.items():
    _BY_NUMBER[TRUSTS[_trust]] = _weight


def part(ask: Ask, rows: Rows) -> Column:
    """The part of the score that says who vouches for each row."""
    weights: Column = _BY_NUMBER[ask.look.catalogue["trust"][rows]]
    return weights


def best_of(ask: Ask, rows: Rows, score: NDArray[Any], number: int, own: int) -> Rows:
    """The places of the highest scores, and of the highest among records that are not from outside, however many are."""
    best = hits.best_of(ask, rows, score, number)
    if not ask.has_outside or len(best) < number:
        return best
    inside = np.flatnonzero(~ask.is_outside(rows))
    return np.union1d(best, inside[hits.best_of(ask, rows[inside], score[inside], own)])
