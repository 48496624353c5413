"""The chain of reads, in a file of its own, written behind the reader's back unless the setting says strict."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
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
from lamina.store.tables import events, meta
from lamina.store.tables.events import Body, Head
from lamina.text.words import counted

FLUSH_SECONDS = 1.0
FLUSH_READS = 2000
KEPT_READS = 100_000
ERASED_AT = "erased_at"  # when something was last erased here, in microseconds

log = logging.getLogger("lamina")


class Read(msgspec.Struct, frozen=True, gc=False):
    """One read: who looked, when, how, and which records came back. Query and user are in the erasable note."""

    at: datetime
    actor: Actor
    action: str
    records: tuple[str, ...]
    note: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        actor = {"actor": str(self.actor), "surface": self.actor.surface}
        return {
            "at": iso(self.at),
            "action": self.action,
            **actor,
            "records": list(self.records),
            "note": dict(self.note),
        }


class ReadLog:
    """Appends reads to `reads.db`, many to one link of the chain.

    Buffered, a process that dies loses the reads since its last flush: about a second, or 2,000 reads.
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
        self._is_closed = False
        self._lock = threading.Lock()
        self._start_lock = threading.Lock()
        self._wake = threading.Event()
        self._worker: threading.Thread | None = None
        _OPEN.add(self)

    @property
    def problem(self) -> str | None:
        """What keeps reads from being written now, or has kept some."""
        return disk_space.hindrance(self.path.parent) or self._problem

    def add(self, read: Read) -> None:
        """Note a read; strictly, it is durable before this returns."""
        if self._strict:
            self._write([read], 0)
            return
        if len(self._buffer) >= KEPT_READS:
            self._lost += 1
            return
        self._buffer.append(read)
        if self._worker is None:
            self._start_worker()
        elif len(self._buffer) >= FLUSH_READS:
            self._wake.set()

    def flush(self) -> None:
        """Write what is buffered. When that fails the reads are kept, and the problem can be seen."""
        if self.pid != os.getpid():
            return  # the reads belong to the process that we were forked from, and it will write them
        with self._lock:
            batch = [self._buffer.popleft() for _ in range(len(self._buffer))]
            lost, self._lost = self._lost, 0
            if not batch:
                return
            try:
                self._write(batch, lost)
                self._problem = None
            except BaseException as error:
                self._buffer.extendleft(reversed(batch))
                self._lost += lost
                if not isinstance(error, LaminaError):
                    raise
                known, told = (
                    self._problem,
                    f"{counted(len(batch), 'read is', 'reads are')} not audited yet: {error}",
                )
                self._problem = told
                if known is None:  # it is tried again and again, and told once
                    log.warning("%s", told)

    def latest(self, limit: int) -> list[Read]:
        """The newest reads first, of every process that has written them."""
        connection = self._reader()
        if connection is None:
            return []
        found: list[Read] = []
        before = events.LAST
        with translated(self.path):
            while len(found) < limit:
                query = f"{events.SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT 50"
                links = rows(connection, query, (before,))
                if not links:
                    break
                for before, body, _ in links:
                    found += reversed(
                        list(_reads_of(events.body_of(body), events.notes_of(connection, before)))
                    )
        return found[:limit]

    def head(self) -> Head:
        connection = self._reader()
        if connection is None:
            return Head(0, 0, bytes(32))
        with translated(self.path):
            return events.head(connection, self._seed)

    def chain(self) -> tuple[SqliteDatabase, bytes] | None:
        """Return the file and the seed of the chain; None when no read was ever written."""
        return None if self._reader() is None else (self.database(), self._seed)

    def database(self) -> SqliteDatabase:
        """The file behind the log, made when the first read is written."""
        if self._database is None:
            self._check_own()
            refuse_link(self.path)
            make_private_file(self.path)
            database = SqliteDatabase(self.path, self._busy_ms, checkpoint_pages=1000)
            try:
                with translated(self.path):
                    database.recover()
                    log_id = _log_id(database.reader(), self.path) or _prepared(
                        database, self.path, self._agent
                    )
            except BaseException:
                database.close()
                raise
            self._seed = hashing.chain_seed(log_id, self._agent, "reads")
            self._database = database
        return self._database

    def sound(self) -> SqliteDatabase | None:
        """The file behind the log for a backup, unless there is none or it is damaged, which `problem` then says."""
        try:
            return None if self._reader() is None else self.database()
        except Corrupt as error:
            self._problem = error.message
            return None

    def erase(self, actor: Actor, now: datetime, is_doomed: Callable[[Read], bool]) -> int:
        """Erase the notes of some reads, such as what was asked for; that there were reads stays. How many.

        What other handles have read by now and not yet written is written without its notes: nobody knows then what was doomed.
        """
        self._check_own()
        self.flush()
        with translated(self.path), self.database().atomic() as transaction:
            meta.put(transaction.cursor, ERASED_AT, str(to_micros(now)))
            gone = list(_doomed(transaction.cursor.connection, is_doomed))
            if gone:
                transaction.cursor.executemany(
                    "DELETE FROM notes WHERE event = ? AND position = ?", gone
                )
                details = {events.ERASED_NOTES: gone}
                head = events.head(transaction.cursor, self._seed)
                events.append(
                    transaction.cursor,
                    head,
                    to_micros(now),
                    actor,
                    "erase",
                    records=0,
                    details=details,
                )
        return len(gone)

    def close(self) -> None:
        self._is_closed = True  # what is left is written here, and by nobody else
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
        made = self._database is not None or has_bytes(self.path)
        return self.database().reader() if made else None

    def _check_own(self) -> None:
        if self.pid != os.getpid():
            raise StoreUnavailable(
                "this handle was opened in another process; open a new one after a fork"
            )

    def _start_worker(self) -> None:
        with self._start_lock:  # its own lock: a flush may wait long for another process
            if self._worker is None:
                worker = threading.Thread(target=self._work, name="lamina-reads", daemon=True)
                worker.start()
                self._worker = worker

    def _work(self) -> None:
        """Flush once, a moment after the first read that was buffered."""
        self._wake.wait(FLUSH_SECONDS)
        self._wake.clear()
        self._worker = None
        if not self._is_closed:
            self.flush()

    def _write(self, batch: Sequence[Read], lost: int) -> None:
        with translated(self.path), self.database().atomic() as transaction:
            cursor = transaction.cursor
            head = events.head(cursor, self._seed)
            erased = int(meta.get(cursor, ERASED_AT) or 0)
            batch = [
                read if to_micros(read.at) > erased else msgspec.structs.replace(read, note={})
                for read in batch
            ]
            for actor, group in groupby(batch, key=lambda read: read.actor):
                head = _append(cursor, head, actor, list(group))
            if lost:
                head = events.append(
                    cursor,
                    head,
                    to_micros(batch[-1].at),
                    batch[-1].actor,
                    "reads.lost",
                    records=0,
                    details={"count": lost},
                )


