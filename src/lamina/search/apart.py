"""Let other conversations have their turn (Q5), when a question asks for several things.

"Which did I get first, the phone or the laptop?" and "how many books have I read?" need hits of
several conversations, and one conversation alone has five turns that fit. So of the ten best hits,
what stands near better ones counts less when their order is found. Nothing leaves the ten
(docs/decisions/0048).
"""

from __future__ import annotations

import numpy as np

from lamina.search import hits
from lamina.search.question import Question
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Mask, Rows

MOST = 10  # so many of the best are put into another order
REACH = 8  # turns before and after a hit that are about the same thing
OFTEN = 3  # better hits nearby that count
MARGIN = 0.001


def lifts(
    request: Request, question: Question, rows: Rows, score: Column, step: float, stays: Mask
) -> Column:
    """Compute what each row's score lacks to come before those that have better hits nearby.

    A row is passed by one that fits worse by less than a step for each of these. What stays is not
    passed: it has its place for another reason. Nothing from outside is lifted.
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
    """Put places into their order, the best by what is left of their scores first."""
    order: list[int] = []
    nearby = dict.fromkeys(places, 0)
    while places:
        # Of equal ones the first: they come in the order of all hits.
        foremost = max(places, key=lambda place: score[place] - step * nearby[place])
        order.append(foremost)
        places = [place for place in places if place != foremost]
        around = _around(request, int(rows[foremost]))
        for place in places:
            if int(rows[place]) in around and not stays[place]:
                nearby[place] = min(OFTEN, nearby[place] + 1)
    return order


def _around(request: Request, row: int) -> set[int]:
    """Return the turns of the same conversation that are near to one."""
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
