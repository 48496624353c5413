"""Stores that are away, and what the fail-safe kept meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from lamina.failsafe.line import Item, Line
from lamina.failsafe.spool import Spool
from lamina.model.record import Actor, Draft, Layer, Role, Trust
from tests.conftest import START, Desk

ACTOR = Actor(Role.AGENT, "sky", "test")
AWAY = {"store.busy_timeout_ms": 0, "store.retry_ms": 0}


@contextmanager
def outage(home: Path, agent: str = "sky") -> Iterator[None]:
    """Another program holds the store: it can be read, and not written."""
    with closing(apsw.Connection(str(home / "agents" / agent / "memory.db"))) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


@contextmanager
def damage(home: Path, agent: str = "sky") -> Iterator[None]:
    """The store is damaged, until a copy comes back."""
    path = home / "agents" / agent / "memory.db"
    aside = path.with_name("aside")
    path.rename(aside)
    path.write_bytes(b"no database" * 1000)
    yield
    aside.replace(path)


def item(number: int, layer: Layer = Layer.SHORT_TERM, **fields: Any) -> Item:
    return Item(f"{number:026d}", Draft(f"memory {number}", Trust.AGENT, layer=layer, **fields))


def keep(spool: Spool, *items: Item, **more: Any) -> list[Line]:
    return spool.keep(items, START, "remember", ACTOR, **more)


def folder_of(desk: Desk) -> Path:
    return desk.folder() / "failsafe"


def waiting(spool: Spool) -> list[str]:
    return [line.payload.content for line in spool.contents().lines if line.payload]
