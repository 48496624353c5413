"""Describe what the tables and the rooms above them need of the store and of a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, Self

from lamina.home.settings import Settings
from lamina.model.hashing import Salts
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, Cursor, Database
from lamina.store.tables.records import Row


class RecordSource(Protocol):
    """A store from which records are read."""

    id: str
    agent: str
    folder: Path
    database: Database
    settings: Settings
    salts: Salts

    def record(self, row: Row) -> Record:
        """Build the record of a row."""
        ...

    def get(self, record_id: str) -> Record | None:
        """Find a record, including archived ones."""
        ...

    def archived_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Read every line of the archive."""
        ...

    def path_of(self, name: str) -> Path:
        """Return the path of one of the agent's files or folders."""
        ...


class OpenTransaction(Protocol):
    """An open transaction, which ends with its event."""

    now: datetime

    @property
    def cursor(self) -> Cursor: ...

    @property
    def db(self) -> Connection: ...

    @property
    def number(self) -> int: ...

    def tell(self, name: str, said: Mapping[str, Any], /) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: Any) -> None: ...
