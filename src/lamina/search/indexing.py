"""Update the index: vectors for records without one, and blocks for the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lamina.embedders import Embedder, Passages
from lamina.errors import EmbedderFailed
from lamina.search import is_quick
from lamina.store.core.store import Store
from lamina.store.index import writing

BATCH = 4096
SLOW_BATCH = 64  # for slow embedders, so that little is lost if the process dies
SHORT = 2000  # characters
Progress = Callable[[int, int], None]


class Indexer:
    """Indexes one batch at a time. Any number of processes may do so; each batch is stored once."""

    def __init__(self, store: Store, embedders: Sequence[Embedder]) -> None:
        self._database = store.database
        self._embedders = embedders
        self._names = tuple(embedder.name for embedder in embedders)

    def backlog(self) -> int:
        """Count the missing vectors."""
        return writing.backlog(self._database, self._names)

    def step(self) -> bool:
        """Embed and store a batch per embedder, and write blocks; return True if more is left."""
        more, failure = False, None
        for embedder in self._embedders:
            try:
                more |= self._embed_some(embedder)
            except EmbedderFailed as error:  # continue with the others and with the blocks
                failure = failure or error
        more |= writing.seal(self._database)
        if failure is not None and not more:
            raise failure
        return more

    def _embed_some(self, embedder: Embedder) -> bool:
        size = BATCH if is_quick([embedder.name]) else SLOW_BATCH
        batch = writing.waiting(self._database, embedder.name, size)
        if not batch.records:
            return False
        read = passages(embedder, [content for _, content in batch.records])
        vectors = read.vectors.astype(np.float16)
        writing.embedded(self._database, batch, vectors, read.tokens, mean(embedder))
        return True

    def run(self, step: Callable[[], bool], progress: Progress | None = None) -> int:
        """Take steps until everything is done; return how many vectors were missing."""
        total = left = self.backlog()
        while step():
            if progress is not None:
                left = self.backlog()
                progress(total - min(left, total), total)
        return total

    def forget_others(self) -> list[str]:
        """Drop the vectors of embedders that the settings no longer name.

        Without any embedder, keep all.
        """
        return writing.forget_others(self._database, self._names) if self._names else []


def vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float16]:
    """Embed a batch of passages, in half precision."""
    return passages(embedder, texts).vectors.astype(np.float16)


def mean(embedder: Embedder) -> bytes | None:
    """Return the mean of an embedder's vectors in its stored form, if it has one."""
    means = embedder.means
    return None if means is None else means.passage.astype(np.float16).tobytes()


def passages(embedder: Embedder, texts: Sequence[str]) -> Passages:
    """Embed a batch. A text that the embedder refuses gets zeros, and does not block the others."""
    try:
        return embedder.read(texts)
    except EmbedderFailed as error:
        if not error.details.get("refused"):  # it may work later
            raise
        return Passages(np.stack([_vector_or_zeros(embedder, text) for text in texts]))


def _vector_or_zeros(embedder: Embedder, text: str) -> NDArray[np.float32]:
    for part in (text, text[:SHORT]):  # usually it is too long
        try:
            vector: NDArray[np.float32] = embedder.embed([part])[0]
        except EmbedderFailed as error:
            if not error.details.get("refused"):
                raise
        else:
            return vector
    return np.zeros(embedder.dimensions, np.float32)
