"""The records that contain a word, kept between searches of a process, as questions repeat."""

from __future__ import annotations

import numpy as np

from lamina.store.engine.sql import Connection
from lamina.store.index.catalogue import Rows
from lamina.store.tables import fulltext

MOST = 1 << 21  # numbers that are kept for all words together: 16 MB
EACH = 64  # what a word costs in addition to its records, in numbers, even if no record contains it


class Holders:
    """The records that contain a word, among those below `seen`.

    The array grows in place: a new one each time would fragment the memory.
    """

    def __init__(self) -> None:
        self.seen = 0
        self._rows: Rows = np.zeros(0, np.int64)
        self._length = 0

    @property
    def size(self) -> int:
        """The memory it takes, in numbers."""
        return EACH + len(self._rows)

    @property
    def rows(self) -> Rows:
        """The records, ascending; read-only, since all searches share them."""
        rows = self._rows[: self._length]
        rows.flags.writeable = False
        return rows

    def add(self, more: Rows, seen: int) -> None:
        """Append records with higher numbers."""
        end = self._length + len(more)
        if end > len(self._rows):
            wider = np.zeros(max(end, 2 * len(self._rows)), np.int64)
            wider[: self._length] = self._rows[: self._length]
            self._rows = wider
        self._rows[self._length : end] = more
        self._length, self.seen = end, seen


class Postings:
    """The records that contain recently searched words; only newer records are read again."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], Holders] = {}  # the most recently used is last
        self._total = 0

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        return 8 * self._total

    def clear(self) -> None:
        """Forget everything, because known records have changed or left."""
        self._kept.clear()
        self._total = 0

    def holding(self, connection: Connection, word: str, where: str, size: int) -> Rows:
        """List the records below number `size` that contain a word in this part, ascending."""
        holders = self._kept.pop((word, where), None)
        if holders is None:
            holders = Holders()
        else:
            self._total -= holders.size
        if holders.seen < size:
            more = fulltext.holding(connection, word, where, holders.seen)
            holders.add(more[more < size], size)
        self._keep((word, where), holders)
        return holders.rows

    def _keep(self, key: tuple[str, str], holders: Holders) -> None:
        self._kept[key] = holders
        self._total += holders.size
        while self._total > self._most:
            self._total -= self._kept.pop(next(iter(self._kept))).size
