"""Check many texts at once for some substrings, so that only few need a closer look.

Pure. Every character is mapped to one of 32 kinds, and three in a row to one number, so that one
pass of numpy over all texts finds a part by its number. A text that is marked may still not contain
the part; one that is not marked surely does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.bool_]
LONGEST = 20_000  # characters; a longer text is always marked

# Kind 0 is every other character, the last kind is the separator between two texts.
SIGNS = ':=<"`'
GROUPS = (*ascii_lowercase, digits, " ", "-", SIGNS)
KINDS = 32
OTHER, APART = ",", "\x1f"
SPACE, BETWEEN = GROUPS.index(" ") + 1, KINDS - 1
LONGEST_WORD = 8  # characters; the rest of a word is not compared
KIND = np.zeros(256, np.uint8)
for _kind, _characters in enumerate(GROUPS, 1):
    KIND[list((_characters + _characters.upper()).encode())] = _kind
KIND[ord(APART)] = BETWEEN
TO_KIND = KIND.tobytes()
IN_WORD = np.zeros(KINDS, np.bool_)
IN_WORD[KIND[list(f"{ascii_lowercase}{digits}-".encode())]] = True


def _are(characters: str) -> Marks:
    table = np.zeros(256, np.bool_)
    table[list(characters.encode())] = True
    return table


IS_SPACE = _are("".join(filter(str.isspace, map(chr, range(128)))))
IS_SMALL = _are(ascii_lowercase + digits)


WITHIN, FIRST = 1, 2  # where a part may be: within a word, at its beginning


class Parts:
    """Parts to look for in texts; only the first four characters of each are compared.

    Those in `beginnings` count only where no letter precedes them.
    """

    def __init__(self, parts: Iterable[str] = (), beginnings: Iterable[str] = ()) -> None:
        self.three = np.zeros(KINDS**3, np.bool_)
        self._four = np.zeros(KINDS**4, np.uint8)
        self._put(parts, WITHIN | FIRST)
        self._put(beginnings, FIRST)

    def fit(self, four: NDArray[np.intp], is_first: Marks) -> Marks:
        """Mark groups of four characters that begin a part; `is_first` marks starts of words."""
        allowed = np.where(is_first, np.uint8(FIRST), np.uint8(WITHIN))
        marks: Marks = self._four[four] & allowed > 0
        return marks

    def _put(self, parts: Iterable[str], where: int) -> None:
        # A text that is not ASCII is marked anyway. Many parts have the same beginning.
        known = {part[:4].lower() for part in parts if part.isascii()}
        # After a shorter part, any character may follow.
        for first, last in zip(_codes(known, OTHER), _codes(known, APART), strict=True):
            self._four[first : last + 1] |= where
            self.three[first // KINDS : last // KINDS + 1] = True


def _codes(parts: Iterable[str], following: str) -> list[int]:
    """Encode the first four characters of each part as a number; pad with `following`."""
    kinds = _kinds_of(parts, 4, following)
    codes: list[int] = (kinds @ KINDS ** np.arange(4)[::-1]).tolist()
    return codes


def _kinds_of(parts: Iterable[str], length: int, following: str) -> NDArray[np.uint8]:
    """Return the kinds of the first characters of each part; pad shorter ones with `following`."""
    joined = "".join([part[:length].ljust(length, following) for part in parts]).encode()
    return np.frombuffer(joined.translate(TO_KIND), np.uint8).reshape(-1, length)


class Words:
    """Words to look for in texts; only the first eight characters of each are compared."""

    def __init__(self, words: Iterable[str]) -> None:
        listed = [word for word in words if word.isascii()]
        self.beginnings = Parts(beginnings=listed)
        self._numbers = np.sort(_numbers(_kinds_of(listed, LONGEST_WORD, APART)))

    def have(self, numbers: NDArray[np.uint64]) -> Marks:
        """Mark the numbers that may be of one of these words."""
        places = np.searchsorted(self._numbers, numbers).clip(max=len(self._numbers) - 1)
        marks: Marks = self._numbers[places] == numbers
        return marks


def _numbers(kinds: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Encode each row of kinds as a number, up to the first kind that is not part of a word."""
    ended = np.logical_or.accumulate(~IN_WORD[kinds], axis=1)
    return np.where(ended, np.uint8(0), kinds).view(np.uint64).ravel()


