"""Bringing the index up to date: vectors for records that have none, and full blocks for the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder
from lamina.errors import EmbedderFailed
from lamina.search import is_quick
from lamina.store.core.store import Store
from lamina.store.index import writing

BATCH = 1024
SLOW_BATCH = 64  # of embedders that take long, so that little is lost when the process dies
SHORT = 2000  # characters
Progress = Callable[[int, int], None]


class Indexer:
    """Does one batch at a time. Any number of processes may do so; each batch is stored once."""

    def __init__(self, store: Store, embedders: Sequence[Embedder]) -> None:
        self._database = store.database
        self._embedders = embedders
        self._names = tuple(embedder.name for embedder in embedders)

    def backlog(self) -> int:
        """How many vectors are missing."""
        return writing.backlog(self._database, self._names)

    def step(self) -> bool:
        """Embed and store one batch for each embedder, and write blocks; whether there is more to do."""
        more, failure = False, None
        for embedder in self._embedders:
            try:
                more |= self._embed_some(embedder)
            except EmbedderFailed as error:  # the others go on, and so do the blocks
                failure = failure or error
        more |= writing.seal(self._database)
        if failure is not None and not more:
            raise failure
        return more

    def _embed_some(self, embedder: Embedder) -> bool:
        batch = writing.waiting(
            self._database, embedder.name, BATCH if is_quick([embedder.name]) else SLOW_BATCH
        )
        if not batch.records:
            return False
        writing.embedded(
            self._database, batch, vectors(embedder, [content for _, content in batch.records])
        )
        return True

    def run(self, step: Callable[[], bool], progress: Progress | None = None) -> int:
        """Do all there is to do, by steps of this index; how many vectors were missing."""
        total = left = self.backlog()
        while step():
            if progress is not None:
                left = self.backlog()
                progress(total - min(left, total), total)
        return total

    def forget_others(self) -> list[str]:
        """Drop the vectors of embedders that no setting names any more; without any embedder, all are kept."""
        return writing.forget_others(self._database, self._names) if self._names else []


def vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float16]:
    """The vectors of a batch. A text that the embedder refuses gets zeros, so that it does not hold up all others."""
    try:
        made = embedder.embed(texts)
    except EmbedderFailed as error:
        if not error.details.get("refused"):  # it may work again later
            raise
        made = np.stack([_one(embedder, text) for text in texts])
    return made.astype(np.float16)


def _one(embedder: Embedder, text: str) -> NDArray[np.float32]:
    for part in (text, text[:SHORT]):  # most often it is too long
        try:
            vector: NDArray[np.float32] = embedder.embed([part])[0]
        except EmbedderFailed as error:
            if not error.details.get("refused"):
                raise
        else:
            return vector
    return np.zeros(embedder.dimensions, np.float32)
