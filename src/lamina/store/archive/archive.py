"""The archive: files of records that have left the store, and the index of their lines."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import BinaryIO, NamedTuple

from lamina.errors import Conflict, Corrupt, Refused, StoreUnavailable, no_record
from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.model.record import Actor, Record, plain
from lamina.store.archive.file_changes import ArchiveStore, ArchiveTransaction, FileChanges
from lamina.store.archive.files import Laid, Shelf, stamp
from lamina.store.engine.sql import Connection, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables import archived, record_lines, records
from lamina.store.tables.archived import File, Place, files, find
from lamina.store.tables.record_lines import Written

# The most lines in one file: a longer transaction would keep other writers waiting.
AT_ONCE = 10_000


class Copy(NamedTuple):
    """A file of another archive, with the last event about each of its lines."""

    number: int
    file: str
    why: str
    made_at: datetime
    lines: list[tuple[Written, int]]


class Archive:
    """The archive of one store."""

    def __init__(self, store: ArchiveStore) -> None:
        self._store = store
        self.filing = FileChanges(store)

    def add(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        why: str,
        wanted: Sequence[tuple[int, int]],
        name: str = "short_term_archive",
    ) -> int:
        """Move records out of the store into new files, and count them.

        Each is given by its number and last event: one that has changed since then stays.
        """
        folder = self._store.path_of("archive").relative_to(self._store.folder).as_posix()
        names = [f"{folder}/{name}_{stamp(now)}"]
        moved = 0
        for start in range(0, len(wanted), AT_ONCE):
            move = self._mover(wanted[start : start + AT_ONCE], why)
            moved += self.filing.filled(self._store.change, actor, action, now, names, move)
        return moved

    def get(self, record_id: str, user: str | None = None) -> Record | None:
        """Read a record from its line if this user may see it; from others, hide even a loss."""
        with translated(self._store.database.address):
            place = find(self._store.database.reader(), record_id)
        if place is None or (user is not None and place.user not in (None, user)):
            return None
        return self.read(place)

    def read(self, place: Place) -> Record:
        """Read the record at a place; raise unless it is exactly what was archived."""
        return record_lines.record_of(self._line(place), place.label)

    def restore(self, actor: Actor, now: datetime, record_ids: Sequence[str]) -> list[Record]:
        """Restore records with their ids and histories, all or none, and remove their lines."""
        wanted = dict.fromkeys(record_ids)
        places = [self._place(record_id) for record_id in wanted]
        old = list(dict.fromkeys(place.file for place in places))

        def fill(transaction: ArchiveTransaction, new: Sequence[str]) -> list[Record]:
            there = [find(transaction.db, place.id) for place in places]
            if not all(
                here is not None and here.file == place.file
                for place, here in zip(places, there, strict=True)
            ):
                raise Conflict("some of these were moved meanwhile; try again")
            restored: list[Record] = []
            for old_file, new_file in zip(old, new, strict=True):
                restored += self._take_out(transaction, old_file, new_file, wanted.keys())
            return restored

        names = [name.removesuffix(".jsonl") for name in old]
        restored = self.filing.filled(
            self._store.change, actor, "archive.restore", now, names, fill
        )
        self.filing.tidy()
        by_id = {record.id: record for record in restored}
        return [by_id[record_id] for record_id in record_ids]

    def _place(self, record_id: str) -> Place:
        with translated(self._store.database.address):
            connection = self._store.database.reader()
            place = find(connection, record_id)
            if place is not None:
                return place
            if records.exists(connection, record_id):
                raise Refused(f"the record {record_id} is not archived")
        raise no_record(record_id)

    def _take_out(
        self, transaction: ArchiveTransaction, old: str, new: str, wanted: Collection[str]
    ) -> list[Record]:
        """Put some records of a file back into the store, and the others into a new file."""
        back, kept, laid = self.parted(transaction.db, old, new, wanted)
        return transaction.unarchive(back, kept, old, new, laid)

    def parted(
        self, connection: Connection, old: str, new: str, wanted: Collection[str]
    ) -> tuple[list[Written], list[Written], Laid | None]:
        """Split a file into the wanted records and the others, which go into a new file.

        If there are no others, there is no new file.
        """
        (file,) = [file for file in files(connection) if file.file == old]
        back: list[Written] = []
        kept: list[Written] = []
        kept_lines: list[bytes] = []
        for line in self._lines(file):
            record = self.checked(record_lines.read(line), old, connection)
            if record.id in wanted:
                back.append(record)
            else:
                kept.append(record)
                kept_lines.append(line)
        laid = self.filing.shelf.write(connection, new, kept_lines) if kept else None
        return back, kept, laid

    def lines(self, connection: Connection) -> Iterator[tuple[int, int, bytes]]:
        """Yield every line with its archive and its last event, from the oldest file on."""
        query = "SELECT line, event FROM archived WHERE archive = ?"
        for file in reversed(files(connection)):
            events = dict(rows(connection, query, (file.number,)))
            for number, line in enumerate(self._lines(file), 1):
                if number not in events:
                    raise self.altered(f"{file.file}:{number}")
                yield file.number, events[number], line

    @contextmanager
    def copying(self, copies: Sequence[Copy]) -> Iterator[None]:
        """Reserve names for files to be copied in the block; remove those that are not used."""
        shelf = self.filing.shelf
        names = [copy.file for copy in copies]
        for name in names:
            if shelf.has(self._store.database.reader(), name):
                raise Conflict(f"{shelf.label(name)} is there already; move it away first")
            shelf.make_ready(name)
        if names:
            self.filing.note(names)
        try:
            yield
        finally:
            self.filing.abandon(names)

    def put_copy(self, connection: Connection, copy: Copy) -> None:
        """Write a file of another archive with its index, inside the caller's transaction."""
        copied = [(record_lines.row_of(written), event) for written, event in copy.lines]
        lines = (hashing.encode(_fields(written)) for written, _ in copy.lines)
        laid = self.filing.shelf.write(connection, copy.file, lines)
        made_at = to_micros(copy.made_at)
        file = (copy.number, copy.file, copy.why, len(copied), laid.sha256, made_at)
        connection.execute(archived.INSERT_FILE, file)
        archived.clear_stray(connection, copy.file)
        positions = [records.COLUMN[name] for name in ("id", "user", "key")]
        pairs = zip(copied, laid.places, strict=True)
        for number, ((row, event), (start, size)) in enumerate(pairs, 1):
            named = [row[position] for position in positions]
            digest = records.row_hash(row[:-2], row[-1])
            line = (*named, copy.number, number, start, size, digest, event)
            connection.execute(archived.INSERT, line)

    def _mover(
        self, wanted: Sequence[tuple[int, int]], why: str
    ) -> Callable[[ArchiveTransaction, Sequence[str]], int]:
        """Return a function that moves some records into one new file and counts them."""

        def move(transaction: ArchiveTransaction, new: Sequence[str]) -> int:
            leaving = records.unchanged(transaction.db, wanted)
            if leaving:
                lines = (record_lines.archive_line(row, self._store.agent) for row in leaving)
                laid = self.filing.shelf.write(transaction.cursor, new[0], lines)
                transaction.archive(leaving, new[0], why, laid)
            return len(leaving)

        return move

    def checked(self, written: Written, file: str, connection: Connection) -> Written:
        """Return the record of a line; raise unless it is what was archived in this file."""
        place = find(connection, written.id)
        if place is None or place.file != file or self._hash(written, file) != place.hash:
            raise self.altered(file)
        return written

    def _line(self, place: Place) -> Written:
        try:
            with self.filing.shelf.open(self._store.database.reader(), place.file) as file:
                file.seek(place.start)
                written = record_lines.read(file.read(place.size))
        except FileNotFoundError:
            raise self.missing(place.file) from None
        except OSError as error:
            raise self.unreadable(place.file, error) from error
        except Corrupt:
            raise self.altered(place.label) from None
        if written.id != place.id or self._hash(written, place.label) != place.hash:
            raise self.altered(place.label)
        return written

    def _hash(self, written: Written, label: str) -> bytes:
        """Compute the hash of a record from its line."""
        try:
            row = record_lines.row_of(written)
        except Corrupt:
            raise self.altered(label) from None
        return records.row_hash(row[:-2], row[-1])

    def _lines(self, file: File) -> Iterator[bytes]:
        """Yield the lines of a file; raise unless it is exactly what was archived."""
        try:
            with self.filing.shelf.open(self._store.database.reader(), file.file) as opened:
                if _sha256(opened) != file.sha256:
                    raise self.altered(file.file)
                opened.seek(0)
                for line in opened:
                    yield line.rstrip(b"\n")
        except FileNotFoundError:
            raise self.missing(file.file) from None
        except OSError as error:
            raise self.unreadable(file.file, error) from error

    def missing(self, file: str) -> Corrupt:
        """Return the error for a file that is gone."""
        gone = "is gone, but memories were archived there; put it back from a backup"
        return Corrupt(f"{self.filing.shelf.label(file)} {gone}")

    def altered(self, label: str) -> Corrupt:
        """Return the error for a file or line that was changed."""
        changed = "is not what was archived; see `lamina audit verify`"
        return Corrupt(f"{self.filing.shelf.label(label)} {changed}")

    def unreadable(self, file: str, error: OSError) -> StoreUnavailable:
        """Return the error for a file that cannot be read."""
        label = self.filing.shelf.label(file)
        return StoreUnavailable(f"{label} cannot be read: {error.strerror}")


