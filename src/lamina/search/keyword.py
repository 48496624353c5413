"""The keyword ranker (Q3): words, then relevance, refined by recency and importance among what matched."""

from __future__ import annotations

import numpy as np

from lamina.model.record import Hits
from lamina.search import bm25, hits, trust
from lamina.search.request import MICROS_PER_DAY, Ask

RECENCY_WEIGHT = 0.10
IMPORTANCE_WEIGHT = 0.15


def rank(ask: Ask) -> Hits:
    """Relevance is a share of the best match's."""
    matches = bm25.match(ask)
    rows = np.flatnonzero(matches.score)
    if not len(rows):
        return Hits((), ask.notes)
    relevance = matches.score[rows].astype(np.float64)
    parts = {
        "relevance": relevance / relevance.max(),
        "recency": RECENCY_WEIGHT / (1 + ask.age(rows, "occurred", MICROS_PER_DAY)),
        "importance": IMPORTANCE_WEIGHT * ask.look.catalogue["importance"][rows],
        "trust": trust.part(ask, rows),
    }
    return hits.hits(ask, rows, parts)
