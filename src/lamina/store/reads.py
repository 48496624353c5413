"""The chain of reads, in a file of its own, written behind the reader's back unless the setting says strict."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lamina import canon
from lamina.clock import from_micros, to_micros
from lamina.errors import Corrupt, LaminaError
from lamina.home import make_private_file
from lamina.model import Actor, Role, iso
from lamina.store import events, verify
from lamina.store.connection import Database, translated
from lamina.store.events import Body, Head
from lamina.store.verify import Report

APPLICATION_ID = 0x4C616D72
FLUSH_SECONDS = 1.0
FLUSH_READS = 2000
KEPT_READS = 100_000

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
        return {"at": iso(self.at), "action": self.action, **actor, "records": list(self.records), "note": dict(self.note)}


class ReadLog:
    """Appends reads to `reads.db`, many to one link of the chain.

    Buffered, a process that dies loses the reads since its last flush: about a second, or 2,000 reads.
    """

    def __init__(self, path: Path, agent: str, busy_ms: int, *, strict: bool) -> None:
        self.path = path
        self.pid = os.getpid()
        self.problem: str | None = None
        self._agent = agent
        self._strict = strict
        self._busy_ms = busy_ms
        self._seed = bytes(32)
        self._database: Database | None = None
        self._buffer: deque[Read] = deque()
        self._lost = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._worker: threading.Thread | None = None
        _OPEN.add(self)

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
        with self._lock:
            batch = [self._buffer.popleft() for _ in range(len(self._buffer))]
            lost, self._lost = self._lost, 0
            if not batch:
                return
            try:
                self._write(batch, lost)
                self.problem = None
            except LaminaError as error:
                self.problem = f"{len(batch)} reads are not audited yet: {error}"
                log.warning("%s", self.problem)
                self._buffer.extendleft(reversed(batch))
                self._lost += lost

    def latest(self, limit: int) -> list[Read]:
        """The newest reads first, of every process that has written them."""
        connection = self._reader()
        if connection is None:
            return []
        found: list[Read] = []
        with translated(self.path):
            for seq, body, _ in connection.execute(f"{events.SELECT} ORDER BY seq DESC"):
                found += reversed(list(_reads_of(events.body_of(body), events.notes_of(connection, seq))))
                if len(found) >= limit:
                    break
        return found[:limit]

    def head(self) -> Head:
        connection = self._reader()
        if connection is None:
            return Head(0, 0, bytes(32))
        with translated(self.path):
            return events.head(connection, self._seed)

    def verify(self, expected: Mapping[str, Any] | None = None) -> Report:
        """Check the chain of every read that was written so far."""
        connection = self._reader()
        if connection is None:
            return Report(0, 0, bytes(32).hex(), verify.missing_chain(expected))
        with translated(self.path):
            connection.execute("BEGIN")
            try:
                return verify.verify_chain(connection, self._seed, expected)
            finally:
                connection.execute("ROLLBACK")

    def database(self) -> Database:
        """The file behind the log, made when the first read is written."""
        if self._database is None:
            make_private_file(self.path)
            database = Database(self.path, self._busy_ms, checkpoint_pages=1000)
            with translated(self.path), database.atomic() as transaction:
                connection = transaction.cursor.connection
                self._seed = canon.chain_seed(_prepared(connection, self.path, self._agent), self._agent, "reads")
            self._database = database
        return self._database

    def close(self) -> None:
        self._wake.set()
        if self.pid == os.getpid():
            self.flush()
        if self._database is not None:
            self._database.close()
        _OPEN.discard(self)

    def _reader(self) -> apsw.Connection | None:
        self.flush()
        return self.database().reader() if self.path.exists() else None

    def _start_worker(self) -> None:
        with self._lock:
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="lamina-reads", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        """Flush once, a moment after the first read that was buffered."""
        self._wake.wait(FLUSH_SECONDS)
        self._wake.clear()
        self._worker = None
        self.flush()

    def _write(self, batch: Sequence[Read], lost: int) -> None:
        with translated(self.path), self.database().atomic() as transaction:
            cursor = transaction.cursor
            head = events.head(cursor, self._seed)
            for actor, group in groupby(batch, key=lambda read: read.actor):
                head = _append(cursor, head, actor, list(group))
            if lost:
                head = events.append(
                    cursor, head, to_micros(batch[-1].at), batch[-1].actor, "reads.lost", records=0, details={"count": lost}
                )


def _append(cursor: apsw.Cursor, head: Head, actor: Actor, batch: Sequence[Read]) -> Head:
    """One link of the chain for many reads; those with a note say at which position it is."""
    entries: list[dict[str, Any]] = []
    notes: list[Mapping[str, Any]] = []
    for read in batch:
        entry: dict[str, Any] = {"action": read.action, "at": to_micros(read.at), "records": read.records}
        if read.note:
            entry["note"] = len(notes)
            notes.append(read.note)
        entries.append(entry)
    details = {"reads": entries}
    return events.append(cursor, head, to_micros(batch[-1].at), actor, "reads", records=0, details=details, notes=notes)


def _reads_of(body: Body, notes: Mapping[int, Mapping[str, Any]]) -> Iterator[Read]:
    """The reads that a link of the chain stands for, oldest first."""
    role, _, name = body.actor.partition(":")
    actor = Actor(Role(role), name, body.surface)
    if body.action != "reads":
        yield Read(from_micros(body.at), actor, body.action, (), body.details)
        return
    for entry in body.details["reads"]:
        note = notes.get(entry["note"], {}) if "note" in entry else {}
        yield Read(from_micros(entry["at"]), actor, entry["action"], tuple(entry["records"]), note)


def _prepared(connection: apsw.Connection, path: Path, agent: str) -> str:
    """The id of this log, made with its tables when the file is new."""
    if connection.execute("PRAGMA application_id").get != APPLICATION_ID:
        if connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise Corrupt(f"{path}: this SQLite file is not a log of reads; it was left as it is")
        connection.execute(events.schema())
        identity = [("agent", agent), ("store_id", secrets.token_hex(16))]
        connection.executemany("INSERT INTO meta (name, value) VALUES (?, ?)", identity)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    return str(connection.execute("SELECT value FROM meta WHERE name = 'store_id'").get)


_OPEN: weakref.WeakSet[ReadLog] = weakref.WeakSet()


def _flush_all() -> None:
    for reads in list(_OPEN):
        if reads.pid == os.getpid():
            reads.flush()


atexit.register(_flush_all)
