"""Read and change the store of one agent; every change is a transaction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from lamina.errors import Corrupt, StoreUnavailable
from lamina.home.folder import size_of
from lamina.home.retention import PRESETS
from lamina.home.settings import Settings
from lamina.model import hashing
from lamina.model.clock import Ids
from lamina.model.record import Actor, Event, Record
from lamina.store.archive.archive import Archive
from lamina.store.core.transaction import EVERY, Transaction
from lamina.store.core.witness import Witness
from lamina.store.engine.sql import Connection, Cursor, Database
from lamina.store.engine.sqlite import FROM_SQLITE, translate, translated
from lamina.store.tables import (
    archived,
    derived,
    events,
    meta,
    pending,
    records,
    users,
)
from lamina.store.tables.events import Head
from lamina.store.tables.reads import ReadLog
from lamina.store.tables.records import Filter, Row
from lamina.store.tables.rejections import Rejections
from lamina.store.tables.sleep import Night
from lamina.text import words

if TYPE_CHECKING:
    from lamina.store.archive.search import ArchiveQuery
    from lamina.store.index.snapshot import Index

FILE_NAME = "memory.db"
READS_NAME = "reads.db"
Result = TypeVar("Result")


class Store:
    """The system of record: reads return values, changes go through `change` and leave an event."""

    def __init__(self, folder: Path, agent: str, database: Database, settings: Settings) -> None:
        self.folder = folder
        self.agent = agent
        self.database = database
        self.salts = hashing.Salts()
        self.settings = settings
        self.archive = Archive(self)
        self.rejections = Rejections(self)
        self.night = Night(self)
        self.witness = Witness(database)
        self.identify()
        self.reads = ReadLog(
            folder / READS_NAME,
            agent,
            settings["store.busy_timeout_ms"],
            strict=settings["audit.reads"] == "strict",
        )

    def identify(self, connection: Connection | None = None) -> None:
        """Read the identity of the store: this or another process may have replaced the file."""
        self.id, self.analyser = _identity(self.database, self.agent, connection)
        self.witness.forget()
        self.seed = hashing.chain_seed(self.id, self.agent, "events")
        self.ids = Ids(self.id, self.agent)

    def check_not_moved(self, source: Connection | Cursor) -> None:
        """Raise if the memory was moved since it was opened: a write here would be lost."""
        meta.check_here(source, self.database.address, self.agent)

    def path_of(self, name: str) -> Path:
        """Locate a file or folder of this agent; a preset may choose another path in its folder."""
        return self.folder / PRESETS[self.settings["preset"]].paths.get(name, name)

    def close(self) -> None:
        """Write the reads that are buffered, and close both databases."""
        try:
            self.reads.close()
        finally:
            self.database.close()
            if "index" in self.__dict__:
                self.index.close()

    def change(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        note: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        undivided: bool = False,
    ) -> Transaction:
        """Begin a transaction whose changes are one action of one actor.

        A very large number of changes makes several events, unless it is undivided.
        """
        return Transaction(self, actor, action, now, note, details, undivided=undivided)

    def read(self) -> Reading:
        """Read in a block: `with store.read() as db: records.open_runs(db, user)`."""
        return Reading(self.database)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let this thread see the store at one moment for the length of this block."""
        with self.database.moment():
            yield

    @functools.cached_property
    def index(self) -> Index:
        """The catalogue, postings and vectors that searches read."""
        from lamina.store.index.snapshot import Index  # numpy is needed only here

        return Index(self)

    # Records

    def record(self, row: Row) -> Record:
        """Build the record of a row; raise Corrupt if the row is damaged."""
        try:
            return records.record_of(row, self.agent)
        except (Corrupt, TypeError, ValueError, KeyError, OverflowError) as error:
            what = f"record number {row[0]} is damaged; run `lamina audit verify`"
            raise Corrupt(f"{self.database.address}: {what}") from error

    def get(self, record_id: str, user: str | None = None) -> Record | None:
        """Find a record, in the archive as well; an archived one only if this user may see it."""
        row = self.row(record_id)
        if row is not None:
            return self.record(row)
        return self.steadily(lambda: self._archived(record_id, user))

    def _archived(self, record_id: str, user: str | None) -> Record | None:
        record = self.archive.get(record_id, user)
        if record is not None:
            return record
        row = self.row(record_id)  # it may have been restored just now
        return None if row is None else self.record(row)

    def row(self, record_id: str) -> Row | None:
        """Find the row of a record that is in the store."""
        with self.read() as db:
            return records.by_id(db, record_id)

    def rows(self, chosen: Filter, limit: int = EVERY) -> list[Row]:
        """List the rows that match, newest first."""
        with self.read() as db:
            return records.listed(db, chosen, limit)

    def listed(self, chosen: Filter, limit: int) -> list[Record]:
        """List the records that match, newest first."""
        return [self.record(row) for row in self.rows(chosen, limit)]

    def numbered(self, numbers: Sequence[int]) -> list[Record]:
        """Read the records with these numbers, in the same order, skipping those that are gone."""
        with self.read() as db:
            rows = [records.by_number(db, number) for number in numbers]
        return [self.record(row) for row in rows if row is not None]

    def pending(
        self,
        user: str | None,
        since: int,
        until: int,
        recurring: Iterable[Sequence[Collection[str]]],
    ) -> tuple[list[Record], list[Record]]:
        """Find records that may await an answer or mention days in this span; and possible answers.

        `recurring` holds the words with which texts mention a day that has come round again.
        """
        speaking = self._speaking(user, since, until, recurring)
        with self.database.moment() as db:
            waiting = [self.record(row) for row in pending.candidates(db, user, speaking)]
            answers = pending.answering(db, user, [record.id for record in waiting])
        return waiting, [self.record(row) for row in answers]

    def _speaking(
        self,
        user: str | None,
        since: int,
        until: int,
        recurring: Iterable[Sequence[Collection[str]]],
    ) -> set[int]:
        """List the records that mention days in this span, or a day that has come round again."""
        if user is None and self.settings["store.url"]:
            from lamina.store.index import sample  # needs the PostgreSQL driver

            if sample.is_large(self):
                return sample.speaking(self, since, until, recurring)
        with self.index.snapshot(wanted=Filter(user)) as look:
            found = [look.speaking_of(since, until), *map(look.hinting, recurring)]
            numbers = [look.catalogue.numbers_of(some).tolist() for some in found]
        return {number for some in numbers for number in some}

    def user(self, given: object) -> str | None:
        """Return the name of a user as this store spells it, or will spell it from now on."""
        with translated(self.database.address):
            return users.resolved(given, self.database.reader)

    # The trail

    def head(self) -> Head:
        """Return the end of the trail."""
        with self.read() as db:
            return events.head(db, self.seed)

    def history(self, record_id: str) -> list[Event]:
        """List the events that changed a record, oldest first."""
        return self.histories([record_id])[record_id]

    def histories(self, record_ids: Sequence[str]) -> dict[str, list[Event]]:
        """List the events of several records; events that they share are read once."""
        with self.read() as db:
            book = events.Book(db)
            last = {record_id: records.last_event(db, record_id) for record_id in record_ids}
            return {
                record_id: list(events.trail(book, record_id, number))[::-1]
                for record_id, number in last.items()
            }

    # The archive

    def search_archive(self, wanted: ArchiveQuery, limit: int) -> list[Record]:
        """Search the archive; what was archived last comes first."""
        from lamina.store.archive import search

        def look() -> list[Record]:
            with self.database.moment() as connection:
                return search.search(self.archive, connection, wanted, limit)

        return self.steadily(look)

    def archives(self) -> list[archived.File]:
        """List every file of the archive, the newest first."""
        with self.read() as db:
            return archived.files(db)

    def steadily(self, look: Callable[[], Result]) -> Result:
        """Read files of the archive; repeat if one of them was rewritten in the meantime."""
        while True:
            before = self.archives()
            try:
                return look()
            except (Corrupt, StoreUnavailable):
                if self.archives() == before:
                    raise

    def archived_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Read every archived record: its archive, the last event about it, and its line."""
        return self.archive.lines(self.database.reader())

    # Upkeep

    def sizes(self) -> dict[str, int]:
        """Count the bytes of each file and folder at the top of the agent's folder."""
        parts: dict[str, int] = {}
        for entry in sorted(self.folder.iterdir()):
            files = entry.rglob("*") if entry.is_dir() and not entry.is_symlink() else [entry]
            name = entry.name.removesuffix("-wal").removesuffix("-shm")
            parts[name] = parts.get(name, 0) + sum(map(size_of, files))
        return parts

    def reindex(self, actor: Actor, now: datetime, *, vectors: bool = False) -> None:
        """Rebuild what is derived from the records; vectors are computed by the next indexing."""
        details = {"analyser": words.ANALYSER_VERSION}
        with self.change(actor, events.REINDEX, now, details=details) as transaction:
            derived.rebuild(transaction.db, vectors=vectors)