class Screen:
    """Texts that are searched together."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._always = np.array(
            [not text.isascii() or len(text) > LONGEST for text in texts], np.bool_
        )
        if self._always.any():
            read = ["" if skip else text for text, skip in zip(texts, self._always, strict=True)]
        else:
            read = [*texts]
        joined = APART.join(["", *read, *[""] * LONGEST_WORD]).encode("ascii")
        self._bytes = np.frombuffer(joined, np.uint8)
        self._kinds = np.frombuffer(joined.translate(TO_KIND), np.uint8)
        wide = self._kinds.astype(np.uint16)
        # The type to which numpy would convert them at each lookup.
        self._codes = (wide[:-3] << 10 | wide[1:-2] << 5 | wide[2:-1]).astype(np.intp)
        self._lengths = np.fromiter(map(len, read), np.int64, len(read))
        self._starts = np.cumsum(self._lengths + 1) - self._lengths

    def holding(self, parts: Parts) -> Marks:
        """Mark the texts that may contain one of the parts, in any case."""
        return self._marks(self._places(parts))

    def with_words(self, words: Words) -> Marks:
        """Mark the texts that may contain one of the words, in any case."""
        places = self._places(words.beginnings)
        kinds = self._kinds[places[:, None] + np.arange(LONGEST_WORD)]
        return self._marks(places[words.have(_numbers(kinds))])

    def _places(self, parts: Parts) -> NDArray[np.int64]:
        places = np.flatnonzero(parts.three.take(self._codes))
        four = self._codes[places] << 5 | self._kinds[places + 3]
        return places[parts.fit(four, ~_is_letter(self._kinds[places - 1]))]

    def with_long_words(self, length: int) -> Marks:
        """Mark the texts with at least `length` consecutive characters that are not spaces."""
        ends = np.flatnonzero((self._kinds == SPACE) | (self._kinds == BETWEEN))
        return self._marks(ends[:-1][np.diff(ends) > length] + 1)

    def with_two_alone(self) -> Marks:
        """Mark the texts with two adjacent words of one character."""
        space = self._kinds == SPACE
        around = space[:-4] & space[2:-2] & space[4:]
        return self._marks(np.flatnonzero(around & ~space[1:-3] & ~space[3:-1]))

    def with_words_in_row(self, beginnings: Parts, count: int) -> Marks:
        """Mark the texts with `count` consecutive words that each begin with one of the parts."""
        is_letter = _is_letter(self._kinds)
        is_start = is_letter[1:-3] & ~is_letter[:-4]
        is_start |= self._kinds[1:-3] == BETWEEN  # counts as a word that begins with none of them
        words = np.flatnonzero(is_start) + 1
        known = np.concatenate(([0], np.cumsum(beginnings.three[self._codes[words]])))
        is_row = known[count:] - known[:-count] == count
        return self._marks(words[: len(is_row)][is_row])

    def with_capitals(self) -> Marks:
        """Mark the texts with a capital after the first character."""
        places = self._capitals()
        return self._marks(places[self._kinds[places - 1] != BETWEEN])

    def with_sign(self, sign: str) -> Marks:
        """Mark the texts that contain a character."""
        return self._marks(np.flatnonzero(self._bytes == ord(sign)))

    def with_names_in_code(self) -> Marks:
        """Mark the texts with a capital within a word, or the sign of a language such as C++."""
        capitals = self._capitals()
        humps = capitals[IS_SMALL[self._bytes[capitals - 1]]]
        signs = np.flatnonzero((self._bytes == ord("+")) | (self._bytes == ord("#")))
        return self._marks(np.concatenate((humps, signs)))

    def word_counts(self) -> NDArray[np.int64]:
        """Count the words between whitespace, in the texts that are not always marked."""
        low = np.flatnonzero(self._bytes <= ord(" "))
        spaces = low[IS_SPACE[self._bytes[low]]]
        before_words = spaces[:-1][np.diff(spaces) > 1]
        first, end = self._starts - 1, self._starts - 1 + self._lengths
        counts: NDArray[np.int64] = np.subtract(*np.searchsorted(before_words, (end, first)))
        return counts

    def _capitals(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._bytes - np.uint8(ord("A")) < len(ascii_uppercase))

    def _marks(self, places: NDArray[np.int64]) -> Marks:
        marks = self._always.copy()
        marks[np.searchsorted(self._starts, places, side="right") - 1] = True
        return marks


def _is_letter(kinds: NDArray[np.uint8]) -> Marks:
    return kinds - np.uint8(1) < len(ascii_lowercase)  # kind 0 becomes 255
