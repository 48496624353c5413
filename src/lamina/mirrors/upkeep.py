"""How mirrors are kept up to date behind the writers of a handle. A mirror that fails costs the writer nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamina.errors import LaminaError
from lamina.home import make_private_file
from lamina.mirrors import Mirror
from lamina.mirrors.sync import sync
from lamina.recall.worker import Worker
from lamina.store.store import Store

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

LOCK = "mirrors.lock"


class Upkeep:
    """The mirrors of a store, by name."""

    def __init__(self, store: Store, mirrors: Mapping[str, Mirror], note_problem: Callable[[str], None]) -> None:
        self._store = store
        self._folder = store.folder
        self._mirrors = mirrors
        self._note_problem = note_problem
        self._lock = threading.Lock()
        self._worker = Worker(self._step)

    def wake(self) -> None:
        """Something was written: bring the mirrors up to date, soon and in the background."""
        self._worker.wake()

    def sync(self) -> dict[str, Any]:
        """Bring every mirror up to date now; what was done in each, or why it was not possible."""
        done: dict[str, Any] = {}
        with self._lock, _alone(self._folder):
            for name, mirror in self._mirrors.items():
                try:
                    done[name] = sync(self._store, mirror)._asdict()
                except LaminaError as error:
                    done[name] = {"error": error.message}
                    self._note_problem(f"the mirror {name} is not up to date: {error.message}")
        return done

    def close(self) -> None:
        """Bring the mirrors up to date for the last time."""
        self._worker.stop()
        self.sync()

    def _step(self) -> bool:
        self.sync()
        return False


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time write mirrors. Where files cannot be locked, a second one would have to make them anew."""
    make_private_file(folder / LOCK)
    with (folder / LOCK).open("rb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