class Reading:
    """A block in which this thread reads; it raises errors of SQLite as errors of Lamina."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Connection:
        try:
            return self._database.reader()
        except FROM_SQLITE as error:
            raise translate(error, self._database.address) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and isinstance(error, FROM_SQLITE):
            raise translate(error, self._database.address) from error


def _identity(
    database: Database, agent: str, connection: Connection | None = None
) -> tuple[str, int]:
    """Return a store's id and analyser; raise if it was moved or belongs to another agent."""
    with translated(database.address):
        identity = meta.read(connection or database.reader())
    meta.refuse_elsewhere(identity, database.address, agent)
    if identity.get("agent") != agent or "store_id" not in identity:
        made_for = words.shown(identity.get("agent", "nobody"))
        what = f"{database.address}: this store was made for the agent {made_for}"
        do = "put it back under that name, then `lamina export` there and `lamina import` here"
        raise Corrupt(f"{what}; {do}", foreign=True)
    analyser = int(identity.get("analyser", 0))
    if analyser > words.ANALYSER_VERSION:
        what = f"{database.address}: its index was made by analyser {analyser}"
        known = f"but this Lamina knows only up to {words.ANALYSER_VERSION}"
        raise StoreUnavailable(f"{what}, {known}; upgrade Lamina to open it", foreign=True)
    return str(identity["store_id"]), analyser
