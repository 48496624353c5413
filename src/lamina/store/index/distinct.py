"""Distinct values of a column, in order. Pure.

These replace numpy's `unique`, which loads masked arrays when it is first called: that takes as
long as many searches.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int64, np.uint64)


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct values, sorted."""
    ordered = np.sort(values)
    return ordered[_is_first(ordered)]


def united(one: NDArray[Number], other: NDArray[Number]) -> NDArray[Number]:
    """Return the distinct values of two columns, sorted."""
    return distinct(np.concatenate((one, other)))


def grouped(values: NDArray[Number]) -> tuple[NDArray[Number], NDArray[np.int64]]:
    """Return the distinct values, sorted, and for each value of the column its index in them."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = _is_first(ordered)
    places = np.empty(len(values), np.int64)
    places[order] = np.cumsum(is_first) - 1
    return ordered[is_first], places


def _is_first(ordered: NDArray[Number]) -> NDArray[np.bool_]:
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first
