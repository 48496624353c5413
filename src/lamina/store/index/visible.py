"""What a filter lets through, and what follows from that and the columns alone."""

from __future__ import annotations

from functools import cached_property
from itertools import count

import numpy as np

from lamina.model.record import Trust
from lamina.store.index.catalogue import TRUSTS, Mask, Rows, Turns

COLUMNS = 2  # of rows that are kept at most
NUMBERS = count()


class Visible:
    """The records that match a filter. Searches share it until something changes.

    "Own" rows are those that are not external.
    """

    def __init__(self, turns: Turns, allowed: Mask, counted: Mask) -> None:
        self.number = next(NUMBERS)  # no other one has it
        self._turns = turns
        self.allowed = allowed
        self.counted = counted  # the records that count in word statistics
        self.rows: Rows = np.flatnonzero(allowed)

    @property
    def footprint(self) -> int:
        """The memory it takes at most beside `allowed`, in bytes."""
        return len(self.allowed) + COLUMNS * self.rows.nbytes

    @cached_property
    def sees_all(self) -> bool:
        """True if every record matches the filter."""
        return len(self.rows) == np.count_nonzero(self._turns["state"])

    @cached_property
    def has_outside(self) -> bool:
        """True if any record that matches the filter is external."""
        # Whole columns are faster than picked rows, and mostly no record is external at all.
        trust = self._turns["trust"]
        if trust.max(initial=0) < TRUSTS[Trust.EXTERNAL]:
            return False
        return bool(((trust == TRUSTS[Trust.EXTERNAL]) & self.allowed).any())

    @cached_property
    def own(self) -> Rows:
        """The records that match the filter and are not external."""
        return self.rows[~self.is_outside(self.rows)] if self.has_outside else self.rows

    def is_outside(self, rows: Rows | slice) -> Mask:
        """Mark the rows that are external."""
        outside: Mask = self._turns["trust"][rows] == TRUSTS[Trust.EXTERNAL]
        return outside

    def telling(self, rows: Rows) -> Rows:
        """Keep the rows that count in word statistics."""
        return rows if self.counted is self.allowed else rows[self.counted[rows]]

    @cached_property
    def total(self) -> int:
        """The number of records that count."""
        return len(self.telling(self.rows))

    @cached_property
    def own_total(self) -> int:
        """The number of them that are not external."""
        return len(self.telling(self.own))

    @cached_property
    def usual_length(self) -> float:
        """The mean number of words in a visible record.

        If there are own records, external texts do not count: they must not affect the mean.
        """
        rows = self.telling(self.own if len(self.own) else self.rows)
        if not len(rows):
            return 1.0
        lengths = self._turns["length"]
        if not self.sees_all or len(rows) < len(self.rows):  # else the whole column
            lengths = lengths[rows]
        return max(1.0, float(np.add.reduce(lengths, dtype=np.float64)) / len(rows))
