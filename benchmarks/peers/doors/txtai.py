"""txtai: a database of embeddings and content with a hybrid index, stored by `save`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item, Vectors

# A filter is applied to the candidates: with one memory in a hundred, these leave about twenty.
CANDIDATES = 2000
FILTERED = (
    f"select id, text, score from txtai where similar(:question, {CANDIDATES}) and owner = :owner"
)
KNOWN: list[Vectors] = []


def transform(texts: Sequence[str]) -> Any:
    """Look vectors up; the saved index of txtai refers to this function by name."""
    return importlib.import_module("numpy").stack([KNOWN[-1].of(text) for text in texts])


class Txtai(Door):
    """txtai in memory until `save` writes all of it, without which an add is not durable."""

    batch = 1_000_000  # an index is built for as many as it is first given
    embeddings: Any

    def load(self) -> None:
        os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"
        self.txtai = importlib.import_module("txtai")

    def open(self, folder: Path) -> None:
        KNOWN[:] = [self.vectors]
        self.path = str(folder / "index")
        how = {
            "method": "external",
            "transform": f"{__name__}.transform",
            "content": True,
            "hybrid": True,
        }
        self.embeddings = self.txtai.Embeddings(how)
        if self.embeddings.exists(self.path):
            self.embeddings.load(self.path)

    def add(self, item: Item) -> None:
        self.add_many([item])
        self.settle()

    def add_many(self, items: Sequence[Item]) -> None:
        self.embeddings.upsert(
            [(item.number, {"text": item.text, "owner": item.user}, None) for item in items]
        )

    def settle(self) -> None:
        self.embeddings.save(self.path)

    def keyword(self, question: str) -> list[int]:
        return self._asked(question, weights=0.0)

    def vector(self, question: str) -> list[int]:
        return self._asked(question, weights=1.0)

    def hybrid(self, question: str) -> list[int]:
        return self._asked(question)

    def filtered(self, question: str, user: str) -> list[int]:
        return self._asked(FILTERED, parameters={"question": question, "owner": user})

    def _asked(self, question: str, **how: Any) -> list[int]:
        return [int(row["id"]) for row in self.embeddings.search(question, limit=LIMIT, **how)]

    def count(self) -> int:
        return int(self.embeddings.count()) if self.embeddings.isdense() else 0

    def numbers(self) -> set[int]:
        if not self.embeddings.isdense():
            return set()
        return {
            int(row["id"])
            for row in self.embeddings.search("select id from txtai", limit=1_000_000)
        }

    def close(self) -> None:
        self.embeddings.close()
