"""Which records hold a word, kept between the searches of a process: people ask about the same things again and again."""

from __future__ import annotations

import numpy as np

from lamina.store import fulltext
from lamina.store.catalogue import Rows
from lamina.store.sql import Connection

MOST = 1 << 21  # numbers of records that are kept, of all words together: 16 MB


class Postings:
    """The holders of words that were asked for lately, as far as records have been seen; what is new is read behind them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], tuple[Rows, int]] = {}  # the latest asked last; and which records were seen
        self._total = 0

    def clear(self) -> None:
        """Forget all: records that were seen hold other words now, or are gone."""
        self._kept.clear()
        self._total = 0

    def holding(self, connection: Connection, word: str, where: str, size: int) -> Rows:
        """The records below a number that hold a word there, ascending."""
        found, seen = self._kept.pop((word, where), (np.zeros(0, np.int64), 0))
        self._total -= len(found)
        if seen < size:
            more = fulltext.holding(connection, word, where, seen)
            found = np.concatenate((found, more[more < size]))
        self._keep(word, where, found, size)
        return found

    def _keep(self, word: str, where: str, found: Rows, size: int) -> None:
        found.flags.writeable = False  # every search gets the same one
        self._kept[word, where] = found, size
        self._total += len(found)
        while self._total > self._most:
            oldest = next(iter(self._kept))
            self._total -= len(self._kept.pop(oldest)[0])
