"""Lamina with its defaults, durable and with its own embedder; many vectors are looked up."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item, Vectors
from lamina.embedders import Scale, VectorsOnly

PAGE = 10_000
LATE = ("lamina.memory.agent", "lamina.memory.opening", "lamina.search.engine")


class Fake(VectorsOnly):
    """The made-up vectors of the other peers, as an embedder.

    Those of questions are computed here, because Lamina embeds what a question asks for, not its
    exact text.
    """

    name = "fake-256"
    dimensions = 256
    scale = Scale(0.0, 0.1)

    def embed(self, texts: Sequence[str]) -> Any:
        return importlib.import_module("benchmarks.peers.work").embedded(
            texts, self.name.partition("-")[0]
        )


class LookupEmbedder(VectorsOnly):
    """An embedder that looks up the vectors given to every peer, and computes all others."""

    def __init__(self, embedder: Any, vectors: Vectors) -> None:
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self.scale = embedder.scale
        self._embedder = embedder
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Any:
        if not all(map(self._vectors.knows, texts)):
            return self._embedder.embed(texts)
        return importlib.import_module("numpy").stack([self._vectors.of(text) for text in texts])


class Lamina(Door):
    """A handle of an agent; a user is a tag."""

    batch = 20_000
    memory: Any
    now: datetime | None = None

    def load(self) -> None:
        self.lamina = importlib.import_module("lamina")
        for module in LATE:  # which would be imported when the store is opened and first indexed
            importlib.import_module(module)

    def open(self, folder: Path) -> None:
        self.memory = self.lamina.open(
            "bench", home=folder, clock=lambda: self.now or datetime.now(UTC)
        )
        self.recall = self.memory._scope.recall  # noqa: SLF001 - only a benchmark may
        if self.embedder == "fake":
            self.recall.__dict__["embedders"] = (Fake(),)

    def add(self, item: Item) -> None:
        self.memory.remember(item.text, tags=[item.user], metadata={"number": item.number})

    def add_many(self, items: Sequence[Item]) -> None:
        if "indexer" not in self.recall.__dict__:
            own = self.recall.embedders
            self.recall.__dict__["embedders"] = (LookupEmbedder(own[0], self.vectors),)
            _ = self.recall.indexer  # only this one looks up; questions are read as usual
            self.recall.__dict__["embedders"] = own
        self.memory.remember_many(
            {
                "content": item.text,
                "tags": [item.user],
                "metadata": {"number": item.number},
                **item.fields,
            }
            for item in items
        )
        # Vectors are computed behind the writes; the time until they are stored is measured.
        self.memory.index()

    def settle(self) -> None:
        self.memory.index()

    def keyword(self, question: str) -> list[int]:
        return self._numbers(self.memory.search(question, limit=LIMIT, ranker="keyword"))

    def vector(self, question: str) -> list[int]:
        return self._numbers(self.memory.search(question, limit=LIMIT, ranker="semantic"))

    def hybrid(self, question: str) -> list[int]:
        return self._numbers(self.memory.search(question, limit=LIMIT))

    def filtered(self, question: str, user: str) -> list[int]:
        ranker = os.environ.get("PEERS_FILTERED", "hybrid")
        found = self.memory.search(question, limit=LIMIT, tags=[user], ranker=ranker)
        return self._numbers(found)

    def at(self, now: str | None) -> None:
        self.now = datetime.fromisoformat(now) if now else None

    def count(self) -> int:
        return sum(states["active"] for states in self.memory.status()["records"].values())

    def numbers(self) -> set[int]:
        return {int(record.metadata["number"]) for record in self.memory.list(limit=PAGE)}

    def close(self) -> None:
        self.memory.close()

    @staticmethod
    def _numbers(hits: Any) -> list[int]:
        return [int(hit.record.metadata["number"]) for hit in hits]
