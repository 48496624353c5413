"""Memories that are in the archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamina import Operator
from lamina.model.record import Record
from tests.conftest import Desk

LOW = 0.1  # an importance that nothing else here has


def archived(op: Operator, *texts: str, **fields: Any) -> list[Record]:
    """Records that were remembered and have left, in one file, as they were before."""
    made = op.remember_many([{"content": text, "importance": LOW, **fields} for text in texts])
    assert op.prune(importance_below=0.2) == {"pruned": len(texts), "dry_run": False}
    return made


def files(desk: Desk, agent: str = "sky") -> list[Path]:
    """The files of the archive, by name."""
    folder = desk.folder(agent) / "archive"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def kept(desk: Desk) -> list[str]:
    """The texts of all lines in all files of the archive."""
    return [
        json.loads(line)["content"]
        for file in files(desk)
        if file.suffix == ".jsonl"
        for line in file.read_text("utf-8").splitlines()
    ]


def problems(op: Operator) -> list[str]:
    return [problem.place for problem in op.audit_verify()["events"].problems]
