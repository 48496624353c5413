"""The archive: files that take what leaves the store, line by line, and the index that still finds each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from lamina.errors import Conflict, Corrupt, NotFound, Refused, StoreUnavailable
from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.model.record import Actor, Record, plain
from lamina.store.archive.file_changes import ArchiveStore, ArchiveTransaction, Filing
from lamina.store.archive.files import Laid, Shelf, stamp
from lamina.store.engine.sql import Connection, rows
from lamina.store.engine.sqlite import translated
from lamina.store.tables import archived, record_lines, records
from lamina.store.tables.archived import File, Place, files, find
from lamina.store.tables.record_lines import Written

# How many lines one file takes, so that nobody waits long for its transaction.
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
        self.filing = Filing(store)

    def add(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        why: str,
        wanted: Sequence[tuple[int, int]],
        name: str = "short_term_archive",
    ) -> int:
        """Move records out of the store into new files; how many.

        They are named by their number and last event: one that has changed since it was chosen stays.
        """
        moved = 0
        for start in range(0, len(wanted), AT_ONCE):
            moved += self._add_some(actor, action, now, why, wanted[start : start + AT_ONCE], name)
        return moved

    def get(self, record_id: str, user: str | None = None) -> Record | None:
        """The record, read from its line, if this user may see it: of others' not even a loss is told."""
        with translated(self._store.database.address):
            place = find(self._store.database.reader(), record_id)
        if place is None or (user is not None and place.user not in (None, user)):
            return None
        return self.read(place)

    def read(self, place: Place) -> Record:
        """The record at a place, once it is certain that it is what was archived."""
        return record_lines.record_of(self._line(place), place.label)

    def restore(self, actor: Actor, now: datetime, record_ids: Sequence[str]) -> list[Record]:
        """Bring records back with their ids and their histories, all or none; their lines leave the archive."""
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
            made: list[Record] = []
            for name, anew in zip(old, new, strict=True):
                made += self._take_out(transaction, name, anew, wanted.keys())
            return made

        made = self.filing.filled(
            self._store.change,
            actor,
            "archive.restore",
            now,
            [name.removesuffix(".jsonl") for name in old],
            fill,
        )
        self.filing.tidy()
        found = {record.id: record for record in made}
        return [found[record_id] for record_id in record_ids]

    def _place(self, record_id: str) -> Place:
        with translated(self._store.database.address):
            connection = self._store.database.reader()
            place = find(connection, record_id)
            if place is not None:
                return place
            if records.exists(connection, record_id):
                raise Refused(f"the record {record_id} is not archived")
        raise NotFound(f"there is no record {record_id}")

    def _take_out(
        self, transaction: ArchiveTransaction, old: str, new: str, wanted: Collection[str]
    ) -> list[Record]:
        """Put some records of a file back into the store, and the others into a new file."""
        back, kept, laid = self.parted(transaction.db, old, new, wanted)
        return transaction.unarchive(back, kept, old, new, laid)

    def parted(
        self, connection: Connection, old: str, new: str, wanted: Collection[str]
    ) -> tuple[list[Written], list[Written], Laid | None]:
        """Some records of a file, the others, and the new file that those are in; none when nothing is left."""
        (file,) = [file for file in files(connection) if file.file == old]
        back: list[Written] = []
        kept: list[tuple[Written, bytes]] = []
        for line in self._lines(file):
            found = self.checked(record_lines.read(line), old, connection)
            if found.id in wanted:
                back.append(found)
            else:
                kept.append((found, line))
        laid = (
            self.filing.shelf.write(connection, new, (line for _, line in kept)) if kept else None
        )
        return back, [one for one, _ in kept], laid

    def lines(self, connection: Connection) -> Iterator[tuple[int, int, bytes]]:
        """Every line from the oldest file on, with its archive and the last event about it."""
        for file in reversed(files(connection)):
            events = dict(
                rows(
                    connection, "SELECT line, event FROM archived WHERE archive = ?", (file.number,)
                )
            )
            for number, line in enumerate(self._lines(file), 1):
                if number not in events:
                    raise self.altered(f"{file.file}:{number}")
                yield file.number, events[number], line

    @contextmanager
    def copying(self, copies: Sequence[Copy]) -> Iterator[None]:
        """Note the names of files that are about to be put here; those that were not are removed again."""
        names = [copy.file for copy in copies]
        for name in names:
            if self.filing.shelf.has(self._store.database.reader(), name):
                raise Conflict(
                    f"{self.filing.shelf.label(name)} is there already; move it away first"
                )
            self.filing.shelf.make_ready(name)
        if names:
            self.filing.note(names)
        try:
            yield
        finally:
            self.filing.abandon(names)

    def put_copy(self, connection: Connection, copy: Copy) -> None:
        """A file of another archive with its index, inside the caller's transaction."""
        found = [(record_lines.row_of(one), event) for one, event in copy.lines]
        laid = self.filing.shelf.write(
            connection, copy.file, (hashing.encode(_named(one)) for one, _ in copy.lines)
        )
        made = to_micros(copy.made_at)
        connection.execute(
            archived.INSERT_FILE, (copy.number, copy.file, copy.why, len(found), laid.sha256, made)
        )
        archived.clear_stray(connection, copy.file)
        id_, user, key = (records.COLUMN[name] for name in ("id", "user", "key"))
        for line, ((row, event), (start, size)) in enumerate(
            zip(found, laid.places, strict=True), 1
        ):
            digest = records.row_hash(row[:-2], row[-1])
            connection.execute(
                archived.INSERT,
                (row[id_], row[user], row[key], copy.number, line, start, size, digest, event),
            )

    def _add_some(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        why: str,
        wanted: Sequence[tuple[int, int]],
        name: str,
    ) -> int:
        def fill(transaction: ArchiveTransaction, new: Sequence[str]) -> int:
            leaving = records.unchanged(transaction.db, wanted)
            if leaving:
                lines = (record_lines.line(row, self._store.agent) for row in leaving)
                laid = self.filing.shelf.write(transaction.cursor, new[0], lines)
                transaction.archive(leaving, new[0], why, laid)
            return len(leaving)

        place = self._store.path_of("archive").relative_to(self._store.folder).as_posix()
        names = [f"{place}/{name}_{stamp(now)}"]
        return self.filing.filled(self._store.change, actor, action, now, names, fill)

    def checked(self, found: Written, file: str, connection: Connection) -> Written:
        """A line of a file, when it is what was archived there."""
        place = find(connection, found.id)
        if place is None or place.file != file or self._hash(found, file) != place.hash:
            raise self.altered(file)
        return found

    def _line(self, place: Place) -> Written:
        try:
            with self.filing.shelf.open(self._store.database.reader(), place.file) as file:
                file.seek(place.start)
                found = record_lines.read(file.read(place.size))
        except FileNotFoundError:
            raise self.missing(place.file) from None
        except OSError as error:
            raise StoreUnavailable(
                f"{self.filing.shelf.label(place.file)} cannot be read: {error.strerror}"
            ) from error
        except Corrupt:
            raise self.altered(place.label) from None
        if found.id != place.id or self._hash(found, place.label) != place.hash:
            raise self.altered(place.label)
        return found

    def _hash(self, found: Written, label: str) -> bytes:
        """What fixes a record, made again from its line."""
        try:
            row = record_lines.row_of(found)
        except Corrupt:
            raise self.altered(label) from None
        return records.row_hash(row[:-2], row[-1])

    def _lines(self, file: File) -> Iterator[bytes]:
        """The lines of a file, once it is certain that it is what was archived."""
        try:
            with self.filing.shelf.open(self._store.database.reader(), file.file) as opened:
                if hashlib.file_digest(opened, "sha256").digest() != file.sha256:  # type: ignore[arg-type]
                    raise self.altered(file.file)
                opened.seek(0)
                for line in opened:
                    yield line.rstrip(b"\n")
        except FileNotFoundError:
            raise self.missing(file.file) from None
        except OSError as error:
            raise StoreUnavailable(
                f"{self.filing.shelf.label(file.file)} cannot be read: {error.strerror}"
            ) from error

    def missing(self, file: str) -> Corrupt:
        """What to say about a file that is gone."""
        return Corrupt(
            f"{self.filing.shelf.label(file)} is gone, but memories were archived there; put it back from a backup"
        )

    def altered(self, label: str) -> Corrupt:
        """What to say about a file or line that somebody has changed."""
        return Corrupt(
            f"{self.filing.shelf.label(label)} is not what was archived; see `lamina audit verify`"
        )


