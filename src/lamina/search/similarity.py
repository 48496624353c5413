"""Nearness of meaning between a question and records: estimated for all, exact for a few."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder
from lamina.embedders.wordllama import WordLlama
from lamina.errors import EmbedderFailed
from lamina.search.bm25 import Matches
from lamina.search.question import Beside
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Mask, Rows
from lamina.store.tables.vectors import Space
from lamina.text.words import STOP_WORDS, terms

# How many records without a vector a search embeds itself: what takes some hundredths of a second.
AT_ONCE = {"wordllama-256": 4096}
AT_ONCE_OTHERS = 16
NOWHERE = 0  # the number of a space that is not in the store yet
SPOKEN = re.compile(r"\w+(?:'\w+)?")
STOP_WEIGHT = 1.0


class Similarity:
    """A question in one embedder's space."""

    def __init__(self, request: Request, space: Space, vector: NDArray[np.float32]) -> None:
        look = request.look
        self._request = request
        self._look = look
        self._space = space
        self._vector = vector
        size, picked, codes = look.catalogue.size, request.picked, look.codes(space)
        distances = codes.distances(vector, size, picked)
        self.known: Mask = codes.known[:size]
        visible, known = request.allowed[picked], self.known[picked]
        missing = (visible & ~known)[: request.picked_up_to(look.last_seen(space))]
        self._note_damage(bool(missing.any()))
        # But for chance, the share of signs in which two vectors differ is their angle.
        turns = np.pi * np.arange(space.dimensions + 1) / space.dimensions
        cosines = np.cos(turns).astype(np.float32)
        self.estimate: NDArray[np.float32] = np.zeros(size, np.float32)
        self.estimate[picked] = np.where(known & visible, cosines[distances], 0)

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._space.name

    @property
    def vector(self) -> list[float]:
        """The vector of the question."""
        return [float(value) for value in self._vector]

    def exact(self, *several: Rows) -> list[Column]:
        """Compute the cosines of several columns of rows; 0 for a row without a vector."""
        wanted, places = np.unique(np.concatenate(several), return_inverse=True)
        vectors, has_vector = self._look.exact(self._space, wanted)
        self._note_damage(bool((self.known[wanted] & ~has_vector).any()))
        # Row by row, so that none depends on the others: a product of matrices may add up in
        # another order.
        cosines: Column = np.vecdot(vectors.astype(np.float64), self._vector.astype(np.float64))
        return np.split(cosines[places], np.cumsum([len(rows) for rows in several])[:-1])

    def _note_damage(self, is_damaged: bool) -> None:
        problem = "vectors of memories are missing or damaged; run `lamina reindex`"
        note = f"{self._space.name}: {problem}"
        if is_damaged and note not in self._request.notes:
            self._request.notes.append(note)


def similarity(
    request: Request,
    embedder: Embedder,
    question: str,
    words: Matches | None = None,
    beside: Sequence[Beside] = (),
) -> Similarity | None:
    """Place the question in an embedder's space; None, with a note, when the embedder fails."""
    try:
        vector = _vector(embedder, question, words, beside).astype(np.float16).astype(np.float32)
        if not vector.any():
            return None
        space = request.look.space(embedder.name)
        if space is None or space.dimensions != len(vector):
            space = Space(NOWHERE, embedder.name, len(vector), 0)
        _catch_up(request, space, embedder)
    except EmbedderFailed as error:
        request.notes.append(f"{embedder.name}: {error.message}; searched without it")
        return None
    return Similarity(request, space, vector)


def _vector(
    embedder: Embedder, question: str, words: Matches | None, beside: Sequence[Beside]
) -> NDArray[np.float32]:
    """Embed the question.

    Where a vector is made of words alone, each counts by how rare it is in this store; so do those
    beside the question, by their share.
    """
    if words is None or not isinstance(embedder, WordLlama):
        vector: NDArray[np.float32] = embedder.embed([question])[0]
        return vector
    spoken = SPOKEN.findall(question)
    weights = [_weight(word, words) for word in spoken]
    for text, share in beside:
        more = SPOKEN.findall(text)
        spoken += more
        weights += [share * _weight(word, words) for word in more]
    return embedder.embed_words(spoken, weights)


def _weight(word: str, words: Matches) -> float:
    folded = word.casefold()
    if folded in STOP_WORDS:
        return STOP_WEIGHT
    return math.sqrt(min(map(words.rareness, terms(word) or (folded,))))


def _catch_up(request: Request, space: Space, embedder: Embedder) -> None:
    """Embed what was written since the last indexing, as far as that is quick.

    Vectors that are made here are not stored. All are made or none: a search that made some more
    each time would change the answer of the next.
    """
    look = request.look
    look.codes(space)
    first = max(look.fresh(space), default=look.last_seen(space)) + 1
    missing = look.catalogue.size - first
    if 0 < missing <= AT_ONCE.get(embedder.name, AT_ONCE_OTHERS):
        batch = look.texts(first)
        if batch:
            vectors = embedder.embed([content for _, content in batch]).astype(np.float16)
            look.keep(space, [row for row, _ in batch], vectors)
        missing = 0  # rows whose records have left need no vector
    if missing <= 0:
        return
    # Only visible records are counted: others' are not this caller's concern.
    hidden = int(request.allowed[first:].sum())
    if hidden:
        problem = f"{hidden:,} memories have no vector yet; run `lamina index`"
        request.notes.append(f"{embedder.name}: {problem}")
