"""Open connections to a SQLite file, share it among threads, and translate SQLite's errors."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import apsw

from lamina.errors import Conflict, Corrupt, LaminaError, StoreUnavailable
from lamina.home.folder import has_bytes
from lamina.store.engine import disk_space
from lamina.store.engine.busy import BusyHandler
from lamina.store.engine.sql import Cursor, Database

# The settings of every connection. See docs/decisions/0002-sqlite-settings.md.
PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA mmap_size = 0",
)
WAL_ATTEMPTS = 200
FORK_PATIENCE = 2.0
FOLD_PATIENCE_MS = 1000
# After these errors a connection may hold a file that it could open only for reading.
SUSPICIOUS = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError)
# Errors of reading or writing a file: SQLite's own, and those of bytes that are not text.
FROM_SQLITE = (apsw.Error, UnicodeDecodeError)


Kept = TypeVar("Kept")
Stand = tuple[int, int]  # the state of a file: the time of its last write, and its size


class SqliteDatabase(Database):
    """One SQLite file. Every thread has its own connections; a forked process has none."""

    def __init__(self, path: Path, busy_ms: int, checkpoint_pages: int) -> None:
        super().__init__()
        self.path = path
        self.address = str(path)
        self.local = threading.local()
        self.quiet = threading.Condition()
        self.moments = 0  # threads that are reading a moment of the file
        self._busy_ms = busy_ms
        self._checkpoint_pages = checkpoint_pages
        # Weak references, so that the connections of a thread end with it.
        self.readers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self.writers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        _OPEN.add(self)

    def reader(self) -> apsw.Connection:
        """Get this thread's read-only connection."""
        connection: apsw.Connection | None = getattr(self.local, "reader", None)
        if connection is None or self.inherited or self._closed or self.local.frozen is not None:
            connection = self._read_anew()
        return connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Open a new connection that sees the file at one moment.

        On an older one, FTS5 would check its index against what that connection remembers of it.
        """
        self.check_usable()
        connection, frozen = self._for_reading()
        try:
            with translated(self.path):
                connection.execute("BEGIN")
                yield connection
        finally:
            connection.close()
            self._check_still(frozen)

    @contextlib.contextmanager
    def moment(self) -> Iterator[apsw.Connection]:
        """Get this thread's connection, which sees one moment of the file in the block."""
        self.check_usable()  # before the lock: a fork may have held it
        with self.quiet:
            self.moments += 1
        try:
            connection = self.reader()
            frozen = self.local.frozen
            try:
                with translated(self.path):
                    connection.execute("BEGIN")
                    try:
                        yield connection
                    except BaseException:
                        with contextlib.suppress(apsw.Error):  # report the first error
                            connection.execute("ROLLBACK")
                        raise
                    else:
                        connection.execute("ROLLBACK")
                    finally:
                        # An unfinished iterator, such as that of a failed export, is still reading:
                        # it would tie the next use of this connection to its old snapshot.
                        if connection.txn_state() != apsw.SQLITE_TXN_NONE:
                            self.local.reader = None
            finally:
                self._check_still(frozen)
        finally:
            with self.quiet:
                self.moments -= 1
                self.quiet.notify_all()

    def forget_pages(self) -> None:
        """Free the pages that this thread has read: it is unlikely to read them again."""
        connection: apsw.Connection | None = getattr(self.local, "reader", None)
        if connection is not None:
            with contextlib.suppress(apsw.ConnectionClosedError):  # by another thread, just now
                connection.release_memory()

    def check_still(self) -> None:
        """Raise if a file that this thread reads without locks was written in the meantime.

        Then it is unknown what was read.
        """
        self._check_still(getattr(self.local, "frozen", None))

    def _check_still(self, frozen: Stand | None) -> None:
        if frozen is not None and _stand(self.path) != frozen:
            problem = "it was written while it was read without a lock; try again"
            raise StoreUnavailable(f"{self.path}: {problem}")

    def writer(self) -> apsw.Cursor:
        """Get this thread's cursor for writing. Only `begin` begins transactions with it."""
        self.check_writable()
        cursor: apsw.Cursor | None = getattr(self.local, "writer", None)
        if cursor is None or self.inherited or self._closed:
            self.check_usable()
            connection = self._opened(readonly=False)
            self.writers.add(connection)
            cursor = self.local.writer = connection.cursor()
        return cursor

    def drop_writer(self) -> None:
        """Close this thread's connection for writing; the next write opens a new one."""
        if getattr(self.local, "writer", None) is not None:
            self.local.writer.connection.close(True)
            del self.local.writer

    def begin(self) -> apsw.Cursor:
        cursor: apsw.Cursor | None = None
        try:
            cursor = self.writer()
            cursor.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._undo(cursor, error)
            raise
        return cursor

    def commit(self, cursor: Cursor) -> None:
        try:
            cursor.execute("COMMIT")
        except BaseException as failure:
            self._undo(cursor, failure)
            raise

    def roll_back(self, cursor: Cursor, error: BaseException) -> None:
        self._undo(cursor, error)

    def _undo(self, cursor: Cursor | None, error: BaseException) -> None:
        """Undo the transaction, and translate an error of SQLite."""
        # An I/O error may already have ended the transaction; a second ROLLBACK would hide it.
        if cursor is not None and cursor.connection.in_transaction:
            # On a full disk SQLite has already rolled back, without saying so.
            with contextlib.suppress(apsw.SQLError):
                cursor.execute("ROLLBACK")
        is_stuck = cursor is not None and cursor.connection.in_transaction
        if is_stuck or isinstance(error, SUSPICIOUS):
            self.drop_writer()
        elif isinstance(error, apsw.FullError) and cursor is not None:
            self._give_back(cursor)
        if isinstance(error, FROM_SQLITE):
            raise translate(error, self.path) from error

    def _give_back(self, cursor: Cursor) -> None:
        """Truncate the log after a failed write: on a full disk the fail-safe needs the room."""
        connection = cursor.connection
        connection.set_busy_timeout(0)
        try:
            # If the log is still being read, leave it.
            with contextlib.suppress(apsw.Error):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.set_busy_handler(BusyHandler(self.path, self._busy_ms))

    def recover(self) -> None:
        """Undo what another process left unfinished in a rollback journal; a reader cannot."""
        if self.path.with_name(self.path.name + "-journal").exists():
            self.writer().execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def fold(self) -> bool:
        """Move the whole log into the file and empty it. False if readers prevent it for too long.

        Other writers wait in the meantime.
        """
        with self.write_lock, translated(self.path):
            writer = self.writer()
            writer.connection.set_busy_timeout(FOLD_PATIENCE_MS)
            try:
                busy, *_ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                writer.connection.set_busy_handler(BusyHandler(self.path, self._busy_ms))
        return not busy

    def rewrite(self) -> None:
        """Rewrite the file without the remains of deleted rows."""
        with self.write_lock, translated(self.path):
            # Otherwise a temporary file would contain a copy of everything.
            self.writer().execute("PRAGMA temp_store = MEMORY")
            self.writer().execute("VACUUM")

    def check_usable(self) -> None:
        if _TAINTED and self.path in _TAINTED:
            raise StoreUnavailable(
                "this process was forked while its parent was reading the store; start it by spawn"
            )
        super().check_usable()

    def close(self) -> None:
        """Close every connection, unless it belongs to the parent process."""
        _OPEN.discard(self)
        self._closed = True
        if self.inherited:
            return
        with self.write_lock:
            self.pause()

    def pause(self) -> None:
        """Close every connection that can be closed; threads open new ones when they need them."""
        self.local = threading.local()
        # Readers first: only a writer can move the log into the file, when it is the last to close.
        for connections in (self.readers, self.writers):
            for connection in list(connections):
                # A thread in the middle of a read keeps its connection until it has finished.
                with contextlib.suppress(apsw.ThreadingViolationError):
                    connection.close()
                    connections.discard(connection)

    def wait_until_quiet(self, seconds: float) -> bool:
        """Wait until no thread is reading a moment of the file; the caller holds `quiet`."""
        return self.quiet.wait_for(lambda: not self.moments, seconds)

    def _read_anew(self) -> apsw.Connection:
        """Open a connection for reading, unless the present one still shows the current file."""
        self.check_usable()
        current: apsw.Connection | None = getattr(self.local, "reader", None)
        if current is not None and _frozen(self.path) == self.local.frozen:
            return current
        connection, frozen = self._for_reading()
        self.readers.add(connection)
        self.local.reader, self.local.frozen = connection, frozen
        return connection

    def _for_reading(self) -> tuple[apsw.Connection, Stand | None]:
        """Open a connection for reading; if it is frozen, return the state of the file as well."""
        frozen = _frozen(self.path)
        if frozen is None:
            try:
                return self._opened(readonly=True), None
            except StoreUnavailable as error:
                if not _has_no_room(error.__cause__) or has_bytes(_beside(self.path, "-wal")):
                    raise
                frozen = _stand(self.path)
        return self._opened(readonly=True, frozen=True), frozen

    def _opened(self, *, readonly: bool, frozen: bool = False) -> apsw.Connection:
        with translated(self.path):
            connection = _connected(self.path, readonly, frozen, self._busy_ms)
            try:
                for pragma in PRAGMAS:
                    connection.execute(pragma)
                if readonly:
                    connection.execute("PRAGMA query_only = ON")
                    # Raise here if the file cannot be read.
                    connection.execute("PRAGMA schema_version")
                else:
                    self._prepare_writer(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _prepare_writer(self, connection: apsw.Connection) -> None:
        # If SQLite cannot write a file, it silently opens it for reading; such a connection would
        # refuse every later write.
        if connection.readonly("main"):
            raise apsw.ReadOnlyError("the file could only be opened for reading")
        if disk_space.is_short(self.path):
            raise apsw.FullError("no room for the log")
        _set_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.wal_autocheckpoint(self._checkpoint_pages)


_OPEN: weakref.WeakSet[SqliteDatabase] = weakref.WeakSet()
_FORKING = threading.Lock()  # one fork at a time, as two threads may try at once
_PAUSED: list[SqliteDatabase] = []
_INHERITED: list[Any] = []
_TAINTED: set[Path] = set()


def present(known: weakref.WeakSet[Kept]) -> list[Kept]:
    """List a set to which other threads may add; retry until none interferes."""
    while True:
        try:
            return list(known)
        except RuntimeError:  # it has changed; a lock instead would be inherited by a fork
            continue


def _before_fork() -> None:
    """Close all connections; they are opened again when they are next needed.

    SQLite keeps its locks in tables of the process, which a child would inherit and rely on.
    """
    _FORKING.acquire()
    for database in present(_OPEN):
        # If a write or a read takes too long, the child must not open this file.
        if database.write_lock.acquire(timeout=FORK_PATIENCE):
            database.quiet.acquire()
            if database.wait_until_quiet(FORK_PATIENCE):
                database.pause()
                _PAUSED.append(database)
            else:
                database.quiet.release()
                database.write_lock.release()


def _after_fork_in_parent() -> None:
    while _PAUSED:
        database = _PAUSED.pop()
        database.quiet.release()
        database.write_lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """Make all handles unusable, and forbid files that were not closed before the fork."""
    for database in present(_OPEN):
        database.inherited = True
        unclosed = (*database.readers, *database.writers)
        if unclosed:
            _TAINTED.add(database.path)
        # Keep them for ever, so that they are never closed here: they belong to the parent.
        _INHERITED.extend((database, *unclosed))
    _PAUSED.clear()
    _OPEN.clear()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _connected(path: Path, readonly: bool, frozen: bool, busy_ms: int) -> apsw.Connection:
    access = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    name, flags = str(path), access | apsw.SQLITE_OPEN_NOFOLLOW
    if frozen:
        name, flags = f"{path.as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_handler(BusyHandler(path, busy_ms))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _frozen(path: Path) -> Stand | None:
    """Read the state of a file that can only be read frozen; None for any other file.

    Its folder is read-only or has no room, and its log is empty. SQLite reads such a file without
    locks and never checks it for changes, so this state is compared before every use.
    """
    log, index = _beside(path, "-wal"), _beside(path, "-shm")
    if os.access(path.parent, os.W_OK):
        is_usual = not disk_space.is_short(path)
    else:
        is_usual = log.exists() and index.exists()
    return None if is_usual or has_bytes(log) else _stand(path)


def address(path: Path) -> str:
    """Return the URI with which SQLite attaches a file for reading."""
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if _frozen(path) else ''}"


