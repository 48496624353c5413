"""The request of a search to a mirror: a question, its vector, filters that mirrors support."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from lamina.model.record import Layer
from lamina.store.tables.outbox import Position


class MirrorRequest(msgspec.Struct, frozen=True):
    """A request for candidates. Filters only save work: the store checks the results."""

    text: str
    vector: Sequence[float] | None  # of our first embedder, length 1; None if there is none
    limit: int
    user: str | None = None  # records of this user or of no user; None: of all users
    layers: tuple[Layer, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None  # exclusive


@runtime_checkable
class SearchableMirror(Protocol):
    """A mirror that can name candidates. Its answers are never trusted without a check."""

    def position(self) -> Position | None:
        """Return the position up to which it has followed the store."""
        ...

    def candidates(self, asked: MirrorRequest) -> list[str]:
        """Return the ids of records that could answer, best first, at most `limit`.

        Raise StoreUnavailable if it cannot tell.
        """
        ...
