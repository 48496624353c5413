"""A mirror that has to take each new memory before the store keeps it. One that does not sends them to the fail-safe (B4)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from lamina.errors import LaminaError, StoreUnavailable
from lamina.home.locks import locked
from lamina.home.settings import Settings
from lamina.model.record import Layer, Record, State

SECONDS = 0.8  # in which a memory has to be taken
PATIENCE = 0.3  # seconds that one writer waits for others who wait for the mirror


class Prompt(Protocol):
    """A mirror that can take records at once."""

    def check(self) -> None:
        """Raise StoreUnavailable while it is known not to answer."""
        ...

    def put_now(self, records: Sequence[Record], seconds: float) -> None:
        """Take records whose end the store has not decided yet."""
        ...

    def unsettled(self) -> list[str]:
        """The records that were taken so, and have not come along the events yet."""
        ...

    def withdraw(self, ids: Sequence[str], seconds: float) -> None:
        """Take out those of these that are still unsettled."""
        ...


class Turns:
    """Lets one writer of a home at a time wait for a mirror, over threads and processes, and none for long."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def taken(self, patience: float = PATIENCE) -> Iterator[bool]:
        """Whether it is our turn, once those before us are through or our patience is."""
        if not self._threads.acquire(timeout=patience):
            yield False
            return
        try:
            with self._between_processes(patience) as is_ours:
                yield is_ours
        finally:
            self._threads.release()

    @contextmanager
    def _between_processes(self, patience: float) -> Iterator[bool]:
        lock = locked(self._path, patience=patience)
        try:
            lock.__enter__()
        except BlockingIOError:
            yield False
            return
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be locked: {error.strerror}") from error
        try:
            yield True
        finally:
            lock.__exit__(None, None, None)


class Required:
    """What a writer has to do with such a mirror: take its turn, begin the store's transaction, put, commit.

    What was put and not committed after all, because the store failed or the process died, is unsettled in the mirror:
    no search of ours sees it, and the next `settle` takes it out.
    """

    def __init__(self, mirror: Prompt, turns: Turns) -> None:
        self._mirror = mirror
        self._turns = turns

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The time in which a memory is put and the store commits. StoreUnavailable comes at once while the mirror is down."""
        self._mirror.check()
        with self._turns.taken() as is_ours:
            if not is_ours:
                raise StoreUnavailable(
                    "other writers wait for a mirror that is slow; nothing was stored"
                )
            self._mirror.check()  # those before us may have found that it is down
            yield

    def put(self, records: Sequence[Record]) -> None:
        """Have the mirror take what it would be given along the events, or raise StoreUnavailable."""
        kept = [
            record
            for record in records
            if record.state is State.ACTIVE and record.layer is not Layer.WORKING
        ]
        if not kept:
            return
        try:
            self._mirror.put_now(kept, SECONDS)
        except LaminaError as error:  # whatever it is, the memory has to go elsewhere
            raise StoreUnavailable(
                f"a required mirror does not take memories: {error.message}"
            ) from error


def settle(mirror: Prompt, turns: Turns, is_known: Callable[[str], bool]) -> None:
    """Take out of a mirror what the store does not have after all. Nobody is between the two while it is our turn."""
    unknown = [record_id for record_id in mirror.unsettled() if not is_known(record_id)]
    if not unknown:
        return
    with turns.taken() as is_ours:
        lost = [record_id for record_id in unknown if not is_known(record_id)]
        if is_ours and lost:  # if it is not, the next one settles it
            mirror.withdraw(lost, SECONDS)


def is_required(settings: Settings) -> bool:
    """Whether Weaviate has to take each memory, if it is on."""
    return bool(settings["mirrors.weaviate_required"] and settings["mirrors.weaviate"] != "off")
