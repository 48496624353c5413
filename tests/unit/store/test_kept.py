"""What is derived from the columns takes bounded memory, and what is used stays longest."""

from __future__ import annotations

import numpy as np

from lamina.store.index.kept import EACH, Kept

WORDS = ("tea", "garden", "walrus", "bakery")


def test_what_was_used_least_recently_is_forgotten() -> None:
    """It never takes more room than allowed; using something keeps it."""
    numbers = np.arange(100)
    kept = Kept(3 * (EACH + numbers.nbytes))
    for word in WORDS[:3]:
        kept.keep(("word", word), numbers)
    kept.get(("word", "tea"))
    kept.keep(("word", WORDS[3]), numbers)
    assert kept.size == 3 * (EACH + numbers.nbytes)
    assert [word for word in WORDS if kept.get(("word", word)) is None] == ["garden"]


def test_nothing_is_left_when_columns_change() -> None:
    """After that, everything is computed anew."""
    kept = Kept()
    kept.keep(("word", "tea"), np.arange(3), np.arange(3))
    kept.clear()
    assert kept.get(("word", "tea")) is None
    assert not kept.size
