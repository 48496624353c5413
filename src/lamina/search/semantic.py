"""The semantic ranker (Q4): nearness of meaning alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina.embedders import Embedder
from lamina.model.record import Hits
from lamina.search import hits, keyword, trust
from lamina.search.question import Question
from lamina.search.request import Request
from lamina.search.similarity import similarity

FLOOR = 0.15  # what is less near than this is about something else
# How many candidates the estimate hands on for each hit, and at least.
MORE = 8
AT_LEAST = 200


def rank(request: Request, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """Rank by the mean cosine of all embedders; by keywords when no embedder works."""
    question = Question(request, boosts=boosts).bare
    views = [view for embedder in embedders if (view := similarity(request, embedder, question))]
    if not views:
        if not request.notes:
            request.notes.append(
                "there is no embedder (recall.embedders = none); searched by keywords"
            )
        return keyword.rank(request)
    estimate = np.where(
        request.allowed & views[0].known, sum(view.estimate for view in views), -np.inf
    )
    number = min(int(np.isfinite(estimate).sum()), max(AT_LEAST, MORE * request.limit))
    if not number:
        return keyword.rank(request) if request.notes else Hits(())
    rows = None if request.mirror is None else request.mirror.rows(request, views[0].vector)
    if rows is None:
        visible = request.rows
        best = trust.best_of(request, visible, estimate[visible], number, number)
        rows = np.sort(visible[best])
    cosine = sum((view.exact(rows)[0] for view in views), np.zeros(len(rows))) / len(views)
    near = cosine >= FLOOR
    return hits.hits(request, rows[near], {"similarity": cosine[near]})
