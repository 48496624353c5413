"""What another engine is asked for a search: a question, its vector and the filters that engines have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import msgspec

from lamina.model.record import Layer
from lamina.store.tables.outbox import Position


class Asked(msgspec.Struct, frozen=True):
    """A question for candidates. Filters only spare work: the store checks whatever comes back."""

    text: str
    vector: Sequence[float] | None  # of our first embedder, length 1; None when there is none
    limit: int
    user: str | None = None  # what is this user's or nobody's; None: everybody's
    layers: tuple[Layer, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None  # not among them


@runtime_checkable
class Searchable(Protocol):
    """Another engine that knows candidates. What it says is believed by nobody."""

    def position(self) -> Position | None:
        """How far it has followed the store."""
        ...

    def candidates(self, asked: Asked) -> list[str]:
        """The ids of what could answer, the best first, at most `limit`; StoreUnavailable when it cannot say."""
        ...
