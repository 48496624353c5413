"""Files that change together with rows, or not at all.

A file's name is first noted as a stray. The file is written, made durable and put in place while nobody else can write;
the same transaction changes the rows and takes the name from the strays. Whatever a crash leaves behind is therefore a
stray, and opening the store removes it.

A file is removed only after a commit that dooms it. A commit that failed may still be found in the log by whoever recovers
it, and would need its file; one that came after it makes sure that it is not.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import apsw

from lamina.errors import Corrupt, LaminaError, StoreUnavailable
from lamina.home import fsync_folder, make_private_folder, refuse_link
from lamina.model import Actor, Record
from lamina.store.connection import rows, translated

if TYPE_CHECKING:
    from lamina.store.removal import Begun
    from lamina.store.store import Store
    from lamina.store.transaction import Transaction

Result = TypeVar("Result", int, list[Record], "Begun")
NAME = re.compile(r"[a-z_]{1,32}/[a-z_]{1,32}_archive_[0-9TZ.-]{1,64}\.jsonl")


class Laid(NamedTuple):
    """What was written: the digest of the file, and where each line begins and how long it is."""

    sha256: bytes
    places: list[tuple[int, int]]


class Filing:
    """The files of one store that its rows know of."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def path(self, file: str) -> Path:
        """Where a file lies. An index and an export are data: a name that is none of ours is not followed."""
        if not NAME.fullmatch(file):
            raise Corrupt(f"{file!r} is not the name of an archive; run `lamina audit verify`")
        path = self._store.folder / file
        refuse_link(path.parent)
        refuse_link(path)
        return path

    def tidy(self) -> None:
        """Remove the files that a crash left behind. One that is being written is waited for: it is no stray then.

        Who may only read, or finds the disk full, goes on all the same: the next opening removes them.
        """
        with suppress(StoreUnavailable), translated(self._store.database.path):
            if self._store.database.reader().execute("SELECT 1 FROM strays LIMIT 1").get is None:
                return
            self._sweep()

    def _sweep(self, names: Sequence[str] | None = None) -> None:
        """Remove strays, all or some."""
        with self._store.database.atomic() as transaction:
            known = [file for (file,) in rows(transaction.cursor.connection, "SELECT file FROM strays")]
            found = [(file,) for file in known if names is None or file in names]
            transaction.cursor.executemany("UPDATE strays SET doomed = 1 WHERE file = ? AND NOT doomed", found)
        with self._store.database.atomic() as transaction:
            for (file,) in found:
                if transaction.cursor.execute("SELECT 1 FROM strays WHERE file = ? AND doomed", (file,)).get is not None:
                    self._remove(file)
                    transaction.cursor.execute("DELETE FROM strays WHERE file = ?", (file,))

    def strays(self) -> list[str]:
        """The names that belong to nothing, yet or any more."""
        with translated(self._store.database.path):
            return [file for (file,) in rows(self._store.database.reader(), "SELECT file FROM strays")]

    def note(self, names: Sequence[str]) -> None:
        """Note names as strays: their files are about to be put here, or to be removed."""
        with translated(self._store.database.path), self._store.database.atomic() as transaction:
            insert = "INSERT OR IGNORE INTO strays (file) VALUES (?)"
            transaction.cursor.executemany(insert, [(name,) for name in names])

    def filled(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        names: Sequence[str],
        fill: Callable[[Transaction, Sequence[str]], Result],
        begin: Callable[[Actor, str, datetime], Transaction] | None = None,
    ) -> Result:
        """Let new files and the rows that they concern change together; `begin` makes a transaction of another kind."""
        while True:
            new = self._reserve(names)
            try:
                with (begin or self._store.change)(actor, action, now) as transaction:
                    result = fill(transaction, new) if _are_strays(transaction, new) else None
            except BaseException:
                self.abandon(new)
                raise
            if result is not None:  # else a process that opened the store has tidied the names away: take others
                self.abandon(new)  # those that were not needed
                return result

    def _reserve(self, names: Sequence[str]) -> list[str]:
        """Names that nothing has, noted as strays until their files belong to an archive."""
        taken = "SELECT 1 FROM archives WHERE file = ?1 UNION SELECT 1 FROM strays WHERE file = ?1"
        files = []
        with translated(self._store.database.path), self._store.database.atomic() as transaction:
            for given in names:
                name, first = _numbered(given)
                for number in itertools.count(first):
                    file = f"{name}.jsonl" if number == 1 else f"{name}-{number}.jsonl"
                    if transaction.cursor.execute(taken, (file,)).get is None and not self.path(file).exists():
                        break
                make_private_folder(self.path(file).parent)
                transaction.cursor.execute("INSERT INTO strays (file) VALUES (?)", (file,))
                files.append(file)
        return files

    def write(self, file: str, lines: Iterable[bytes]) -> Laid:
        """A whole file that survives a power cut, under a name that nothing else had."""
        path = self.path(file)
        work = path.with_name(path.name + ".tmp")
        digest, places, start = hashlib.sha256(), [], 0
        try:
            descriptor = os.open(work, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
            with os.fdopen(descriptor, "wb", buffering=1 << 20) as out:
                for line in lines:
                    out.write(line + b"\n")
                    digest.update(line + b"\n")
                    places.append((start, len(line)))
                    start += len(line) + 1
                out.flush()
                os.fsync(out.fileno())
            os.rename(work, path)
            for folder in (path.parent, path.parent.parent):  # the folder may be new as well
                fsync_folder(folder)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
        return Laid(digest.digest(), places)

    def abandon(self, new: Sequence[str]) -> None:
        """Leave nothing of files that came to nothing. If not even this works, the next opening does it."""
        with suppress(LaminaError, OSError), translated(self._store.database.path):
            if any(_is_stray(self._store.database.reader(), file) for file in new):
                self._sweep(new)

    def _remove(self, file: str) -> None:
        path = self.path(file)
        try:
            for name in (path.name, path.name + ".tmp"):
                path.with_name(name).unlink(missing_ok=True)
            if path.parent.is_dir():
                fsync_folder(path.parent)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be removed: {error.strerror}") from error


def _is_stray(connection: apsw.Connection | apsw.Cursor, file: str) -> bool:
    """Whether a name is noted, and free to be used."""
    return connection.execute("SELECT 1 FROM strays WHERE file = ? AND NOT doomed", (file,)).get is not None


def _are_strays(transaction: Transaction, files: Sequence[str]) -> bool:
    return all(_is_stray(transaction.cursor, file) for file in files)


def _numbered(name: str) -> tuple[str, int]:
    """A name without the number behind it, and that number: it rises, so that names stay short and are not used again."""
    base, dash, number = name.rpartition("-")
    return (base, int(number)) if dash else (name, 1)
