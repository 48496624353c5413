"""Cut a long text to its best sentences (C4): those that answer, in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from lamina.search import segments
from lamina.search.context.aim import Aim
from lamina.search.context.plain import plain
from lamina.text import cues

CUT = "…"
MOST = 12_000  # characters that are examined; the rest is cut
ALIKE, SIGN, FIRST, ASKS = 1.5, 0.3, 0.15, -0.2
HEADING = 60  # characters of a line that announces the next one
LEAST = 24  # characters; shorter parts of a sentence are not worth showing


class Piece(NamedTuple):
    """A sentence and its index."""

    place: int
    text: str


class Sentences:
    """A text for one line: whole if there is room, else its best sentences."""

    def __init__(self, content: str, aim: Aim) -> None:
        self._content = content[:MOST]
        self._is_whole = len(content) <= MOST
        self._aim = aim

    def within(self, room: int) -> str:
        """Return the text within `room` characters, with a mark wherever it is cut."""
        if self._is_whole and len(self._whole) <= room:
            return self._whole
        if not self._ranked:
            return shortened(self._whole, room)
        chosen: list[Piece] = []
        for piece in self._ranked:
            more = sorted([*chosen, piece])
            if len(piece.text) <= room and len(self._joined(more)) <= room:
                chosen = more
        best = self._ranked[0]
        return self._joined(chosen) if best in chosen else self._part_of(best.text, room)

    @cached_property
    def _whole(self) -> str:
        return plain(self._content)

    @cached_property
    def _pieces(self) -> list[Piece]:
        lines = filter(None, map(plain, segments.sentences(self._content)))
        return [Piece(place, line) for place, line in enumerate(_headed(lines))]

    @cached_property
    def _ranked(self) -> list[Piece]:
        """The sentences, best first; a repeated one only at its first place."""
        if len(self._pieces) == 1:
            return self._pieces
        values = self._values()
        once = {piece.text: piece for piece in reversed(self._pieces)}.values()
        return sorted(once, key=lambda piece: (-values[piece.place], piece.place))

    def _values(self) -> list[float]:
        """Weigh sentences: shared words, meaning, the cue of an answer; questions count less."""
        aim = self._aim
        alike = aim.likeness([piece.text for piece in self._pieces])
        return [
            aim.shared(piece.text)
            + ALIKE * likeness
            + SIGN * bool(aim.wanted and aim.wanted & cues.of(piece.text, None))
            + FIRST * (piece.place == 0)
            + ASKS * (segments.asks(piece.text) is segments.Asks.MARKED)
            for piece, likeness in zip(self._pieces, alike, strict=True)
        ]

    def _part_of(self, sentence: str, room: int) -> str:
        """Cut a sentence that is too long, but keep the words that it shares with the aim."""
        start = self._aim.densest(sentence, room - 2 * len(CUT))
        if not start:
            return shortened(sentence, room)
        part = shortened(sentence[start:], room - len(CUT))
        return CUT + part if part else ""

    def _joined(self, pieces: Sequence[Piece]) -> str:
        """Join sentences, with a mark wherever something is left out."""
        parts: list[str] = []
        next_place = 0
        for piece in pieces:
            if piece.place != next_place:
                parts.append(CUT)
            parts.append(piece.text)
            next_place = piece.place + 1
        if next_place < len(self._pieces) or not self._is_whole:
            parts.append(CUT)
        return " ".join(parts)


def _headed(lines: Iterable[str]) -> Iterator[str]:
    """Join a heading with the line after it: "Chorus:" says nothing alone."""
    heading = ""
    for line in lines:
        together = f"{heading} {line}" if heading else line
        if line.endswith(":") and len(together) <= HEADING:
            heading = together
        else:
            yield together
            heading = ""
    if heading:
        yield heading


def shortened(text: str, room: int) -> str:
    """Keep the beginning of a text, up to the end of a word; nothing if there is no room."""
    if len(text) <= room:
        return text
    if room < LEAST:
        return ""
    kept = text[: room - len(CUT)]
    space = kept.rfind(" ", room // 2)
    return (kept[:space] if space > 0 else kept).rstrip() + CUT
