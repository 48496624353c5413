"""Near-copies from outside: however often a text is repeated, with a word, a number or a sign changed, it is one. Pure."""

from __future__ import annotations

import math
from collections import defaultdict

from lamina.text import words as text

SAME = 0.75  # the share of the words of the longer text that both have
LONGEST = 4000  # characters that are compared
MOST = 16  # texts with the same word that one is compared with, so that the work grows with the number of texts


class Copies:
    """Texts, one after the other. Each is new, or a near-copy of one that came before."""

    def __init__(self) -> None:
        self._originals: list[frozenset[str]] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)

    def place(self, content: str) -> tuple[int, bool]:
        """The number of the original that a text is a near-copy of, or its own; and whether it is new."""
        words = frozenset(text.terms(content[:LONGEST])) or frozenset((content,))
        telling = _telling(words)
        for number in dict.fromkeys(one for word in telling for one in self._holding.get(word, ())):
            if is_copy(words, self._originals[number]):
                return number, False
        self._originals.append(words)
        for word in telling:
            if len(holders := self._holding[word]) < MOST:
                holders.append(len(self._originals) - 1)
        return len(self._originals) - 1, True


def is_copy(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether two texts of these words say the same, but for a word or so."""
    return len(words & others) >= SAME * max(len(words), len(others))


def _telling(words: frozenset[str]) -> list[str]:
    """So many words, the longest first, that a near-copy has at least one of them, and among its own."""
    number = len(words) - math.ceil(SAME * len(words)) + 1
    return sorted(words, key=lambda word: (-len(word), word))[:number]
