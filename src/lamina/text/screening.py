"""Tell of many texts at once which may hold one of some parts, so that few need a closer look.

Pure. Every character is one of 32 kinds, and three in a row are one number, so that a part is known
by a number and one pass of numpy over all texts finds it. A text that is marked may still not hold
the part; one that is not marked does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.bool_]
LONGEST = 20_000  # characters; a longer text is always marked

# Kind 0 is every other character, the last kind is what stands between two texts.
SIGNS = ':=<"`'
GROUPS = (*ascii_lowercase, digits, " ", "-", SIGNS)
KINDS = 32
APART = "\x1f"
SPACE, BETWEEN = GROUPS.index(" ") + 1, KINDS - 1
KIND = np.zeros(256, np.uint8)
for _kind, _characters in enumerate(GROUPS, 1):
    KIND[list((_characters + _characters.upper()).encode())] = _kind
KIND[ord(APART)] = BETWEEN


def _are(characters: str) -> Marks:
    table = np.zeros(256, np.bool_)
    table[list(characters.encode())] = True
    return table


IS_SPACE = _are("".join(filter(str.isspace, map(chr, range(128)))))
IS_CAPITAL, IS_SMALL, IS_CODE = _are(ascii_uppercase), _are(ascii_lowercase + digits), _are("+#")


class Parts:
    """Parts that texts are looked through for; of each the first four characters are compared.

    Those in `beginnings` count only where no letter stands before them.
    """

    def __init__(self, parts: Iterable[str] = (), beginnings: Iterable[str] = ()) -> None:
        self.three = np.zeros(KINDS**3, np.bool_)
        self.within, self.first = (np.zeros(KINDS**4, np.bool_) for _ in range(2))
        self._put(parts, self.within)
        self._put(beginnings, self.first)

    def _put(self, parts: Iterable[str], four: Marks) -> None:
        for part in parts:
            if part.isascii():  # a text that is not ASCII is marked anyway
                kinds = part[:4].encode().translate(KIND.tobytes())
                code = 0
                for kind in kinds:
                    code = code * KINDS + kind
                # A shorter part has whatever may follow it.
                following = KINDS ** (4 - len(kinds))
                first, end = code * following, (code + 1) * following
                four[first:end] = True
                self.three[first // KINDS : max(end // KINDS, first // KINDS + 1)] = True


class Screen:
    """Some texts, side by side."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._always = np.array(
            [not text.isascii() or len(text) > LONGEST for text in texts], np.bool_
        )
        if self._always.any():
            read = ["" if skip else text for text, skip in zip(texts, self._always, strict=True)]
        else:
            read = [*texts]
        joined = APART.join(["", *read, "", "", ""]).encode("ascii")
        self._bytes = np.frombuffer(joined, np.uint8)
        self._kinds = KIND[self._bytes]
        wide = self._kinds.astype(np.uint16)
        self._codes = wide[:-3] << 10 | wide[1:-2] << 5 | wide[2:-1]
        self._lengths = np.fromiter(map(len, read), np.int64, len(read))
        self._starts = np.cumsum(self._lengths + 1) - self._lengths

    def holding(self, parts: Parts) -> Marks:
        """Mark the texts that may hold one of the parts, in whatever case."""
        places = np.flatnonzero(parts.three[self._codes])
        four = self._codes[places].astype(np.uint32) << 5 | self._kinds[places + 3]
        is_first = ~_is_letter(self._kinds[places - 1])
        return self._marks(places[parts.within[four] | parts.first[four] & is_first])

    def with_long_words(self, length: int) -> Marks:
        """Mark the texts with so many characters in a row that are no space."""
        ends = np.flatnonzero((self._kinds == SPACE) | (self._kinds == BETWEEN))
        return self._marks(ends[:-1][np.diff(ends) > length] + 1)

    def with_two_alone(self) -> Marks:
        """Mark the texts with two characters next to each other that stand alone."""
        space = self._kinds == SPACE
        around = space[:-4] & space[2:-2] & space[4:]
        return self._marks(np.flatnonzero(around & ~space[1:-3] & ~space[3:-1]))

    def with_words_in_row(self, beginnings: Parts, count: int) -> Marks:
        """Mark the texts with so many words in a row that each begin like one of the parts."""
        is_letter = _is_letter(self._kinds)
        is_start = is_letter[1:-3] & ~is_letter[:-4]
        is_start |= self._kinds[1:-3] == BETWEEN  # counts as a word that none begins like
        words = np.flatnonzero(is_start) + 1
        known = np.concatenate(([0], np.cumsum(beginnings.three[self._codes[words]])))
        is_row = known[count:] - known[:-count] == count
        return self._marks(words[: len(is_row)][is_row])

    def with_capitals(self) -> Marks:
        """Mark the texts with a capital behind the first character."""
        places = np.flatnonzero(IS_CAPITAL[self._bytes])
        return self._marks(places[self._kinds[places - 1] != BETWEEN])

    def with_sign(self, sign: str) -> Marks:
        """Mark the texts that hold a character."""
        return self._marks(np.flatnonzero(self._bytes == ord(sign)))

    def with_names_in_code(self) -> Marks:
        """Mark the texts with a capital within a word, or a sign of a language such as C++."""
        is_hump = IS_CAPITAL[self._bytes[1:]] & IS_SMALL[self._bytes[:-1]]
        return self._marks(np.flatnonzero(is_hump | IS_CODE[self._bytes[1:]]))

    def word_counts(self) -> NDArray[np.int64]:
        """Count what stands between spaces of any kind, in the texts that are not always marked."""
        is_space = IS_SPACE[self._bytes]
        begun = np.concatenate(([0], np.cumsum(is_space[:-1] & ~is_space[1:])))
        before = self._starts - 1
        counts: NDArray[np.int64] = begun[before + self._lengths] - begun[before]
        return counts

    def _marks(self, places: NDArray[np.int64]) -> Marks:
        marks = self._always.copy()
        marks[np.searchsorted(self._starts, places, side="right") - 1] = True
        return marks


def _is_letter(kinds: NDArray[np.uint8]) -> Marks:
    return kinds - np.uint8(1) < len(ascii_lowercase)  # kind 0 becomes 255
