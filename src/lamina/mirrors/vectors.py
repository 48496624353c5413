"""Vectors for mirrors: those that the store's index already has, and new ones for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.mirrors import Copy
from lamina.store.tables import vectors

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database


class Vectors:
    """One embedder's vectors. Embedding is slow and may cost money, so stored ones are reused."""

    def __init__(self, embedder: Embedder, database: Database | None) -> None:
        self._embedder = embedder
        self._database = database

    def of(self, copies: Sequence[Copy]) -> list[list[float]]:
        """Get the vector of each copy; zeros for a text that the embedder cannot embed."""
        from lamina.search import indexing

        known = self._stored([copy.seq for copy in copies])
        missing = [copy for copy in copies if copy.seq not in known]
        if missing:
            new = indexing.vectors(self._embedder, [copy.content for copy in missing])
            rows = new.astype("float32").tolist()
            known |= {copy.seq: row for copy, row in zip(missing, rows, strict=True)}
        return [known[copy.seq] for copy in copies]

    def _stored(self, numbers: Sequence[int]) -> dict[int, list[float]]:
        if self._database is None:
            return {}
        with self._database.moment() as connection:
            space = vectors.find(connection, self._embedder.name)
            if space is None:
                return {}
            stored, rows = vectors.exact(connection, space, numbers)
        return dict(zip(stored.tolist(), rows.astype("float32").tolist(), strict=True))
