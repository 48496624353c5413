"""The chain of reads, in a file of its own, written behind the reader's back unless the setting says strict."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lamina import canon
from lamina.errors import Corrupt, LaminaError
from lamina.home import make_private_file
from lamina.model import Actor
from lamina.store import events, verify
from lamina.store.connection import Database, translated
from lamina.store.verify import Report

APPLICATION_ID = 0x4C616D72
FLUSH_SECONDS = 1.0
FLUSH_READS = 500
KEPT_READS = 20_000

log = logging.getLogger("lamina")


class Read(msgspec.Struct, frozen=True):
    """One read: who looked, when, how, and which records came back. Query and user go to the erasable note."""

    at: datetime
    actor: Actor
    action: str
    records: tuple[str, ...]
    note: Mapping[str, Any]


class ReadLog:
    """Appends reads to `reads.db`. Buffered, a crash loses at most what came after the last flush."""

    def __init__(self, path: Path, agent: str, busy_ms: int, *, strict: bool) -> None:
        self.path = path
        self.seed = bytes(32)
        self._agent = agent
        self.problem: str | None = None
        self._strict = strict
        self._busy_ms = busy_ms
        self.pid = os.getpid()
        self._database: Database | None = None
        self._buffer: list[Read] = []
        self._lost = 0
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._wake = threading.Event()
        self._worker: threading.Thread | None = None
        _OPEN.add(self)

    def add(self, read: Read) -> None:
        """Note a read; strictly, it is durable before this returns."""
        if self._strict:
            self._write([read])
            return
        with self._lock:
            if len(self._buffer) >= KEPT_READS:
                self._lost += 1
                return
            self._buffer.append(read)
            full = len(self._buffer) >= FLUSH_READS
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="lamina-reads", daemon=True)
                self._worker.start()
        if full:
            self._wake.set()

    def flush(self) -> None:
        """Write what is buffered. When that fails the reads are kept, and the problem can be seen."""
        with self._flush_lock:
            with self._lock:
                batch, self._buffer, lost, self._lost = self._buffer, [], self._lost, 0
            if not batch and not lost:
                return
            try:
                self._write(batch, lost)
                self.problem = None
            except LaminaError as error:
                self.problem = f"{len(batch)} reads are not audited yet: {error}"
                log.warning("%s", self.problem)
                with self._lock:
                    self._buffer = batch + self._buffer
                    self._lost += lost

    def close(self) -> None:
        self._wake.set()
        if self.pid == os.getpid():
            self.flush()
        if self._database is not None:
            self._database.close()
        _OPEN.discard(self)

    def database(self) -> Database:
        """The file behind the log, made when the first read is written."""
        if self._database is None:
            make_private_file(self.path)
            database = Database(self.path, self._busy_ms, checkpoint_pages=1000)
            with translated(self.path), database.atomic() as connection:
                self.seed = canon.chain_seed(_prepared(connection, self.path, self._agent), self._agent, "reads")
            self._database = database
        return self._database

    def verify(self, expected: Mapping[str, Any] | None = None) -> Report:
        """Check the chain of every read that was written so far."""
        self.flush()
        if not self.path.exists():
            return Report(0, 0, bytes(32).hex(), ())
        with translated(self.path):
            connection = self.database().reader()
            connection.execute("BEGIN")
            try:
                return verify.verify_chain(connection, self.seed, expected)
            finally:
                connection.execute("ROLLBACK")

    def _work(self) -> None:
        """Flush once, a moment after the first read that was buffered."""
        self._wake.wait(FLUSH_SECONDS)
        with self._lock:
            self._worker = None
            self._wake.clear()
        self.flush()

    def _write(self, batch: Sequence[Read], lost: int = 0) -> None:
        with translated(self.path), self.database().atomic() as connection:
            head = events.head(connection, self.seed)
            for read in batch:
                changes = {"records": read.records} if read.records else None
                head = events.append(
                    connection, head, read.at, read.actor, read.action, records=0, details=changes, note=read.note
                )
            if lost:
                actor, at = batch[-1].actor, batch[-1].at
                head = events.append(connection, head, at, actor, "reads.lost", records=0, details={"count": lost})


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
