"""The semantic ranker (Q4): similarity of meaning alone.

The signs of vectors tell which records could be similar. Among these, two bits per component tell
which ones are compared exactly (docs/decisions/0045).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder
from lamina.model.record import Hits
from lamina.search import hits, keyword, trust
from lamina.search.question import Question
from lamina.search.request import Request
from lamina.search.similarity import Similarity, similarity
from lamina.store.index.catalogue import Rows

FLOOR = 0.15  # records with a lower cosine are about something else
# How many candidates are compared exactly per hit, and at least.
MORE = 8
AT_LEAST = 200
# How many are estimated more closely before that: at least, and one record in this many.
CLOSELY, ONE_IN = 2000, 50


def rank(request: Request, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """Rank by the mean cosine of all embedders; by keywords if no embedder works."""
    question = Question(request, boosts=boosts).bare
    views = [view for embedder in embedders if (view := similarity(request, embedder, question))]
    if not views:
        if not request.notes:
            request.notes.append(
                "there is no embedder (recall.embedders = none); searched by keywords"
            )
        return keyword.rank(request)
    if views[0].is_blind:
        return keyword.rank(request) if request.notes else Hits(())
    mirror, rows = request.mirror, None
    if mirror is not None:
        rows = mirror.rows(request, views[0].vector.tolist())
    if rows is None:
        rows = _nearest(request, views)
    cosine = sum((view.exact(rows)[0] for view in views), np.zeros(len(rows))) / len(views)
    near = cosine >= FLOOR
    return hits.hits(request, rows[near], {"similarity": cosine[near]})


def _nearest(request: Request, views: Sequence[Similarity]) -> Rows:
    """Return the rows to compare exactly, chosen by estimates of their cosines."""
    number = max(AT_LEAST, MORE * request.limit)
    closely = max(CLOSELY, 2 * number, len(request.rows) // ONE_IN)
    rows, picked = request.rows, request.picked
    if len(rows) > closely:
        estimate = _estimate(views)
        best = trust.foremost(request, picked, estimate, closely)
        best = best[estimate[best] > 0]
        rows = best if isinstance(picked, slice) else picked[best]
    rows = rows[views[0].is_visible(rows)]
    if len(rows) > number:
        closer = (view.look_closely(rows) for view in views[1:])
        estimate = sum(closer, views[0].look_closely(rows))
        rows = rows[trust.best_of(request, rows, estimate, number, number)]
    return np.sort(rows)


def _estimate(views: Sequence[Similarity]) -> NDArray[np.integer[Any]] | NDArray[np.float32]:
    """Estimate the similarity of the picked rows; it is positive if it exceeds chance."""
    if len(views) == 1:
        return views[0].agreement
    return sum((view.estimate for view in views[1:]), views[0].estimate)
