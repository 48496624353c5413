"""A store that may be unavailable: it is reopened when possible, and the fail-safe stands in."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from lamina.errors import LaminaError, StoreUnavailable
from lamina.failsafe import spool, waiting
from lamina.failsafe.outage import Outage
from lamina.failsafe.spool import OUTAGES, is_outage
from lamina.failsafe.validation import Allowed
from lamina.home.folder import stored_user
from lamina.home.retention import PRESETS
from lamina.home.settings import Settings
from lamina.model import rules
from lamina.model.record import Hits, Record, Waiting
from lamina.store.core.store import READS_NAME, Store
from lamina.store.tables.reads import ReadLog
from lamina.store.tables.records import Filter


class Resilient:
    """A store with the fail-safe beside it.

    `store` is the store itself, or raises why it cannot be used now. The methods that read also
    return the records that wait in the fail-safe, and only those while the store is unavailable.
    """

    def __init__(
        self,
        open_: Callable[[], Store],
        folder: Path,
        agent: str,
        settings: Settings,
        home: Path,
        *,
        spooled: bool = True,
    ) -> None:
        """Open a store; without `spooled`, ignore the fail-safe of this folder."""
        self.folder = folder
        self.agent = agent
        self.settings = settings
        self.outage: Outage | None = None
        self.spool = spool.spool(folder, settings["preset"])
        self.allowed = Allowed(
            home, agent, rules.KINDS + settings["kinds.extra"], settings["content.max_bytes"]
        )
        self._queue = waiting.Queue(self.spool, self.allowed) if spooled else None
        self._open = open_
        self._lock = threading.Lock()
        self._process: int | None = os.getpid()  # None once it is closed
        self._pause = settings["store.retry_ms"] / 1000
        self._reads: ReadLog | None = None
        self._store: Store | None = None
        try:
            self._store = open_()
        except OUTAGES as error:
            if settings["failsafe"] != "on" or not is_outage(error):
                raise
            self._wait(error)

    @property
    def store(self) -> Store:
        """The store; raises StoreUnavailable or Corrupt while it cannot be used."""
        return self._store if self._store is not None else self._reopened()

    @property
    def reads(self) -> ReadLog:
        """The trail of reads, a file of its own that works while the store is unavailable."""
        if self._store is not None:
            return self._store.reads
        if self._reads is None:
            self._reads = ReadLog(
                self.folder / READS_NAME,
                self.agent,
                self.settings["store.busy_timeout_ms"],
                strict=self.settings["audit.reads"] == "strict",
            )
        return self._reads

    def path_of(self, name: str) -> Path:
        """Locate a file or folder of this agent; its preset may place it elsewhere."""
        return self.folder / PRESETS[self.settings["preset"]].paths.get(name, name)

    def user(self, given: object) -> str | None:
        """Check the name of a user, against those in the store if it is available."""
        if self._store is None:
            return stored_user(given, lambda _: False, lambda _: False)
        return self._store.user(given)

    def close(self) -> None:
        self._process = None
        for part in (self._reads, self._store):
            if part is not None:
                part.close()

    def is_waiting(self) -> bool:
        """Return whether anything waits in the fail-safe."""
        return self._queue is not None and self.spool.is_waiting()

    def waiting(self) -> list[Waiting]:
        """List the records that wait in the fail-safe, in their order.

        Call this before reading the store: a replay may move them there at any time.
        """
        return [] if self._queue is None else self._queue.records()

    def problems(self) -> list[str]:
        """Describe what is wrong with the fail-safe."""
        return [] if self._queue is None else self._queue.problems()

    def get(self, record_id: str, user: str | None) -> Record | None:
        """Find a record, stored or waiting, that belongs to this user or is unscoped."""
        mine = [
            record for record in self.waiting() if record.id == record_id and is_of(user, record)
        ]
        try:
            stored = self.store.get(record_id, user)
        except OUTAGES as error:
            if not mine:
                raise
            self.note(error)
            return mine[0]
        if stored is not None and is_of(user, stored):
            return stored
        return mine[0] if mine else None

    def listed(self, chosen: Filter, limit: int) -> list[Record]:
        """List records newest first, stored and waiting."""
        if not self.is_waiting():
            return self.store.listed(chosen, limit)
        queued = waiting.chosen(self.waiting(), chosen)
        try:
            stored = self.store.listed(chosen, limit)
        except OUTAGES as error:
            self.note(error)
            stored = []
        return waiting.listed(stored, queued, limit)

    def found(
        self,
        search: Callable[[], Hits],
        query: str,
        chosen: Filter,
        known_at: datetime | None,
        limit: int,
    ) -> Hits:
        """Search the store with `search`, and the waiting records by shared words."""
        if not self.is_waiting():
            return search()
        hits = waiting.found(query, waiting.chosen(self.waiting(), chosen, known_at), limit)
        try:
            return waiting.merged(search(), hits, limit)
        except OUTAGES as error:
            self.note(error)
            return Hits(hits, [f"only the fail-safe was searched: {error.message}"], is_whole=False)

    def note(self, error: LaminaError, tried: str = "read") -> None:
        """Remember an outage. Raise other errors, and every error if there is no fail-safe."""
        is_ours = self._process == os.getpid()  # a closed or forked handle has no fail-safe
        if not is_outage(error) or not is_ours or self.settings["failsafe"] == "off":
            raise error
        self.outage = Outage(tried, error.message)

    def _reopened(self) -> Store:
        with self._lock:
            if self._store is None:
                if self._process is None:
                    raise StoreUnavailable("this handle is closed; open a new one")
                if time.monotonic() < self._next:  # it was tried a moment ago
                    raise type(self._error)(self._error.message)
                try:
                    self._store = self._open()
                except OUTAGES as error:
                    self._wait(error)
                    raise
            return self._store

    def _wait(self, error: LaminaError) -> None:
        """Leave the store alone for a moment."""
        self._error = type(error)(error.message)  # without its traceback and details
        self._next = time.monotonic() + self._pause


def is_of(user: str | None, record: Record) -> bool:
    """Return whether a record is this user's or unscoped; without a user every record is."""
    return user is None or record.user in (None, user)
