"""The lock that lets one process at a time write the mirrors of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lamina import home
from lamina.store.store import Store

LOCK = "mirrors.lock"


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only one, here and on other machines that share the store."""
    with home.alone(store.folder / LOCK), store.database.alone("mirrors"):
        yield
