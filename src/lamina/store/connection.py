"""Connections to one SQLite file: how they are opened, shared by threads, and how their errors read."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import apsw

from lamina.errors import Corrupt, LaminaError, StoreUnavailable

# What every connection is told. See docs/decisions/0002-sqlite-settings.md.
PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA mmap_size = 0",
)
WAL_ATTEMPTS = 200


class Database:
    """One SQLite file. Every thread has its own connections; a process that was forked from ours has none."""

    def __init__(self, path: Path, busy_ms: int, checkpoint_pages: int) -> None:
        self.path = path
        self._busy_ms = busy_ms
        self._checkpoint_pages = checkpoint_pages
        self.inherited = False
        self.local = threading.local()
        self.write_lock = threading.RLock()
        self.connections: list[apsw.Connection] = []
        self._closed = False
        _OPEN.append(self)

    def reader(self) -> apsw.Connection:
        """This thread's read-only connection."""
        connection: apsw.Connection | None = getattr(self.local, "reader", None)
        if connection is None or self.inherited or self._closed:
            connection = self.local.reader = self._connect(readonly=True)
        return connection

    def writer(self) -> apsw.Cursor:
        """This thread's cursor for writing. Only `atomic` begins transactions with it."""
        cursor: apsw.Cursor | None = getattr(self.local, "writer", None)
        if cursor is None or self.inherited or self._closed:
            cursor = self.local.writer = self._connect(readonly=False).cursor()
        return cursor

    def atomic(self) -> Atomic:
        """One write transaction: all of it is durable when the block ends, or none of it ever happened."""
        return Atomic(self)

    def close(self) -> None:
        """Close every connection, unless they belong to the process that we were forked from."""
        self._closed = True
        if not self.inherited:
            for connection in self.connections:
                connection.close()
        self.connections.clear()
        with contextlib.suppress(ValueError):
            _OPEN.remove(self)

    def _connect(self, *, readonly: bool) -> apsw.Connection:
        if self.inherited:
            raise StoreUnavailable("this handle was opened in another process; open a new one after a fork")
        if self._closed:
            raise StoreUnavailable("this handle is closed; open a new one")
        with translated(self.path):
            connection = _opened(self.path, readonly, self._busy_ms)
            self.connections.append(connection)
            for pragma in PRAGMAS:
                connection.execute(pragma)
            if readonly:
                connection.execute("PRAGMA query_only = ON")
            else:
                _set_wal(connection)
                connection.execute("PRAGMA synchronous = FULL")
                connection.wal_autocheckpoint(self._checkpoint_pages)
        return connection


class Atomic:
    """The one place that begins and ends write transactions. Threads of a process queue, processes wait their turn."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        self._database.write_lock.acquire()
        try:
            self.cursor = self._database.writer()
            self.cursor.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._database.write_lock.release()
            if isinstance(error, apsw.Error):
                raise translate(error, self._database.path) from error
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is None:
                self._commit()
            else:
                self._roll_back()
                if isinstance(error, apsw.Error):
                    raise translate(error, self._database.path) from error
        finally:
            self._database.write_lock.release()

    def _commit(self) -> None:
        try:
            self.cursor.execute("COMMIT")
        except apsw.Error as error:
            self._roll_back()
            raise translate(error, self._database.path) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        # An I/O error may have ended the transaction already; a second ROLLBACK would hide what went wrong.
        if self.cursor.connection.in_transaction:
            self.cursor.execute("ROLLBACK")


_OPEN: list[Database] = []
_INHERITED: list[Any] = []


def _keep_inherited() -> None:
    """After a fork the child must neither use nor close what it inherited: closing would drop the parent's locks."""
    for database in _OPEN:
        database.inherited = True
        _INHERITED.extend((database, database.local, *database.connections))
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_inherited)


def _opened(path: Path, readonly: bool, busy_ms: int) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_URI
    flags |= apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    name = "file:" + quote(str(path))
    if readonly and _is_frozen(path):
        name += "?immutable=1"
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_timeout(busy_ms)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _is_frozen(path: Path) -> bool:
    """A file in a folder that we cannot write, with nothing in its log: it can be read as it is, without locks."""
    log = path.with_name(path.name + "-wal")
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)


def _set_wal(connection: apsw.Connection) -> None:
    # Switching a new file to the write-ahead log needs it exclusively for a moment and does not wait by itself.
    for attempt in range(WAL_ATTEMPTS):
        try:
            if connection.execute("PRAGMA journal_mode = WAL").get == "wal":
                return
        except apsw.BusyError:
            if attempt == WAL_ATTEMPTS - 1:
                raise
        time.sleep(0.005)
    raise apsw.CantOpenError("the write-ahead log could not be switched on")


class translated:  # noqa: N801 - it is used like a function
    """Errors of SQLite inside the block leave it as errors of Lamina."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, apsw.Error):
            raise translate(error, self._path) from error


def translate(error: apsw.Error, path: Path) -> LaminaError:
    """What an error of SQLite means to the user, and what to do about it."""
    for kinds, make, message in MEANINGS:
        if isinstance(error, kinds):
            return make(f"{path}: {message} ({error})")
    return StoreUnavailable(f"{path}: SQLite reports {type(error).__name__} ({error})")


MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[LaminaError], str], ...] = (
    ((apsw.NotADBError,), Corrupt, "this is not a SQLite database, or its first page is damaged; restore a backup"),
    ((apsw.CorruptError,), Corrupt, "the database is damaged; run `lamina doctor`, then restore a backup"),
    ((apsw.BusyError, apsw.LockedError), StoreUnavailable, "another process holds the store; try again"),
    ((apsw.FullError,), StoreUnavailable, "the disk is full; free some space, nothing was stored"),
    ((apsw.ReadOnlyError, apsw.PermissionsError), StoreUnavailable, "the store is read-only; check the file's permissions"),
    ((apsw.CantOpenError,), StoreUnavailable, "the store cannot be opened; check the path and its permissions"),
    ((apsw.IOError,), StoreUnavailable, "the disk reported an error; nothing was stored"),
)
