"""The reference MCP memory server: a graph in one JSONL file, queried over pipes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item
from benchmarks.peers.doors.stdio import Server

NO_VECTORS = "no vectors"
PROGRAM = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"


class Reference(Door):
    """A memory is an entity with one observation.

    The server finds what contains the whole query, so it is queried for one word.
    """

    batch = 1000
    cannot = {  # noqa: RUF012 - a constant of the class
        "import": "a server: its start is in the time to open",
        "vector": NO_VECTORS,
        "hybrid": NO_VECTORS,
        "filtered": "no filters",
        "quality": "no ranking: finds what contains the whole query, letter by letter",
    }
    server: Any

    def load(self) -> None:
        node = shutil.which("node")
        assert node is not None
        self.command = [node, str(Path(os.environ["LAMINA_PEER"]) / PROGRAM)]

    def open(self, folder: Path) -> None:
        self.server = Server(
            self.command, {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
        )

    def add(self, item: Item) -> None:
        self.add_many([item])

    def add_many(self, items: Sequence[Item]) -> None:
        self.server.call(
            "create_entities",
            entities=[
                {
                    "name": f"memory-{item.number}",
                    "entityType": item.user,
                    "observations": [item.text],
                }
                for item in items
            ],
        )

    def keyword(self, question: str) -> list[int]:
        word = max(question.rstrip("?").split(), key=len)
        found = self.server.call("search_nodes", query=word)["entities"]
        return [int(entity["name"][7:]) for entity in found[:LIMIT]]

    def ready(self) -> None:
        self.server.call(
            "search_nodes", query="no memory has this word"
        )  # it counts by sending everything

    def count(self) -> int:
        return len(self.numbers())

    def numbers(self) -> set[int]:
        return {int(entity["name"][7:]) for entity in self.server.call("read_graph")["entities"]}

    def close(self) -> None:
        self.server.close()
