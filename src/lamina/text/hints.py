"""Search for a pattern only in texts that contain a string that every match contains. Pure.

A pattern with many words is slow, since each is tried at each position. Checking a text for a
substring is fast, and most texts contain none of those that a pattern needs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from re import _parser
from typing import Any

from lamina.text.patterns import Bounded

# The parsed form of a pattern: a list of operations with their arguments.
_parsed: Any = _parser.parse
REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})

# Letters that a case-insensitive pattern treats as ASCII letters.
ALIKE = str.maketrans("İıſ", "iis")

Hints = frozenset[str]


class Hinted:
    """A pattern that is tried only on texts with one of its hints: strings that a match needs."""

    def __init__(self, pattern: re.Pattern[str] | Bounded) -> None:
        self.pattern = pattern
        self.hints = hints(pattern.compiled if isinstance(pattern, Bounded) else pattern)
        self._last = "", not self.hints  # the last text, and whether it may match

    def may_be_in(self, text: str) -> bool:
        """Tell if a text contains a hint; cache the answer for the next call with the same text."""
        last, may_be = self._last
        if last != text:
            may_be = not self.hints or any(map(_lowered(text).__contains__, self.hints))
            self._last = text, may_be
        return may_be

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self.pattern.search(text, start, end) if self.may_be_in(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text) if self.may_be_in(text) else iter(())

    def sub(self, change: Callable[[re.Match[str]], str], text: str) -> str:
        """Replace all matches in a text of any length; not for bounded patterns."""
        assert isinstance(self.pattern, re.Pattern)
        return self.pattern.sub(change, text) if self.may_be_in(text) else text


def hinted(pattern: str, flags: int = 0) -> Hinted:
    """Compile a pattern that few texts match."""
    return Hinted(re.compile(pattern, flags))


def hints(pattern: re.Pattern[str]) -> Hints:
    """Find strings in lower case, one of which is in every text that matches a pattern.

    Return none if its matches have nothing in common.
    """
    words = _needed(_parsed(pattern.pattern, pattern.flags))
    return frozenset(one for one in words if not any(two in one for two in words - {one}))


@lru_cache(4)  # many patterns look at one text
def _lowered(text: str) -> str:
    """Lower-case a text, and replace letters that a pattern treats as ASCII letters."""
    return (text if text.isascii() else text.translate(ALIKE)).lower()


def _needed(parts: Iterable[tuple[Any, Any]]) -> Hints:
    """Choose the most selective of the strings that a sequence needs."""
    found, letters = [frozenset[str]()], ""
    for operation, given in parts:
        name = str(operation)
        if name == "LITERAL":
            letters += _lowered(chr(given))
        elif name != "AT":  # a zero-width assertion does not end a literal
            found += [frozenset({letters}), _of(name, given)]
            letters = ""
    return max((*found, frozenset({letters})), key=_worth)


def _of(name: str, given: Any) -> Hints:
    """Find the strings that one operation needs."""
    if name == "SUBPATTERN":
        return _needed(given[-1])
    if name == "ATOMIC_GROUP":
        return _needed(given)
    if name in REPEATS and given[0]:
        return _needed(given[-1])
    if name == "BRANCH":
        branches = [_needed(branch) for branch in given[-1]]
        return frozenset().union(*branches) if all(map(_is_telling, branches)) else frozenset()
    return frozenset()


def _worth(words: Hints) -> tuple[bool, int, int]:
    """Rank strings by the number of letters in the shortest, then by how few they are."""
    letters = min((sum(map(str.isalnum, word)) for word in words), default=0)
    return _is_telling(words), letters, -len(words)


def _is_telling(words: Hints) -> bool:
    """Tell if strings are selective: the empty one is in all texts, a letter in nearly all."""
    return bool(words) and all(len(word) > 1 or (word and not word.isalnum()) for word in words)
