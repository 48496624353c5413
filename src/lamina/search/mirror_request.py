"""The request of a search to a mirror: a question, its vector, the filters that mirrors have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from lamina.model.record import Layer
from lamina.store.tables.outbox import Position


class MirrorRequest(msgspec.Struct, frozen=True):
    """A request for candidates. Filters only spare work: the store checks what comes back."""

    text: str
    vector: Sequence[float] | None  # of our first embedder, length 1; None when there is none
    limit: int
    user: str | None = None  # records of this user or of no user; None: of all users
    layers: tuple[Layer, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None  # not among them


@runtime_checkable
class SearchableMirror(Protocol):
    """A mirror that can name candidates. Its answers are never trusted without a check."""

    def position(self) -> Position | None:
        """Tell how far it has followed the store."""
        ...

    def candidates(self, asked: MirrorRequest) -> list[str]:
        """Name records that could answer, the best first, at most `limit`.

        Raise StoreUnavailable when it cannot say.
        """
        ...
