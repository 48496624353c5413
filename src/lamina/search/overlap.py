"""The ranker of the Milton document (Q1): shared words, recency, importance, by its formula."""

from __future__ import annotations

import numpy as np

from lamina.model.clock import EPOCH
from lamina.model.record import Hits, Record
from lamina.search import hits
from lamina.search.request import MICROS_PER_HOUR, Request
from lamina.text import words

IMPORTANCE_WEIGHT = 0.15
RECENCY_BIAS = 0.35
SECONDS_PER_HOUR = 3600


def rank(request: Request, bias: float = RECENCY_BIAS) -> Hits:
    """Rank by `text_score × (1 − bias) + recency × bias + importance × 0.15`.

    A record without a shared word is a hit only when the bias is 1.
    """
    bias = min(1.0, max(0.0, bias))
    wanted = words.asked(request.query)
    shared = np.zeros(len(request.allowed))
    for word in wanted:
        # A record that contains the word also contains its form in the index.
        for term in words.terms(word)[:1]:
            shared[request.look.holding(term)] += 1
    rows = np.flatnonzero(request.allowed & (shared > 0)) if bias < 1 else request.rows
    if not wanted or not len(rows):
        return Hits((), request.notes)
    recency = 1 / (1 + request.age(rows, "occurred", MICROS_PER_HOUR))
    importance = IMPORTANCE_WEIGHT * request.look.catalogue["importance"][rows]
    bound = np.minimum(1, shared[rows] / len(wanted)) * (1 - bias) + recency * bias + importance

    def parts_of(record: Record) -> hits.Parts | None:
        tokens = words.tokens(" ".join((record.content, *record.tags)))
        share = sum(word in tokens for word in wanted) / len(wanted)
        if not share and bias < 1:
            return None
        age = max(0.0, (request.now - record.occurred_at).total_seconds()) / SECONDS_PER_HOUR
        return {
            "text": share * (1 - bias),
            "recency": bias / (1 + age),
            "importance": IMPORTANCE_WEIGHT * record.importance,
        }

    def order(record: Record) -> object:
        return -record.importance, EPOCH - record.occurred_at, record.id

    return hits.bounded(request, rows, bound, parts_of, order)
