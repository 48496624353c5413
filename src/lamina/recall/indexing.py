"""Bringing the index up to date: vectors for records that have none, and full blocks for the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lamina.recall import is_quick
from lamina.recall.embedders import Embedder
from lamina.store import sealing
from lamina.store.store import Store

BATCH = 1024
SLOW_BATCH = 64  # of embedders that take long, so that little is lost when the process dies
Progress = Callable[[int, int], None]


class Indexer:
    """Does one batch at a time. Any number of processes may do so; each batch is stored once."""

    def __init__(self, store: Store, embedders: Sequence[Embedder]) -> None:
        self._database = store.database
        self._embedders = embedders
        self._names = tuple(embedder.name for embedder in embedders)

    def backlog(self) -> int:
        """How many vectors are missing."""
        return sealing.backlog(self._database, self._names)

    def step(self) -> bool:
        """Embed and store one batch for each embedder, and write blocks; whether there is more to do."""
        more = False
        for embedder in self._embedders:
            space, batch = sealing.waiting(self._database, embedder.name, BATCH if is_quick([embedder.name]) else SLOW_BATCH)
            if batch:
                made = embedder.embed([content for _, content in batch]).astype(np.float16)
                sealing.embedded(self._database, embedder.name, space.seen if space else 0, batch, made)
                more = True
        return sealing.seal(self._database) or more

    def run(self, progress: Progress | None = None) -> int:
        """Do all there is to do; how many vectors were missing."""
        total = left = self.backlog()
        while self.step():
            if progress is not None:
                left = self.backlog()
                progress(total - min(left, total), total)
        sealing.forget_others(self._database, self._names)
        return total
