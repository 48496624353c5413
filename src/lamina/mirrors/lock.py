"""The lock that lets one process at a time write the mirrors of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lamina.home import make_private_file
from lamina.locks import locked
from lamina.store.store import Store

LOCK = "mirrors.lock"


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only one, here and on other machines that share the store."""
    make_private_file(store.folder / LOCK)
    with locked(store.folder / LOCK, patience=None), store.database.alone("mirrors"):
        yield
