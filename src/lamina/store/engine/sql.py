"""What the store asks of a database. Its SQL is written once, in what SQLite and PostgreSQL have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from lamina.errors import Refused

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray


class Half(bytes):
    """A vector of half-precision numbers, as it is stored. PostgreSQL has a type of its own for it."""


class Result(Protocol):
    """What a statement gives."""

    @property
    def get(self) -> Any:
        """All of it with as little around it as possible: None, a value, a row, or a list of them."""
        ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Where statements are run."""

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Result: ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...

    def changes(self) -> int:
        """How many rows the last statement has changed."""
        ...


class Cursor(Protocol):
    """Where statements of a transaction are run."""

    @property
    def connection(self) -> Any: ...

    def execute(self, statement: str, parameters: Sequence[Any] = ..., /) -> Result: ...

    def executemany(self, statement: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...


def rows(source: Connection | Cursor, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """All rows of a query. The statement is run to its end: one left halfway would hold on to an old view."""
    return source.execute(query, parameters).fetchall()


class Database(ABC):
    """Where one agent's memory is kept. Threads share it; a process that was forked from ours may not use it."""

    address: str  # as people are told of it
    inherited = False
    writable = True  # a surface that only reads takes this away, and there is no way to write left

    def __init__(self) -> None:
        self.write_lock = threading.RLock()

    @abstractmethod
    def reader(self) -> Connection:
        """Where this thread reads."""

    @abstractmethod
    def moment(self) -> AbstractContextManager[Connection]:
        """Where this thread reads, and within the block sees everything as it is at one moment."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Connection]:
        """The same on a connection of its own."""

    def ask(self) -> None:  # noqa: B027 - most need not know
        """This thread is about to wait for its turn to write."""

    @abstractmethod
    def begin(self) -> Cursor:
        """Begin to write, as the only one who does."""

    def linger(self, cursor: Cursor) -> None:  # noqa: B027 - most let everybody take their time
        """Let this transaction wait for long without a word, while something is done elsewhere."""

    @abstractmethod
    def commit(self, cursor: Cursor) -> None:
        """Make durable what was written, and let others write."""

    @abstractmethod
    def roll_back(self, cursor: Cursor, error: BaseException) -> None:
        """Leave nothing of what was written, and let others write."""

    @abstractmethod
    def check_usable(self) -> None:
        """Raise when this handle is closed, or of another process."""

    @abstractmethod
    def fold(self) -> bool:
        """Let nothing be left outside of the rows, of what was deleted; whether nobody kept us from that."""

    @abstractmethod
    def close(self) -> None: ...

    def alone(self, what: str, patience: float | None = None) -> AbstractContextManager[None]:
        """Within the block nobody on another machine does this. Who shares a file is on the same one.

        It is waited for: without end, or so many seconds and then StoreUnavailable.
        """
        return nullcontext()

    def check_writable(self) -> None:
        if not self.writable:
            raise Refused("this handle only reads")

    def atomic(self) -> Atomic:
        """One write transaction: all of it is durable when the block ends, or none of it ever happened."""
        return Atomic(self)


class Atomic:
    """The one place that begins and ends write transactions. Threads of a process queue, processes wait their turn."""

    cursor: Cursor

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        self._database.check_usable()  # before the lock: another thread may have held it when we were forked
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
    """The numbers of records that a query gives in its column `record`, in the order in which it has them.

    They come as one text: handing over row by row would take longer than finding them.
    """
    import numpy as np

    found = source.execute(f"SELECT group_concat(record) FROM ({query}) AS found", parameters).get
    return np.fromstring(found, np.int64, sep=",") if found else np.zeros(0, np.int64)
