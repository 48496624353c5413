"""The store of one agent: opened, asked, changed in transactions, closed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from lamina.errors import Conflict, Corrupt, StoreUnavailable
from lamina.home.folder import size_of
from lamina.home.settings import Settings
from lamina.model import hashing
from lamina.model.clock import EPOCH, Ids
from lamina.model.record import Actor, Entry, Event, Record, Role
from lamina.store.archive import archive
from lamina.store.archive.archive import Archive
from lamina.store.core.transaction import EVERY, Transaction
from lamina.store.engine.sql import Connection, Cursor, Database, rows
from lamina.store.engine.sqlite import translated
from lamina.store.index import derived
from lamina.store.tables import events, learned, records, sources, users
from lamina.store.tables import record_lines as written
from lamina.store.tables.events import Head
from lamina.store.tables.learned import Decided
from lamina.store.tables.migrations import ARRIVING, MOVED
from lamina.store.tables.reads import ReadLog
from lamina.store.tables.records import Filter, Row
from lamina.text import words

if TYPE_CHECKING:
    from lamina.model.slots import Slot
    from lamina.store.archive.search import Wanted
    from lamina.store.index.snapshot import Index
    from lamina.store.tables.rejections import Rejections
    from lamina.store.tables.sleep import Night
    from lamina.store.upkeep.verify import Progress, Report

FILE_NAME = "memory.db"
READS_NAME = "reads.db"
Found = TypeVar("Found")


class Store:
    """The system of record. Reads return values; every change goes through `change` and leaves an event."""

    def __init__(self, folder: Path, agent: str, database: Database, settings: Settings) -> None:
        self.folder = folder
        self.agent = agent
        self.database = database
        self.salts = hashing.Salts()
        self.settings = settings
        self.archive = Archive(self)
        self.identify()
        self.reads = ReadLog(
            folder / READS_NAME,
            agent,
            settings["store.busy_timeout_ms"],
            strict=settings["audit.reads"] == "strict",
        )

    def identify(self, connection: Connection | None = None) -> None:
        """Read who we are: the content of the file may have been replaced, by us or by another process."""
        self.id, self.analyser = _identity(self.database, self.agent, connection)
        self.seed = hashing.chain_seed(self.id, self.agent, "events")
        self.ids = Ids(self.id, self.agent)

    def check_place(self, source: Connection | Cursor) -> None:
        """Raise when the memory has moved since we opened it: whatever is written here now, nobody would find."""
        meta = dict(
            rows(source, "SELECT name, value FROM meta WHERE name IN (?, ?)", (ARRIVING, MOVED))
        )
        _refuse_elsewhere(meta, self.database, self.agent)

    def path_of(self, name: str) -> Path:
        """Where a file or folder of this agent lies; a preset may have it elsewhere in the agent's folder."""
        from lamina.home.retention import PRESETS

        return self.folder / PRESETS[self.settings["preset"]].paths.get(name, name)

    def close(self) -> None:
        try:
            self.reads.close()
        finally:
            self.database.close()

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
        """A transaction whose changes are one action of one actor; very many make several events, unless it is undivided."""
        return Transaction(self, actor, action, now, note, details, undivided=undivided)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read in a block: `with store.read() as db: records.open_runs(db, user)`."""
        with translated(self.database.address):
            yield self.database.reader()

    def exists(self, record_id: str) -> bool:
        """Whether there is such a record, in the store or in its archive, or was until it was erased."""
        with translated(self.database.address):
            return records.last_event(self.database.reader(), record_id) is not None

    def get(self, record_id: str, user: str | None = None) -> Record | None:
        """The record, also from the archive; one from there only if this user may see it."""
        row = self.row(record_id)
        if row is not None:
            return self.record(row)
        return self.steadily(lambda: self._archived(record_id, user))

    def _archived(self, record_id: str, user: str | None) -> Record | None:
        found = self.archive.get(record_id, user)
        row = (
            self.row(record_id) if found is None else None
        )  # it may have been brought back just now
        return found if row is None else self.record(row)

    def row(self, record_id: str) -> Row | None:
        """The row of a record that is in the store."""
        with translated(self.database.address):
            return records.by_id(self.database.reader(), record_id)

    def listed(self, chosen: Filter, limit: int) -> list[Record]:
        """Newest first."""
        return [self.record(row) for row in self.rows(chosen, limit)]

    def rows(self, chosen: Filter, limit: int = EVERY) -> list[Row]:
        """The rows that match, newest first."""
        with translated(self.database.address):
            return records.listed(self.database.reader(), chosen, limit)

    def gone_alike(self, part: str, user: str | None, limit: int) -> list[str]:
        """The ids that begin or end so, of what is archived or erased."""
        with translated(self.database.address):
            return records.gone_alike(self.database.reader(), part, user, limit)

    def standing(self, wanted: Collection[Slot]) -> dict[Slot, list[Row]]:
        """The active rows that stand in some places."""
        from lamina.store.tables import slots as standing

        with translated(self.database.address):
            return standing.among(self, self.database.reader(), wanted)

    def named(self, ids: Collection[str]) -> dict[str, Row]:
        """The rows of those of some records that are in the store."""
        with translated(self.database.address):
            return records.by_ids(self.database.reader(), ids)

    def actions(self, numbers: Collection[int]) -> dict[int, str]:
        """What some events did."""
        with translated(self.database.address):
            return events.actions(self.database.reader(), numbers)

    @functools.cached_property
    def rejections(self) -> Rejections:
        """The values that stay out."""
        from lamina.store.tables.rejections import Rejections

        return Rejections(self)

    @functools.cached_property
    def night(self) -> Night:
        """What sleep reads."""
        from lamina.store.tables.sleep import Night

        return Night(self)

    @functools.cached_property
    def index(self) -> Index:
        """What searches read. It needs numpy, which nothing else does."""
        from lamina.store.index.snapshot import Index

        return Index(self)

    def history(self, record_id: str) -> list[Event]:
        """The events that made a record what it is, oldest first; each change names the one before it."""
        (found,) = self.histories([record_id]).values()
        return found

    def histories(self, record_ids: Sequence[str]) -> dict[str, list[Event]]:
        """The same for some records; events that they share are read once."""
        with translated(self.database.address):
            connection = self.database.reader()
            book = events.Book(connection)
            last = {one: records.last_event(connection, one) for one in record_ids}
            return {
                one: list(events.trail(book, one, number))[::-1] for one, number in last.items()
            }

    def open_runs(self, user: str | None) -> list[Record]:
        """The first live note of every open run."""
        with translated(self.database.address):
            return [self.record(row) for row in records.open_runs(self.database.reader(), user)]

    def short_term(self, user: str | None) -> list[Entry]:
        """What waits in short-term memory, in the order in which it came."""
        with translated(self.database.address):
            return records.short_term(self.database.reader(), user)

    def count_short_term(self, user: str | None) -> int:
        with translated(self.database.address):
            return records.count_short_term(self.database.reader(), user)

    def count_archived(self, user: str | None) -> int:
        with translated(self.database.address):
            return archive.count(self.database.reader(), user)

    def archives(self) -> list[archive.File]:
        """Every file of the archive, the newest first."""
        with translated(self.database.address):
            return archive.files(self.database.reader())

    def search_archive(self, wanted: Wanted, limit: int) -> list[Record]:
        """What lies in the archive, what was archived last first."""
        from lamina.store.archive import search

        def look() -> list[Record]:
            with self.database.moment() as connection:
                return search.search(self.archive, connection, wanted, limit)

        return self.steadily(look)

    def steadily(self, look: Callable[[], Found]) -> Found:
        """Look at files of the archive; again, if that failed because one of them was written anew meanwhile."""
        while True:
            before = self.archives()
            try:
                return look()
            except (Corrupt, StoreUnavailable):
                if self.archives() == before:
                    raise

    def pending(
        self, user: str | None, since: int, until: int
    ) -> tuple[list[Record], list[Record]]:
        """What may wait for somebody, or speaks of days in this span; and what may have answered it."""
        from lamina.store.tables import pending

        with self.index.look() as look:
            speaking = look.speaking_of(since, until).tolist()
        with self.database.moment() as connection:
            found = [self.record(row) for row in pending.candidates(connection, user, speaking)]
            answers = pending.answering(connection, user, [record.id for record in found])
        return found, [self.record(row) for row in answers]

    def decisions(self, limit: int) -> dict[str, Decided]:
        """The last decision about each record, of the newest that were decided about."""
        with translated(self.database.address):
            return learned.decisions(self.database.reader(), limit)

    def count_erasures(self) -> int:
        with translated(self.database.address):
            return learned.count_erasures(self.database.reader())

    def learned(self, name: str) -> str | None:
        """What was learned from this store, if anything."""
        with translated(self.database.address):
            return learned.load(self.database.reader(), name)

    def matching(self, chosen: Filter, below: float | None) -> list[tuple[int, int]]:
        """The numbers and last events of all records that match, in their order."""
        with translated(self.database.address):
            return records.matching(self.database.reader(), chosen, below)

    def numbered(self, numbers: Sequence[int]) -> list[Record]:
        """The records with these numbers, in the same order, as far as they are there."""
        with translated(self.database.address):
            connection = self.database.reader()
            found = [
                records.one(connection, f"{records.SELECT} WHERE seq = ?", (number,))
                for number in numbers
            ]
        return [self.record(row) for row in found if row is not None]

    def user(self, given: object) -> str | None:
        """The name of a user as this store has it, or may have it from now on."""
        with translated(self.database.address):
            return users.resolved(given, self.database.reader)

    def count_notes(self, run_id: str, user: str | None) -> int:
        """How many notes an open run has beside the one that opened it."""
        with translated(self.database.address):
            return max(0, records.count_notes(self.database.reader(), run_id, user) - 1)

    def events(self, limit: int, before: int | None = None) -> list[Event]:
        """The newest changes first, all of them or those before an event."""
        with translated(self.database.address):
            return events.latest(
                self.database.reader(), limit, events.LAST if before is None else before
            )

    def count_unpacked(self) -> int:
        """How many records are in no block yet, asked without what searches need."""
        query = "SELECT coalesce((SELECT max(seq) FROM records), 0) - 256 * (SELECT count(*) FROM blocks)"
        with translated(self.database.address):
            number = self.database.reader().execute(query).get
        return number if isinstance(number, int) else 0

    def head(self) -> Head:
        with translated(self.database.address):
            return events.head(self.database.reader(), self.seed)

    def counts(self, user: str | None) -> dict[str, dict[str, int]]:
        with translated(self.database.address):
            return records.counts(self.database.reader(), user)

    def outside(
        self, user: str | None, since: int, slot: int, beginning: int, least: int
    ) -> tuple[list[Any], list[Any]]:
        """What has come from outside since a time: by source and slot, and what begins alike, by source."""
        with translated(self.database.address):
            connection = self.database.reader()
            repeated = sources.repeated(connection, user, since, beginning, least)
            return sources.arrived(connection, user, since, slot), repeated

    def sizes(self) -> dict[str, int]:
        """Bytes under the agent's folder by part: each file or folder at its top."""
        parts: dict[str, int] = {}
        for entry in sorted(self.folder.iterdir()):
            files = entry.rglob("*") if entry.is_dir() and not entry.is_symlink() else [entry]
            name = entry.name.removesuffix("-wal").removesuffix("-shm")
            parts[name] = parts.get(name, 0) + sum(map(size_of, files))
        return parts

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within this block, this thread reads the store as it is at one moment."""
        with self.database.moment():
            yield

    def is_empty(self) -> bool:
        return self.head().seq == 0

    def records(self) -> Iterator[Record]:
        """Every record in the order in which it was made."""
        for row in records.every(self.database.reader()):
            yield self.record(row)

    def record_lines(self) -> Iterator[bytes]:
        """The same as lines of JSON, with what ties each to its events."""
        for row in records.every(self.database.reader()):
            yield written.line(row, self.agent)

    def certificates(self) -> list[tuple[int, str]]:
        """The number and the text of the certificate of each erasure."""
        from lamina.store.tables import certificates

        return certificates.bodies(self.database.reader())

    def archived_lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Every archived record, by its archive and line: the archive, the last event about it, and the line."""
        return self.archive.lines(self.database.reader())

    def event_rows(self) -> Iterator[tuple[str, bytes]]:
        """The bodies and hashes of the whole chain."""
        yield from self.database.reader().execute("SELECT body, hash FROM events ORDER BY seq")

    def note_rows(self) -> Iterator[tuple[int, int, bytes, str]]:
        """The notes of the whole chain: event, position, salt, body."""
        query = "SELECT event, position, salt, body FROM notes ORDER BY event, position"
        yield from self.database.reader().execute(query)

    def verify(
        self,
        expected: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        *,
        files: bool = True,
    ) -> Report:
        """Compare every row with the chain, and the files of the archive with both."""
        from lamina.store.upkeep import verify

        while True:
            with self.database.snapshot() as connection:
                self.identify(connection)
                report = verify.verify(connection, self.seed, expected, progress)
                if not report.ok or not files:
                    return report
                before, problems = (
                    archive.files(connection),
                    verify.files_differ(connection, self.folder, progress),
                )
                altered, uncovered = verify.certificates_differ(connection, self.folder)
            if (
                not problems or self.archives() == before
            ):  # else files were written anew while we looked
                return structs.replace(
                    report,
                    problems=(*problems, *altered),
                    uncovered=(*report.uncovered, *uncovered),
                )

    def reindex(self, actor: Actor, now: datetime, *, vectors: bool = False) -> None:
        """Make what is derived from the records anew, in one transaction; vectors are made by the next indexing."""
        with self.change(
            actor, "reindex", now, details={"analyser": words.ANALYSER_VERSION}
        ) as transaction:
            derived.rebuild(transaction.cursor.connection, vectors=vectors)

    def backup(self, now: datetime, to: Path | None = None) -> Path:
        """Copy the store as it is now into a new folder."""
        from lamina.store.upkeep import backup

        return self.steadily(
            lambda: backup.write(self.folder, self.database, self.reads.sound(), now, to=to)
        )

    def adopt(
        self,
        store_id: str,
        rows: Sequence[Row],
        bodies: Sequence[tuple[str, bytes]],
        notes: Sequence[tuple[int, int, bytes, str]],
        archives: Sequence[archive.Copy] = (),
        given: Sequence[Row] = (),
        certified: Sequence[tuple[int, str]] = (),
        progress: Progress | None = None,
    ) -> Report:
        """Become the store that was exported, unless it does not agree with itself; then nothing happens."""
        from lamina.store.tables import certificates, grants, rejections, sleep, trail_check
        from lamina.store.upkeep import erase_plan, verify

        own = hashing.chain_seed(store_id, self.agent, "events")
        report: Report | None = None
        with (
            suppress(_Rejected),
            self.archive.copying(archives),
            Transaction(self, _NOBODY, "adopt", EPOCH) as transaction,
        ):
            connection = transaction.cursor.connection
            if events.head(connection, self.seed).seq:
                raise Conflict("the store was written to meanwhile; import into an empty one")
            connection.execute("UPDATE meta SET value = ? WHERE name = 'store_id'", (store_id,))
            for seq, (body, digest) in enumerate(bodies, 1):
                insert = "INSERT INTO events (seq, records, body, hash) VALUES (?, ?, ?, ?)"
                connection.execute(insert, (seq, events.body_of(body).records, body, digest))
            connection.executemany(
                "INSERT INTO notes (event, position, salt, body) VALUES (?, ?, ?, ?)", notes
            )
            for copy in archives:
                self.archive.put_copy(connection, copy)
            erase_plan.rebuild(connection)
            transaction.put(rows)
            connection.executemany(grants.INSERT, given)
            rejections.rebuild(connection)
            sleep.rebuild(connection)
            trail_check.read(connection).rebuild(connection)
            certificates.put(connection, certified)
            report = verify.verify(connection, own, None, progress)
            if not report.ok:
                raise _Rejected
            erase_plan.mark_returned(connection, erase_plan.everything(self.folder, None))
        assert report is not None
        self.identify()
        return report

    def record(self, row: Row) -> Record:
        try:
            return records.record_of(row, self.agent)
        except (Corrupt, TypeError, ValueError, KeyError, OverflowError) as error:
            raise Corrupt(
                f"{self.database.address}: record number {row[0]} is damaged; run `lamina audit verify`"
            ) from error