def _sha256(file: BinaryIO) -> bytes:
    return hashlib.file_digest(file, "sha256").digest()  # type: ignore[arg-type]


def _fields(written: Written) -> dict[str, object]:
    """Return the fields as the line has them: taken from its row, they would hide a change."""
    fields = {name: plain(getattr(written, name)) for name in written.__struct_fields__}
    del fields["archived"]
    if written.ts is None:  # a line of an old archive, which is kept unchanged
        del fields["ts"], fields["type"]
    return fields


def damaged(
    shelf: Shelf, connection: Connection, step: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Yield the files and lines that differ from what was archived, each with its problem."""
    for file in files(connection):
        try:
            with shelf.open(connection, file.file) as opened:
                if _sha256(opened) != file.sha256:
                    yield f"archive {file.file}", "it differs from what was archived"
                    continue
                opened.seek(0)
                yield from _misplaced(connection, file, opened, step)
        except Refused:
            yield f"archive {file.file}", "it is a link to elsewhere"
        except (FileNotFoundError, IsADirectoryError):
            yield f"archive {file.file}", "it is missing"
        except Corrupt as error:  # the file is unchanged, but a line in it is not a valid record
            yield f"archive {file.file}", error.message
        except OSError as error:
            yield f"archive {file.file}", f"it cannot be read: {error.strerror}"


def _misplaced(
    connection: Connection, file: File, lines: Iterable[bytes], step: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Yield the lines for which the index has another place or other values."""
    query = "SELECT user, key, line, start, bytes, hash FROM archived WHERE id = ? AND archive = ?"
    start = 0
    for number, line in enumerate(lines, 1):
        step()
        row = record_lines.row_of(record_lines.read(line))
        indexed = connection.execute(query, (row[records.COLUMN["id"]], file.number)).get
        user, key = row[records.COLUMN["user"]], row[records.COLUMN["key"]]
        digest = records.row_hash(row[:-2], row[-1])
        if indexed != (user, key, number, start, len(line) - 1, digest):
            yield f"archive {file.file}:{number}", "the index of the archive says otherwise"
        start += len(line)
