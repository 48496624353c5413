"""The semantic ranker (Q4): nearness of meaning alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lamina.embedders import Embedder
from lamina.model.record import Hits
from lamina.search import hits, keyword, trust
from lamina.search.question import Question
from lamina.search.request import Ask
from lamina.search.similarity import similarity

FLOOR = 0.15  # what is less near than this is about something else
MORE = 8  # how many candidates the estimate hands on for each hit, and at least so many
AT_LEAST = 200


def rank(ask: Ask, embedders: Sequence[Embedder], *, boosts: bool) -> Hits:
    """The nearest records by the mean cosine of all embedders; by keywords when there is none that works."""
    question = Question(ask, boosts=boosts).bare
    views = [view for embedder in embedders if (view := similarity(ask, embedder, question))]
    if not views:
        if not ask.notes:
            ask.notes.append("there is no embedder (recall.embedders = none); searched by keywords")
        return keyword.rank(ask)
    estimate = np.where(ask.allowed & views[0].known, sum(view.estimate for view in views), -np.inf)
    number = min(int(np.isfinite(estimate).sum()), max(AT_LEAST, MORE * ask.limit))
    if not number:
        return keyword.rank(ask) if ask.notes else Hits(())
    named = None if ask.via is None else ask.via.rows(ask, views[0].vector)
    rows = (
        np.sort(ask.rows[trust.best_of(ask, ask.rows, estimate[ask.rows], number, number)])
        if named is None
        else named
    )
    cosine = sum((view.exact(rows)[0] for view in views), np.zeros(len(rows))) / len(views)
    near = cosine >= FLOOR
    return hits.hits(ask, rows[near], {"similarity": cosine[near]})
