"""mem0 without a language model (`infer=False`), over Qdrant in this process or over Chroma.

Its embedder is created with a key that is never used, and then replaced by one that looks vectors
up.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item, Vectors

AGENT = "bench"
NO_MODEL = "its BM25 needs a model of fastembed that is fetched from the network"
NO_WORDS = "no keyword search over this store"
EVERYTHING = 1_000_000


class Looked:
    """An embedder with mem0's interface that looks vectors up."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> Any:
        return self._vectors.of(text).tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> Any:
        return self._vectors.lists(texts)


class Mem0(Door):
    """Every memory belongs to one agent, which mem0 needs for a search; users are mem0's users."""

    batch = 100
    provider = ""
    memory: Any

    def load(self) -> None:
        self.mem0 = importlib.import_module("mem0")

    def open(self, folder: Path) -> None:
        self.memory = self.mem0.Memory.from_config(
            {
                "vector_store": {"provider": self.provider, "config": self.where(folder)},
                "llm": {"provider": "openai", "config": {"api_key": "never-used"}},
                "embedder": {"provider": "openai", "config": {"api_key": "never-used"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.memory.embedding_model = Looked(self.vectors)

    def where(self, folder: Path) -> dict[str, Any]:
        return {"collection_name": "memories", "path": str(folder / self.provider)}

    def add(self, item: Item) -> None:
        self.memory.add(
            item.text,
            user_id=item.user,
            agent_id=AGENT,
            metadata={"number": item.number},
            infer=False,
        )

    def add_many(self, items: Sequence[Item]) -> None:
        for (
            item
        ) in items:  # without a model there is no way to add several with what is known about each
            self.add(item)

    def vector(self, question: str) -> list[int]:
        return self._asked(question, {"agent_id": AGENT})

    def filtered(self, question: str, user: str) -> list[int]:
        return self._asked(question, {"user_id": user})

    def _asked(self, question: str, filters: dict[str, str]) -> list[int]:
        found = self.memory.search(question, top_k=LIMIT, filters=filters, threshold=0.0)
        return [int(hit["metadata"]["number"]) for hit in found["results"]]

    def count(self) -> int:
        return len(self.numbers())

    def numbers(self) -> set[int]:
        found = self.memory.get_all(filters={"agent_id": AGENT}, top_k=EVERYTHING)["results"]
        return {int(one["metadata"]["number"]) for one in found}

    def close(self) -> None:
        self.memory.close()


class Mem0Qdrant(Mem0):
    """Over Qdrant's local mode."""

    provider = "qdrant"
    cannot = {"keyword": NO_MODEL, "hybrid": NO_MODEL}  # noqa: RUF012 - a constant of the class

    def where(self, folder: Path) -> dict[str, Any]:
        return {
            **super().where(folder),
            "embedding_model_dims": self.vectors.dimensions,
            "on_disk": True,
        }

    def count(self) -> int:
        return int(self.memory.vector_store.client.count("memories").count)

    def close(self) -> None:
        super().close()
        self.memory.vector_store.client.close()


class Mem0Chroma(Mem0):
    """Over Chroma in this process."""

    provider = "chroma"
    cannot = {"keyword": NO_WORDS, "hybrid": NO_WORDS}  # noqa: RUF012 - a constant of the class

    def count(self) -> int:
        return int(self.memory.vector_store.collection.count())


os.environ.setdefault("MEM0_TELEMETRY", "False")
