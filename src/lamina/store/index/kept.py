"""What is derived from the columns of records, kept in bounded memory until these change."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

MOST = 1 << 24  # bytes
EACH = 500  # bytes that an entry costs in addition to its arrays

Key = tuple[str, object]
Arrays = tuple[NDArray[Any], ...]


class Kept:
    """Arrays by name; over the limit, the least recently used are forgotten."""

    def __init__(self, most: int = MOST) -> None:
        self.size = 0  # in bytes
        self._most = most
        self._kept: dict[Key, Arrays] = {}  # the most recently used is last

    def get(self, key: Key) -> Arrays | None:
        """Find what is kept; it is now the most recently used."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._kept[key] = kept
        return kept

    def keep(self, key: Key, *arrays: NDArray[Any]) -> None:
        """Keep something that `get` has not found. It is never changed again."""
        self._kept[key] = arrays
        self.size += _size(arrays)
        while self.size > self._most:
            self.size -= _size(self._kept.pop(next(iter(self._kept))))

    def clear(self) -> None:
        """Forget everything, because columns have changed."""
        self._kept.clear()
        self.size = 0


def _size(arrays: Arrays) -> int:
    return EACH + sum([array.nbytes for array in arrays])
