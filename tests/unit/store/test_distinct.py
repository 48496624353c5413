"""Distinct values: the same as numpy's own, whatever the column."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina.store.index.distinct import distinct, grouped, united

NUMBERS = st.lists(st.integers(0, 2**62), max_size=50)


@given(NUMBERS, NUMBERS)
def test_values_are_sorted_once(some: list[int], others: list[int]) -> None:
    """Each value stands once, in order; a group names the place of each value."""
    one, other = np.array(some, np.int64), np.array(others, np.int64)
    assert distinct(one).tolist() == np.unique(one).tolist()
    assert united(one, other).tolist() == np.union1d(one, other).tolist()
    values, places = grouped(one)
    assert values.tolist() == np.unique(one).tolist()
    assert values[places].tolist() == some
