"""A thread that indexes in the background, so that adding is never as slow as a model."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable

from lamina.errors import LaminaError

log = logging.getLogger("lamina")

PATIENCE = 2.0  # seconds that a fork waits for the current step


class Worker:
    """Takes steps until there is nothing to do, then waits to be woken; keeps the last problem.

    With `linger`, it first waits that many seconds, so that quick writes are indexed together.
    """

    def __init__(self, step: Callable[[], bool], linger: float = 0.0) -> None:
        self.problem: str | None = None
        self._do = step
        self._woken = threading.Event()
        self._linger = linger
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.busy = threading.Lock()
        _WORKERS.add(self)

    def wake(self) -> None:
        """Start the thread or let it check again, because there is something to do."""
        with self._lock:
            self._woken.set()
            if self._thread is None or not self._thread.is_alive():
                self._stopped.clear()
                self._thread = threading.Thread(target=self._work, name="lamina-index", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Finish the current step, and end."""
        self._stopped.set()
        self._woken.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _ended(self) -> bool:
        return self._stopped.is_set()

    def _work(self) -> None:
        while True:
            self._woken.wait()
            self._stopped.wait(self._linger)
            self._woken.clear()
            if self._ended():
                return
            try:
                while self.step() and not self._ended():
                    pass
                self.problem = None
            except LaminaError as error:  # the next wake tries again
                self.problem = error.message
            except Exception as error:  # a model may raise anything; the thread lives on
                log.exception("indexing failed")
                self.problem = f"indexing failed: {error!r}"

    def step(self) -> bool:
        """Take one step now, alternating with the thread, so that nothing is done twice."""
        with self.busy:
            return self._do()


_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()
_HELD: list[Worker] = []


def _before_fork() -> None:
    """Pause all workers: a child would wait forever for a lock held by a thread of its parent."""
    _HELD.extend(worker for worker in list(_WORKERS) if worker.busy.acquire(timeout=PATIENCE))


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().busy.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
