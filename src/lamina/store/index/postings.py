"""Which records hold a word, kept between the searches of a process: people ask about the same things again and again."""

from __future__ import annotations

import numpy as np

from lamina.store.engine.sql import Connection
from lamina.store.index.catalogue import Rows
from lamina.store.tables import fulltext

MOST = 1 << 21  # numbers that are kept, of all words together: 16 MB
EACH = 64  # what a word takes beside its records, in numbers: those that nobody holds count, too


class Holders:
    """The records that hold a word, as far as records have been seen. It grows in place: a new one each time would scatter."""

    def __init__(self) -> None:
        self.seen = 0  # the records below this number
        self._rows: Rows = np.zeros(0, np.int64)
        self._number = 0

    @property
    def size(self) -> int:
        """What it takes, in numbers."""
        return EACH + len(self._rows)

    @property
    def rows(self) -> Rows:
        """The records, ascending. Every search gets the same ones, so nobody may change them."""
        found = self._rows[: self._number]
        found.flags.writeable = False
        return found

    def add(self, more: Rows, seen: int) -> None:
        """Records behind those that are here already."""
        end = self._number + len(more)
        if end > len(self._rows):
            wider = np.zeros(max(end, 2 * len(self._rows)), np.int64)
            wider[: self._number] = self._rows[: self._number]
            self._rows = wider
        self._rows[self._number : end] = more
        self._number, self.seen = end, seen


class Postings:
    """The holders of words that were asked for lately; what is new is read behind them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], Holders] = {}  # the latest asked last
        self._total = 0

    def clear(self) -> None:
        """Forget all: records that were seen hold other words now, or are gone."""
        self._kept.clear()
        self._total = 0

    def holding(self, connection: Connection, word: str, where: str, size: int) -> Rows:
        """The records below a number that hold a word there, ascending."""
        held = self._kept.pop((word, where), None)
        if held is None:
            held = Holders()
        else:
            self._total -= held.size
        if held.seen < size:
            more = fulltext.holding(connection, word, where, held.seen)
            held.add(more[more < size], size)
        self._keep((word, where), held)
        return held.rows

    def _keep(self, asked: tuple[str, str], held: Holders) -> None:
        self._kept[asked] = held
        self._total += held.size
        while self._total > self._most:
            self._total -= self._kept.pop(next(iter(self._kept))).size
