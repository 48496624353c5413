"""A mirror that has to take each new memory before the store keeps it (B4).

While it does not, new memories go to the fail-safe.
"""

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


class PromptMirror(Protocol):
    """A mirror that can take records at once."""

    def check(self) -> None:
        """Raise StoreUnavailable while it is known not to answer."""
        ...

    def put_now(self, records: Sequence[Record], seconds: float) -> None:
        """Take records of which the store has not decided yet whether it keeps them."""
        ...

    def unsettled(self) -> list[str]:
        """List the records that were taken so and have not come along the events yet."""
        ...

    def withdraw(self, ids: Sequence[str], seconds: float) -> None:
        """Remove those of these records that are still unsettled."""
        ...


class Turns:
    """A queue in which one writer of a home waits for a mirror, over threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def taken(self, patience: float = PATIENCE) -> Iterator[bool]:
        """Wait for our turn; False when our patience ends first."""
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
    """The steps of a writer: take its turn, begin the store's transaction, put, commit.

    What was put and not committed, because the store failed or the process died, is unsettled in
    the mirror: no search of ours sees it, and the next `settle` removes it.
    """

    def __init__(self, mirror: PromptMirror, turns: Turns) -> None:
        self._mirror = mirror
        self._turns = turns

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the turn while a memory is put and committed; raise while the mirror is down."""
        self._mirror.check()
        with self._turns.taken() as is_ours:
            if not is_ours:
                problem = "other writers wait for a mirror that is slow; nothing was stored"
                raise StoreUnavailable(problem)
            self._mirror.check()  # those before us may have found that it is down
            yield

    def put(self, records: Sequence[Record]) -> None:
        """Have the mirror take what it would receive along the events.

        Raises:
            StoreUnavailable: It does not take them, for whatever reason.
        """
        mirrored = [
            record
            for record in records
            if record.state is State.ACTIVE and record.layer is not Layer.WORKING
        ]
        if not mirrored:
            return
        try:
            self._mirror.put_now(mirrored, SECONDS)
        except LaminaError as error:  # whatever it is, the memory has to go elsewhere
            problem = f"a required mirror does not take memories: {error.message}"
            raise StoreUnavailable(problem) from error


def settle(mirror: PromptMirror, turns: Turns, is_known: Callable[[str], bool]) -> None:
    """Remove from a mirror what the store does not have after all.

    While it is our turn, no writer is between putting and committing.
    """
    unknown = [record_id for record_id in mirror.unsettled() if not is_known(record_id)]
    if not unknown:
        return
    with turns.taken() as is_ours:
        lost = [record_id for record_id in unknown if not is_known(record_id)]
        if is_ours and lost:  # if it is not, the next one settles it
            mirror.withdraw(lost, SECONDS)


def is_required(settings: Settings) -> bool:
    """Tell whether Weaviate is on and has to take each memory."""
    return bool(settings["mirrors.weaviate_required"] and settings["mirrors.weaviate"] != "off")
