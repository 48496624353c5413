"""What searches keep in memory of a store or one of its scopes: the part common to both."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from lamina.store.engine.sql import Connection
from lamina.store.index.catalogue import Catalogue, Rows
from lamina.store.tables.vectors import SignBits, Space, Vectors


class LoadedIndex(ABC):
    """The catalogue of some records, and the sign bits of their vectors.

    All handles of a process share it. One search at a time uses it, holding the lock.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.lock = threading.Lock()
        self.catalogue = catalogue
        self.codes: dict[str, SignBits] = {}  # by the name of the space
        # Vectors that are not stored yet, by the name of the space and the row.
        self.fresh: dict[str, dict[int, Vectors]] = {}
        self.fresh_tokens: dict[str, dict[int, bytes]] = {}

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        bits = sum(codes.footprint for codes in self.codes.values())
        fresh = sum(
            2 * self.codes[name].dimensions * len(some) for name, some in self.fresh.items()
        )
        return self.catalogue.footprint + bits + fresh

    @abstractmethod
    def refresh(self, connection: Connection) -> None:
        """Read what happened since the last refresh."""

    @abstractmethod
    def holding(self, connection: Connection, word: str, where: str) -> Rows:
        """List the rows that contain a word in this part."""

    @abstractmethod
    def speaking_of(self, connection: Connection, since: int, until: int) -> Rows:
        """List the rows whose text mentions a day in this span."""

    @abstractmethod
    def texts(self, connection: Connection, first: int) -> list[tuple[int, str]]:
        """List the rows from `first` on that exist, and their texts."""

    def bits(self, connection: Connection, space: Space) -> SignBits:
        """Get the bits of a space's vectors, including those this process has not stored yet."""
        codes = self.codes.get(space.name)
        if codes is None or not codes.are_of(space):
            codes = self.codes[space.name] = self._new_bits(space)
            self.fresh[space.name], self.fresh_tokens[space.name] = {}, {}
        codes.refresh(connection, space)
        fresh, tokens = self.fresh[space.name], self.fresh_tokens[space.name]
        last = self.catalogue.last_row(space.seen)
        for row in [row for row in fresh if row <= last]:
            del fresh[row]
            tokens.pop(row, None)
        return codes

    def forget_vectors(self) -> None:
        """Forget all vectors, because the rows now belong to other records."""
        self.codes.clear()
        self.fresh.clear()
        self.fresh_tokens.clear()

    def _new_bits(self, space: Space) -> SignBits:
        return SignBits(space.dimensions)
