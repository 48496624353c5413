"""Wait for another process that writes to the same file, as SQLite does, but with a warning."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger("lamina")

DELAYS_MS = (1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50)  # then LAST_MS each time
LAST_MS = 100
SILENCE_MS = 1000


class BusyHandler:
    """The busy handler that SQLite calls when a file is locked: sleep, and let it try again.

    A call with `tries` 0 begins a new wait.
    """

    def __init__(
        self, path: Path, limit_ms: int, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._path = path
        self._limit = limit_ms
        self._sleep = sleep
        self._waited = 0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._waited = 0
        usual = DELAYS_MS[tries] if tries < len(DELAYS_MS) else LAST_MS
        delay = min(usual, self._limit - self._waited)
        if delay <= 0:
            return False
        if self._waited < SILENCE_MS <= self._waited + delay < self._limit:
            message = "waiting for another process that writes to %s, up to %g s"
            log.warning(message, self._path, self._limit / 1000)
        self._waited += delay
        self._sleep(delay / 1000)
        return True
