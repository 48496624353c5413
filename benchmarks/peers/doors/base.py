"""The verbs of every door, and the vectors it looks up instead of embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 10


class Item(NamedTuple):
    """One memory of the work: its number, its text, its user, and its other fields."""

    number: int
    text: str
    user: str
    fields: Mapping[str, Any] = {}


class Vectors:
    """The vectors of texts, precomputed and the same for every peer. Some strip a text first."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._rows: dict[str, Any] = {}

    def learn(self, texts: Sequence[str], rows: Any) -> None:
        self._rows.update(zip(map(str.strip, texts), rows, strict=True))

    def knows(self, text: str) -> bool:
        return text.strip() in self._rows

    def of(self, text: str) -> Any:
        return self._rows[text.strip()]

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.of(text).tolist() for text in texts]


class Door:
    """A peer behind verbs that are the same for all; `cannot` says why a verb is missing."""

    batch = 1000
    cannot: Mapping[str, str] = {}

    def __init__(self, vectors: Vectors, embedder: str) -> None:
        self.vectors = vectors
        self.embedder = embedder

    def load(self) -> None:
        """Import the peer's libraries."""
        raise NotImplementedError

    def open(self, folder: Path) -> None:
        """Open the store in this folder, or create it."""
        raise NotImplementedError

    def add(self, item: Item) -> None:
        """Add one memory so that it is durable when this returns, as far as the peer can."""
        raise NotImplementedError

    def add_many(self, items: Sequence[Item]) -> None:
        """Add many memories in the fastest way that the peer documents."""
        raise NotImplementedError

    def settle(self) -> None:
        """Build what searches need, if the peer does not do so by itself."""

    def keyword(self, question: str) -> list[int]:
        raise NotImplementedError

    def vector(self, question: str) -> list[int]:
        raise NotImplementedError

    def hybrid(self, question: str) -> list[int]:
        raise NotImplementedError

    def filtered(self, question: str, user: str) -> list[int]:
        """Run the peer's best search among one user's memories."""
        raise NotImplementedError

    def best(self, question: str) -> list[int]:
        """Run the search that would be used for the best quality."""
        return self.vector(question) if "hybrid" in self.cannot else self.hybrid(question)

    def at(self, now: str | None) -> None:
        """Set the time for the next question; most peers do not need it."""

    def ready(self) -> None:
        """Request the cheapest answer that shows that the store is open."""
        self.count()

    def count(self) -> int:
        raise NotImplementedError

    def numbers(self) -> set[int]:
        """List the numbers of the stored memories."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError
