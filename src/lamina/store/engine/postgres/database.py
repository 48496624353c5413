"""The rows of one agent in a PostgreSQL database, used like a database file of its own."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from lamina.errors import StoreUnavailable
from lamina.store.engine.postgres.dialect import spelled
from lamina.store.engine.postgres.errors import translate
from lamina.store.engine.postgres.pool import FOLLOWS, Pool, ServerSilent, WatchedConnection
from lamina.store.engine.sql import Connection, Cursor, Database

Value = TypeVar("Value")
READ = "REPEATABLE READ READ ONLY"
# Whatever the role's default is, a writer must see the data as of the moment when it gets the lock,
# not of the moment when it began to wait for it.
TURN = "READ COMMITTED"
# A commit that we report is on the server's disk, even if the server's default is asynchronous.
DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
# One writer per agent at a time, on any machine: it locks a row of the agent that always exists,
# which only roles with write access can do. (Any role that can connect could take an advisory
# lock.) The timeout keeps a stopped writer from blocking the others for ever.
WRITE = (
    f"SET LOCAL lock_timeout = {{}}; {DURABLE}; SET LOCAL idle_in_transaction_session_timeout ="
    " '60s'; SELECT FROM lamina_own.meta WHERE name = 'store_id' FOR UPDATE"
)
# Tasks other than writes take turns by inserting a row into `meta` that is never committed: a
# second insert of the same name waits until the first transaction ends. 0 milliseconds: no limit.
ALONE = "SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 0"
POSITION = "SELECT CAST(pg_current_wal_flush_lsn() AS text)"
FOLLOWED = "SELECT pg_last_wal_replay_lsn() >= CAST(? AS pg_lsn)"
ABSENT = 1.0  # seconds before looking again for a standby that was not there
EMPTIED = tuple(
    f"lamina.{name}"
    for name in "records notes words tags facets vectors tokens archived files".split()
)


class Rows(list[Any]):
    """The rows that a statement returned."""

    @property
    def get(self) -> Any:
        """None, a value, a row, or a list of them: the simplest that holds the whole result."""
        values = [row[0] if len(row) == 1 else row for row in self]
        if not values:
            return None
        return values[0] if len(values) == 1 else values

    def fetchall(self) -> list[Any]:
        return self


class Session:
    """Run statements on one connection."""

    def __init__(self, raw: WatchedConnection, address: str, agent: str) -> None:
        self.raw = raw
        self.agent = agent
        self._address = address
        self._changed = 0

    @property
    def connection(self) -> Session:
        return self

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Rows:
        try:
            cursor = self.raw.execute(spelled(statement), parameters, binary=True)
            self._changed = cursor.rowcount
            return Rows(cursor.fetchall() if cursor.description else ())
        except psycopg.Error as error:
            raise translate(error, self._address) from error

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> None:
        try:
            with self.raw.cursor() as cursor:
                cursor.executemany(spelled(statement), list(parameters))
        except psycopg.Error as error:
            raise translate(error, self._address) from error

    def begin(self, level: str, first: str = "") -> None:
        """Begin a transaction at an isolation level, with the settings our statements rely on."""
        self.script(f"BEGIN ISOLATION LEVEL {level}; {self.raw.preamble}; {first}")

    def script(self, statements: str) -> None:
        """Run several statements unchanged."""
        try:
            self.raw.execute(statements)
        except psycopg.Error as error:
            raise translate(error, self._address) from error

    def changes(self) -> int:
        return self._changed


class SingleStatements:
    """Run single read statements, each on any free connection."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self.agent = database.agent

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Rows:
        with self._database.snapshot() as session:
            return session.execute(statement, parameters)

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> None:
        raise AssertionError("a reader writes nothing")

    def changes(self) -> int:
        return 0


