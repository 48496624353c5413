"""The keyword ranker: words, then relevance, refined by recency and importance among what matched. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lamina.model import Hit, Hits, Record

RECENCY_WEIGHT = 0.10
IMPORTANCE_WEIGHT = 0.15
SECONDS_PER_DAY = 86_400
DIGITS = 9


def pool(limit: int) -> int:
    """How many matches are fetched for that many hits: some more, since scores are rounded before they are compared."""
    return limit + 20


def rank(matches: Iterable[tuple[float, Record]], now: datetime, limit: int) -> Hits:
    """Hits from full-text matches, whose relevance is a share of the best one's. The parts of a score add up to it."""
    hits = [_hit(relevance, record, now) for relevance, record in matches]
    hits.sort(key=lambda hit: (-hit.score, -hit.record.importance, -hit.record.seq))
    return Hits(hits[:limit])


def _hit(relevance: float, record: Record, now: datetime) -> Hit:
    age = max(0.0, (now - record.occurred_at).total_seconds()) / SECONDS_PER_DAY
    parts = {
        "relevance": round(relevance, DIGITS),
        "recency": round(RECENCY_WEIGHT / (1 + age), DIGITS),
        "importance": round(IMPORTANCE_WEIGHT * record.importance, DIGITS),
    }
    return Hit(record, round(sum(parts.values()), DIGITS), parts)
