"""Connections to one SQLite file: how they are opened, shared by threads, and how their errors read."""

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
from lamina.store.engine.busy import Patience
from lamina.store.engine.sql import Cursor, Database

# What every connection is told. See docs/decisions/0002-sqlite-settings.md.
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
# After these a connection may have been left with a file that it could only open for reading.
SUSPICIOUS = (apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError)
# What reading or writing a file can raise: SQLite's own errors, and text in it that is none.
FROM_SQLITE = (apsw.Error, UnicodeDecodeError)


Kept = TypeVar("Kept")
Stand = tuple[int, int]  # of a file: when it was written, and its bytes


class SqliteDatabase(Database):
    """One SQLite file. Every thread has its own connections; a process that was forked from ours has none."""

    def __init__(self, path: Path, busy_ms: int, checkpoint_pages: int) -> None:
        super().__init__()
        self.path = path
        self.address = str(path)
        self.local = threading.local()
        self.quiet = threading.Condition()
        self.moments = 0  # threads that look at one moment of the file now
        self._busy_ms = busy_ms
        self._checkpoint_pages = checkpoint_pages
        # Weak, so that the connections of a thread end with the thread.
        self.readers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self.writers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._closed = False
        _OPEN.add(self)

    def reader(self) -> apsw.Connection:
        """This thread's read-only connection."""
        connection: apsw.Connection | None = getattr(self.local, "reader", None)
        if connection is None or self.inherited or self._closed or self.local.frozen is not None:
            connection = self._read_anew()
        return connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """A connection of its own that sees the file as it is at one moment.

        A new one, because FTS5 checks its index against what an older connection remembers of it.
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
        """This thread's connection, which within the block sees the file as it is at one moment."""
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
                        with contextlib.suppress(
                            apsw.Error
                        ):  # what went wrong first is what counts
                            connection.execute("ROLLBACK")
                        raise
                    connection.execute("ROLLBACK")
            finally:
                self._check_still(frozen)
        finally:
            with self.quiet:
                self.moments -= 1
                self.quiet.notify_all()

    def check_still(self) -> None:
        """Raise when a file that this thread reads without locks was written meanwhile: nobody knows then what was read."""
        self._check_still(getattr(self.local, "frozen", None))

    def _check_still(self, frozen: Stand | None) -> None:
        if frozen is not None and _stand(self.path) != frozen:
            raise StoreUnavailable(
                f"{self.path}: it was written while it was read without a lock; try again"
            )

    def writer(self) -> apsw.Cursor:
        """This thread's cursor for writing. Only `begin` begins transactions with it."""
        self.check_writable()
        cursor: apsw.Cursor | None = getattr(self.local, "writer", None)
        if cursor is None or self.inherited or self._closed:
            self.check_usable()
            connection = self._opened(readonly=False)
            self.writers.add(connection)
            cursor = self.local.writer = connection.cursor()
        return cursor

    def drop_writer(self) -> None:
        """Forget this thread's connection for writing; the next write opens a new one."""
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
        """Leave nothing behind, and say what an error of SQLite means."""
        # An I/O error may have ended the transaction already; a second ROLLBACK would hide what went wrong.
        if cursor is not None and cursor.connection.in_transaction:
            with contextlib.suppress(
                apsw.SQLError
            ):  # on a full disk SQLite has rolled back, and does not say so
                cursor.execute("ROLLBACK")
        if isinstance(error, SUSPICIOUS) or (
            cursor is not None and cursor.connection.in_transaction
        ):
            self.drop_writer()
        elif isinstance(error, apsw.FullError) and cursor is not None:
            self._give_back(cursor)
        if isinstance(error, FROM_SQLITE):
            raise translate(error, self.path) from error

    def _give_back(self, cursor: Cursor) -> None:
        """Cut off what a write that failed left in the log: on a full disk the fail-safe needs the room."""
        connection = cursor.connection
        connection.set_busy_timeout(0)
        try:
            with contextlib.suppress(
                apsw.Error
            ):  # somebody still reads the log; then it stays as it is
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.set_busy_handler(Patience(self.path, self._busy_ms))

    def recover(self) -> None:
        """Undo what a process left half done in a rollback journal; a connection that only reads cannot."""
        if self.path.with_name(self.path.name + "-journal").exists():
            self.writer().execute("SELECT count(*) FROM sqlite_schema").fetchall()

    def fold(self) -> bool:
        """Bring the whole log into the file and empty it; whether nobody kept us from that for long: others wait meanwhile."""
        with self.write_lock, translated(self.path):
            writer = self.writer()
            writer.connection.set_busy_timeout(FOLD_PATIENCE_MS)
            try:
                busy, *_ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                writer.connection.set_busy_handler(Patience(self.path, self._busy_ms))
        return not busy

    def rewrite(self) -> None:
        """Write the file anew, without anything that no row holds any more."""
        with self.write_lock, translated(self.path):
            self.writer().execute(
                "PRAGMA temp_store = MEMORY"
            )  # a copy elsewhere would be one more place
            self.writer().execute("VACUUM")

    def check_usable(self) -> None:
        if _TAINTED and self.path in _TAINTED:
            raise StoreUnavailable(
                "this process was forked while its parent was reading the store; start it by spawn"
            )
        if self.inherited:
            raise StoreUnavailable(
                "this handle was opened in another process; open a new one after a fork"
            )
        if self._closed:
            raise StoreUnavailable("this handle is closed; open a new one")

    def close(self) -> None:
        """Close every connection, unless they belong to the process that we were forked from."""
        _OPEN.discard(self)
        self._closed = True
        if self.inherited:
            return
        with self.write_lock:
            self.pause()

    def pause(self) -> None:
        """Close every connection that can be closed; threads open new ones when they next need them."""
        self.local = threading.local()
        # Readers first: only a writer can fold the log back, and only the last one to leave does.
        for connections in (self.readers, self.writers):
            for connection in list(connections):
                # A thread in the middle of a read keeps its connection until it is done, and nobody else has it.
                with contextlib.suppress(apsw.ThreadingViolationError):
                    connection.close()
                    connections.discard(connection)

    def _read_anew(self) -> apsw.Connection:
        """A connection for reading, unless the one we have still shows the file as it is."""
        self.check_usable()
        current: apsw.Connection | None = getattr(self.local, "reader", None)
        if current is not None and _frozen(self.path) == self.local.frozen:
            return current
        connection, frozen = self._for_reading()
        self.readers.add(connection)
        self.local.reader, self.local.frozen = connection, frozen
        return connection

    def _for_reading(self) -> tuple[apsw.Connection, Stand | None]:
        """A new connection; if it shows the file only as it is now, how that stands."""
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
                    connection.execute(
                        "PRAGMA schema_version"
                    )  # a file that cannot be read is told here
                else:
                    self._prepare_writer(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _prepare_writer(self, connection: apsw.Connection) -> None:
        # SQLite quietly opens a file that it cannot write for reading; kept, it would refuse every later write.
        if connection.readonly("main"):
            raise apsw.ReadOnlyError("the file could only be opened for reading")
        if disk_space.is_short(self.path):
            raise apsw.FullError("no room for the log")
        _set_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.wal_autocheckpoint(self._checkpoint_pages)


_OPEN: weakref.WeakSet[SqliteDatabase] = weakref.WeakSet()
_FORKING = threading.Lock()  # one fork at a time: two threads may fork at once
_PAUSED: list[SqliteDatabase] = []
_INHERITED: list[Any] = []
_TAINTED: set[Path] = set()


def present(known: weakref.WeakSet[Kept]) -> list[Kept]:
    """What is in a set that other threads add to: one of them may do so just now, and then it is read again."""
    while True:
        try:
            return list(known)
        except (
            RuntimeError
        ):  # "Set changed size during iteration"; a lock would be inherited by a fork
            continue


def _before_fork() -> None:
    """SQLite keeps its locks in tables of the process, which a child would inherit and believe. So nothing is open then.

    Threads wait for their turn to write; all connections are closed and opened again when they are next needed.
    """
    _FORKING.acquire()
    for database in present(_OPEN):
        # A write that does not end is not waited for; the child will then not open this file.
        if database.write_lock.acquire(timeout=FORK_PATIENCE):
            database.quiet.acquire()
            if database.quiet.wait_for(lambda asked=database: not asked.moments, FORK_PATIENCE):  # type: ignore[misc]
                database.pause()
                _PAUSED.append(database)
            else:  # a long look goes on; the child will not open this file
                database.quiet.release()
                database.write_lock.release()


def _after_fork_in_parent() -> None:
    while _PAUSED:
        database = _PAUSED.pop()
        database.quiet.release()
        database.write_lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """The child uses none of its parent's handles. A file that could not be closed in time it does not open at all."""
    for database in present(_OPEN):
        database.inherited = True
        left = (*database.readers, *database.writers)
        if left:
            _TAINTED.add(database.path)
        _INHERITED.extend((database, *left))
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
    flags = apsw.SQLITE_OPEN_NOFOLLOW | (
        apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    )
    name = str(path)
    if frozen:
        name, flags = f"{path.as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_handler(Patience(path, busy_ms))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return connection


def _frozen(path: Path) -> Stand | None:
    """How a file stands that we can only read as it is: no right to its folder or no room in it, and nothing in a log.

    SQLite reads such a file without locks and never looks again, so we compare this before every use.
    """
    log, index = _beside(path, "-wal"), _beside(path, "-shm")
    as_usual = (
        not disk_space.is_short(path)
        if os.access(path.parent, os.W_OK)
        else log.exists() and index.exists()
    )
    return None if as_usual or has_bytes(log) else _stand(path)


def address(path: Path) -> str:
    """Where SQLite finds a file beside another one, for reading."""
    return f"{path.as_uri()}?mode=ro{'&immutable=1' if _frozen(path) else ''}"


def _stand(path: Path) -> Stand:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_no_room(error: BaseException | None) -> bool:
    """Whether SQLite says that the index of the log could not be made as large as it has to be."""
    return (
        isinstance(error, apsw.IOError)
        and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    )


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
    """What an error of SQLite means to the user, and what to do about it."""
    if isinstance(error, UnicodeDecodeError):
        return Corrupt(f"{path}: a row holds bytes that are not text; run `lamina audit verify`")
    said = f" ({error})" if str(error) not in SAYS_NOTHING else ""
    if _has_no_room(error):
        return StoreUnavailable(f"{path}: {FULL}{said}")
    for kinds, make, message in MEANINGS:
        if isinstance(error, kinds):
            return make(f"{path}: {message}{said}")
    return StoreUnavailable(f"{path}: SQLite reports {type(error).__name__} ({error})")


SAYS_NOTHING = ("", "not an error")  # of a connection that knows nothing of what has failed
FULL = "the disk is full; free some space, nothing was stored"
MEANINGS: tuple[tuple[tuple[type[apsw.Error], ...], type[LaminaError], str], ...] = (
    (
        (apsw.NotADBError,),
        Corrupt,
        "this is not a SQLite database, or its first page is damaged; see `lamina restore`",
    ),
    ((apsw.CorruptError,), Corrupt, "the database is damaged; see `lamina restore`"),
    (
        (apsw.BusyError, apsw.LockedError),
        StoreUnavailable,
        "another process holds the store; try again",
    ),
    ((apsw.FullError,), StoreUnavailable, FULL),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError),
        StoreUnavailable,
        "the store is read-only; check the file's permissions",
    ),
    (
        (apsw.CantOpenError,),
        StoreUnavailable,
        "the store cannot be opened; check the path and its permissions",
    ),
    ((apsw.ConstraintError,), Conflict, "what was to be stored breaks a rule of the store"),
    (
        (apsw.IOError,),
        StoreUnavailable,
        "the disk reported an error; retry with the same key, so that it is stored once",
    ),
)
