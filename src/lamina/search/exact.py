"""The ranker of the Skylattice document (Q2): same text first, then words in text and metadata."""

from __future__ import annotations

import numpy as np

from lamina.model import erased_words
from lamina.model.clock import EPOCH
from lamina.model.record import Hits, Record, State
from lamina.search import hits
from lamina.search.request import MICROS_PER_DAY, Column, Request
from lamina.store.tables import fulltext
from lamina.text.words import asked, normalise, terms, tokens

SAME, WITHIN = 100.0, 50.0
TEXT_WEIGHT, METADATA_WEIGHT = 24.0, 8.0
RECENCY_WEIGHT = 0.25
STATUS = {State.ACTIVE: 2.0, State.CONSTRAINED: 1.0, State.SUPERSEDED: 0.2, State.TOMBSTONED: 0.0}
SECONDS_PER_DAY = 86_400


def rank(request: Request) -> Hits:
    """Rank the records that share a word with the query, in their text or metadata."""
    wanted, normal = asked(request.query), normalise(request.query)
    in_text = _shared(request, wanted, fulltext.SAID)
    in_metadata = _shared(request, wanted, fulltext.METADATA)
    rows = np.flatnonzero(request.allowed & (in_text + in_metadata > 0))
    if not wanted or not len(rows):
        return Hits((), request.notes)
    count = len(wanted)
    # A text that contains the query contains all its words, but the first and the last may be parts
    # of longer words.
    bonus = np.where(in_text[rows] >= count - 2, SAME, 0.0)
    status = np.array([0.0, *(STATUS[state] for state in State)])[
        request.look.catalogue["state"][rows]
    ]
    recency = RECENCY_WEIGHT / (1 + request.age(rows, "created", MICROS_PER_DAY))
    overlap = TEXT_WEIGHT * in_text[rows] / count + METADATA_WEIGHT * in_metadata[rows] / count
    bound = bonus + overlap + status + recency

    def parts_of(record: Record) -> hits.Parts | None:
        own = tokens(record.content)
        others = tokens(" ".join(erased_words.strings(record.metadata)))
        shared, beside = (sum(word in words for word in wanted) for words in (own, others))
        if not shared and not beside:
            return None
        content = normalise(record.content)
        age = max(0.0, (request.now - record.created_at).total_seconds()) / SECONDS_PER_DAY
        return {
            "same": SAME if content == normal else WITHIN if normal in content else 0.0,
            "text": TEXT_WEIGHT * shared / count,
            "metadata": METADATA_WEIGHT * beside / count,
            "status": STATUS[record.state],
            "recency": RECENCY_WEIGHT / (1 + age),
        }

    def order(record: Record) -> object:
        return EPOCH - record.created_at, record.id

    return hits.bounded(request, rows, bound, parts_of, order)


def _shared(request: Request, wanted: tuple[str, ...], columns: str) -> Column:
    """Count the words that each row could contain.

    A record that contains a word also contains its form in the index.
    """
    counted = np.zeros(len(request.allowed))
    for word in wanted:
        for term in terms(word)[:1]:
            counted[request.look.holding(term, columns)] += 1
    return counted
