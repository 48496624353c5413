"""The interface of a database, for SQL that is written once for SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from lamina.errors import Refused, StoreUnavailable

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray


class Half(bytes):
    """A stored vector of half-precision numbers, for which PostgreSQL has a type of its own."""


class Result(Protocol):
    """The result of a statement."""

    @property
    def get(self) -> Any:
        """None, a value, a row, or a list of them: the simplest that holds the whole result."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection that runs statements."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Result: ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...

    def changes(self) -> int:
        """Count the rows that the last statement changed."""
        ...


class Cursor(Protocol):
    """A cursor that runs the statements of a transaction."""

    @property
    def connection(self) -> Any: ...

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Result: ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...


def rows(source: Connection | Cursor, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """Read all rows of a query to its end: an unfinished query would pin an old snapshot."""
    return source.execute(query, parameters).fetchall()


class Database(ABC):
    """The database of one agent's memory. Threads share it; a forked process may not use it."""

    address: str  # as shown to people
    inherited = False
    writable = True  # a read-only surface clears this, and then nothing can be written
    is_near = True  # reading many rows at once is quick; a server may be far away

    def __init__(self) -> None:
        self.write_lock = threading.RLock()
        self._closed = False

    @property
    def generation(self) -> int:
        """A number that changes when a connection may lead to another server than before."""
        return 0

    @abstractmethod
    def reader(self) -> Connection:
        """Get this thread's connection for reading."""

    @abstractmethod
    def moment(self) -> AbstractContextManager[Connection]:
        """Get this thread's connection, which sees one moment of the database in the block."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Connection]:
        """Open a separate connection, which sees one moment of the database."""

    def forget_pages(self) -> None:  # noqa: B027 - a server manages its own pages
        """Free the pages that this thread has read: it is unlikely to read them again."""

    def ask(self) -> None:  # noqa: B027 - most databases need not know
        """Note that this thread is about to wait for its turn to write."""

    @abstractmethod
    def begin(self) -> Cursor:
        """Begin a write transaction, as the only writer."""

    def linger(self, cursor: Cursor) -> None:  # noqa: B027 - most databases set no limit
        """Allow this transaction to stay idle for long while something is done elsewhere."""

    @abstractmethod
    def commit(self, cursor: Cursor) -> None:
        """Make the transaction durable, and let others write."""

    @abstractmethod
    def roll_back(self, cursor: Cursor, error: BaseException) -> None:
        """Undo the transaction, and let others write."""

    def check_usable(self) -> None:
        """Raise when this handle is closed, or belongs to another process."""
        if self.inherited:
            raise StoreUnavailable(
                "this handle was opened in another process; open a new one after a fork"
            )
        if self._closed:
            raise StoreUnavailable("this handle is closed; open a new one")

    @abstractmethod
    def fold(self) -> bool:
        """Leave no remains of deleted rows. False if another process prevented it."""

    @abstractmethod
    def close(self) -> None: ...

    def alone(self, what: str, patience: float | None = None) -> AbstractContextManager[None]:
        """Keep other machines from doing the same within the block; only servers need this.

        Wait without a limit, or for so many seconds and then raise StoreUnavailable.
        """
        return nullcontext()

    def check_writable(self) -> None:
        if not self.writable:
            raise Refused("this handle only reads")

    def atomic(self) -> Atomic:
        """Open a write transaction: when the block ends, all of it is durable or none of it."""
        return Atomic(self)


class Atomic:
    """A write transaction, the only way to begin or end one. Threads and processes take turns."""

    cursor: Cursor

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        # Before the lock, which another thread may have held at the time of a fork.
        self._database.check_usable()
        self._database.ask()
        self._database.write_lock.acquire()
        try:
            self._database.check_writable()
            self.cursor = self._database.begin()
        except BaseException:
            self._database.write_lock.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is not None:
                self._database.roll_back(self.cursor, error)
            else:
                self._database.commit(self.cursor)
        finally:
            self._database.write_lock.release()


def numbers(
    source: Connection | Cursor, query: str, parameters: Sequence[Any] = ()
) -> NDArray[int64]:
    """Read the numbers in the column `record` of a query, in its order.

    They are read as one text: fetching them row by row would take longer than finding them.
    """
    import numpy as np

    listed = source.execute(f"SELECT group_concat(record) FROM ({query}) AS found", parameters).get
    return np.fromstring(listed, np.int64, sep=",") if listed else np.zeros(0, np.int64)
