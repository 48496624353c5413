"""How near the meaning of every record is to a question's: an estimate for all of them, exact for a few."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder
from lamina.embedders.wordllama import WordLlama
from lamina.errors import EmbedderFailed
from lamina.search.bm25 import Matches
from lamina.search.request import Ask, Column
from lamina.store.index.catalogue import Mask, Rows
from lamina.store.tables.vectors import Space
from lamina.text.words import STOP_WORDS, terms

# How many records a search embeds that nobody has embedded yet: what takes some hundredths of a second.
AT_ONCE = {"wordllama-256": 4096}
AT_ONCE_OTHERS = 16
NOWHERE = 0  # the number of a space that is not in the store yet
SPOKEN = re.compile(r"\w+(?:'\w+)?")
STOP_WEIGHT = 1.0


class Similarity:
    """A question in one embedder's space."""

    def __init__(self, ask: Ask, space: Space, vector: NDArray[np.float32]) -> None:
        look = ask.look
        self._ask = ask
        self._look = look
        self._space = space
        self._vector = vector
        size, some, codes = look.catalogue.size, ask.some, look.codes(space)
        distances = codes.distances(vector, size, some)
        self.known: Mask = codes.known[:size]
        visible, has = ask.allowed[some], self.known[some]
        self._tell_damage(bool((visible & ~has)[: ask.upto(space.seen)].any()))
        # Two vectors at an angle have that share of their signs in common, but for chance.
        angles = np.cos(np.pi * np.arange(space.dimensions + 1) / space.dimensions).astype(
            np.float32
        )
        self.estimate: NDArray[np.float32] = np.zeros(size, np.float32)
        self.estimate[some] = np.where(has & visible, angles[distances], 0)

    @property
    def vector(self) -> list[float]:
        """The question's own."""
        return [float(value) for value in self._vector]

    def exact(self, *several: Rows) -> list[Column]:
        """The cosines of some rows, as often as asked; 0 for a row without a vector."""
        wanted, places = np.unique(np.concatenate(several), return_inverse=True)
        vectors, has = self._look.exact(self._space, wanted)
        self._tell_damage(bool((self.known[wanted] & ~has).any()))
        # Row by row, so that none depends on the others: a product of matrices may add up in another order.
        cosines: Column = np.vecdot(vectors.astype(np.float64), self._vector.astype(np.float64))
        return np.split(cosines[places], np.cumsum([len(rows) for rows in several])[:-1])

    def _tell_damage(self, damaged: bool) -> None:
        note = (
            f"{self._space.name}: vectors of memories are missing or damaged; run `lamina reindex`"
        )
        if damaged and note not in self._ask.notes:
            self._ask.notes.append(note)


def similarity(
    ask: Ask, embedder: Embedder, question: str, words: Matches | None = None
) -> Similarity | None:
    """The question in an embedder's space; nothing, and a note, when the embedder fails."""
    try:
        vector = _vector(embedder, question, words).astype(np.float16).astype(np.float32)
        if not vector.any():
            return None
        space = ask.look.space(embedder.name)
        if space is None or space.dimensions != len(vector):
            space = Space(NOWHERE, embedder.name, len(vector), 0)
        _catch_up(ask, space, embedder)
    except EmbedderFailed as error:
        ask.notes.append(f"{embedder.name}: {error.message}; searched without it")
        return None
    return Similarity(ask, space, vector)


def _vector(embedder: Embedder, question: str, words: Matches | None) -> NDArray[np.float32]:
    """The question's vector. Where words are all that a vector is made of, each counts by how rare it is here."""
    if words is None or not isinstance(embedder, WordLlama):
        vector: NDArray[np.float32] = embedder.embed([question])[0]
        return vector
    spoken = SPOKEN.findall(question)
    return embedder.embed_words(spoken, [_weight(word, words) for word in spoken])


def _weight(word: str, words: Matches) -> float:
    folded = word.casefold()
    if folded in STOP_WORDS:
        return STOP_WEIGHT
    return math.sqrt(min(map(words.rareness, terms(word) or (folded,))))


def _catch_up(ask: Ask, space: Space, embedder: Embedder) -> None:
    """Embed what was written since the last indexing, as far as that is quick; it is not stored here."""
    look = ask.look
    look.codes(space)
    fresh = look.fresh(space)
    newest = max(fresh, default=space.seen)
    missing = look.catalogue.size - 1 - newest
    # All of them or none: a search that embedded some more each time would change the answer of the next.
    if 0 < missing <= AT_ONCE.get(embedder.name, AT_ONCE_OTHERS):
        batch = look.unseen(newest, missing)
        if batch:
            made = embedder.embed([content for _, content in batch]).astype(np.float16)
            look.keep(space, [number for number, _ in batch], made)
        missing = 0  # numbers whose records have left need none
    hidden = (
        int(ask.allowed[look.catalogue.size - missing :].sum()) if missing > 0 else 0
    )  # others' are not our concern
    if hidden:
        ask.notes.append(
            f"{embedder.name}: {hidden:,} memories have no vector yet; run `lamina index`"
        )
