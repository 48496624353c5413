"""What the searches of this process keep in memory, for all stores and scopes, in one budget."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lamina.store.index.scope import Scope

if TYPE_CHECKING:
    from lamina.store.index.loaded import LoadedIndex

MEGABYTE = 1 << 20


class Place(NamedTuple):
    """A store as this process sees it. A forked child has another, since its handles are new."""

    address: str
    agent: str
    process: int


Key = tuple[Place, Scope | None]  # a store and one of its scopes; None for the whole store


class Usage(msgspec.Struct, frozen=True):
    """How much is kept now, and how much may be."""

    bytes: int
    budget: int  # in bytes; 0 while no handle of this process has searched
    scopes: int  # users, sessions, projects and whole stores


class Cache:
    """What is kept for each scope of each store that a handle of this process has open.

    Over budget, the least recently used entries are dropped. An entry that a search is using stays,
    and so does the last one used, however large it is. Whoever still holds a dropped entry may
    finish with it, since every entry is compared with the store before each use.
    """

    def __init__(self) -> None:
        self.most = 0
        self._bytes = 0
        self._handles: dict[Place, int] = {}
        # With their sizes; the most recently used is last.
        self._kept: dict[Key, tuple[LoadedIndex, int]] = {}
        # Reentrant: the garbage collector may release a handle at any point.
        self._lock = threading.RLock()

    @property
    def usage(self) -> Usage:
        """How much is kept, for all stores together."""
        return Usage(self._bytes, self.most, len(self._kept))

    def usage_of(self, place: Place) -> Usage:
        """Tell how much is kept of one store: its agent may learn nothing about the others."""
        with self._lock:
            sizes = [size for key, (_, size) in self._kept.items() if key[0] == place]
        return Usage(sum(sizes), self.most, len(sizes))

    def hold(self, place: Place, megabytes: int) -> None:
        """Count one more handle of a store. The budget of the handle opened last applies."""
        with self._lock:
            self._handles[place] = self._handles.get(place, 0) + 1
            self.most = megabytes * MEGABYTE

    def release(self, place: Place) -> None:
        """Count one handle less; after the last one, drop everything that is kept of its store."""
        with self._lock:
            handles = self._handles.get(place, 0) - 1
            if handles > 0:
                self._handles[place] = handles
                return
            self._handles.pop(place, None)
            for key in [key for key in self._kept if key[0] == place]:
                self._drop(key)

    def get(self, place: Place, scope: Scope | None) -> LoadedIndex | None:
        """Find what is kept for a scope."""
        kept = self._kept.get((place, scope))
        return None if kept is None else kept[0]

    def use(
        self, place: Place, scope: Scope | None, make: Callable[[], LoadedIndex]
    ) -> LoadedIndex:
        """Find or create what is kept for a scope; it is now the most recently used."""
        with self._lock:
            kept = self._kept.pop((place, scope), None)
            used, size = kept if kept is not None else (make(), 0)
            self._kept[place, scope] = used, size
            return used

    def settle(self, place: Place, scope: Scope | None, used: LoadedIndex) -> bool:
        """Note the size after use, and keep to the budget; return whether this is the first use."""
        with self._lock:
            kept = self._kept.get((place, scope))
            if kept is None or kept[0] is not used:
                return False  # it was dropped in the meantime
            size = used.footprint
            self._kept[place, scope] = used, size
            self._bytes += size - kept[1]
            if self._bytes > self.most:
                self._evict(but=(place, scope))
            return not kept[1]

    def _evict(self, but: Key) -> None:
        for key, (kept, _) in list(self._kept.items()):
            if self._bytes <= self.most:
                return
            if key != but and not kept.lock.locked():
                self._drop(key)

    def _drop(self, key: Key) -> None:
        _, size = self._kept.pop(key)
        self._bytes -= size


CACHE = Cache()


def place_of(address: str, agent: str) -> Place:
    """Identify a store in this process."""
    return Place(address, agent, os.getpid())


if hasattr(os, "register_at_fork"):
    # The parent's cache belongs to its handles, and one of its threads may have held the lock.
    os.register_at_fork(after_in_child=CACHE.__init__)  # type: ignore[misc]
