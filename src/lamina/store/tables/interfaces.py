"""Describe what tables and the rooms above them ask of the store and of a transaction."""

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
    """A store whose records are read."""

    id: str
    agent: str
    folder: Path
    database: Database
    settings: Settings
    salts: Salts

    def record(self, row: Row) -> Record:
        """Make the record of a row."""
        ...

    def get(self, record_id: str) -> Record | None:
        """Find a record, also in the archive."""
        ...

    def archived_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Read every line of the archive."""
        ...

    def path_of(self, name: str) -> Path:
        """Tell where a file or folder of the agent lies."""
        ...


class OpenTransaction(Protocol):
    """A transaction that is under way, and ends with its event."""

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
