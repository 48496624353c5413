"""The words with which people ask for a fact."""

from __future__ import annotations

from typing import Any

import pytest

from lamina.engines.claims import attributes
from lamina.model import asked_words


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"attribute": "job"}, "job occupation profession career"),
        ({"attribute": "allergy"}, "allergy"),
        ({"attribute": "instruction:tool-python-packages"}, "tool-python-packages"),
        ({"attribute": "favourite:tea"}, "tea"),
        ({"attribute": "other"}, ""),
        ({"attribute": 7}, ""),
        ({"value": "Oslo"}, ""),
        ({}, ""),
    ],
)
def test_words_that_ask(metadata: dict[str, Any], words: str) -> None:
    """C8: an attribute is asked for by words of its own, or by its name."""
    assert asked_words.of(metadata) == words


def test_every_attribute_is_known() -> None:
    """C8: words are listed only for attributes that facts can have."""
    assert all(map(attributes.known, asked_words.ASKED))
