"""The golden files of other programs, and all that a store took from one."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw

from lamina import Operator
from lamina.model.record import Record

GOLDEN = Path(__file__).parents[2] / "golden" / "formats"
FILES = {
    "sky.jsonl": "lines",
    "milton.jsonl": "lines",
    "skylattice.json": "skylattice",
    "sentinel.db": "sentinel",
    "mem0.json": "mem0",
    "mem0_history.json": "mem0",
    "mcp-memory.jsonl": "mcp-memory",
}


def golden(folder: Path, name: str) -> Path:
    """A copy of a golden file that an import may put its rejects beside."""
    path = folder / name
    if name == "sentinel.db":
        connection = apsw.Connection(str(path))
        connection.execute((GOLDEN / "sentinel.sql").read_text("utf-8"))
        connection.close()
    else:
        shutil.copyfile(GOLDEN / name, path)
    return path


def everything(op: Operator) -> list[Record]:
    """All records, oldest first."""
    return sorted(op.list(states=None, limit=10_000), key=lambda record: record.seq)
