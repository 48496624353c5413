"""Regular expressions for short texts only, so that their cost is bounded. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

LONGEST = 500  # characters


class Bounded:
    """A pattern that finds nothing in a text of more than `longest` characters.

    Grammar rules need patterns that can take quadratic time. This bound on each call keeps their
    total cost proportional to the length of the text.
    """

    __slots__ = (
        *("_finditer", "_fullmatch", "_match", "_search"),
        *("compiled", "groupindex", "longest", "pattern"),
    )

    def __init__(self, pattern: re.Pattern[str], longest: int = LONGEST) -> None:
        self.compiled, self.pattern = pattern, pattern.pattern
        self.longest = longest
        self.groupindex = pattern.groupindex
        self._search, self._match = pattern.search, pattern.match
        self._fullmatch, self._finditer = pattern.fullmatch, pattern.finditer

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        if min(end, len(text)) - start > self.longest:
            return None
        return self._search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        if min(end, len(text)) - start > self.longest:
            return None
        return self._match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        if min(end, len(text)) - start > self.longest:
            return None
        return self._fullmatch(text, start, end)

    def finditer(
        self, text: str, start: int = 0, end: int = sys.maxsize
    ) -> Iterator[re.Match[str]]:
        if min(end, len(text)) - start > self.longest:
            return iter(())
        return self._finditer(text, start, end)


def bounded(pattern: str, flags: int = 0, longest: int = LONGEST) -> Bounded:
    """Compile a pattern for texts of at most `longest` characters."""
    return Bounded(re.compile(pattern, flags), longest)
