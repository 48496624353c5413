"""The store of one agent: opened, asked, changed in transactions, closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from lamina import canon, text
from lamina.clock import EPOCH, Ids
from lamina.config import Settings
from lamina.errors import Conflict, Corrupt
from lamina.home import make_private_file, refuse_link
from lamina.model import Actor, Event, Record, Role
from lamina.store import backup, events, fulltext, migrations, records, verify
from lamina.store.connection import Database, translated
from lamina.store.events import Head
from lamina.store.migrations import Step
from lamina.store.reads import ReadLog
from lamina.store.records import Filter, Row
from lamina.store.transaction import Transaction
from lamina.store.verify import Progress, Report

FILE_NAME = "memory.db"
READS_NAME = "reads.db"


class Store:
    """The system of record. Reads return values; every change goes through `change` and leaves an event."""

    def __init__(self, folder: Path, agent: str, database: Database, store_id: str, settings: Settings) -> None:
        self.folder = folder
        self.agent = agent
        self.database = database
        self.salts = canon.Salts()
        self._settings = settings
        self._become(store_id)
        self.reads = ReadLog(
            folder / READS_NAME, agent, settings["store.busy_timeout_ms"], strict=settings["audit.reads"] == "strict"
        )

    def _become(self, store_id: str) -> None:
        self.id = store_id
        self.seed = canon.chain_seed(store_id, self.agent, "events")
        self.ids = Ids(store_id, self.agent)

    def _identify(self) -> None:
        """Read anew who we are, after the content of the file was replaced."""
        self._become(_identity(self.database, self.agent))

    @classmethod
    def open(
        cls,
        folder: Path,
        agent: str,
        settings: Settings,
        now: datetime,
        *,
        store_id: str | None = None,
        steps: Sequence[Step] = migrations.STEPS,
    ) -> Store:
        """Open the agent's store; make it if there is none, migrate it if it is older than the program."""
        path = folder / FILE_NAME
        make_private_file(path)
        for name in (FILE_NAME + "-wal", FILE_NAME + "-shm", READS_NAME):
            refuse_link(folder / name)
        database = Database(path, settings["store.busy_timeout_ms"], settings["store.checkpoint_pages"])
        try:
            before = after = _version(database, steps)
            if before < len(steps):

                def back_up() -> Path:
                    return backup.write(folder, database, None, now, label=f"before-schema-{len(steps)}")

                before, after = migrations.migrate(database, agent, store_id, back_up, steps)
            store = cls(folder, agent, database, _identity(database, agent), settings)
        except BaseException:
            database.close()
            raise
        if 0 < before < after:
            actor = Actor(Role.SYSTEM, "migration", "store")
            with store.change(actor, "migrate", now, details={"from": before, "to": after}):
                pass
        return store

    def close(self) -> None:
        self.reads.close()
        self.database.close()

    def change(
        self,
        actor: Actor,
        action: str,
        now: datetime,
        note: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Transaction:
        """A transaction whose changes are one action of one actor."""
        return Transaction(self, actor, action, now, note, details)

    def get(self, record_id: str) -> Record | None:
        with translated(self.database.path):
            row = records.by_id(self.database.reader(), record_id)
        return None if row is None else self.record(row)

    def listed(self, chosen: Filter, limit: int) -> list[Record]:
        """Newest first."""
        with translated(self.database.path):
            return [self.record(row) for row in records.listed(self.database.reader(), chosen, limit)]

    def matches(self, match: str, chosen: Filter, limit: int) -> list[tuple[float, Record]]:
        """Full-text matches with their relevance, best first."""
        with translated(self.database.path):
            found = fulltext.matches(self.database.reader(), match, chosen, limit)
            return [(relevance, self.record(row)) for relevance, row in found]

    def history(self, record_id: str) -> list[Event]:
        """The events that made a record what it is, oldest first; each change names the one before it."""
        found: list[Event] = []
        with translated(self.database.path):
            connection = self.database.reader()
            row = records.by_id(connection, record_id)
            at: int | None = None if row is None else row[records.PLACE["event"]]
            while at is not None and (event := events.read(connection, at)) is not None:
                own = tuple(change for change in event.changes if change.record == record_id)
                found.append(structs.replace(event, changes=own))
                at = own[0].previous if own else None
        return found[::-1]

    def open_runs(self, user: str | None) -> list[tuple[Record, int]]:
        """The first note of every open run, and how many live notes it has."""
        with translated(self.database.path):
            connection = self.database.reader()
            runs = list(records.open_runs(connection, user))
            rows = [(records.by_seq(connection, seq), number) for _, seq, number in runs]
        return [(self.record(row), number) for row, number in rows if row is not None]

    def events(self, limit: int) -> list[Event]:
        """The newest changes first."""
        with translated(self.database.path):
            return list(events.latest(self.database.reader(), limit))

    def head(self) -> Head:
        with translated(self.database.path):
            return events.head(self.database.reader(), self.seed)

    def counts(self, user: str | None) -> dict[str, dict[str, int]]:
        with translated(self.database.path):
            return records.counts(self.database.reader(), user)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within this block, this thread reads the store as it is at one moment."""
        connection = self.database.reader()
        with translated(self.database.path):
            connection.execute("BEGIN")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")

    def is_empty(self) -> bool:
        return self.head().seq == 0

    def records(self) -> Iterator[tuple[Record, str | None, int, bytes]]:
        """Every record in the order in which it was made, with its key, its last event and its salt."""
        for row in records.every(self.database.reader()):
            yield self.record(row), row[-3], row[-2], row[-1]

    def event_rows(self) -> Iterator[tuple[str, bytes]]:
        """The bodies and hashes of the whole chain."""
        yield from self.database.reader().execute("SELECT body, hash FROM events ORDER BY seq")

    def note_rows(self) -> Iterator[tuple[int, int, bytes, str]]:
        """The notes of the whole chain: event, position, salt, body."""
        query = "SELECT event, position, salt, body FROM notes ORDER BY event, position"
        yield from self.database.reader().execute(query)

    def verify(self, expected: Mapping[str, Any] | None = None, progress: Progress | None = None) -> Report:
        """Compare every row with the chain."""
        with self.snapshot():
            return verify.verify(self.database.reader(), self.seed, expected, progress)

    def reindex(self, actor: Actor, now: datetime) -> None:
        """Make what is derived from the records anew, in one transaction."""
        with self.change(actor, "reindex", now, details={"analyser": text.ANALYSER_VERSION}) as transaction:
            fulltext.rebuild(transaction.cursor.connection)
            update = "UPDATE meta SET value = ? WHERE name = 'analyser'"
            transaction.cursor.execute(update, (str(text.ANALYSER_VERSION),))

    def backup(self, now: datetime, to: Path | None = None) -> Path:
        """Copy the store as it is now into a new folder."""
        reads = self.reads.database() if self.reads.path.exists() else None
        return backup.write(self.folder, self.database, reads, now, to=to)

    def restore(self, source: Path, actor: Actor, now: datetime, progress: Progress | None = None) -> dict[str, Any]:
        """Replace everything by a backup, after checking it and backing up what is replaced."""
        file = backup.check(source)
        before = self.head()
        saved = backup.write(self.folder, self.database, None, now, label="before-restore")
        work = self.folder / "restore.tmp"
        try:
            backup.stage(file, work)
            report = self._prepare_restored(work, actor, now, before, progress)
            backup.copy_into(work, self.database)
        finally:
            backup.discard(work)
        self._identify()
        return {"restored": str(source), "saved": str(saved), "records": report.records, "events": report.events}

    def _prepare_restored(self, work: Path, actor: Actor, now: datetime, before: Head, progress: Progress | None) -> Report:
        """Check a copy of the backup, migrate it if it is old, and let its trail say what it is about to replace."""
        database = Database(work, self._settings["store.busy_timeout_ms"], self._settings["store.checkpoint_pages"])
        try:
            if _version(database, migrations.STEPS) < len(migrations.STEPS):
                migrations.migrate(database, self.agent, None, lambda: None)
            restored = Store(self.folder, self.agent, database, _identity(database, self.agent), self._settings)
            report = restored.verify(None, progress)
            if not report.ok:
                problem = report.problems[0]
                raise Corrupt(f"the backup was altered: {problem.place}: {problem.message}", place=problem.place)
            replaced = {"replaced": {"seq": before.seq, "hash": before.hash.hex()}}
            with restored.change(actor, "restore", now, details=replaced):
                pass
            return report
        finally:
            database.close()

    def adopt(
        self,
        store_id: str,
        rows: Sequence[Row],
        bodies: Sequence[tuple[str, bytes]],
        notes: Sequence[tuple[int, int, bytes, str]],
        progress: Progress | None = None,
    ) -> Report:
        """Become the store that was exported, unless it does not agree with itself; then nothing happens."""
        own = canon.chain_seed(store_id, self.agent, "events")
        report: Report | None = None
        with suppress(_Rejected), Transaction(self, _NOBODY, "adopt", EPOCH) as transaction:
            connection = transaction.cursor.connection
            if events.head(connection, self.seed).seq:
                raise Conflict("the store was written to meanwhile; import into an empty one")
            connection.execute("UPDATE meta SET value = ? WHERE name = 'store_id'", (store_id,))
            for seq, (body, digest) in enumerate(bodies, 1):
                insert = "INSERT INTO events (seq, records, body, hash) VALUES (?, ?, ?, ?)"
                connection.execute(insert, (seq, _last_record(body), body, digest))
            connection.executemany("INSERT INTO notes (event, position, salt, body) VALUES (?, ?, ?, ?)", notes)
            for number, row in enumerate(rows, 1):
                transaction.put(row)
                if progress is not None and number % 1000 == 0:
                    progress(number, len(rows))
            report = verify.verify(connection, own)
            if not report.ok:
                raise _Rejected
        assert report is not None
        self._identify()
        return report

    def record(self, row: Row) -> Record:
        return records.record_of(row, self.agent)


class _Rejected(Exception):
    """What was adopted does not agree with itself; the transaction must not be kept."""


_NOBODY = Actor(Role.SYSTEM, "import", "store")


def _last_record(body: str) -> int:
    """The number that an event's column repeats from its text; 0 where the text makes no sense, for verify to find."""
    try:
        return events.body_of(body).records
    except Corrupt:
        return 0


def _version(database: Database, steps: Sequence[Step]) -> int:
    with translated(database.path):
        return migrations.version_of(database.reader(), database, steps)


def _identity(database: Database, agent: str) -> str:
    """The id of a store, once it is certain that it belongs to this agent."""
    with translated(database.path):
        meta = dict(database.reader().execute("SELECT name, value FROM meta"))
    if meta.get("agent") != agent or "store_id" not in meta:
        raise Corrupt(f"{database.path}: this store was made for another agent; import it instead of moving its file")
    return str(meta["store_id"])
