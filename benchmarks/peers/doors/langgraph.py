"""LangGraph's SqliteStore with its vector index, opened as its documentation does.

Its SQLite is that of `pysqlite3-binary`, since not every Python's can load sqlite-vec.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item

NO_WORDS = "no keyword search"
EVERYTHING = ("memories",)
TEXT = ["text"]


class Langgraph(Door):
    """A user is a namespace below the one that all memories share."""

    batch = 5000  # SQLite takes 32,766 values in a statement, and a row has five
    cannot = {"keyword": NO_WORDS, "hybrid": NO_WORDS}  # noqa: RUF012 - a constant of the class
    store: Any

    def load(self) -> None:
        sys.modules["sqlite3"] = importlib.import_module("pysqlite3")
        self.sqlite = importlib.import_module("langgraph.store.sqlite")
        self.base = importlib.import_module("langgraph.store.base")

    def open(self, folder: Path) -> None:
        # `fields` is documented, but this version reads `text_fields`.
        index = {
            "dims": self.vectors.dimensions,
            "embed": self.vectors.lists,
            "fields": TEXT,
            "text_fields": TEXT,
        }
        self.opened = self.sqlite.SqliteStore.from_conn_string(
            str(folder / "store.db"), index=index
        )
        self.store = self.opened.__enter__()
        self.store.setup()

    def add(self, item: Item) -> None:
        self.store.put((*EVERYTHING, item.user), str(item.number), {"text": item.text})

    def add_many(self, items: Sequence[Item]) -> None:
        self.store.batch(
            [
                self.base.PutOp((*EVERYTHING, item.user), str(item.number), {"text": item.text})
                for item in items
            ]
        )

    def vector(self, question: str) -> list[int]:
        return self._asked(EVERYTHING, question)

    def filtered(self, question: str, user: str) -> list[int]:
        return self._asked((*EVERYTHING, user), question)

    def _asked(self, namespace: tuple[str, ...], question: str) -> list[int]:
        return [int(item.key) for item in self.store.search(namespace, query=question, limit=LIMIT)]

    def count(self) -> int:
        return int(self.store.conn.execute("SELECT count(*) FROM store").fetchone()[0])

    def numbers(self) -> set[int]:
        return {int(item.key) for item in self.store.search(EVERYTHING, limit=1_000_000)}

    def close(self) -> None:
        self.opened.__exit__(None, None, None)
