"""The elements of a JSON document, read one at a time, however large the whole is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lamina.errors import InvalidInput
from lamina.formats import lines
from lamina.formats.lines import BOM, CHUNK, MAX_LINE, Line
from lamina.text.words import shown

SPACE = b" \t\r\n"
GAP = re.compile(rb"[ \t\r\n]*")
# Up to the next bracket, over whole texts; never back, so that no file can make it slow.
OUTSIDE = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.S)
INSIDE = re.compile(rb'[\\"]')
SCALAR = re.compile(rb"[^\s,\]}]*")
# A name in an object, as far as one of ours could go.
MAX_NAME = 1024


class Piece(NamedTuple):
    """One value of a document, as bytes; of one that is too long, only the beginning."""

    number: int
    start: int
    end: int
    raw: bytes

    @property
    def is_whole(self) -> bool:
        return self.end - self.start == len(self.raw)


def read(source: Path, lists: Collection[str]) -> Iterator[Line]:
    """Every element of the list that a document is, or of those of its lists that have these names.

    An object without any list is one element itself. A list with another name is an element that says so. A document that
    ends too early, or is none, is an error of the whole.
    """
    with lines.opened(source) as file:
        try:
            yield from _elements(Scanner(file, source), lists)
        except OSError as error:
            raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


class Shape(NamedTuple):
    """What a file is at first sight: its first sign, the names of its first object, and whether that is all of it.

    An object that has no end has the names up to there.
    """

    sign: bytes
    names: list[str]
    is_alone: bool
    is_cut: bool = False

    def is_document(self, lists: Collection[str]) -> bool:
        """Whether this is one document with such lists, perhaps the first part of one, and not a file of lines."""
        return self.is_alone or (self.is_cut and not set(self.names).isdisjoint(lists))


def shape(source: Path) -> Shape:
    """What a file begins with, read to the end of its first object, or as far as that is JSON."""
    names: list[str] = []
    with lines.opened(source) as file:
        scanner = Scanner(file, source)
        sign = scanner.peek()
        if sign != b"{":
            return Shape(sign, names, is_alone=sign == b"[")
        try:
            scanner.take(b"{")
            while scanner.peek() != b"}":
                names.append(scanner.name())
                scanner.value()
                if scanner.peek() != b"}":
                    scanner.take(b",")
            scanner.take(b"}")
        except InvalidInput:  # whoever reads it says what is wrong with it
            return Shape(sign, names, is_alone=False, is_cut=True)
        return Shape(sign, names, is_alone=not scanner.peek())


def _elements(scanner: Scanner, lists: Collection[str]) -> Iterator[Line]:
    first = scanner.peek()
    if first == b"[":
        yield from _items(scanner)
    elif first == b"{":
        yield from _members(scanner, lists)
    else:
        raise scanner.error("a list or an object is needed")
    if scanner.peek():
        raise scanner.error("something follows the end of the document")


def _items(scanner: Scanner) -> Iterator[Line]:
    scanner.take(b"[")
    while scanner.peek() != b"]":
        yield _line(scanner.value())
        if scanner.peek() != b"]":
            scanner.take(b",")
            if scanner.peek() == b"]":
                raise scanner.error("a comma stands before the end of a list")
    scanner.take(b"]")


def _members(scanner: Scanner, lists: Collection[str]) -> Iterator[Line]:
    """The elements of the known lists of an object, then its other lists; the object itself when it has no known one."""
    start, number, has_lists = scanner.at, scanner.number, False
    strange: list[Line] = []
    scanner.take(b"{")
    while scanner.peek() != b"}":
        name = scanner.name()
        if name in lists and scanner.peek() == b"[":
            has_lists = True
            yield from _items(scanner)
        else:
            piece = scanner.value()
            if piece.raw.startswith(b"[") and piece.raw[1:].strip(SPACE) != b"]":
                problem = f"the list {shown(name, 80)} is none of {', '.join(lists)}"
                strange.append(Line(piece.number, piece.start, piece.end, b"", None, problem))
        if scanner.peek() != b"}":
            scanner.take(b",")
    scanner.take(b"}")
    if has_lists:
        yield from strange
    else:
        yield _line(scanner.again(number, start))


def _line(piece: Piece) -> Line:
    """An element on one line: within JSON, the end of a line is only a space."""
    raw = piece.raw.replace(b"\r", b" ").replace(b"\n", b" ")
    line = Line(piece.number, piece.start, piece.end, raw, None, None)
    if not piece.is_whole:
        return line._replace(
            problem=f"the element has {piece.end - piece.start:,} bytes; {MAX_LINE:,} are allowed"
        )
    try:
        return line._replace(value=lines.parse(raw))
    except InvalidInput as error:
        return line._replace(problem=error.message)


class Scanner:
    """Finds where values begin and end, in a window over the file. What they hold is somebody else's to read."""

    def __init__(self, file: BinaryIO, source: Path) -> None:
        self._file = file
        self._source = source
        self._window = file.read(CHUNK)
        self._place = len(BOM) if self._window.startswith(BOM) else 0
        self.at = self._place
        self.number = 1

    def peek(self) -> bytes:
        """The next byte that is not a space; nothing at the end of the file."""
        while True:
            gap = GAP.match(self._window, self._place)
            assert gap is not None, "it matches nothing too"
            self._move(gap.end())
            if self._place < len(self._window) or not self._fill():
                return self._window[self._place : self._place + 1]

    def take(self, wanted: bytes) -> None:
        """Go past a sign, which must be there."""
        found = self.peek()
        if found != wanted:
            instead = f" instead of {shown(found.decode('latin-1'))}" if found else ""
            raise self.error(f"{wanted.decode()} is needed{instead}")
        self._move(self._place + 1)

    def name(self) -> str:
        """The name of a member of an object, and the colon after it."""
        if self.peek() != b'"':
            raise self.error("a name is needed")
        piece = self.value()
        self.take(b":")
        if len(piece.raw) > MAX_NAME or not piece.is_whole:
            raise self.error(f"a name has more than {MAX_NAME:,} bytes")
        return str(lines.value_of(piece.raw))

    def value(self) -> Piece:
        """The next value. A long one is passed without being kept."""
        first = self.peek()
        start, number = self.at, self.number
        raw = self._nested() if first in (b"{", b"[", b'"') else self._scalar()
        return Piece(number, start, self.at, raw)

    def again(self, number: int, start: int) -> Piece:
        """What was passed since a place of the file."""
        with lines.opened(self._source) as file:
            file.seek(start)
            return Piece(number, start, self.at, file.read(min(self.at - start, MAX_LINE + 1)))

    def error(self, problem: str) -> InvalidInput:
        ends = "" if self._window[self._place :] else ", but the file ends: was it cut off?"
        return InvalidInput(
            f"{self._source} is not JSON: in line {self.number} {problem}{ends}; nothing was imported"
        )

    def _scalar(self) -> bytes:
        kept = b""
        while True:
            found = SCALAR.match(self._window, self._place)
            assert found is not None, "it matches nothing too"
            kept = (kept + found.group())[: MAX_LINE + 1]
            self._move(found.end())
            if self._place < len(self._window) or not self._fill():
                break
        if not kept:
            raise self.error("a value is needed")
        return kept

    def _nested(self) -> bytes:
        """A text, a list or an object, up to the sign that closes it."""
        kept: list[bytes] = []
        room, depth, quoted = MAX_LINE + 1, 0, False
        while True:
            end, depth, quoted = self._closing(depth, quoted)
            kept.append(self._window[self._place : min(end, self._place + room)])
            room -= len(kept[-1])
            self._move(end)
            if depth == 0 and not quoted:
                return b"".join(kept)
            if not self._fill():
                raise self.error("a value has no end")

    def _closing(self, depth: int, quoted: bool) -> tuple[int, int, bool]:
        """How far a value goes in this window, and where in it that is."""
        window, place = self._window, self._place
        if not depth and not quoted and window.startswith(b'"', place):
            quoted, place = True, place + 1
        while place < len(window):
            if quoted:
                found = INSIDE.search(window, place)
                if found is None:
                    return len(window), depth, quoted
                place = found.end()
                if found.group() == b'"':
                    quoted = False
                elif place == len(window):
                    return place - 1, depth, quoted  # what is escaped is in the next window
                else:
                    place += 1
            else:
                place, depth, quoted = _bracket(window, place, depth)
            if depth == 0 and not quoted:
                break
        return place, depth, quoted

    def _move(self, place: int) -> None:
        self.number += self._window.count(b"\n", self._place, place)
        self.at += place - self._place
        self._place = place

    def _fill(self) -> bool:
        """Read on; what was passed is forgotten."""
        more = self._file.read(CHUNK)
        self._window, self._place = self._window[self._place :] + more, 0
        return bool(more)


def _bracket(window: bytes, place: int, depth: int) -> tuple[int, int, bool]:
    """Past the next bracket, or the beginning of a text that does not end in this window."""
    found = OUTSIDE.match(window, place)
    assert found is not None, "it matches nothing too"
    sign = window[found.end() : found.end() + 1]
    if not sign:
        return found.end(), depth, False
    return (
        found.end() + 1,
        depth + (1 if sign in b"[{" else -1 if sign in b"]}" else 0),
        sign == b'"',
    )
