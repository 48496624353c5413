"""Search a large store on a server: it names candidates, our own rankers score them.

The ranker reads a sample like a whole store: the candidates, their neighbours, and statistics of
the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from lamina.embedders import Embedder
from lamina.errors import EmbedderFailed
from lamina.search import bm25, current, prompt, segments
from lamina.search.question import Question
from lamina.search.request import MICROS_PER_DAY, Request
from lamina.search.similarity import embedded_question
from lamina.store.core.store import Store
from lamina.store.index.sample import Sample, is_served, opened
from lamina.store.tables.records import Filter

RANKERS = frozenset(("hybrid", "keyword", "semantic"))
EACH = 2  # minimal number of candidates per wanted hit


def applies(
    store: Store,
    chosen: Filter,
    ranker: str,
    known_at: datetime | None,
    embedders: Sequence[Embedder],
) -> bool:
    """Tell whether a server should find the candidates of a search.

    It cannot if stale records are included: then a ranker looks up records that are not candidates.
    """
    if ranker not in RANKERS or known_at is not None or current.has_stale(chosen):
        return False
    names = {embedder.name for embedder in embedders}
    return is_served(store, names)


@contextmanager
def sampled(
    store: Store,
    query: str,
    chosen: Filter,
    now: datetime,
    limit: int,
    embedders: Sequence[Embedder],
    following: Sequence[str] = (),
    *,
    boosts: bool,
) -> Iterator[Sample]:
    """Open a snapshot of the records that could answer a query."""
    with opened(store, chosen) as look:
        if not look.is_whole:
            request = Request(look, query, chosen, now, limit, None, following)
            for text in _texts(request):
                asked = Request(look, text, chosen, now, limit)
                _add(look, asked, embedders, boosts=boosts)
            look.surround()
        yield look


def _texts(request: Request) -> Iterator[str]:
    """Yield the texts to search for: the whole query, and each of its sentences."""
    pieces = segments.split(request.query)
    if request.following:
        pieces += prompt.context(request, pieces)
    return iter(dict.fromkeys((request.query, *(piece.text for piece in pieces))))


def _add(look: Sample, request: Request, embedders: Sequence[Embedder], *, boosts: bool) -> None:
    """Add what could answer a question: by its words, its days and its meaning."""
    look.count(request.words)
    words = bm25.counted(request, request.words)
    number = EACH * request.limit
    look.add_words([(word, words.rarity(word)) for word in words.numbers], number)
    for span in Question(request, boosts=boosts).spans:
        look.add_days(span.since, span.until, int(MICROS_PER_DAY))
    # The speakers are known now, so that their names can be removed from the question.
    named = Request(look, request.query, request.chosen, request.now, request.limit)
    question = Question(named, boosts=boosts)
    words = bm25.counted(named, question.words)
    speakers = look.speakers(question.names)
    if speakers:
        look.add_words([(word, words.rarity(word)) for word in words.numbers], number, speakers)
    for embedder in embedders:
        space = look.space(embedder.name)
        if space is None:
            continue
        try:
            asked = embedded_question(embedder, question.bare, words, question.beside)
        except EmbedderFailed:
            continue  # the ranker reports it
        vector = asked.vector
        if vector.any() and len(vector) == space.dimensions:
            look.add_near(space, vector, number)
            if speakers:
                look.add_near(space, vector, number, speakers)
