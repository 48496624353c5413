"""Mix hits of several conversations (Q5) when a question asks for several things.

"Which did I get first, the phone or the laptop?" and "how many books have I read?" need hits from
several conversations, but a single one may have five matching turns. So among the ten best hits,
those near better ones are ranked lower. The set of ten does not change (docs/decisions/0048).
"""

from __future__ import annotations

import numpy as np

from lamina.search import hits
from lamina.search.question import Question
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Mask, Rows

MOST = 10  # number of best hits that are reordered
REACH = 8  # turns before and after a hit that are about the same thing
OFTEN = 3  # better hits nearby that count
MARGIN = 0.001


def lifts(
    request: Request, question: Question, rows: Rows, score: Column, step: float, stays: Mask
) -> Column:
    """Compute what to add to each row's score to rank it before rows with better hits nearby.

    For each better hit nearby, a row may be overtaken by one that scores up to a step less. Rows in
    `stays` are not overtaken: they have their place for another reason. External rows never rise.
    """
    lifted = np.zeros(len(rows))
    if not step or not question.is_for_several:
        return lifted
    score = np.round(score, hits.DIGITS)
    best = hits.best_of(request, rows, score, MOST)
    if request.has_outside:
        best = best[~request.is_outside(rows[best])]
    least = -np.inf
    for place in reversed(_in_turn(request, rows, score, step, best.tolist(), stays)):
        if score[place] <= least:
            lifted[place] = least + MARGIN - score[place]
        least = score[place] + lifted[place]
    return lifted


def _in_turn(
    request: Request, rows: Rows, score: Column, step: float, places: list[int], stays: Mask
) -> list[int]:
    """Order places by their scores after the reductions, best first."""
    order: list[int] = []
    nearby = dict.fromkeys(places, 0)
    while places:
        # Of equal ones, take the first: they are in the order of all hits.
        foremost = max(places, key=lambda place: score[place] - step * nearby[place])
        order.append(foremost)
        places = [place for place in places if place != foremost]
        around = _around(request, int(rows[foremost]))
        for place in places:
            if int(rows[place]) in around and not stays[place]:
                nearby[place] = min(OFTEN, nearby[place] + 1)
    return order


def _around(request: Request, row: int) -> set[int]:
    """Return the nearby turns of the same conversation."""
    catalogue = request.look.catalogue
    around: set[int] = set()
    for pointers in (catalogue.before, catalogue.after):
        near = row
        for _ in range(REACH):
            near = int(pointers[near])
            if not near:
                break
            around.add(near)
    return around
