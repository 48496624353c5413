"""What is kept of words takes bounded memory, and what is used stays longest."""

from __future__ import annotations

import numpy as np

from lamina.store.index.reached import EACH, Reached

WORDS = ("tea", "garden", "walrus", "bakery")
FOUND = np.arange(100), np.ones(100, np.float32)


def test_the_word_that_was_used_least_recently_is_forgotten() -> None:
    """It never takes more room than allowed; using a word keeps it."""
    size = EACH + sum(array.nbytes for array in FOUND)
    reached = Reached(3 * size)
    for word in WORDS[:3]:
        reached.keep((0, word, 1.0), FOUND)
    reached.get((0, "tea", 1.0))
    reached.keep((0, WORDS[3], 1.0), FOUND)
    assert reached.size == 3 * size
    assert [word for word in WORDS if reached.get((0, word, 1.0)) is None] == ["garden"]


def test_nothing_is_left_when_records_change() -> None:
    """After that, everything is computed anew."""
    reached = Reached()
    reached.keep((0, "tea", 1.0), FOUND)
    reached.clear()
    assert reached.get((0, "tea", 1.0)) is None
    assert not reached.size