def _stand(path: Path) -> Stand:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_no_room(error: BaseException | None) -> bool:
    """Tell whether SQLite found no room for the index of its log."""
    if not isinstance(error, apsw.IOError):
        return False
    return bool(getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE)


def _set_wal(connection: apsw.Connection) -> None:
    # Switching a new file to the write-ahead log needs an exclusive lock for a moment, and SQLite
    # does not wait for it.
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
    """Translate errors of SQLite inside the block to errors of Lamina."""

    def __init__(self, place: Path | str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, FROM_SQLITE):
            raise translate(error, self._place) from error


def translate(error: apsw.Error | UnicodeDecodeError, path: Path | str) -> LaminaError:
    """Say what an error of SQLite means to the user, and what to do about it."""
    if isinstance(error, UnicodeDecodeError):
        return Corrupt(f"{path}: a row holds bytes that are not text; run `lamina audit verify`")
    reason = f" ({error})" if str(error) not in SAYS_NOTHING else ""
    if _has_no_room(error):
        return StoreUnavailable(f"{path}: {FULL}{reason}")
    for kinds, make, message in MEANINGS:
        if isinstance(error, kinds):
            return make(f"{path}: {message}{reason}")
    return StoreUnavailable(f"{path}: SQLite reports {type(error).__name__} ({error})")


