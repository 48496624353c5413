"""One plain form for disguised texts: nothing invisible, no other widths and fonts, nothing spelled out. Pure.

The form is for finding secrets; each of its characters knows which characters of the text it stands for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from lamina.text.secrets.patterns import lazy

VARIANTS = (
    "<wide>",
    "<font>",
    "<narrow>",
)  # how Unicode says that a character is another in another shape
SIGNS = frozenset(
    "-_.~+/=@$%:"
)  # what secrets are made of beside letters and digits; quotes and commas stay as they are
SPOKEN = {"dash": "-", "hyphen": "-", "minus": "-", "underscore": "_"}
SPELLED_WORD = "|".join(SPOKEN)
# "s k - l i v e", "s k dash l i v e": so many characters that stand alone are one word.
SPELLED = lazy(rf"(?<!\S)(?:(?:{SPELLED_WORD}|\S)[ ])++(?:\S(?!\S))?+", re.IGNORECASE)
FEWEST_SPELLED = 12
PIECE = lazy(r"\S+")
# "sk dash live": a sign that is said between two words.
SAID = lazy(rf"(?<=\w) (?:{SPELLED_WORD}) (?=\w)", re.IGNORECASE)


class Folded(NamedTuple):
    """A text in its plain form."""

    text: str
    places: list[tuple[int, int]] | None = (
        None  # what each character stands for, from where to where; None: for itself
    )

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the plain form stands in the text."""
        if self.places is None or start >= end:
            return start, end
        return self.places[start][0], self.places[end - 1][1]


class _Edit(NamedTuple):
    start: int
    end: int
    instead: str


def folded(text: str) -> Folded:
    """The plain form of a text; most texts are plain."""
    plain = Folded(text) if text.isascii() else _changed(Folded(text), _disguised(text))
    spelled = _changed(plain, _spelled(plain.text))
    return _changed(spelled, _said(spelled.text))


def _changed(before: Folded, edits: Iterator[_Edit]) -> Folded:
    made: list[_Edit] = [*edits]
    if not made:
        return before
    known = before.places or [(place, place + 1) for place in range(len(before.text))]
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for start, end, instead in made:
        parts += [before.text[at:start], instead]
        places += known[at:start]
        places += [(known[start][0], known[end - 1][1])] * len(instead)
        at = end
    return Folded("".join([*parts, before.text[at:]]), [*places, *known[at:]])


def _disguised(text: str) -> Iterator[_Edit]:
    """Characters that nobody sees, and those of another width or font."""
    for place, character in enumerate(text):
        plain = character if character.isascii() else _plain(character)
        if plain != character:
            yield _Edit(place, place + 1, plain)


def _plain(character: str) -> str:
    if (
        unicodedata.category(character) == "Cf"
        or "\ufe00" <= character <= "\ufe0f"
        or character == "\u034f"
    ):
        return ""
    if unicodedata.decomposition(character).startswith(VARIANTS):
        plain = unicodedata.normalize("NFKC", character)
        if len(plain) == 1 and plain.isascii() and (plain.isalnum() or plain in SIGNS):
            return plain
    return character


def _spelled(text: str) -> Iterator[_Edit]:
    """Characters that stand one by one, as one word."""
    for run in SPELLED.finditer(text):
        pieces = [*PIECE.finditer(text, *run.span())]
        while pieces and len(pieces[-1].group()) > 1:  # a sign that is said ends no secret
            pieces.pop()
        if len(pieces) < FEWEST_SPELLED:
            continue
        for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
            end = following.start() if following is not None else piece.end()
            yield _Edit(piece.start(), end, SPOKEN.get(piece.group().lower(), piece.group()))


def _said(text: str) -> Iterator[_Edit]:
    """Signs that are said between two words."""
    lowered = text.lower()
    for found in SAID.finditer(text) if any(f" {word} " in lowered for word in SPOKEN) else ():
        yield _Edit(*found.span(), SPOKEN[found.group().strip().lower()])
