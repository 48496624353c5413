"""One agent's rows in a PostgreSQL database, read and written like a file of its own."""

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
from lamina.store.engine.postgres.pool import Link, Pool, Silent
from lamina.store.engine.sql import Connection, Cursor, Database

Value = TypeVar("Value")
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# One writer of an agent at a time, whichever machine it is on: it locks a row of the agent that is always there, which only
# roles can that may write. (An advisory lock could be taken by every role that can connect.) One that is stopped does not hold
# up the others for ever. Whatever a role has by default, a writer sees what was there when its turn came, not when it began to
# wait for it.
WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = '60s';"
    " SELECT FROM lamina_own.meta WHERE name = 'store_id' FOR UPDATE"
)
# Work that is no write takes turns by a row of `meta` that is never committed: whoever inserts the
# same name waits until the first transaction ends. 0 milliseconds: without end.
ALONE = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 0"
EMPTIED = tuple(
    f"lamina.{name}"
    for name in ("records", "notes", "words", "tags", "facets", "vectors", "archived", "files")
)


class Rows(list[Any]):
    """What a statement has given."""

    @property
    def get(self) -> Any:
        """The same with as little around it as possible."""
        plain = [row[0] if len(row) == 1 else row for row in self]
        return None if not plain else plain[0] if len(plain) == 1 else plain

    def fetchall(self) -> list[Any]:
        return self


class Session:
    """Statements on one connection."""

    def __init__(self, link: Link, place: str, agent: str) -> None:
        self.link = link
        self.agent = agent
        self._place = place
        self._changed = 0

    @property
    def connection(self) -> Session:
        return self

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Rows:
        try:
            cursor = self.link.execute(spelled(statement), parameters, binary=True)
            self._changed = cursor.rowcount
            return Rows(cursor.fetchall() if cursor.description else ())
        except psycopg.Error as error:
            raise translate(error, self._place) from error

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> None:
        try:
            with self.link.cursor() as cursor:
                cursor.executemany(spelled(statement), list(parameters))
        except psycopg.Error as error:
            raise translate(error, self._place) from error

    def script(self, statements: str) -> None:
        """Several statements as they are."""
        try:
            self.link.execute(statements)
        except psycopg.Error as error:
            raise translate(error, self._place) from error

    def changes(self) -> int:
        return self._changed


class Loose:
    """Single statements, each on whichever connection is free."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self.agent = database.agent

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Rows:
        session, found = self._database.begun(
            lambda session: session.execute(statement, parameters)
        )
        self._database.release(session)
        return found

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> None:
        raise AssertionError("who only reads has nothing to write")

    def changes(self) -> int:
        return 0


class PostgresDatabase(Database):
    """The rows of one agent."""

    def __init__(self, url: str, agent: str, size: int, patience: float, busy_ms: int) -> None:
        super().__init__()
        self._pool = Pool(url, agent, size, patience)
        self.address = self._pool.address
        self.agent = agent
        self._busy_ms = busy_ms
        self._local = threading.local()
        self._loose = Loose(self)
        self._closed = False
        self._died = 0.0  # when the server was last found dead
        _OPEN.add(self)

    def reader(self) -> Connection:
        self.check_usable()
        return getattr(self._local, "session", None) or self._loose

    @contextmanager
    def moment(self) -> Iterator[Connection]:
        with self.snapshot() as session:
            self._local.session = session
            try:
                yield session
            finally:
                self._local.session = None

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        session, _ = self.begun(lambda session: session.script(READ))
        try:
            yield session
        finally:
            self.release(session)

    def begun(self, first: Callable[[Session], Value]) -> tuple[Session, Value]:
        """A connection, and what the first thing that is done there gives.

        One that the server has let go of meanwhile is not noticed before it is used; then another is taken.
        """
        self.check_usable()
        while True:
            link, is_old = self._pool.take()
            session = Session(link, self.address, self.agent)
            try:
                return session, first(session)
            except BaseException as error:
                is_lost = link.closed
                self.release(session)
                if is_lost:
                    self._pool.forget()  # they are of the same server
                if not (is_old and is_lost and isinstance(error, StoreUnavailable)) or isinstance(
                    error.__cause__, Silent
                ):
                    raise

    def release(self, session: Session) -> None:
        """Give a connection back, without anything that is not finished."""
        if self.inherited:
            self._pool.abandon(session.link)
            return
        _end(session.link)
        self._pool.give_back(session.link)

    def ask(self) -> None:
        self._local.asked = time.monotonic()

    def begin(self) -> Cursor:
        if self._died > self._local.asked:  # somebody has found out while we waited for our turn
            raise StoreUnavailable(
                f"{self.address}: the server cannot be reached; nothing was stored"
            )
        try:
            session, _ = self.begun(lambda session: session.script(WRITE.format(self._busy_ms)))
        except StoreUnavailable as error:
            self._died = time.monotonic()
            if is_replica(error):
                self._pool.forget()
            raise
        return session

    def linger(self, cursor: Cursor) -> None:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    def commit(self, cursor: Cursor) -> None:
        link = cursor.connection.link
        try:
            done = link.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            self._died = time.monotonic()
            raise translate(error, self.address) from error
        finally:
            self.release(cursor.connection)
        if done != "COMMIT":
            raise StoreUnavailable(
                f"{self.address}: the server has rolled back; nothing was stored"
            )

    def roll_back(self, cursor: Cursor, error: BaseException) -> None:
        link = cursor.connection.link
        if is_replica(error):
            link.close()  # it leads to a replica; a new one may lead to who writes now
            self._pool.forget()
        if link.closed:
            self._died = time.monotonic()
        self.release(cursor.connection)

    def fold(self) -> bool:
        """Have the server clean up what was deleted; its own log is its operator's, and a certificate says so."""
        session, _ = self.begun(lambda session: session.script(f"VACUUM {', '.join(EMPTIED)}"))
        self.release(session)
        return True

    @contextmanager
    def alone(self, what: str, patience: float | None = None) -> Iterator[None]:
        self.check_usable()
        session = Session(self._pool.apart(), self.address, self.agent)
        try:
            session.script(ALONE.format(round((patience or 0) * 1000)))
            session.execute("INSERT INTO meta (name, value) VALUES (?, '')", (f"alone.{what}",))
            yield
        finally:
            session.link.close()  # which takes the row back, whatever happened meanwhile

    def check_usable(self) -> None:
        if self.inherited:
            raise StoreUnavailable(
                "this handle was opened in another process; open a new one after a fork"
            )
        if self._closed:
            raise StoreUnavailable("this handle is closed; open a new one")

    def leave(self) -> None:
        """We are a fork: what is open belongs to another process."""
        self.inherited = True
        self._pool.abandon()

    def forget_idle(self) -> None:
        """Take new connections from now on."""
        self._pool.forget()

    def close(self) -> None:
        _OPEN.discard(self)
        self._closed = True
        if not self.inherited:
            self._pool.close()


def is_replica(error: BaseException) -> bool:
    """Whether a server only lets us read; a new connection may lead to the one that writes now."""
    return isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction)


def _end(link: Link) -> None:
    """Leave no transaction open on a connection; one that cannot even do that is of no use any more."""
    if link.closed or link.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
        return
    try:
        link.execute("ROLLBACK")
    except psycopg.Error:
        link.close()


_OPEN: weakref.WeakSet[PostgresDatabase] = weakref.WeakSet()


def _after_fork() -> None:
    for database in list(_OPEN):
        database.leave()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
