"""Files of mirrors."""

from __future__ import annotations

from pathlib import Path

from lamina import Operator
from lamina.mirrors.jsonl import LONG, SHORT, JsonlMirror
from lamina.mirrors.sync import sync
from lamina.model.record import Record
from lamina.store.tables import outbox
from tests.conftest import TESTER


def archive(op: Operator, record: Record) -> None:
    """Send a record to the archive, as a rotation does."""
    row = next(
        row for row in outbox.active(op._scope.store.database, 0, 10_000) if row[1] == record.id
    )
    assert (
        op._scope.store.archive.add(TESTER, "test", op._scope.clock(), "test", [(row[0], row[-2])])
        == 1
    )


def files(folder: Path) -> tuple[bytes, bytes]:
    return (folder / SHORT).read_bytes(), (folder / LONG).read_bytes()


def rebuilt(op: Operator, folder: Path, form: str = "sky") -> tuple[bytes, bytes]:
    """The files that a mirror has which was made today."""
    sync(op._scope.store, JsonlMirror(folder, form))
    return files(folder)
