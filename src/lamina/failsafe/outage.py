"""A store that could not be opened: it stands in for it, and is it as soon as it can be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

from lamina.errors import LaminaError, StoreUnavailable
from lamina.failsafe.spool import OUTAGES, is_outage
from lamina.home.folder import stored_user
from lamina.home.settings import Settings
from lamina.store.core.store import READS_NAME, Store
from lamina.store.tables.reads import ReadLog


class Outage(NamedTuple):
    """What could not be done with a store, and why."""

    tried: str  # read, written, or written in time
    cause: str

    def __str__(self) -> str:
        return f"the store could not be {self.tried}: {self.cause}"


def untold(outage: Outage | None, problems: Iterable[str | None]) -> list[str]:
    """Problems that say more than the cause of an outage, which is told once."""
    return [one for one in problems if one and not (outage and outage.cause in one)]


def again(error: LaminaError) -> LaminaError:
    """The same error, for somebody else."""
    return type(error)(error.message)


class Awaited:
    """Tries to open a store whenever it is asked for something, but not all the time."""

    def __init__(
        self,
        open_: Callable[[], Store],
        error: LaminaError,
        folder: Path,
        agent: str,
        settings: Settings,
    ) -> None:
        self.folder = folder
        self.agent = agent
        self.settings = settings
        self._open = open_
        self._error = error
        self._pause = settings["store.retry_ms"] / 1000
        self._next = time.monotonic() + self._pause
        self._store: Store | None = None
        self._reads: ReadLog | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened(), name)

    @property
    def reads(self) -> ReadLog:
        """The trail of reads, which is a file of its own: it goes on."""
        if self._store is not None:
            return self._store.reads
        if self._reads is None:
            strict, patience = (
                self.settings["audit.reads"] == "strict",
                self.settings["store.busy_timeout_ms"],
            )
            self._reads = ReadLog(self.folder / READS_NAME, self.agent, patience, strict=strict)
        return self._reads

    def user(self, given: object) -> str | None:
        """The name of a user. Nobody is known while the store is away."""
        if self._store is None:
            return stored_user(given, lambda _: False, lambda: ())
        return self._store.user(given)

    def path_of(self, name: str) -> Path:
        """Where a file or folder of this agent lies."""
        return Store.path_of(cast(Store, self), name)

    def close(self) -> None:
        self._is_closed = True
        for one in (self._reads, self._store):
            if one is not None:
                one.close()

    def _opened(self) -> Store:
        with self._lock:
            if self._is_closed and self._store is None:
                raise StoreUnavailable("this handle is closed; open a new one")
            if self._store is None:
                if time.monotonic() < self._next:
                    raise again(self._error)
                self._store = self._tried()
            return self._store

    def _tried(self) -> Store:
        try:
            return self._open()
        except OUTAGES as error:
            self._error, self._next = error, time.monotonic() + self._pause
            raise


def opened(open_: Callable[[], Store], folder: Path, agent: str, settings: Settings) -> Store:
    """A store, or what stands in for it while it cannot be opened and memories may go to the fail-safe."""
    try:
        return open_()
    except OUTAGES as error:
        if settings["failsafe"] != "on" or not is_outage(error):
            raise
        return cast(Store, Awaited(open_, again(error), folder, agent, settings))
