"""A pool of handles for many agents and users, few of them open at a time."""

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

MOST_OPEN = 32  # handles, each with open files
Key = TypeVar("Key", bound=Hashable)

log = logging.getLogger("lamina")


class SharedHandle:
    """A handle that is opened on first use; only callers that want the same one wait for this."""

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
    """Open handles, one for each key, up to a limit.

    The most recently used ones stay open. The lock is held only for lookups: a store that is
    slow to open or close blocks no one else.
    """

    def __init__(self, open_handle: Callable[[Key], Memory], most: int = MOST_OPEN) -> None:
        self._open_handle = open_handle
        self._most = most
        self._handles: dict[Key, SharedHandle] = {}  # the most recently used one is the last
        self._ended: set[Key] = set()
        self._lock = threading.Lock()

    @property
    def keys(self) -> list[Key]:
        """The keys of the handles that are open."""
        return list(self._handles)

    @contextmanager
    def borrow(self, key: Key) -> Iterator[Memory]:
        """Use a handle, which stays open until the end of the block."""
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
        """Close handles that are no longer wanted, each after its last use."""
        with self._lock:
            self._ended |= keys
            evicted = self._evict(self._most)
        _close(evicted)

    def close(self) -> None:
        """Close every handle, so that it writes what it has buffered."""
        with self._lock:
            handles = list(self._handles.values())
            self._handles.clear()
        for handle in handles:
            handle.close()

    def _evict(self, most: int) -> list[SharedHandle]:
        """Remove handles that are no longer needed; the caller closes them without the lock."""
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
        except LaminaError as error:  # the current call does not depend on it
            log.warning("%s", error.message)


class Whose(NamedTuple):
    """The agent and user of a handle."""

    agent: str | None
    user: str | None


class Pool:
    """Handles for any agents and users of a home, for a program that serves many of them.

    `with pool.open("sky", "ana") as memory:` returns an open handle, or opens one.
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
