"""Read plain tables of other programs' databases, trusting nothing, and write such tables."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from lamina.errors import InvalidInput, NotFound, StoreUnavailable
from lamina.home.folder import has_bytes
from lamina.model.rules import MAX_CONTENT_BYTES
from lamina.store.engine import file_header, raw_file
from lamina.store.engine.file_header import MAGIC
from lamina.text.words import one_line, shown

MAX_VALUE = 2 * MAX_CONTENT_BYTES
# Rows take hardly more bytes than their file, and reading takes work in proportion to it. A file
# that needs more was crafted to do harm.
GROWTH = 4
STEPS, FREE_STEPS, STEPS_PER_BYTE = 100_000, 20_000_000, 16
COMPUTED = (2, 3)  # columns that are computed from others, as `table_xinfo` says
READING = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
# The actions of our statements; a schema that makes them do more is refused. Functions are never
# called: SQLite reports those in default values, which reading a row does not compute.
ALLOWED = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION})
PLAIN = "CREATE TABLE "  # how the stored statement of a plain table begins, and of no other
LIMITS: Mapping[int, int] = {
    apsw.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 20,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
# Nothing in the file may run: no triggers, no views, and no modules of virtual tables.
DISTRUST: Mapping[int, int] = {
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
}
EPISODES = (
    "CREATE TABLE episodes (id TEXT PRIMARY KEY, timestamp DATETIME, summary TEXT,"
    " participants TEXT, tags TEXT, raw_hash TEXT, importance REAL)"
)
FACTS = (
    "CREATE TABLE facts (id TEXT PRIMARY KEY, content TEXT, source_episode TEXT, confidence REAL,"
    " created DATETIME, last_verified DATETIME, superseded_by TEXT)"
)


def is_database(path: Path) -> bool:
    """Tell whether a file begins like a SQLite database."""
    try:
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file")
        with raw_file.opened(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None


def tables(path: Path) -> list[str]:
    """List the names of the plain tables in a database, in lower case."""
    query = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    with _reading(path) as connection:
        found = connection.execute(query)
        return [str(name).lower() for name, sql in found if str(sql).startswith(PLAIN)]


def rows(path: Path, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a plain table one at a time, each as a dict of its columns."""
    if table not in tables(path):
        raise InvalidInput(f"{path} has no table {table}")
    left = GROWTH * _size(path) + MAX_VALUE
    with _reading(path) as connection:
        names = _columns(connection, path, table)
        connection.authorizer = _only_reading
        query = f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(table)}"
        for row in connection.execute(query):
            left -= sum(len(value) if isinstance(value, (str, bytes)) else 1 for value in row)
            if left < 0:
                problem = f"{path} gives far more than it holds: it was made to exhaust memory"
                raise InvalidInput(f"{problem}; nothing was imported")
            yield dict(zip(names, row, strict=True))


def _columns(connection: apsw.Connection, path: Path, table: str) -> list[str]:
    """List the columns that hold values; refuse a table with computed columns."""
    columns = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
    for _, name, *_, hidden in columns:
        if hidden in COMPUTED:
            column = f"the column {shown(name, 80)} of {table}"
            raise InvalidInput(f"{path}: {column} is computed, and only plain ones are read")
    return [str(name) for _, name, *_, hidden in columns if not hidden]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _reading(path: Path) -> Iterator[apsw.Connection]:
    """Open a connection that trusts nothing and writes nothing, not even a lock."""
    if any(has_bytes(path.with_name(path.name + suffix)) for suffix in ("-wal", "-journal")):
        problem = f"{path} is in use, or was not closed: its latest changes are in another file"
        raise InvalidInput(f"{problem}; close its program")
    size = _size(path)
    try:
        connection = apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=READING)
    except apsw.Error as error:
        raise _unreadable(path, error) from None
    try:
        for limit, value in LIMITS.items():
            connection.limit(limit, value)
        for option, on in DISTRUST.items():
            connection.config(option, on)
        connection.drop_modules(None)
        connection.set_progress_handler(_work_limit(size), STEPS)
        yield connection
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from None
    finally:
        connection.close()


def _work_limit(size: int) -> Callable[[], bool]:
    """Return a handler that stops a statement after more work than a file of this size needs."""
    calls, most = count(), (FREE_STEPS + STEPS_PER_BYTE * size) // STEPS
    return lambda: next(calls) >= most


def _only_reading(action: int, *_: object) -> int:
    return apsw.SQLITE_OK if action in ALLOWED else apsw.SQLITE_DENY


def _size(path: Path) -> int:
    """Return the size of a database by its header; anything after that is never read."""
    try:
        with raw_file.opened(path) as file:
            header, length = file_header.parsed(file.read(file_header.SIZE)), file.seek(0, 2)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if header is None:
        raise InvalidInput(f"{path} begins like a SQLite database, but its header makes no sense")
    if header.bytes > length:
        missing = f"{header.bytes - length:,} bytes are missing at its end"
        raise InvalidInput(f"{path} is a SQLite database that was cut off: {missing}")
    return header.bytes or length  # old versions of SQLite do not maintain the page count


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    reason = one_line(str(error), 200)
    return InvalidInput(
        f"{path} cannot be read as a SQLite database: {reason}; nothing was imported"
    )


def write(path: Path, filled: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """Create a database with tables and their rows; each key is the statement for its table."""
    try:
        connection = apsw.Connection(str(path))
    except apsw.Error as error:
        raise StoreUnavailable(f"{path} cannot be written: {shown(str(error))}") from error
    try:
        connection.pragma("journal_mode", "off")
        with connection:
            for create, table_rows in filled.items():
                connection.execute(create)
                name, columns = create.split("(", 1)[0].split()[-1], create.count(",") + 1
                marks = ", ".join("?" * columns)
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", table_rows)
    except apsw.Error as error:
        raise StoreUnavailable(f"{path} cannot be written: {shown(str(error))}") from error
    finally:
        connection.close()