SAYS_NOTHING = ("", "not an error")  # from a connection that has no message about the failure
FULL = "the disk is full; free some space, nothing was stored"
NOT_SQLITE = "this is not a SQLite database, or its first page is damaged; see `lamina restore`"
DAMAGED = "the database is damaged; see `lamina restore`"
BUSY = "another process holds the store; try again"
READ_ONLY = "the store is read-only; check the file's permissions"
CLOSED = "the store cannot be opened; check the path and its permissions"
BROKEN_RULE = "what was to be stored breaks a rule of the store"
DISK_ERROR = "the disk reported an error; retry with the same key, so that it is stored once"
MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[LaminaError], str], ...] = (
    ((apsw.NotADBError,), Corrupt, NOT_SQLITE),
    ((apsw.CorruptError,), Corrupt, DAMAGED),
    ((apsw.BusyError, apsw.LockedError), StoreUnavailable, BUSY),
    ((apsw.FullError,), StoreUnavailable, FULL),
    ((apsw.ReadOnlyError, apsw.PermissionsError), StoreUnavailable, READ_ONLY),
    ((apsw.CantOpenError,), StoreUnavailable, CLOSED),
    ((apsw.ConstraintError,), Conflict, BROKEN_RULE),
    ((apsw.IOError,), StoreUnavailable, DISK_ERROR),
)
