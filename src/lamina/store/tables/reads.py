"""The chain of reads, in a file of its own, written in the background unless set to strict."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice, takewhile
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import Corrupt, LaminaError, StoreUnavailable
from lamina.home.folder import has_bytes, make_private_file, refuse_link
from lamina.model import hashing
from lamina.model.clock import from_micros, to_micros
from lamina.model.record import Actor, Role, iso
from lamina.store.engine import disk_space, file_header
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.engine.sqlite import SqliteDatabase, present, translated
from lamina.store.tables import events, meta, refusals
from lamina.store.tables.events import Body, Head
from lamina.store.tables.refusals import Refusal, Summary, Tally
from lamina.text.words import counted

FLUSH_SECONDS = 1.0
FLUSH_READS = 2000
KEPT_READS = 100_000
LOOKED_AT = 500  # links that are searched for what a session was given
ERASED_AT = "erased_at"  # in `meta`: the time of the last erasure here, in microseconds

log = logging.getLogger("lamina")


class Read(msgspec.Struct, frozen=True, gc=False):
    """One read: who looked, when, how, and which records were returned.

    Query and user are in the note, which can be erased.
    """

    at: datetime
    actor: Actor
    action: str
    records: tuple[str, ...]
    note: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {
            "at": iso(self.at),
            "action": self.action,
            "actor": str(self.actor),
            "surface": self.actor.surface,
            "records": list(self.records),
            "note": dict(self.note),
        }


class ReadLog:
    """Append reads and refusals to `reads.db`, many to one link of the chain.

    Unless strict, a process that dies loses the reads since its last flush, from about a second or
    at most 2,000. Of the refusals, it loses at most a second of those that are only counted.
    """

    def __init__(self, path: Path, agent: str, busy_ms: int, *, strict: bool) -> None:
        self.path = path
        self.pid = os.getpid()
        self._problem: str | None = None
        self._agent = agent
        self._strict = strict
        self._busy_ms = busy_ms
        self._seed = bytes(32)
        self._database: SqliteDatabase | None = None
        self._buffer: deque[Read] = deque()
        self._lost = 0
        self._refused = refusals.Waiting()
        self._counted: dict[refusals.Key, Tally] = {}  # too many to be listed singly
        self._is_closed = False
        self._lock = threading.Lock()
        self._refused_lock = threading.Lock()  # a lock of its own, as a flush may take long
        self._start_lock = threading.Lock()
        self._wake = threading.Event()
        self._worker: threading.Thread | None = None
        _OPEN.add(self)

    @property
    def problem(self) -> str | None:
        """The reason why reads cannot be written, or could not."""
        return disk_space.hindrance(self.path.parent) or self._problem

    def add(self, read: Read) -> None:
        """Note a read; if strict, it is durable before this returns."""
        if self._strict:
            self._write([read], 0, ())
            return
        if len(self._buffer) >= KEPT_READS:
            self._lost += 1
            return
        self._buffer.append(read)
        if self._worker is None:
            self._start_worker()
        elif len(self._buffer) >= FLUSH_READS:
            self._wake.set()

    def refuse(self, refusal: Refusal, *, wait: bool = True) -> None:
        """Note a refusal: durably before this returns, or, without waiting, soon after.

        Those of a flood are counted, and written about a second later.
        """
        self._check_own()
        with self._refused_lock:
            self._refused.add(refusal)
        tally = self._counted.get(refusal.key)
        is_flood = tally is not None and tally.covers(to_micros(refusal.at))
        if wait and not is_flood:
            self.flush()
            return
        if self._worker is None:
            self._start_worker()
        if not is_flood:
            self._wake.set()

    def flush(self) -> None:
        """Write what is buffered. If this fails, it stays buffered, and `problem` says why."""
        if self.pid != os.getpid():
            return  # the reads belong to the parent process, which will write them
        with self._lock:
            batch = [self._buffer.popleft() for _ in range(len(self._buffer))]
            lost, self._lost = self._lost, 0
            refused = self._take_refused()
            if not batch and not refused:
                return
            try:
                self._write(batch, lost, refused)
                self._problem = None
            except BaseException as error:
                self._buffer.extendleft(reversed(batch))
                self._lost += lost
                self._put_back(refused)
                if not isinstance(error, LaminaError):
                    raise
                is_new = self._problem is None
                number = sum(refusal.count for refusal in refused)
                unwritten = [
                    *([counted(len(batch), "read")] if batch else ()),
                    *([counted(number, "refusal")] if number else ()),
                ]
                what = f"{' and '.join(unwritten)} {'is' if len(batch) + number == 1 else 'are'}"
                self._problem = f"{what} not audited yet: {error}"
                if is_new:  # it is retried many times, but logged once
                    log.warning("%s", self._problem)

    def _take_refused(self) -> refusals.Waiting:
        with self._refused_lock:
            taken, self._refused = self._refused, refusals.Waiting()
        return taken

    def _put_back(self, taken: refusals.Waiting) -> None:
        with self._refused_lock:
            for later in self._refused:
                taken.add(later)
            self._refused = taken

    def latest(
        self, limit: int, since: datetime | None = None, actions: Container[str] | None = None
    ) -> list[Read]:
        """List the newest reads of all processes first, or only some kinds."""
        connection = self._reader()
        if connection is None:
            return []
        query = f"{events.SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT 50"
        reads: list[Read] = []
        seq = events.LAST
        with translated(self.path):
            while len(reads) < limit and (links := rows(connection, query, (seq,))):
                for seq, text, _ in links:
                    body = _only(events.body_of(text), actions)
                    if body is not None:
                        notes = events.notes_of(connection, seq)
                        reads += reversed(list(_reads_of(body, notes)))
                if since is not None and _is_before(links[-1][1], since):
                    break
        return [read for read in reads if since is None or read.at >= since][:limit]

    def given(
        self, action: str, ended: str, session: str
    ) -> tuple[dict[str, datetime], datetime | None]:
        """Map the records that an action gave to a session to the time, as far as is known.

        A read called `ended` ends what came before it; its time is the second value. Only a limited
        number of the newest links is searched, since a session is short.
        """
        connection = self._reader()
        if connection is None:
            return {}, None
        given: dict[str, datetime] = {}
        query = f"{events.SELECT} ORDER BY seq DESC LIMIT {LOOKED_AT}"
        with translated(self.path):
            for seq, text, _ in rows(connection, query):
                notes = events.notes_of(connection, seq)
                if not any(note.get("session") == session for note in notes.values()):
                    continue
                for read in reversed(list(_reads_of(events.body_of(text), notes))):
                    if read.note.get("session") != session:
                        continue
                    if read.action == ended:
                        return given, read.at
                    if read.action == action:
                        given = {**dict.fromkeys(read.records, read.at), **given}
        return given, None

    def refused(self, limit: int) -> list[Refusal]:
        """List the newest refusals of all processes first, including those only counted so far."""
        connection = self._reader()
        if connection is None:
            return []
        with translated(self.path):
            return [*islice(refusals.latest(connection), limit)]

    def refused_since(self, since: datetime) -> Summary:
        """Count the attempts since a time, and find the last one."""
        connection = self._reader()
        if connection is None:
            return Summary(0, None)
        with translated(self.path):
            found = [*takewhile(lambda one: one.at >= since, refusals.latest(connection))]
        return Summary(sum(one.count for one in found), found[0] if found else None)

    def head(self) -> Head:
        connection = self._reader()
        if connection is None:
            return Head(0, 0, bytes(32))
        with translated(self.path):
            return events.head(connection, self._seed)

    def chain(self) -> tuple[SqliteDatabase, bytes] | None:
        """Return the file and the seed of the chain; None if no read was ever written."""
        return None if self._reader() is None else (self.database(), self._seed)

    def database(self) -> SqliteDatabase:
        """Open the file of the log, creating it for the first read."""
        if self._database is None:
            self._check_own()
            refuse_link(self.path)
            make_private_file(self.path)
            database = SqliteDatabase(self.path, self._busy_ms, checkpoint_pages=1000)
            try:
                with translated(self.path):
                    database.recover()
                    log_id = _log_id(database.reader(), self.path)
                    log_id = log_id or _create(database, self.path, self._agent)
            except BaseException:
                database.close()
                raise
            self._seed = hashing.chain_seed(log_id, self._agent, "reads")
            self._database = database
        return self._database

    def sound(self) -> SqliteDatabase | None:
        """Open the file of the log for a backup; None if there is no file.

        None also for a damaged one, which `problem` then reports.
        """
        try:
            return None if self._reader() is None else self.database()
        except Corrupt as error:
            self._problem = error.message
            return None

    def erase(self, actor: Actor, now: datetime, is_doomed: Callable[[Read], bool]) -> int:
        """Erase the notes of some reads, such as their queries; return how many. The reads stay.

        Reads that other handles have buffered by now are written without notes, since it cannot be
        known later which of these had to be erased.
        """
        self._check_own()
        self.flush()
        with translated(self.path), self.database().atomic() as transaction:
            meta.put(transaction.cursor, ERASED_AT, str(to_micros(now)))
            notes = list(_doomed(transaction.cursor.connection, is_doomed))
            if notes:
                delete = "DELETE FROM notes WHERE event = ? AND position = ?"
                transaction.cursor.executemany(delete, notes)
                self._append(transaction.cursor, now, actor, "erase", {events.ERASED_NOTES: notes})
        return len(notes)

    def close(self) -> None:
        self._is_closed = True  # the rest is written here, not by the worker
        self._wake.set()
        _OPEN.discard(self)
        try:
            self.flush()
        finally:
            if self._database is not None:
                self._database.close()

    def _reader(self) -> Connection | None:
        self._check_own()
        self.flush()
        exists = self._database is not None or has_bytes(self.path)
        return self.database().reader() if exists else None

    def _check_own(self) -> None:
        if self.pid != os.getpid():
            raise StoreUnavailable(
                "this handle was opened in another process; open a new one after a fork"
            )

    def _start_worker(self) -> None:
        with self._start_lock:  # a lock of its own, as a flush may wait long for another process
            if self._worker is None:
                worker = threading.Thread(target=self._work, name="lamina-reads", daemon=True)
                worker.start()
                self._worker = worker

    def _work(self) -> None:
        """Flush once, a moment after the first read was buffered."""
        self._wake.wait(FLUSH_SECONDS)
        self._wake.clear()
        self._worker = None
        if not self._is_closed:
            self.flush()

    def _write(self, batch: Sequence[Read], lost: int, refused: Iterable[Refusal]) -> None:
        with translated(self.path), self.database().atomic() as transaction:
            cursor = transaction.cursor
            erased = int(meta.get(cursor, ERASED_AT) or 0)
            batch = [
                read if to_micros(read.at) > erased else msgspec.structs.replace(read, note={})
                for read in batch
            ]
            for actor, group in groupby(batch, key=lambda read: read.actor):
                self._append_reads(cursor, actor, list(group))
            if lost:
                last = batch[-1]
                self._append(cursor, last.at, last.actor, "reads.lost", {"count": lost})
            if refused:
                tallies = refusals.append(cursor, self._seed, refused).tallies
        if refused:  # now that it is durable
            self._counted = {one.key: one for one in tallies if one.total >= refusals.SINGLE}

    def _append_reads(self, cursor: Cursor, actor: Actor, batch: Sequence[Read]) -> None:
        """Append one link for many reads; an entry with a note holds its position."""
        entries: list[dict[str, Any]] = []
        notes: list[Mapping[str, Any]] = []
        for read in batch:
            entry = {"action": read.action, "at": to_micros(read.at), "records": read.records}
            if read.note:
                entry["note"] = len(notes)
                notes.append(read.note)
            entries.append(entry)
        self._append(cursor, batch[-1].at, actor, "reads", {"reads": entries}, notes)

    def _append(
        self,
        cursor: Cursor,
        at: datetime,
        actor: Actor,
        action: str,
        details: Mapping[str, Any],
        notes: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        head, time = events.head(cursor, self._seed), to_micros(at)
        events.append(cursor, head, time, actor, action, records=0, details=details, notes=notes)


def _only(body: Body, actions: Container[str] | None) -> Body | None:
    """Leave out reads of other kinds before they are decoded; None if nothing is left."""
    if actions is None:
        return body
    if body.action != "reads":
        return body if body.action in actions else None
    try:
        kept = [entry for entry in body.details["reads"] if entry["action"] in actions]
    except (KeyError, TypeError):  # whoever decodes it reports the error
        return body
    return msgspec.structs.replace(body, details={"reads": kept}) if kept else None


def _is_before(text: str, since: datetime) -> bool:
    """Tell whether a link, and so all its reads and those before it, was written before a time."""
    return events.body_of(text).at < to_micros(since)


def _reads_of(body: Body, notes: Mapping[int, Mapping[str, Any]]) -> Iterator[Read]:
    """Yield the reads in a link of the chain, oldest first."""
    try:
        yield from _entries(body, notes)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"link {body.seq} of the reads is damaged; run `lamina audit verify`"
        raise Corrupt(problem) from error


def _entries(body: Body, notes: Mapping[int, Mapping[str, Any]]) -> Iterator[Read]:
    role, _, name = body.actor.partition(":")
    actor = Actor(Role(role), name, body.surface)
    if body.action == refusals.LINK:
        return
    if body.action != "reads":
        yield Read(from_micros(body.at), actor, body.action, (), body.details)
        return
    for entry in body.details["reads"]:
        note = notes.get(entry["note"], {}) if "note" in entry else {}
        yield Read(from_micros(entry["at"]), actor, entry["action"], tuple(entry["records"]), note)


def _doomed(connection: Connection, is_doomed: Callable[[Read], bool]) -> Iterator[tuple[int, int]]:
    """Yield the event and position of each note whose read is to be erased."""
    for seq, text, _ in rows(connection, f"{events.SELECT} ORDER BY seq"):
        body = events.body_of(text)
        notes = events.notes_of(connection, seq)
        for entry in body.details.get("reads", ()):
            if entry.get("note") in notes:
                (read,) = _entries(msgspec.structs.replace(body, details={"reads": [entry]}), notes)
                if is_doomed(read):
                    yield seq, entry["note"]


def _create(database: SqliteDatabase, path: Path, agent: str) -> str:
    """Create the tables of a new log and return its id; processes that race create it once."""
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        existing = _log_id(connection, path)
        if existing is not None:
            return existing
        log_id = secrets.token_hex(16)
        connection.execute(events.schema())
        meta = [("agent", agent), ("store_id", log_id)]
        connection.executemany("INSERT INTO meta (name, value) VALUES (?, ?)", meta)
        connection.execute(f"PRAGMA application_id = {file_header.READS}")
        connection.execute("PRAGMA user_version = 1")
    return log_id


def _log_id(connection: Connection, path: Path) -> str | None:
    """Read the id of a log; None for a new file. Refuse a foreign file before writing to it."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        return None
    if connection.execute("PRAGMA application_id").get != file_header.READS:
        raise Corrupt(f"{path}: this SQLite file is not a log of reads; it was left as it is")
    return str(meta.get(connection, "store_id"))


_OPEN: weakref.WeakSet[ReadLog] = weakref.WeakSet()


def _flush_all() -> None:
    for reads in present(_OPEN):
        reads.flush()


atexit.register(_flush_all)
