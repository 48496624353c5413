"""basic-memory: a Markdown note for each memory, over MCP; many at once by files and `reindex`.

Its vectors come from an endpoint on the loopback. Its SQLite is that of `pysqlite3-binary`, since
not every Python's can load sqlite-vec.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.doors.base import LIMIT, Door, Item, Vectors
from benchmarks.peers.doors.loopback import Endpoint
from benchmarks.peers.doors.stdio import Server, ServerError

PROGRAM = """
import sys, pysqlite3, pysqlite3.dbapi2
sys.modules["sqlite3"], sys.modules["sqlite3.dbapi2"] = pysqlite3, pysqlite3.dbapi2
from basic_memory.cli.main import app
app()
"""
NOTE = "---\ntitle: memory-{number}\ntype: note\ntags:\n- {user}\n---\n\n{text}\n"
LISTED = re.compile(r"^\S+ memory-(\d+)\.md", re.MULTILINE)
TOTAL = re.compile(r"(\d+) total item")
PAGE = 100


class Basic(Door):
    """A user is a tag. The server starts at the first request, and is stopped for `reindex`."""

    batch = 1000
    cannot = {"import": "a server: its start is in the time to open"}  # noqa: RUF012 - a constant of the class

    def __init__(self, vectors: Vectors, embedder: str) -> None:
        super().__init__(vectors, embedder)
        self.endpoint = Endpoint(vectors)
        self.server: Server | None = None

    def load(self) -> None:
        self.command = [sys.executable, "-c", PROGRAM]

    def open(self, folder: Path) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir(exist_ok=True)
        self.environment = {
            **os.environ,
            "BASIC_MEMORY_HOME": str(self.notes),
            "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "true",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_PROVIDER": "openai",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "looked-up",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": str(self.vectors.dimensions),
            # Its own default is for a model on this machine; an endpoint can be sent more at a
            # time.
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_BATCH_SIZE": "64",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_SYNC_BATCH_SIZE": "64",
            # The threshold below which nothing is similar is also chosen for its own model.
            "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0",
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_NO_PROMOS": "1",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
            "OPENAI_API_KEY": "never-used",
            "OPENAI_BASE_URL": self.endpoint.address,
        }
        self.server = Server([*self.command, "mcp"], self.environment)

    def add(self, item: Item) -> None:
        self.endpoint.learn(item.number, item.text)
        self._called(
            "write_note",
            title=f"memory-{item.number}",
            content=item.text,
            directory="/",
            tags=[item.user],
        )

    def add_many(self, items: Sequence[Item]) -> None:
        self._stop()
        for item in items:
            self.endpoint.learn(item.number, item.text)
            text = NOTE.format(number=item.number, user=item.user, text=item.text)
            (self.notes / f"memory-{item.number}.md").write_text(text, "utf-8")

    def settle(self) -> None:
        self._stop()
        done = subprocess.run(
            [*self.command, "reindex", "--project", "main"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServerError(f"reindex: {done.stdout[-300:]}")

    def keyword(self, question: str) -> list[int]:
        return self._asked(question, "text")

    def vector(self, question: str) -> list[int]:
        return self._asked(question, "vector")

    def hybrid(self, question: str) -> list[int]:
        return self._asked(question, "hybrid")

    def filtered(self, question: str, user: str) -> list[int]:
        return self._asked(question, "hybrid", tags=[user])

    def _asked(self, question: str, kind: str, **how: Any) -> list[int]:
        found = self._called(
            "search_notes",
            query=question,
            search_type=kind,
            page_size=LIMIT,
            output_format="json",
            **how,
        )
        if isinstance(found, str):
            raise ServerError(found[:300])
        return [int(hit["title"].rpartition("-")[2]) for hit in found["results"]]

    def count(self) -> int:
        total = TOTAL.search(self._listed(1))
        return int(total[1]) if total else 0

    def numbers(self) -> set[int]:
        pages = range(1, self.count() // PAGE + 2)
        return {int(number) for page in pages for number in LISTED.findall(self._listed(page))}

    def _listed(self, page: int) -> str:
        return str(self._called("list_directory", dir_name="/", page=page, page_size=PAGE))

    def _called(self, tool: str, **arguments: Any) -> Any:
        if self.server is None:
            self.server = Server([*self.command, "mcp"], self.environment)
        return self.server.call(tool, project="main", **arguments)["result"]

    def _stop(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None

    def close(self) -> None:
        self._stop()
