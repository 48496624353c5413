"""Copy memories for other programs: copies are derived, rebuildable and never authoritative.

Mirrors follow the events of the store through a small protocol; each kind has a file of its own.
Hits that come from a mirror are checked against the store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self, TypeVar, runtime_checkable

import msgspec

from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.search.mirror_request import MirrorRequest, SearchableMirror
from lamina.store.tables.outbox import Position

__all__ = [
    "Closing",
    "Copy",
    "Damaged",
    "Listed",
    "Mirror",
    "MirrorRequest",
    "Position",
    "SearchableMirror",
    "Settling",
    "batches",
    "digest",
]
Item = TypeVar("Item")


class Damaged(Exception):  # noqa: N818 - it says what is so
    """A mirror does not hold what it should, and has to be rebuilt."""


class Mirror(Protocol):
    """A copy of the memories. Puts and drops take effect when they are committed, not before.

    Applying changes again has no effect. Only one process at a time may write to a mirror.
    """

    def position(self) -> Position | None:
        """Return how far it has followed the events; None if its content cannot be relied on."""
        ...

    def put(self, records: Sequence[Record]) -> None:
        """Add records, or replace those with the same ids."""
        ...

    def drop(self, ids: Sequence[str]) -> None:
        """Remove records, if they are there."""
        ...

    def commit(self, position: Position) -> None:
        """Make puts and drops durable, together with the position that they reach."""
        ...

    def clear(self) -> None:
        """Start over: the next commit leaves only what was put after this call."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A mirror that holds files or connections."""

    def close(self) -> None:
        """Release them; the mirror may be used again."""
        ...


@runtime_checkable
class Listed(Protocol):
    """A mirror that can be compared with the store, record by record."""

    def entries(self) -> Iterator[tuple[str, str]]:
        """Yield each id with the digest of what it holds, "" if that is unreadable."""
        ...

    def digest(self, record: Record) -> str:
        """Compute the digest that the entry of a record should have."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A mirror that may receive records before the store has them."""

    def settle(self, is_known: Callable[[str], bool]) -> None:
        """Remove records that the store does not have after all."""
        ...


class Copy(msgspec.Struct, frozen=True):
    """The part of a record that a search engine holds: its text, and what it is filtered by."""

    id: str
    seq: int
    content: str
    layer: str
    kind: str
    importance: float
    occurred_at: int  # microseconds since 1970
    tags: tuple[str, ...] = ()
    user: str | None = None
    session: str | None = None
    speaker: str | None = None
    source: str | None = None

    @classmethod
    def of(cls, record: Record) -> Self:
        return cls(
            record.id,
            record.seq,
            record.content,
            record.layer.value,
            record.kind,
            record.importance,
            to_micros(record.occurred_at),
            record.tags,
            record.user,
            record.session,
            record.speaker,
            record.source,
        )

    @property
    def digest(self) -> str:
        return hashlib.sha256(hashing.encode(self)).hexdigest()


def digest(record: Record) -> str:
    """Compute the digest by which a copy is compared with its record."""
    return Copy.of(record).digest


def batches(
    items: Iterable[Item], most: int, characters: int = 0, size: Callable[[Item], int] = lambda _: 0
) -> Iterator[list[Item]]:
    """Split items into batches of limited number and size; an oversized item gets its own batch."""
    batch: list[Item] = []
    total = 0
    for item in items:
        if batch and (len(batch) >= most or total + size(item) > characters):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size(item)
    if batch:
        yield batch
