"""Find near-copies among texts from outside by their words, so that a search shows one of them.

A text with a word, a number or a sign changed is a near-copy. `duplicates` is another thing: it
compares new memories with lasting ones by their vectors, to keep one of them. Pure.
"""

from __future__ import annotations

import math
from collections import defaultdict

from lamina.text.words import terms

SAME = 0.75  # the share of the words of the longer text that both have
LONGEST = 4000  # characters that are compared
# Texts with the same word that one is compared with, so that the work grows with their number.
MOST = 16


class NearCopies:
    """Texts, one after the other. Each is new, or a near-copy of one that came before."""

    def __init__(self) -> None:
        self._originals: list[frozenset[str]] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, content: str) -> tuple[int, bool]:
        """Return the number of the original of a text, and whether that is the text itself."""
        words = frozenset(terms(content[:LONGEST])) or frozenset((content,))
        telling = _telling(words)
        likely = (number for word in telling for number in self._holding.get(word, ()))
        for number in dict.fromkeys(likely):
            if _is_copy(words, self._originals[number]):
                return number, False
        self._originals.append(words)
        for word in telling:
            if len(holders := self._holding[word]) < MOST:
                holders.append(len(self._originals) - 1)
        return len(self._originals) - 1, True


def _is_copy(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= SAME * max(len(words), len(others))


def _telling(words: frozenset[str]) -> list[str]:
    """Choose so many words, the longest first, that every near-copy has one among its choice."""
    number = len(words) - math.ceil(SAME * len(words)) + 1
    return sorted(words, key=lambda word: (-len(word), word))[:number]
