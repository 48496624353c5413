"""Similarity of meaning between a question and records: estimated for all, exact for a few."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Asked, Embedder, Scale
from lamina.embedders.wordllama import WordLlama
from lamina.errors import EmbedderFailed
from lamina.search import indexing
from lamina.search.bm25 import Matches
from lamina.search.question import Beside
from lamina.search.request import Column, Request
from lamina.store.index.catalogue import Mask, Rows
from lamina.store.index.distinct import distinct
from lamina.store.tables.vectors import Space
from lamina.text.words import STOP_WORDS, terms

# How many records without a vector a search embeds itself, which takes some hundredths of a second.
AT_ONCE = {"wordllama-256": 4096}
AT_ONCE_OTHERS = 16
NOWHERE = 0  # the number of a space that is not in the store yet
# The scale of a model's cosines is estimated from this many memories, if there are enough.
SAMPLE, ENOUGH = 256, 16
LEAST_SPREAD = 0.005
UNSCALED = Scale(0.0, 0.1)
SPOKEN = re.compile(r"\w+(?:'\w+)?")
STOP_WEIGHT = 1.0
REMEMBERED = 4096  # words
FEW = 16_000  # up to this many dimensions, counts fit into 16 bits
MARKED = 200_000  # up to this many rows, marking the wanted ones is faster than sorting them


class Similarity:
    """A question in one embedder's space."""

    def __init__(
        self,
        request: Request,
        space: Space,
        asked: Asked,
        embedder: Embedder,
    ) -> None:
        look = request.look
        self._request = request
        self._look = look
        self.space = space
        self._vector = vector = asked.vector
        self.tokens = asked.tokens  # of the question, if the model has token vectors
        self.matches = embedder.matches
        # Questions and passages have different means.
        means = embedder.means
        self._centred = vector if means is None else vector - means.question
        self._codes = look.codes(space)
        self.known: Mask = self._codes.known_of(look.catalogue.size)
        picked = request.picked
        allowed = request.allowed[picked]
        visible = allowed & self.known[picked]
        self._hidden: Mask = ~visible
        seen = request.picked_up_to(look.last_seen(space))
        is_damaged = np.count_nonzero(visible[:seen]) < np.count_nonzero(allowed[:seen])
        self._note_damage(bool(is_damaged))
        self.scale = self._learned() if embedder.scale is None else embedder.scale

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self.space.name

    @cached_property
    def estimate(self) -> NDArray[np.float32]:
        """Estimates of the cosines of the picked rows by the signs of their vectors; 0 if hidden.

        On average, the share of signs in which two vectors differ is proportional to their angle.
        """
        estimate = _cosines_of_signs(self.space.dimensions).take(self._differing)
        estimate[self._hidden] = 0
        return estimate

    @cached_property
    def agreement(self) -> NDArray[np.integer[Any]]:
        """The number of signs shared with the question minus those that differ, per picked row.

        It orders rows like `estimate`, but faster: positive where that is, and 0 if hidden.
        """
        dimensions = self.space.dimensions
        whole = np.int16 if dimensions < FEW else np.int32
        agreement: NDArray[np.integer[Any]] = self._differing.astype(whole)
        agreement *= -2
        agreement += dimensions + 1
        agreement[self._hidden] = 0
        return agreement

    @cached_property
    def _differing(self) -> NDArray[np.uint16]:
        """For each picked row, the number of signs that differ from those of the question."""
        return self._codes.distances(self._centred, len(self.known), self._request.picked)

    def mean_estimate(self, rows: Rows) -> float:
        """Estimate the mean cosine of some of the visible rows."""
        estimate, picked = self.estimate, self._request.picked
        places = rows if isinstance(picked, slice) else np.searchsorted(picked, rows)
        return float(estimate[places].mean(dtype=np.float64))

    @property
    def is_blind(self) -> bool:
        """True if no visible row has a vector."""
        return bool(self._hidden.all())

    def is_visible(self, rows: Rows) -> Mask:
        """Mark the rows that match the filter and have a vector."""
        return self._request.allowed[rows] & self.known[rows]

    def look_closely(self, rows: Rows) -> NDArray[np.float32]:
        """Estimate the cosines of some rows more precisely than by signs."""
        return self._codes.likeness(self._centred, rows)

    @property
    def vector(self) -> Column:
        """The vector of the question."""
        return self._vector.astype(np.float64)

    def exact(self, *several: Rows) -> list[Column]:
        """Compute the similarity of several columns of rows; 0 for a row without a vector."""
        every = np.concatenate(several)
        known = self.known[every]  # the others, such as missing neighbours, have no vector
        wanted, places = _distinct(every[known], len(self.known))
        cosines, has_vector = self._cosines(wanted)
        self._note_damage(not has_vector.all())
        likeness = np.zeros(len(every))
        likeness[known] = (self.scale.likeness(cosines) * has_vector)[places]
        ends = accumulate(map(len, several))
        return [likeness[end - len(rows) : end] for rows, end in zip(several, ends, strict=True)]

    def _cosines(self, wanted: Rows) -> tuple[Column, Mask]:
        vectors, has_vector = self._look.exact(self.space, wanted)
        # Row by row, so that none depends on the others: a matrix product may add up in another
        # order.
        cosines: Column = np.vecdot(vectors, self.vector)
        return cosines, has_vector

    def _learned(self) -> Scale:
        """Estimate the scale of this model's cosines from an even sample of visible memories."""
        rows = self._request.rows
        rows = rows[self.known[rows]]
        if len(rows) < ENOUGH:
            return UNSCALED
        cosines, has_vector = self._cosines(distinct(rows[:: -(-len(rows) // SAMPLE)]))
        cosines = cosines[has_vector]
        if len(cosines) < ENOUGH:
            return UNSCALED
        return Scale(round(float(cosines.mean()), 6), max(float(cosines.std()), LEAST_SPREAD))

    def _note_damage(self, is_damaged: bool) -> None:
        problem = "vectors of memories are missing or damaged; run `lamina reindex`"
        note = f"{self.space.name}: {problem}"
        if is_damaged and note not in self._request.notes:
            self._request.notes.append(note)


def _distinct(rows: Rows, size: int) -> tuple[Rows, Rows | slice]:
    """Return distinct rows below `size`, ascending, and the index of each row among them."""
    if (rows[1:] > rows[:-1]).all():  # already distinct, if no turn has a neighbour
        return rows, slice(None)
    if size > MARKED:
        distinct: tuple[Rows, Rows] = np.unique(rows, return_inverse=True)
        return distinct
    is_there = np.zeros(size, np.bool_)
    is_there[rows] = True
    wanted = np.flatnonzero(is_there)
    place = np.empty(size, np.int64)
    place[wanted] = np.arange(len(wanted))
    return wanted, place[rows]


@lru_cache(16)
def _cosines_of_signs(dimensions: int) -> NDArray[np.float32]:
    """Return the estimated cosine of two vectors for each possible number of differing signs."""
    cosines: NDArray[np.float32] = np.cos(np.pi * np.arange(dimensions + 1) / dimensions).astype(
        np.float32
    )
    return cosines


def similarity(
    request: Request,
    embedder: Embedder,
    question: str,
    words: Matches | None = None,
    beside: Sequence[Beside] = (),
) -> Similarity | None:
    """Embed the question in an embedder's space; None, with a note, if the embedder fails."""
    try:
        asked = embedded_question(embedder, question, words, beside)
        asked = asked._replace(vector=asked.vector.astype(np.float16).astype(np.float32))
        if not asked.vector.any():
            return None
        mean = indexing.mean(embedder)
        space = request.look.space(embedder.name)
        if space is None or (space.dimensions, space.mean) != (len(asked.vector), mean):
            space = Space(NOWHERE, embedder.name, len(asked.vector), 0, mean)
        _catch_up(request, space, embedder)
    except EmbedderFailed as error:
        request.notes.append(f"{embedder.name}: {error.message}; searched without it")
        return None
    return Similarity(request, space, asked, embedder)


def embedded_question(
    embedder: Embedder, question: str, words: Matches | None, beside: Sequence[Beside]
) -> Asked:
    """Embed the question.

    If a vector is made of words alone, each word is weighted by its rarity in this store; so are
    those beside the question, multiplied by their share.
    """
    if words is None or not isinstance(embedder, WordLlama):
        return embedder.ask(question)
    spoken = SPOKEN.findall(question)
    weights = [_weight(word, words) for word in spoken]
    for text, share in beside:
        more = SPOKEN.findall(text)
        spoken += more
        weights += [share * _weight(word, words) for word in more]
    return Asked(embedder.embed_words(spoken, weights))


def _weight(word: str, words: Matches) -> float:
    folded = word.casefold()
    if folded in STOP_WORDS:
        return STOP_WEIGHT
    return math.sqrt(min(map(words.rareness, _spelled(word) or (folded,))))


@lru_cache(REMEMBERED)
def _spelled(word: str) -> tuple[str, ...]:
    """Return a word as spelled in the index."""
    return terms(word)


def _catch_up(request: Request, space: Space, embedder: Embedder) -> None:
    """Embed what was written since the last indexing, if that is quick.

    These vectors are not stored. Embed all or none: a search that embedded some more each time
    would change the result of the next one.
    """
    look = request.look
    look.codes(space)
    first = max(look.fresh(space), default=look.last_seen(space)) + 1
    missing = look.catalogue.size - first
    if 0 < missing <= AT_ONCE.get(embedder.name, AT_ONCE_OTHERS):
        batch = look.texts(first)
        if not batch or _embed(request, space, embedder, batch):
            missing = 0  # rows whose records are gone need no vector
    if missing <= 0:
        return
    # Count only visible records: others are not this caller's concern.
    hidden = int(request.allowed[first:].sum())
    if hidden:
        problem = f"{hidden:,} memories have no vector yet; run `lamina index`"
        request.notes.append(f"{embedder.name}: {problem}")


def _embed(
    request: Request, space: Space, embedder: Embedder, batch: Sequence[tuple[int, str]]
) -> bool:
    """Embed some records for this process only; False if a search cannot wait for that."""
    try:
        read = embedder.read([content for _, content in batch])
    except EmbedderFailed as error:
        if not error.details.get("slow"):
            raise
        return False
    numbers = [number for number, _ in batch]
    request.look.keep(space, numbers, read.vectors.astype(np.float16), read.tokens)
    return True
