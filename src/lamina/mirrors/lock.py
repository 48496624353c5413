"""The lock that lets one process at a time write the mirrors of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lamina.home import make_private_file
from lamina.store.store import Store

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

LOCK = "mirrors.lock"


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only one, here and on other machines that share the store.

    Where files cannot be locked, a second one would have to make mirrors anew.
    """
    make_private_file(store.folder / LOCK)
    with (store.folder / LOCK).open("rb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        with store.database.alone("mirrors"):
            yield
