"""Look for a pattern only in texts that hold what every match of it holds. Pure.

A pattern with many words is slow, since each is tried at each place. To ask whether a text holds a
word is fast, and most texts hold none of those that a pattern needs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from re import _parser
from typing import Any

from lamina.text.patterns import Bounded

# How the library reads a pattern: a list of operations, each with what belongs to it.
_parsed: Any = _parser.parse
REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})

# Letters that a pattern takes for those of ASCII where case does not matter.
ALIKE = str.maketrans("İıſ", "iis")

Hints = frozenset[str]


class Hinted:
    """A pattern that is tried only in texts with one of its hints: words that it needs."""

    def __init__(self, pattern: re.Pattern[str] | Bounded) -> None:
        self.pattern = pattern
        self.hints = hints(pattern.compiled if isinstance(pattern, Bounded) else pattern)
        self._last = "", not self.hints  # the last text, and whether it may fit

    def may_be_in(self, text: str) -> bool:
        """Tell if a text holds a hint; the answer is kept for the next part of the same text."""
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
        """Change all that fits in a text of any length, which a bounded pattern may not read."""
        assert isinstance(self.pattern, re.Pattern)
        return self.pattern.sub(change, text) if self.may_be_in(text) else text


def hinted(pattern: str, flags: int = 0) -> Hinted:
    """Compile a pattern that few texts may fit."""
    return Hinted(re.compile(pattern, flags))


def hints(pattern: re.Pattern[str]) -> Hints:
    """Find words, in lower case, of which every text has one that a pattern fits.

    There are none if it fits texts with nothing in common.
    """
    words = _needed(_parsed(pattern.pattern, pattern.flags))
    return frozenset(one for one in words if not any(two in one for two in words - {one}))


def _lowered(text: str) -> str:
    """Spell a text in lower case, with one letter for all that a pattern takes for it."""
    return (text if text.isascii() else text.translate(ALIKE)).lower()


def _needed(parts: Iterable[tuple[Any, Any]]) -> Hints:
    """Choose what tells most of all that a sequence needs."""
    found, letters = [frozenset[str]()], ""
    for operation, given in parts:
        name = str(operation)
        if name == "LITERAL":
            letters += _lowered(chr(given))
        elif name != "AT":  # a place between letters parts no word
            found += [frozenset({letters}), _of(name, given)]
            letters = ""
    return max((*found, frozenset({letters})), key=_worth)


def _of(name: str, given: Any) -> Hints:
    """Find what one operation needs."""
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
    """Rank words by the letters of the shortest, then by their number."""
    letters = min((sum(map(str.isalnum, word)) for word in words), default=0)
    return _is_telling(words), letters, -len(words)


def _is_telling(words: Hints) -> bool:
    """Tell if words say anything: nothing is in every text, and a letter in nearly every one."""
    return bool(words) and all(len(word) > 1 or (word and not word.isalnum()) for word in words)
