"""Files that change together with rows, or not at all.

A file's name is first noted as a stray. The file is written, made durable and put in place while nobody else can write;
the same transaction changes the rows and takes the name from the strays. Whatever a crash leaves behind is therefore a
stray, and opening the store removes it.

A file is removed only after a commit that dooms it. A commit that failed may still be found in the log by whoever recovers
it, and would need its file; one that came after it makes sure that it is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Protocol, TypeVar

from lamina.errors import LaminaError, StoreUnavailable
from lamina.model.record import Actor, Record
from lamina.store.archive.files import NAME, Laid, Shelf, shelf
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables.interfaces import OpenTransaction, RecordSource
from lamina.store.tables.record_lines import Written
from lamina.store.tables.records import Row

Result = TypeVar("Result")


class ArchiveTransaction(OpenTransaction, Protocol):
    """A transaction that moves records between the store and files of the archive."""

    def archive(self, leaving: Sequence[Row], file: str, why: str, laid: Laid, /) -> None: ...

    def unarchive(
        self,
        back: Sequence[Written],
        kept: Sequence[Written],
        old: str,
        new: str,
        laid: Laid | None,
        /,
    ) -> list[Record]: ...


class ArchiveStore(RecordSource, Protocol):
    """A store that has an archive."""

    def change(self, actor: Actor, action: str, now: datetime, /) -> ArchiveTransaction: ...


Change = TypeVar("Change", bound=OpenTransaction)


class Filing:
    """The files of one store that its rows know of."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store

    @property
    def shelf(self) -> Shelf:
        """Where they lie."""
        return shelf(self._store.database.reader(), self._store.folder)

    def tidy(self) -> None:
        """Remove the files that a crash left behind. One that is being written is waited for: it is no stray then.

        Who may only read, or finds the disk full, goes on all the same: the next opening removes them.
        """
        with suppress(StoreUnavailable), translated(self._store.database.address):
            if self._store.database.reader().execute("SELECT 1 FROM strays LIMIT 1").get is None:
                return
            self._sweep()

    def _sweep(self, names: Sequence[str] | None = None) -> None:
        """Remove strays, all or some."""
        with self._store.database.atomic() as transaction:
            known = [
                file for (file,) in rows(transaction.cursor.connection, "SELECT file FROM strays")
            ]
            found = [(file,) for file in known if names is None or file in names]
            transaction.cursor.executemany(
                "UPDATE strays SET doomed = 1 WHERE file = ? AND doomed = 0", found
            )
        with self._store.database.atomic() as transaction:
            wrong = wrong_strays(transaction.cursor.connection)  # somebody else wrote these
            for (file,) in found:
                if file not in wrong and _is_doomed(transaction.cursor, file):
                    self.shelf.remove(transaction.cursor, file)
                    transaction.cursor.execute("DELETE FROM strays WHERE file = ?", (file,))

    def strays(self) -> list[str]:
        """The names that belong to nothing, yet or any more."""
        with translated(self._store.database.address):
            return [
                file for (file,) in rows(self._store.database.reader(), "SELECT file FROM strays")
            ]

    def note(self, names: Sequence[str]) -> None:
        """Note names as strays: their files are about to be put here, or to be removed."""
        with translated(self._store.database.address), self._store.database.atomic() as transaction:
            insert = "INSERT INTO strays (file) VALUES (?) ON CONFLICT DO NOTHING"
            transaction.cursor.executemany(insert, [(name,) for name in names])

    def filled(
        self,
        begin: Callable[[Actor, str, datetime], Change],
        actor: Actor,
        action: str,
        now: datetime,
        names: Sequence[str],
        fill: Callable[[Change, Sequence[str]], Result],
    ) -> Result:
        """Let new files and the rows that they concern change together; `begin` makes the transaction."""
        while True:
            new = self._reserve(names)
            try:
                with begin(actor, action, now) as transaction:
                    result = fill(transaction, new) if _are_strays(transaction, new) else None
            except BaseException:
                self.abandon(new)
                raise
            if (
                result is not None
            ):  # else a process that opened the store has tidied the names away: take others
                self.abandon(new)  # those that were not needed
                return result

    def _reserve(self, names: Sequence[str]) -> list[str]:
        """Names that nothing has, noted as strays until their files belong to an archive."""
        taken = "SELECT 1 FROM archives WHERE file = ?1 UNION SELECT 1 FROM strays WHERE file = ?1"
        files = []
        with translated(self._store.database.address), self._store.database.atomic() as transaction:
            for given in names:
                name, first = _numbered(given)
                for number in itertools.count(first):
                    file = f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl"
                    if transaction.cursor.execute(
                        taken, (file,)
                    ).get is None and not self.shelf.has(transaction.cursor, file):
                        break
                self.shelf.make_ready(file)
                transaction.cursor.execute("INSERT INTO strays (file) VALUES (?)", (file,))
                files.append(file)
        return files

    def abandon(self, new: Sequence[str]) -> None:
        """Leave nothing of files that came to nothing. If not even this works, the next opening does it."""
        with suppress(LaminaError, OSError), translated(self._store.database.address):
            if any(_is_stray(self._store.database.reader(), file) for file in new):
                self._sweep(new)


def wrong_strays(connection: Connection) -> list[str]:
    """Strays that this program would not note: files that memories lie in, and names of anything
    but archives."""
    belongs = {file for (file,) in rows(connection, "SELECT file FROM archives")}
    return [
        file
        for (file,) in rows(connection, "SELECT file FROM strays")
        if file in belongs or not NAME.fullmatch(file)
    ]


def _is_doomed(cursor: Cursor, file: str) -> bool:
    return (
        cursor.execute("SELECT 1 FROM strays WHERE file = ? AND doomed = 1", (file,)).get
        is not None
    )


def _is_stray(connection: Connection | Cursor, file: str) -> bool:
    """Whether a name is noted, and free to be used."""
    return (
        connection.execute("SELECT 1 FROM strays WHERE file = ? AND doomed = 0", (file,)).get
        is not None
    )


def _are_strays(transaction: OpenTransaction, files: Sequence[str]) -> bool:
    return all(_is_stray(transaction.cursor, file) for file in files)


def _numbered(name: str) -> tuple[str, int]:
    """A name without the number behind it, and that number: it rises, so that names stay short and are not used again."""
    base, dash, number = name.rpartition("-")
    return (base, int(number)) if dash else (name, 1)
