"""Undo disguises of secrets: invisible characters, character widths, spelled-out words. Pure.

Each character of the plain form records which characters of the text it replaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from lamina.text.secrets.patterns import lazy

# Unicode's tags for a character that is a variant of another one.
VARIANTS = ("<wide>", "<font>", "<narrow>")
# Secrets consist of these, letters and digits; quotes and commas are not changed.
SIGNS = frozenset("-_.~+/=@$%:")
SPOKEN = {"dash": "-", "hyphen": "-", "minus": "-", "underscore": "_"}
SPELLED_WORD = "|".join(SPOKEN)
# "s k - l i v e", "s k dash l i v e": characters between spaces that form one word.
SPELLED = lazy(rf"(?<!\S)(?:(?:{SPELLED_WORD}|\S)[ ])++(?:\S(?!\S))?+", re.IGNORECASE)
FEWEST_SPELLED = 12
# All spelled-out words contain two adjacent single characters, or a sign written as a word.
TWO_ALONE = re.compile(r" \S \S ")
PIECE = lazy(r"\S+")
# "sk dash live": a sign that is written as a word between two words.
SAID = lazy(rf"(?<=\w) (?:{SPELLED_WORD}) (?=\w)", re.IGNORECASE)


class Folded(NamedTuple):
    """A text in its plain form."""

    text: str
    # The start and end of the text that each character replaces; None if the text is unchanged.
    places: list[tuple[int, int]] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the plain form to the text."""
        if self.places is None or start >= end:
            return start, end
        return self.places[start][0], self.places[end - 1][1]


class _Edit(NamedTuple):
    start: int
    end: int
    instead: str


def folded(text: str) -> Folded:
    """Return the plain form of a text. Most texts are plain already."""
    plain = Folded(text) if text.isascii() else _changed(Folded(text), _disguised(text))
    lowered = plain.text.lower()
    is_said = any(map(lowered.__contains__, SPOKEN))
    if not is_said and TWO_ALONE.search(plain.text) is None:
        return plain
    spelled = _changed(plain, _spelled(plain.text))
    return _changed(spelled, _said(spelled.text)) if is_said else spelled


def _changed(before: Folded, changes: Iterator[_Edit]) -> Folded:
    edits = list(changes)
    if not edits:
        return before
    known = before.places or [(place, place + 1) for place in range(len(before.text))]
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for start, end, instead in edits:
        parts += [before.text[at:start], instead]
        places += known[at:start]
        places += [(known[start][0], known[end - 1][1])] * len(instead)
        at = end
    return Folded("".join([*parts, before.text[at:]]), [*places, *known[at:]])


def _disguised(text: str) -> Iterator[_Edit]:
    """Remove invisible characters, and replace those of another width or font."""
    for place, character in enumerate(text):
        plain = character if character.isascii() else _plain_character(character)
        if plain != character:
            yield _Edit(place, place + 1, plain)


def _plain_character(character: str) -> str:
    is_selector = "\ufe00" <= character <= "\ufe0f" or character == "\u034f"
    if is_selector or unicodedata.category(character) == "Cf":
        return ""
    if unicodedata.decomposition(character).startswith(VARIANTS):
        plain = unicodedata.normalize("NFKC", character)
        if len(plain) == 1 and plain.isascii() and (plain.isalnum() or plain in SIGNS):
            return plain
    return character


def _spelled(text: str) -> Iterator[_Edit]:
    """Join characters between spaces into a word."""
    for run in SPELLED.finditer(text):
        pieces = [*PIECE.finditer(text, *run.span())]
        while pieces and len(pieces[-1].group()) > 1:  # no secret ends with a spelled-out sign
            pieces.pop()
        if len(pieces) < FEWEST_SPELLED:
            continue
        for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
            end = following.start() if following is not None else piece.end()
            yield _Edit(piece.start(), end, SPOKEN.get(piece.group().lower(), piece.group()))


def _said(text: str) -> Iterator[_Edit]:
    """Replace signs that are written as words between two words."""
    for sign in SAID.finditer(text):
        yield _Edit(*sign.span(), SPOKEN[sign.group().strip().lower()])