def _named(found: Written) -> dict[str, object]:
    """A line with exactly what was given: made again from its row, what somebody has altered would look right."""
    fields = {name: plain(getattr(found, name)) for name in found.__struct_fields__}
    del fields["archived"]
    return fields


def damaged(
    shelf: Shelf, connection: Connection, step: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """The files and lines that are not as they were archived, with what is wrong."""
    for file in files(connection):
        try:
            with shelf.open(connection, file.file) as opened:
                if hashlib.file_digest(opened, "sha256").digest() != file.sha256:  # type: ignore[arg-type]
                    yield f"archive {file.file}", "it differs from what was archived"
                    continue
                opened.seek(0)
                yield from _misplaced(connection, file, opened, step)
        except Refused:
            yield f"archive {file.file}", "it is a link to elsewhere"
        except (FileNotFoundError, IsADirectoryError):
            yield f"archive {file.file}", "it is missing"
        except Corrupt as error:  # it is as it was archived, but that was no record
            yield f"archive {file.file}", error.message
        except OSError as error:
            yield f"archive {file.file}", f"it cannot be read: {error.strerror}"


def _misplaced(
    connection: Connection, file: File, lines: Iterable[bytes], step: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Lines that the index has elsewhere, or as something else."""
    query = "SELECT user, key, line, start, bytes, hash FROM archived WHERE id = ? AND archive = ?"
    start = 0
    for number, line in enumerate(lines, 1):
        step()
        row = record_lines.row_of(record_lines.read(line))
        told = connection.execute(query, (row[records.COLUMN["id"]], file.number)).get
        own = row[records.COLUMN["user"]], row[records.COLUMN["key"]]
        if told != (*own, number, start, len(line) - 1, records.row_hash(row[:-2], row[-1])):
            yield f"archive {file.file}:{number}", "the index of the archive says otherwise"
        start += len(line)
