"""Keep the index of the archive: its files, their lines, and files that belong to no archive."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lamina.model.clock import from_micros
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import records

INSERT_FILE = (
    "INSERT INTO archives (number, file, why, lines, sha256, made_at) VALUES (?, ?, ?, ?, ?, ?)"
)
INSERT = (
    "INSERT INTO archived (id, user, key, archive, line, start, bytes, hash, event)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
MOVE = "UPDATE archived SET line = ?, start = ?, bytes = ? WHERE id = ?"
PLACES = (
    "SELECT id, user, file, line, start, bytes, hash, event FROM archived"
    " JOIN archives ON archive = archives.number"
)


class Place(NamedTuple):
    """The place of an archived record, and the hash that fixes it."""

    id: str
    user: str | None
    file: str
    line: int
    start: int
    size: int
    hash: bytes
    event: int

    @property
    def label(self) -> str:
        return f"{self.file}:{self.line}"


class File(NamedTuple):
    """One file of the archive."""

    number: int
    file: str
    why: str
    lines: int
    sha256: bytes
    made_at: datetime


def find(connection: Connection, record_id: str) -> Place | None:
    """Find the place of an archived record."""
    row = connection.execute(f"{PLACES} WHERE id = ?", (record_id,)).get
    return None if row is None else Place(*row)


def find_key(connection: Connection, key: str, user: str | None) -> Place | None:
    """Find the place of the record with an idempotency key."""
    query = f"{PLACES} WHERE key = ? AND coalesce(user, '') = ?"
    row = connection.execute(query, (key, user or "")).get
    return None if row is None else Place(*row)


def files(connection: Connection) -> list[File]:
    """List every file, the newest first."""
    query = "SELECT number, file, why, lines, sha256, made_at FROM archives ORDER BY number DESC"
    return [
        File(number, file, why, lines, digest, from_micros(made))
        for number, file, why, lines, digest, made in rows(connection, query)
    ]


def count(connection: Connection, user: str | None) -> int:
    """Count the archived records that this user may see."""
    query = f"SELECT count(*) FROM archived WHERE {records.visible('?1')}"
    number = connection.execute(query, (user,)).get
    return number if isinstance(number, int) else 0


def count_lines(connection: Connection) -> int:
    """Count the lines of all files."""
    query = "SELECT CAST(coalesce(sum(lines), 0) AS BIGINT) FROM archives"
    return int(str(connection.execute(query).get))


def names(connection: Connection) -> list[str]:
    """List the names of all files, the oldest first."""
    return [file for (file,) in rows(connection, "SELECT file FROM archives ORDER BY number")]


def next_number(cursor: Cursor) -> int:
    """Return the number that the next file will get."""
    number = cursor.execute("SELECT coalesce(max(number), 0) + 1 FROM archives").get
    assert isinstance(number, int)
    return number


def number_of(cursor: Cursor, file: str) -> int:
    """Return the number of an existing file."""
    number = cursor.execute("SELECT number FROM archives WHERE file = ?", (file,)).get
    assert isinstance(number, int)
    return number


def replace_file(cursor: Cursor, number: int, file: str, lines: int, sha256: bytes) -> None:
    """Replace the file of an archive."""
    update = "UPDATE archives SET file = ?, lines = ?, sha256 = ? WHERE number = ?"
    cursor.execute(update, (file, lines, sha256, number))


def drop_file(cursor: Cursor, number: int) -> None:
    """Remove an archive of which nothing is left."""
    cursor.execute("DELETE FROM archives WHERE number = ?", (number,))


def take_out(cursor: Cursor, record_id: str) -> tuple[int, int]:
    """Remove an archived record; return its archive and the last event about it."""
    query = "SELECT archive, event FROM archived WHERE id = ?"
    number, event = cursor.execute(query, (record_id,)).get
    cursor.execute("DELETE FROM archived WHERE id = ?", (record_id,))
    return number, event


def doom(cursor: Cursor, file: str) -> None:
    """Note that a file no longer belongs to an archive and must be removed."""
    cursor.execute("INSERT INTO strays (file, doomed) VALUES (?, 1)", (file,))


def clear_stray(target: Connection | Cursor, file: str) -> None:
    """Remove a file from the list of strays."""
    target.execute("DELETE FROM strays WHERE file = ?", (file,))
