"""One question to the store: what was asked, of which records, at what time, and what could not be used to answer it."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina.model.clock import to_micros
from lamina.model.record import Trust
from lamina.store.index.catalogue import TRUSTS, Mask, Rows
from lamina.store.index.snapshot import Look
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import ALL
from lamina.text import words as text

if TYPE_CHECKING:
    from lamina.search.mirror import Via

MICROS_PER_HOUR = 3_600_000_000.0
MICROS_PER_DAY = 24 * MICROS_PER_HOUR
FEW = 4  # one in so many records is worth picking
Column = NDArray[np.float64]


class Ask:
    """What every ranker is given."""

    def __init__(
        self,
        look: Look,
        query: str,
        chosen: Filter,
        now: datetime,
        limit: int,
        via: Via | None = None,
    ) -> None:
        self.look = look
        self.query = query
        self.chosen = chosen
        self.now = now
        self.limit = limit
        self.via = via  # whom to ask for candidates, if not the store
        self.notes: list[str] = []

    @cached_property
    def words(self) -> tuple[str, ...]:
        return text.terms(self.query)

    @cached_property
    def allowed(self) -> Mask:
        return self.look.allowed(self.chosen)

    @cached_property
    def rows(self) -> Rows:
        """The records that the filter lets through."""
        return np.flatnonzero(self.allowed)

    @cached_property
    def has_outside(self) -> bool:
        """Whether any record that the filter lets through came from outside."""
        outside = (
            self.look.catalogue["trust"] == TRUSTS[Trust.EXTERNAL]
        )  # whole columns are faster than picked rows
        return bool((outside & self.allowed).any())

    @cached_property
    def own(self) -> Rows:
        """The records that the filter lets through and that did not come from outside."""
        return self.rows[~self.is_outside(self.rows)] if self.has_outside else self.rows

    def is_outside(self, rows: Rows) -> Mask:
        """Which of some rows came from outside."""
        outside: Mask = self.look.catalogue["trust"][rows] == TRUSTS[Trust.EXTERNAL]
        return outside

    @cached_property
    def some(self) -> slice | Rows:
        """What to take of a column: the visible records where they are few, else all, which is faster than picking."""
        return self.rows if FEW * len(self.rows) < len(self.allowed) else ALL

    def upto(self, row: int) -> int:
        """How many of `some` are not behind a row."""
        return (
            row + 1
            if isinstance(self.some, slice)
            else int(np.searchsorted(self.some, row, "right"))
        )

    @cached_property
    def usual_length(self) -> float:
        """How many words a visible record has; texts from outside make nothing usual where there are own ones."""
        rows = self.own if len(self.own) else self.rows
        return max(1.0, float(self.look.catalogue["length"][rows].mean())) if len(rows) else 1.0

    def age(self, rows: Rows, column: str, unit: float) -> Column:
        """How old records are, in hours or days, never below zero."""
        age: Column = np.maximum(0, to_micros(self.now) - self.look.catalogue[column][rows]) / unit
        return age
