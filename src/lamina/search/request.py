"""One search of the store: the query, the filter, the time, and notes on what was left out."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina.model.clock import to_micros
from lamina.store.index.catalogue import Mask, Rows
from lamina.store.index.snapshot import Snapshot
from lamina.store.index.visible import Visible
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import ALL
from lamina.text.words import terms

if TYPE_CHECKING:
    from lamina.search.mirror import MirrorSearch

MICROS_PER_HOUR = 3_600_000_000.0
MICROS_PER_DAY = 24 * MICROS_PER_HOUR
FEW = 4  # picking rows is worth it if at most one record in this many is visible
Column = NDArray[np.float64]


class Request:
    """Everything that a ranker is given.

    Rows are row numbers of the catalogue; "own" rows are those that are not external.
    """

    def __init__(
        self,
        look: Snapshot,
        query: str,
        chosen: Filter,
        now: datetime,
        limit: int,
        mirror: MirrorSearch | None = None,
        following: Sequence[str] = (),
        least: int = 0,
    ) -> None:
        self.look = look
        self.query = query
        self.chosen = chosen
        self.now = now
        self.limit = limit
        self.mirror = mirror  # provides the candidates, if not the store
        self.following = following  # what was said before the query, the latest last
        self.least = least  # minimal hits of a question about its user, whatever the evidence
        self.notes: list[str] = [*look.notes]
        self._speakers: dict[str, bool] = {}

    def asking(self, query: str) -> Request:
        """Return the same request for another query; both share cached properties of the store."""
        _ = self.visible  # once for all queries
        other = copy.copy(self)
        other.__dict__.pop("words", None)
        other.query = query
        return other

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the query, as spelled in the index."""
        return terms(self.query)

    @cached_property
    def visible(self) -> Visible:
        """The records that match the filter."""
        return self.look.visible(self.chosen)

    @property
    def allowed(self) -> Mask:
        """Marks for all rows: True for the records that match the filter."""
        return self.visible.allowed

    @property
    def rows(self) -> Rows:
        """The records that match the filter."""
        return self.visible.rows

    @property
    def sees_all(self) -> bool:
        """True if every record matches the filter."""
        return self.visible.sees_all

    @property
    def has_outside(self) -> bool:
        """True if any record that matches the filter is external."""
        return self.visible.has_outside

    @property
    def own(self) -> Rows:
        """The records that match the filter and are not external."""
        return self.visible.own

    def is_outside(self, rows: Rows | slice) -> Mask:
        """Mark the rows that are external."""
        return self.visible.is_outside(rows)

    @cached_property
    def picked(self) -> slice | Rows:
        """The part of a column to compute with.

        The visible records if they are few; otherwise all, which is faster than picking.
        """
        return self.rows if FEW * len(self.rows) < len(self.allowed) else ALL

    def picked_up_to(self, row: int) -> int:
        """Count the picked rows up to and including a row."""
        if isinstance(self.picked, slice):
            return row + 1
        return int(np.searchsorted(self.picked, row, "right"))

    @property
    def total(self) -> int:
        """The number of records that count, even if the snapshot has only some of them."""
        statistics = self.look.statistics
        return self.visible.total if statistics is None else statistics.total

    @property
    def own_total(self) -> int:
        """The number of them that are not external."""
        statistics = self.look.statistics
        return self.visible.own_total if statistics is None else statistics.own

    @property
    def usual_length(self) -> float:
        """The mean number of words in a visible record that counts."""
        statistics = self.look.statistics
        return self.visible.usual_length if statistics is None else statistics.usual_length

    def speaks(self, name: str) -> bool:
        """Tell whether a visible record has a speaker of that name.

        All queries of a prompt share the results, since pasted text repeats its words.
        """
        known = self._speakers.get(name)
        if known is None:
            rows = self.look.catalogue.spoken_by(name)
            known = self._speakers[name] = bool(self.allowed[rows].any())
        return known

    def holders(self, word: str, held: Rows) -> tuple[int, int]:
        """Count the records in the statistics that contain a word, and the own ones in `held`."""
        statistics = self.look.statistics
        if statistics is not None:
            return statistics.holders(word)
        counted = self.visible.telling(held)
        if not self.has_outside:
            return len(counted), len(counted)
        own = int((~self.is_outside(counted)).sum())
        # A word of an own memory is an own word, even if only the result of sleep is left of it.
        return len(counted), own or int((~self.is_outside(held)).any())

    def age(self, rows: Rows, column: str, unit: float) -> Column:
        """Compute the age of records in a unit of microseconds, never below zero."""
        age: Column = np.maximum(0, to_micros(self.now) - self.look.catalogue[column][rows]) / unit
        return age
