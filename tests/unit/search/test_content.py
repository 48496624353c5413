"""What words are worth whatever the store."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.background import background as measured

from lamina.embedders.wordllama import WordLlama
from lamina.errors import EmbedderFailed
from lamina.search import content


def test_words_that_tell_more_weigh_more() -> None:
    """Q7, C8: words of every sentence weigh next to nothing, words about something weigh much, and
    numbers are never nothing."""
    order = ["the", "only", "please", "order", "weather", "triangle"]
    weights = [content.weight(word) for word in order]
    assert weights == sorted(weights)
    assert weights[0] == content.LEAST
    assert weights[-1] == content.MOST
    assert content.weight("12") >= content.NUMBER


def test_other_scripts_weigh_too() -> None:
    """Q8, C8: words that the vectors hardly know are not taken for filler."""
    for word in ("护照", "密码", "รหัส", "книги", "مفتاح", "κλειδι", "비밀", "दवा"):
        assert content.weight(word) > 0.5


def test_without_word_vectors_all_words_weigh_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Q7: a damaged or missing file of word vectors stops no search."""

    def fail(self: WordLlama, word: str) -> float:
        raise EmbedderFailed("the file is not there")

    monkeypatch.setattr(WordLlama, "length", fail)
    content.weight.cache_clear()
    assert {content.weight(word) for word in ("the", "triangle")} == {content.UNKNOWN}
    content.weight.cache_clear()


def test_the_background_is_the_mean_of_ordinary_texts() -> None:
    """Q7: the shipped vector is what its script makes of the sentences, to the byte."""
    assert np.abs(content.background() - measured()).max() <= 0.5 / content.UNIT + 1e-6