def _append(cursor: Cursor, head: Head, actor: Actor, batch: Sequence[Read]) -> Head:
    """One link of the chain for many reads; those with a note say at which position it is."""
    entries: list[dict[str, Any]] = []
    notes: list[Mapping[str, Any]] = []
    for read in batch:
        entry: dict[str, Any] = {
            "action": read.action,
            "at": to_micros(read.at),
            "records": read.records,
        }
        if read.note:
            entry["note"] = len(notes)
            notes.append(read.note)
        entries.append(entry)
    details = {"reads": entries}
    return events.append(
        cursor,
        head,
        to_micros(batch[-1].at),
        actor,
        "reads",
        records=0,
        details=details,
        notes=notes,
    )


def _reads_of(body: Body, notes: Mapping[int, Mapping[str, Any]]) -> Iterator[Read]:
    """The reads that a link of the chain stands for, oldest first."""
    try:
        yield from _entries(body, notes)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Corrupt(
            f"link {body.seq} of the reads is damaged; run `lamina audit verify`"
        ) from error


def _entries(body: Body, notes: Mapping[int, Mapping[str, Any]]) -> Iterator[Read]:
    role, _, name = body.actor.partition(":")
    actor = Actor(Role(role), name, body.surface)
    if body.action != "reads":
        yield Read(from_micros(body.at), actor, body.action, (), body.details)
        return
    for entry in body.details["reads"]:
        note = notes.get(entry["note"], {}) if "note" in entry else {}
        yield Read(from_micros(entry["at"]), actor, entry["action"], tuple(entry["records"]), note)


def _doomed(connection: Connection, is_doomed: Callable[[Read], bool]) -> Iterator[tuple[int, int]]:
    """The events and positions of the notes of some reads."""
    for seq, body, _ in rows(connection, f"{events.SELECT} ORDER BY seq"):
        told = events.body_of(body)
        notes = events.notes_of(connection, seq)
        for entry in told.details.get("reads", ()):
            if entry.get("note") in notes:
                (read,) = _entries(msgspec.structs.replace(told, details={"reads": [entry]}), notes)
                if is_doomed(read):
                    yield seq, entry["note"]


def _prepared(database: SqliteDatabase, path: Path, agent: str) -> str:
    """The id of a log that is new, made with its tables; processes that race make it once."""
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        found = _log_id(connection, path)
        if found is not None:
            return found
        made = secrets.token_hex(16)
        connection.execute(events.schema())
        connection.executemany(
            "INSERT INTO meta (name, value) VALUES (?, ?)", [("agent", agent), ("store_id", made)]
        )
        connection.execute(f"PRAGMA application_id = {file_header.READS}")
        connection.execute("PRAGMA user_version = 1")
    return made


def _log_id(connection: Connection, path: Path) -> str | None:
    """The id of a log, or None when the file is new. Somebody else's file is refused before anything is written."""
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
