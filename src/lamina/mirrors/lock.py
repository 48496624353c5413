"""The lock that lets one process at a time write the mirrors of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lamina.home import folder
from lamina.store.core.store import Store

LOCK = "mirrors.lock"


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only one, here and on other machines that share the store."""
    with folder.alone(store.folder / LOCK), store.database.alone("mirrors"):
        yield