class PostgresDatabase(Database):
    """The rows of one agent."""

    is_near = False

    def __init__(
        self,
        url: str,
        agent: str,
        size: int,
        patience: float,
        busy_ms: int,
        stale: float = 0.0,
    ) -> None:
        super().__init__()
        self._pool = Pool(url, agent, size, patience)
        self._standbys: Standbys | None = None
        if stale and self._pool.has_several:
            self._standbys = Standbys(Pool(url, agent, size, patience, FOLLOWS), self, stale)
        self.address = self._pool.address
        self.agent = agent
        self._busy_ms = busy_ms
        self._local = threading.local()
        self._single_statements = SingleStatements(self)
        self._died = 0.0  # when the server was last found dead
        _OPEN.add(self)

    def reader(self) -> Connection:
        self.check_usable()
        return getattr(self._local, "session", None) or self._single_statements

    @contextmanager
    def moment(self) -> Iterator[Session]:
        with self.snapshot() as session:
            self._local.session = session
            try:
                yield session
            finally:
                self._local.session = None

    @property
    def generation(self) -> int:
        return self._pool.made

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        self.check_usable()
        if self._standbys is not None and (session := self._standbys.begin()) is not None:
            try:
                yield session
            finally:
                self._standbys.release(session)
            return
        with self.primary() as session:
            yield session

    @contextmanager
    def primary(self) -> Iterator[Session]:
        """Open a connection that sees one moment of the primary server."""
        session, _ = self.begin_with(lambda session: session.begin(READ))
        try:
            yield session
        finally:
            self.release(session)

    def begin_with(self, first: Callable[[Session], Value]) -> tuple[Session, Value]:
        """Take a connection, and run the first statement on it.

        If the server has dropped an idle connection, this shows only now; then another one is
        taken.
        """
        self.check_usable()
        while True:
            raw, was_used = self._pool.take()
            session = Session(raw, self.address, self.agent)
            try:
                return session, first(session)
            except BaseException as error:
                is_lost = raw.closed
                self.release(session)
                if is_lost:
                    self._pool.close_idle()  # they were connected to the same server
                is_stale = was_used and is_lost and isinstance(error, StoreUnavailable)
                if not is_stale or isinstance(error.__cause__, ServerSilent):
                    raise

    def release(self, session: Session) -> None:
        """Roll back what is unfinished on a connection, and return it to the pool."""
        if self.inherited:
            self._pool.abandon(session.raw)
            return
        _roll_back(session.raw)
        self._pool.give_back(session.raw)

    def ask(self) -> None:
        self._local.asked = time.monotonic()

    def begin(self) -> Cursor:
        if self._died > self._local.asked:  # noticed by another thread while we waited for our turn
            raise StoreUnavailable(
                f"{self.address}: the server cannot be reached; nothing was stored"
            )
        write = WRITE.format(self._busy_ms)
        try:
            session, _ = self.begin_with(lambda session: session.begin(TURN, write))
        except StoreUnavailable as error:
            self._died = time.monotonic()
            if is_replica(error):
                self._pool.close_idle()
            raise
        return session

    def linger(self, cursor: Cursor) -> None:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    def commit(self, cursor: Cursor) -> None:
        try:
            status = cursor.connection.raw.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            self._died = time.monotonic()
            raise translate(error, self.address) from error
        finally:
            self.release(cursor.connection)
            if self._standbys is not None:
                self._standbys.forget()
        if status != "COMMIT":
            raise StoreUnavailable(
                f"{self.address}: the server has rolled back; nothing was stored"
            )

    def roll_back(self, cursor: Cursor, error: BaseException) -> None:
        raw = cursor.connection.raw
        if is_replica(error):
            raw.close()  # a new connection may reach the server that is now the primary
            self._pool.close_idle()
        if raw.closed:
            self._died = time.monotonic()
        self.release(cursor.connection)

    def fold(self) -> bool:
        """Have the server vacuum what was deleted.

        The server's own log is up to its operator, as a certificate says.
        """
        vacuum = f"VACUUM {', '.join(EMPTIED)}"
        session, _ = self.begin_with(lambda session: session.script(vacuum))
        self.release(session)
        return True

    @contextmanager
    def alone(self, what: str, patience: float | None = None) -> Iterator[None]:
        self.check_usable()
        # Outside the pool: the work under this lock may need all of its connections.
        session = Session(self._pool.connect(), self.address, self.agent)
        try:
            session.begin(TURN, ALONE.format(round((patience or 0) * 1000)))
            session.execute("INSERT INTO meta (name, value) VALUES (?, '')", (f"alone.{what}",))
            yield
        finally:
            session.raw.close()  # which discards the row, whatever has happened

    def leave(self) -> None:
        """Stop using the connections in a forked process: they belong to its parent."""
        self.inherited = True
        self._pool.abandon()
        if self._standbys is not None:
            self._standbys.pool.abandon()

    def close_idle(self) -> None:
        """Close idle connections, so that the next use opens a new one."""
        self._pool.close_idle()

    def close(self) -> None:
        _OPEN.discard(self)
        self._closed = True
        if not self.inherited:
            self._pool.close()
            if self._standbys is not None:
                self._standbys.pool.close()


class Standbys:
    """Standby servers, which answer reads unless they lag too far behind the primary.

    The primary's position is read at most once in a given time; a standby that has reached it is no
    older than that. After our own writes it is read again, so that we see what we wrote.
    """

    def __init__(self, pool: Pool, database: PostgresDatabase, stale: float) -> None:
        self.pool = pool
        self._database = database
        self._stale = stale
        self._reached: tuple[float, str] | None = None  # time and position of the primary
        self._absent_until = 0.0

    def forget(self) -> None:
        """Read the primary's position again: we have written ourselves."""
        self._reached = None

    def begin(self) -> Session | None:
        """Begin to read on a standby; None if there is none, or it lags too far behind."""
        if time.monotonic() < self._absent_until:
            return None
        position = self._position()
        try:
            raw, _ = self.pool.take()
        except StoreUnavailable:
            self._absent_until = time.monotonic() + max(ABSENT, self._stale)
            return None
        session = Session(raw, self.pool.address, self._database.agent)
        try:
            # Before the transaction, so that its snapshot is no older.
            if session.execute(FOLLOWED, (position,)).get is True:
                session.begin(READ)
                return session
        except StoreUnavailable:
            self.pool.close_idle()
        self.release(session)
        return None

    def release(self, session: Session) -> None:
        if self._database.inherited:
            self.pool.abandon(session.raw)
            return
        _roll_back(session.raw)
        self.pool.give_back(session.raw)

    def _position(self) -> str:
        """Return the primary's position, read not too long ago."""
        now = time.monotonic()
        if self._reached is None or now - self._reached[0] > self._stale:
            with self._database.primary() as session:
                self._reached = now, str(session.execute(POSITION).get)
        return self._reached[1]


def is_replica(error: BaseException) -> bool:
    """Tell whether the server is read-only; a new connection may reach the primary."""
    return isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction)


def _roll_back(raw: WatchedConnection) -> None:
    """End an open transaction; close a connection that cannot even do that."""
    if raw.closed or raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
        return
    try:
        raw.execute("ROLLBACK")
    except psycopg.Error:
        raw.close()


_OPEN: weakref.WeakSet[PostgresDatabase] = weakref.WeakSet()


def _after_fork() -> None:
    for database in list(_OPEN):
        database.leave()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
