"""Copies of the memories for other programs. A mirror is derived and rebuildable, and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lamina.model import Record
from lamina.store.feed import Position

__all__ = ["Damaged", "Mirror", "Position"]


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
