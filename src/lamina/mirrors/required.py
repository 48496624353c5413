"""A mirror that must accept each new memory before the store keeps it (B4).

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

SECONDS = 0.8  # time limit for accepting memories
PATIENCE = 0.3  # seconds that one writer waits for other writers


class PromptMirror(Protocol):
    """A mirror that can take records at once."""

    def check(self) -> None:
        """Raise StoreUnavailable while it is known not to answer."""
        ...

    def put_now(self, records: Sequence[Record], seconds: float) -> None:
        """Take records before the store has decided whether it keeps them."""
        ...

    def unsettled(self) -> list[str]:
        """List the records that were taken this way and have not been confirmed by events yet."""
        ...

    def withdraw(self, ids: Sequence[str], seconds: float) -> None:
        """Remove these records if they are still unsettled."""
        ...


class Turns:
    """A queue of a home's writers, across threads and processes: one at a time uses the mirror."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def taken(self, patience: float = PATIENCE) -> Iterator[bool]:
        """Wait for our turn; yield False if `patience` ends first."""
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

    What was put but not committed, because the store failed or the process died, is unsettled in
    the mirror: our searches ignore it, and the next `settle` removes it.
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
            self._mirror.check()  # an earlier writer may have found that it is down
            yield

    def put(self, records: Sequence[Record]) -> None:
        """Put the records that the mirror would receive through events.

        Raises:
            StoreUnavailable: The mirror does not accept them, for whatever reason.
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
        except LaminaError as error:  # whatever the error is, the memory has to go elsewhere
            problem = f"a required mirror does not take memories: {error.message}"
            raise StoreUnavailable(problem) from error


def settle(mirror: PromptMirror, turns: Turns, is_known: Callable[[str], bool]) -> None:
    """Remove records from a mirror that the store does not have after all.

    While it is our turn, no writer is between putting and committing.
    """
    unknown = [record_id for record_id in mirror.unsettled() if not is_known(record_id)]
    if not unknown:
        return
    with turns.taken() as is_ours:
        lost = [record_id for record_id in unknown if not is_known(record_id)]
        if is_ours and lost:  # otherwise the next call settles it
            mirror.withdraw(lost, SECONDS)


def is_required(settings: Settings) -> bool:
    """Return whether Weaviate is on and must accept each memory."""
    return bool(settings["mirrors.weaviate_required"] and settings["mirrors.weaviate"] != "off")
