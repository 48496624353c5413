"""What words give to records, kept in bounded memory until a record changes. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 23  # bytes
EACH = 500  # bytes that a word costs in addition to its arrays

# The visible records among which a word is rare, the word, and its share.
Key = tuple[int, str, float]
# The rows to which it gives weight, some several times, and the weight of each.
Reach = tuple[NDArray[np.int64], NDArray[np.float32]]


class Reached:
    """What words give to records; over the limit, the least recently used are forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self.size = 0  # in bytes
        self._most = most
        self._kept: dict[Key, Reach] = {}  # the most recently used is last

    def get(self, key: Key) -> Reach | None:
        """Find what is kept of a word; it is now the most recently used."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
        return kept

    def keep(self, key: Key, found: Reach) -> None:
        """Keep what `get` has not found. It is never changed again."""
        self._kept[key] = found
        self.size += _size(found)
        while self.size > self._most:
            self.size -= _size(self._kept.pop(next(iter(self._kept))))

    def clear(self) -> None:
        """Forget everything, because records have changed."""
        self._kept.clear()
        self.size = 0


def _size(found: Reach) -> int:
    rows, worth = found
    return EACH + rows.nbytes + worth.nbytes
