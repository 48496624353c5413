"""Texts and JSON values of every kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