class _Rejected(Exception):
    """What was adopted does not agree with itself; the transaction must not be kept."""


_NOBODY = Actor(Role.SYSTEM, "import", "store")


def _identity(
    database: Database, agent: str, connection: Connection | None = None
) -> tuple[str, int]:
    """The id of a store, once it is certain that it belongs to this agent, and who has made its index."""
    with translated(database.address):
        meta = dict(rows(connection or database.reader(), "SELECT name, value FROM meta"))
    _refuse_elsewhere(meta, database, agent)
    if meta.get("agent") != agent or "store_id" not in meta:
        made_for = words.shown(meta.get("agent", "nobody"))
        way = "put it back under that name, then `lamina export` there and `lamina import` here"
        raise Corrupt(
            f"{database.address}: this store was made for the agent {made_for}; {way}", foreign=True
        )
    analyser = int(meta.get("analyser", 0))
    if analyser > words.ANALYSER_VERSION:
        raise StoreUnavailable(
            f"{database.address}: its index was made by analyser {analyser}, but this Lamina knows only up to"
            f" {words.ANALYSER_VERSION}; upgrade Lamina to open it",
            foreign=True,
        )
    return str(meta["store_id"]), analyser


def _refuse_elsewhere(meta: dict[str, str], database: Database, agent: str) -> None:
    if MOVED in meta or ARRIVING in meta:
        from lamina.store.upkeep import migrate

        migrate.refuse_elsewhere(meta, database.address, agent)
