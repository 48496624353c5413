"""The keyword ranker (Q3): relevance of words, refined by recency and importance."""

from __future__ import annotations

import numpy as np

from lamina.model.record import Hits
from lamina.search import bm25, hits, trust
from lamina.search.request import MICROS_PER_DAY, Request

RECENCY_WEIGHT = 0.10
IMPORTANCE_WEIGHT = 0.15


def rank(request: Request) -> Hits:
    """Rank the records that contain a word; relevance is relative to the best match."""
    matches = bm25.match(request)
    rows = np.flatnonzero(matches.score)
    if not len(rows):
        return Hits((), request.notes)
    relevance = matches.score[rows].astype(np.float64)
    parts = {
        "relevance": relevance / relevance.max(),
        "recency": RECENCY_WEIGHT / (1 + request.age(rows, "occurred", MICROS_PER_DAY)),
        "importance": IMPORTANCE_WEIGHT * request.look.catalogue["importance"][rows],
        "trust": trust.part(request, rows),
    }
    return hits.hits(request, rows, parts)
