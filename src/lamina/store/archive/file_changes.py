"""Change files together with rows, or not at all.

A file's name is first noted as a stray. The file is written, made durable and put in place while no
other process can write; the same transaction changes the rows and takes the name from the strays.
So everything that a crash leaves behind is a stray, and opening the store removes it.

A file is removed only after a commit that marks it as doomed. If the commit before that failed, the
process that recovers the log may still find it there, and would then need the file; after a later
commit this is no longer possible.
"""

from __future__ import annotations

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


class FileChanges:
    """The files of one store that its rows refer to."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store

    @property
    def shelf(self) -> Shelf:
        """The folder or table that holds the files."""
        return shelf(self._store.database.reader(), self._store.folder)

    def tidy(self) -> None:
        """Remove the files that a crash left behind, once no other process is writing one.

        A process that cannot write skips this; the next opening removes them.
        """
        with suppress(StoreUnavailable), translated(self._store.database.address):
            if self._store.database.reader().execute("SELECT 1 FROM strays LIMIT 1").get is None:
                return
            self._sweep()

    def _sweep(self, names: Sequence[str] | None = None) -> None:
        """Remove strays, all or some."""
        with self._store.database.atomic() as transaction:
            strays = _strays(transaction.cursor.connection)
            doomed = [file for file in strays if names is None or file in names]
            update = "UPDATE strays SET doomed = 1 WHERE file = ? AND doomed = 0"
            transaction.cursor.executemany(update, [(file,) for file in doomed])
        with self._store.database.atomic() as transaction:
            foreign = wrong_strays(transaction.cursor.connection)
            for file in doomed:
                if file not in foreign and _is_doomed(transaction.cursor, file):
                    self.shelf.remove(transaction.cursor, file)
                    transaction.cursor.execute("DELETE FROM strays WHERE file = ?", (file,))

    def strays(self) -> list[str]:
        """List the names that belong to no archive: not yet, or no longer."""
        with translated(self._store.database.address):
            return _strays(self._store.database.reader())

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
        """Write new files and their rows together; `begin` returns the transaction."""
        while True:
            new = self._reserve(names)
            try:
                with begin(actor, action, now) as transaction:
                    result = fill(transaction, new) if _are_strays(transaction, new) else None
            except BaseException:
                self.abandon(new)
                raise
            # No result: a process that opened the store in the meantime has removed these names.
            if result is not None:
                self.abandon(new)  # removes those that were not needed
                return result

    def _reserve(self, names: Sequence[str]) -> list[str]:
        """Note free names as strays, until their files belong to an archive."""
        files = []
        with translated(self._store.database.address), self._store.database.atomic() as transaction:
            for name in names:
                file = self._free_name(transaction.cursor, name)
                self.shelf.make_ready(file)
                transaction.cursor.execute("INSERT INTO strays (file) VALUES (?)", (file,))
                files.append(file)
        return files

    def _free_name(self, cursor: Cursor, name: str) -> str:
        """Find the next name of a file that is not taken."""
        taken = "SELECT 1 FROM archives WHERE file = ?1 UNION SELECT 1 FROM strays WHERE file = ?1"
        base, number = _numbered(name)
        while True:
            file = f"{base}.jsonl" if number == 1 else f"{base}-{number}.jsonl"
            if cursor.execute(taken, (file,)).get is None and not self.shelf.has(cursor, file):
                return file
            number += 1

    def abandon(self, new: Sequence[str]) -> None:
        """Remove files that are not needed after all; if this fails, the next opening does it."""
        with suppress(LaminaError, OSError), translated(self._store.database.address):
            if any(_is_stray(self._store.database.reader(), file) for file in new):
                self._sweep(new)


def wrong_strays(connection: Connection) -> list[str]:
    """List the strays that we did not note: files in use, or names that no archive has."""
    used = {file for (file,) in rows(connection, "SELECT file FROM archives")}
    return [file for file in _strays(connection) if file in used or not NAME.fullmatch(file)]


def _strays(connection: Connection) -> list[str]:
    return [file for (file,) in rows(connection, "SELECT file FROM strays")]


def _is_doomed(cursor: Cursor, file: str) -> bool:
    query = "SELECT 1 FROM strays WHERE file = ? AND doomed = 1"
    return cursor.execute(query, (file,)).get is not None


def _is_stray(connection: Connection | Cursor, file: str) -> bool:
    """Tell whether a name is noted as a stray and free to use."""
    query = "SELECT 1 FROM strays WHERE file = ? AND doomed = 0"
    return connection.execute(query, (file,)).get is not None


def _are_strays(transaction: OpenTransaction, files: Sequence[str]) -> bool:
    return all(_is_stray(transaction.cursor, file) for file in files)


def _numbered(name: str) -> tuple[str, int]:
    """Split a name into its base and number; the next file only increments it."""
    base, dash, number = name.rpartition("-")
    return (base, int(number)) if dash else (name, 1)
