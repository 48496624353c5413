"""Vectors for mirrors: those that the index of the store has already, and new ones for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.mirrors import Copy
from lamina.store.tables import vectors

if TYPE_CHECKING:
    from lamina.embedders import Embedder
    from lamina.store.engine.sql import Database


class Vectors:
    """What one embedder makes of texts. To embed is slow and may cost money, so what the store has is not made again."""

    def __init__(self, embedder: Embedder, database: Database | None) -> None:
        self._embedder = embedder
        self._database = database

    def of(self, copies: Sequence[Copy]) -> list[list[float]]:
        """The vector of each; zeros for a text that an embedder can do nothing with."""
        from lamina.search import indexing

        found = self._stored([copy.seq for copy in copies])
        missing = [copy for copy in copies if copy.seq not in found]
        if missing:
            made = indexing.vectors(self._embedder, [copy.content for copy in missing])
            found |= {
                copy.seq: row
                for copy, row in zip(missing, made.astype("float32").tolist(), strict=True)
            }
        return [found[copy.seq] for copy in copies]

    def _stored(self, numbers: Sequence[int]) -> dict[int, list[float]]:
        if self._database is None:
            return {}
        with self._database.moment() as connection:
            space = vectors.find(connection, self._embedder.name)
            if space is None:
                return {}
            having, rows = vectors.exact(connection, space, numbers)
        return dict(zip(having.tolist(), rows.astype("float32").tolist(), strict=True))
