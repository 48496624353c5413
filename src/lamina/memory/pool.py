"""A pool of handles: many agents and users, few of them open at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from lamina.errors import InvalidInput, LaminaError
from lamina.memory.agent import Memory
from lamina.text.words import shown

MOST_OPEN = 32  # handles, each of which has files open
Key = TypeVar("Key", bound=Hashable)

log = logging.getLogger("lamina")


class SharedHandle:
    """A handle that is opened on first use; only those who want the same one wait for that."""

    def __init__(self) -> None:
        self.users = 0
        self._lock = threading.Lock()
        self._handle: Memory | None = None

    def get(self, open_handle: Callable[[], Memory]) -> Memory:
        with self._lock:
            if self._handle is None:
                self._handle = open_handle()
            return self._handle

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()


class HandlePool(Generic[Key]):
    """Open handles, one for each key, up to a bound.

    Those used last stay open. The lock is only held to look: a store that is slow to open or to
    close keeps nobody else waiting.
    """

    def __init__(self, open_handle: Callable[[Key], Memory], most: int = MOST_OPEN) -> None:
        self._open_handle = open_handle
        self._most = most
        self._handles: dict[Key, SharedHandle] = {}  # the one used last is the last
        self._ended: set[Key] = set()
        self._lock = threading.Lock()

    @property
    def keys(self) -> list[Key]:
        """The keys of the handles that are open."""
        return list(self._handles)

    @contextmanager
    def borrow(self, key: Key) -> Iterator[Memory]:
        """Use a handle, which stays open for as long as the block lasts."""
        with self._lock:
            handle = self._handles.pop(key, None)
            evicted = [] if handle is not None else self._evict(self._most - 1)
            handle = self._handles[key] = handle or SharedHandle()
            handle.users += 1
        try:
            _close(evicted)
            yield handle.get(lambda: self._open_handle(key))
        finally:
            with self._lock:
                handle.users -= 1
                evicted = self._evict(self._most)
            _close(evicted)

    def end(self, keys: set[Key]) -> None:
        """Close handles that will not be wanted again, each after its last use."""
        with self._lock:
            self._ended |= keys
            evicted = self._evict(self._most)
        _close(evicted)

    def close(self) -> None:
        """Let every handle write what it has buffered."""
        with self._lock:
            handles = list(self._handles.values())
            self._handles.clear()
        for handle in handles:
            handle.close()

    def _evict(self, most: int) -> list[SharedHandle]:
        """Take out handles that are no longer needed; the caller closes them without the lock."""
        idle = [key for key, handle in self._handles.items() if not handle.users]
        evicted = [key for key in idle if key in self._ended]
        oldest = [key for key in idle if key not in self._ended]
        evicted += oldest[: max(0, len(self._handles) - len(evicted) - most)]
        self._ended.difference_update(evicted)
        return [self._handles.pop(key) for key in evicted]


def _close(handles: Iterable[SharedHandle]) -> None:
    for handle in handles:
        try:
            handle.close()
        except LaminaError as error:  # what is asked now has nothing to do with it
            log.warning("%s", error.message)


class Whose(NamedTuple):
    """Whose memory a handle is on."""

    agent: str | None
    user: str | None


class Pool:
    """Handles of any agents and users of a home, for a program that serves many of them.

    `with pool.open("sky", "ana") as memory:` gives a handle that is open already, or opens one.
    Threads may share a pool, and the handles in it.
    """

    def __init__(self, open_handle: Callable[[str | None, str | None], Memory], most: int) -> None:
        if type(most) is not int or most < 1:
            raise InvalidInput(f"most {shown(most)} is not a whole number from 1 on")
        self._handles: HandlePool[Whose] = HandlePool(lambda whose: open_handle(*whose), most)

    def open(
        self, agent: str | None = None, user: str | None = None
    ) -> AbstractContextManager[Memory]:
        """Use the handle of an agent, for one of its users or for all, within a block."""
        return self._handles.borrow(Whose(agent, user))

    def close(self) -> None:
        """Close every handle."""
        self._handles.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
