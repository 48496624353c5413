"""LanceDB in this process: given vectors, full text, a bitmap of users, a large vector index."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item

# Its documentation scans smaller tables without an index, and PQ needs data to be trained on.
INDEXED_FROM = 50_000
# This many times the hits are compared again by their full vectors, as it advises if PQ is too
# coarse.
REFINED = 10


class Lancedb(Door):
    """One table; hybrid search with its default, reciprocal rank fusion."""

    batch = 20_000
    table: Any

    def load(self) -> None:
        self.lancedb = importlib.import_module("lancedb")
        self.arrow = importlib.import_module("pyarrow")

    def open(self, folder: Path) -> None:
        database = self.lancedb.connect(str(folder))
        names = (
            ("number", self.arrow.int64()),
            ("user", self.arrow.string()),
            ("text", self.arrow.string()),
        )
        vector = ("vector", self.arrow.list_(self.arrow.float32(), self.vectors.dimensions))
        self.schema = self.arrow.schema([*names, vector])
        self.table = database.create_table("memories", schema=self.schema, exist_ok=True)

    def add(self, item: Item) -> None:
        self.add_many([item])

    def add_many(self, items: Sequence[Item]) -> None:
        rows = [
            {
                "number": item.number,
                "user": item.user,
                "text": item.text,
                "vector": self.vectors.of(item.text),
            }
            for item in items
        ]
        self.table.add(self.arrow.Table.from_pylist(rows, schema=self.schema))

    def settle(self) -> None:
        index = importlib.import_module("lancedb.index")
        if self.table.list_indices():
            self.table.optimize()
            return
        self.table.create_index("text", config=index.FTS())
        self.table.create_index("user", config=index.Bitmap())
        if self.count() >= INDEXED_FROM:
            self.table.create_index("vector", config=index.IvfPq(distance_type="cosine"))

    def keyword(self, question: str) -> list[int]:
        return self._numbers(self.table.search(question, query_type="fts"))

    def vector(self, question: str) -> list[int]:
        return self._numbers(
            self.table.search(self.vectors.of(question))
            .distance_type("cosine")
            .refine_factor(REFINED)
        )

    def hybrid(self, question: str) -> list[int]:
        return self._numbers(self._both(question))

    def filtered(self, question: str, user: str) -> list[int]:
        return self._numbers(self._both(question).where(f"user = '{user}'"))

    def _both(self, question: str) -> Any:
        asked = (
            self.table.search(query_type="hybrid").vector(self.vectors.of(question)).text(question)
        )
        return asked.distance_type("cosine").refine_factor(REFINED)

    @staticmethod
    def _numbers(asked: Any) -> list[int]:
        return [
            int(row["number"]) for row in asked.limit(LIMIT).select(["number", "text"]).to_list()
        ]

    def count(self) -> int:
        return int(self.table.count_rows())

    def numbers(self) -> set[int]:
        return set(self.table.to_arrow()["number"].to_pylist())

    def close(self) -> None:
        self.table = None
