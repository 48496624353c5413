"""Waiting for another process that writes to the same file: as SQLite does it, but not in silence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger("lamina")

DELAYS_MS = (1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50)  # then again and again the last of all
LAST_MS = 100
SILENCE_MS = 1000


class Patience:
    """What SQLite asks each time that a file is locked: whether to try again. Being asked for the first time is a new wait."""

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
        delay = min(
            DELAYS_MS[tries] if tries < len(DELAYS_MS) else LAST_MS, self._limit - self._waited
        )
        if delay <= 0:
            return False
        if self._waited < SILENCE_MS <= self._waited + delay < self._limit:
            log.warning(
                "waiting for another process that writes to %s, up to %g s",
                self._path,
                self._limit / 1000,
            )
        self._waited += delay
        self._sleep(delay / 1000)
        return True
