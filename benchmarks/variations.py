"""Generate many more texts from some: change names, numbers and words, and mix their sentences.

Nobody has labelled them; a teacher says what they contain (`benchmarks.teacher`). A word is
replaced by one with the same ending, so that most sentences remain ones that somebody might write.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

PIECE = re.compile(r"\w+|\W")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
ENDS = ".!?"
SHORT, LONG = 8, 500  # characters of a sentence that is used, and of a text
OPENING = 3000  # characters of a real text that are used
ALIKE = 2  # letters that a word and its replacement have in common at the end
LEAST = 4  # letters of such a word
NAMED, COUNTED = 0.5, 0.5  # shares of names and numbers that are changed
WORDS = (0.05, 0.15, 0.3)  # shares of other words
# How often a text is varied, a real one is, and sentences of several messages or talks are joined.
VARIED, REAL, MESSAGES = 0.45, 0.6, 0.9
AS_IS = 4  # one in this many texts is a real one, unchanged


class Said(NamedTuple):
    """A text, and whether people say it to each other."""

    text: str
    is_talk: bool


class Variations:
    """Texts generated from others."""

    def __init__(self, said: Sequence[Said], real: Iterable[str], seed: int) -> None:
        self._chance = random.Random(seed)
        self._said = said
        self._real = list(self._passages(real))
        self._sentences = {
            is_talk: [
                sentence
                for one in said
                if one.is_talk is is_talk
                for sentence in SENTENCE.split(one.text)
                if len(sentence) > SHORT
            ]
            for is_talk in (False, True)
        }
        self._names, self._alike = _words(said)

    def take(self, number: int) -> Iterator[Said]:
        passages = self._chance.sample(self._real, min(len(self._real), number // AS_IS))
        yield from passages
        for _ in range(number - len(passages)):
            yield self._one()

    def _one(self) -> Said:
        chance = self._chance
        kind = chance.random()
        if kind < VARIED or (kind < REAL and not self._real):
            one = chance.choice(self._said)
            return Said(self._varied(one.text, chance.choice(WORDS)), one.is_talk)
        if kind < REAL:
            return Said(self._varied(chance.choice(self._real).text, WORDS[1]), False)
        is_talk = kind >= MESSAGES and bool(self._sentences[True])
        several = (chance.choice(self._sentences[is_talk]) for _ in range(chance.choice((1, 2, 3))))
        return Said(self._varied(" ".join(several), chance.choice((0, WORDS[1]))), is_talk)

    def _varied(self, text: str, share: float) -> str:
        """Replace names, numbers and words in a text."""
        pieces, chance = PIECE.findall(text), self._chance
        for place, piece in enumerate(pieces):
            if piece.isdigit():
                if chance.random() < COUNTED:
                    pieces[place] = "".join(chance.choice("0123456789") for _ in piece)
            elif _is_name(pieces, place):
                if chance.random() < NAMED:
                    pieces[place] = chance.choice(self._names)
            elif _is_plain(piece) and chance.random() < share:
                pieces[place] = chance.choice(self._alike.get(piece[-ALIKE:]) or (piece,))
        return "".join(pieces)

    def _passages(self, texts: Iterable[str]) -> Iterator[Said]:
        """Split real texts into passages of a few sentences."""
        for text in texts:
            sentences, place = SENTENCE.split(text[:OPENING]), 0
            while place < len(sentences):
                number = self._chance.choice((1, 2, 3, 4))
                passage = " ".join(sentences[place : place + number])
                place += number
                if SHORT < len(passage) < LONG:
                    yield Said(passage, False)


def _words(said: Iterable[Said]) -> tuple[list[str], Mapping[str, list[str]]]:
    """List the names in texts, and their other words by their endings."""
    names: list[str] = []
    alike: dict[str, list[str]] = defaultdict(list)
    for one in said:
        pieces = PIECE.findall(one.text)
        for place, piece in enumerate(pieces):
            if _is_name(pieces, place):
                names.append(piece)
            elif _is_plain(piece):
                alike[piece[-ALIKE:]].append(piece)
    return names, alike


def _is_name(pieces: Sequence[str], place: int) -> bool:
    """Tell if a word is written as a name, and not just at the beginning of a sentence."""
    piece = pieces[place]
    return piece.isalpha() and piece[0].isupper() and place > 1 and pieces[place - 2] not in ENDS


def _is_plain(piece: str) -> bool:
    return piece.isalpha() and piece.islower() and len(piece) >= LEAST
