"""ChromaDB in this process: a persistent client, vectors given, HNSW over cosines."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item

NO_WORDS = "no ranked keyword search on disk: `where_document` only filters"


class Chroma(Door):
    """One collection; a user is a value of the metadata."""

    batch = 5000  # below the client's `get_max_batch_size()`
    cannot = {"keyword": NO_WORDS, "hybrid": NO_WORDS}  # noqa: RUF012 - a constant of the class
    collection: Any

    def load(self) -> None:
        self.chromadb = importlib.import_module("chromadb")

    def open(self, folder: Path) -> None:
        settings = self.chromadb.Settings(anonymized_telemetry=False)
        self.client = self.chromadb.PersistentClient(path=str(folder), settings=settings)
        self.collection = self.client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, item: Item) -> None:
        self.add_many([item])

    def add_many(self, items: Sequence[Item]) -> None:
        self.collection.add(
            ids=[str(item.number) for item in items],
            documents=[item.text for item in items],
            embeddings=[self.vectors.of(item.text) for item in items],
            metadatas=[{"user": item.user} for item in items],
        )

    def vector(self, question: str) -> list[int]:
        return self._asked(question)

    def filtered(self, question: str, user: str) -> list[int]:
        return self._asked(question, where={"user": user})

    def _asked(self, question: str, **how: Any) -> list[int]:
        found = self.collection.query(
            query_embeddings=[self.vectors.of(question)], n_results=LIMIT, **how
        )
        return [int(name) for name in found["ids"][0]]

    def count(self) -> int:
        return int(self.collection.count())

    def numbers(self) -> set[int]:
        return {int(name) for name in self.collection.get(include=[])["ids"]}

    def close(self) -> None:
        self.client.close()
