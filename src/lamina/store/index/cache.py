"""What the searches of this process keep in memory, of all stores and scopes, in one budget."""

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
    """A store as this process sees it. A forked child sees another: its handles are new ones."""

    address: str
    agent: str
    process: int


Key = tuple[Place, Scope | None]  # a store, and a scope of it; None for all of the store


class Usage(msgspec.Struct, frozen=True):
    """What is kept now, and how much may be."""

    bytes: int
    budget: int  # in bytes; 0 while no handle of this process has searched
    scopes: int  # of users, sessions and projects, and whole stores


class Cache:
    """What is kept for each scope of each store that a handle of this process has open.

    Beyond the budget, what was used longest ago goes first. What a search uses right now stays, and
    so does what was used last, however large it is. Whoever still holds what went may finish with
    it: everything kept is compared with the store before each use.
    """

    def __init__(self) -> None:
        self.most = 0
        self._bytes = 0
        self._handles: dict[Place, int] = {}
        # With its size; the one used last is the last.
        self._kept: dict[Key, tuple[LoadedIndex, int]] = {}
        # Reentrant: the collector of garbage may release a handle in the middle of anything.
        self._lock = threading.RLock()

    @property
    def usage(self) -> Usage:
        """How much is kept, of all stores."""
        return Usage(self._bytes, self.most, len(self._kept))

    def usage_of(self, place: Place) -> Usage:
        """Tell how much is kept of one store: of the others its agent may know nothing."""
        with self._lock:
            sizes = [size for key, (_, size) in self._kept.items() if key[0] == place]
        return Usage(sum(sizes), self.most, len(sizes))

    def hold(self, place: Place, megabytes: int) -> None:
        """Count a handle of a store. The budget of the handle that was opened last is in force."""
        with self._lock:
            self._handles[place] = self._handles.get(place, 0) + 1
            self.most = megabytes * MEGABYTE

    def release(self, place: Place) -> None:
        """Count a handle less; with the last one goes all that is kept of its store."""
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
        """Find or make what is kept for a scope; it counts as the one that was used last."""
        with self._lock:
            kept = self._kept.pop((place, scope), None)
            used, size = kept if kept is not None else (make(), 0)
            self._kept[place, scope] = used, size
            return used

    def settle(self, place: Place, scope: Scope | None, used: LoadedIndex) -> bool:
        """Note how large it has become by its use, and keep to the budget; true the first time."""
        with self._lock:
            kept = self._kept.get((place, scope))
            if kept is None or kept[0] is not used:
                return False  # it went meanwhile
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
    """Name a store of this process."""
    return Place(address, agent, os.getpid())


if hasattr(os, "register_at_fork"):
    # The parent's belongs to its handles, and one of its threads may have held the lock.
    os.register_at_fork(after_in_child=CACHE.__init__)  # type: ignore[misc]
