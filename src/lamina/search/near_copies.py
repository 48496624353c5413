"""Find near-copies among external texts by their words, so that a search shows one of them.

A text with a changed word, number or sign is a near-copy. `duplicates` does something else: it
compares new memories with lasting ones by their vectors, to keep one of them. Pure.
"""

from __future__ import annotations

import math
from collections import defaultdict

from lamina.text.words import terms

SAME = 0.75  # the least share of the longer text's words that both have
LONGEST = 4000  # characters that are compared
# Texts with the same word that one is compared with, so that the work grows only linearly.
MOST = 16


class NearCopies:
    """A sequence of texts. Each is new, or a near-copy of an earlier one."""

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
    """Choose the longest words, enough that every near-copy shares one of its own choice."""
    number = len(words) - math.ceil(SAME * len(words)) + 1
    return sorted(words, key=lambda word: (-len(word), word))[:number]
