"""Copies of the memories for other programs. A mirror is derived and rebuildable, and decides nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self, TypeVar, runtime_checkable

import msgspec

from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.search.mirror_request import Asked, Searchable
from lamina.store.tables.outbox import Position

__all__ = [
    "Asked",
    "Closing",
    "Copy",
    "Damaged",
    "Listed",
    "Mirror",
    "Position",
    "Searchable",
    "Settling",
    "digest",
    "portions",
]
Item = TypeVar("Item")


class Damaged(Exception):  # noqa: N818 - it says what is so
    """A mirror finds that it does not hold what it should. It is made anew."""


class Mirror(Protocol):
    """The five things that a mirror can do. What was put and dropped counts once it is committed, not before.

    Whatever is replayed a second time changes nothing. One process at a time may write to a mirror.
    """

    def position(self) -> Position | None:
        """How far it has come; None when it holds nothing that can be relied on."""
        ...

    def put(self, records: Sequence[Record]) -> None:
        """Add records, or replace those with the same ids."""
        ...

    def drop(self, ids: Sequence[str]) -> None:
        """Take records out, as far as they are there."""
        ...

    def commit(self, position: Position) -> None:
        """Make what was put and dropped durable, together with how far it has come."""
        ...

    def clear(self) -> None:
        """Begin anew: the next commit leaves only what was put after this."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A mirror that holds files or connections."""

    def close(self) -> None:
        """Let go of them; it may be used again."""
        ...


@runtime_checkable
class Listed(Protocol):
    """A mirror that can be compared with the store, record by record."""

    def entries(self) -> Iterator[tuple[str, str]]:
        """The id and the digest of everything that it holds, computed from what it holds; "" for what is unreadable."""
        ...

    def digest(self, record: Record) -> str:
        """The digest that its entry of a record should have."""
        ...


@runtime_checkable
class Settling(Protocol):
    """A mirror that may be given records before the store has them."""

    def settle(self, is_known: Callable[[str], bool]) -> None:
        """Take out what the store does not have after all."""
        ...


class Copy(msgspec.Struct, frozen=True):
    """What an engine for searching holds of a record: its text, and what it can be filtered by."""

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
    """By what a copy of a record is compared with it."""
    return Copy.of(record).digest


def portions(
    given: Iterable[Item], most: int, characters: int = 0, size: Callable[[Item], int] = lambda _: 0
) -> Iterator[list[Item]]:
    """Batches that are neither too many nor too large; one that is too large alone is one of its own."""
    some: list[Item] = []
    total = 0
    for one in given:
        if some and (len(some) >= most or total + size(one) > characters):
            yield some
            some, total = [], 0
        some.append(one)
        total += size(one)
    if some:
        yield some
