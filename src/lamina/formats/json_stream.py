"""Read the elements of a JSON document one at a time, however large the document is.

docs/decisions/0034 explains why no library does this: a bad element must not affect the others.
"""

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
# Up to the next bracket, skipping strings. Possessive, so that no file can make it slow.
OUTSIDE_STRING = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.S)
INSIDE_STRING = re.compile(rb'[\\"]')
SCALAR = re.compile(rb"[^\s,\]}]*")
# Far longer than any name of a list that a format has.
MAX_NAME = 1024


class RawValue(NamedTuple):
    """The bytes of one value, with its line and range in the file; a long value is truncated."""

    line: int
    start: int
    end: int
    raw: bytes

    @property
    def is_whole(self) -> bool:
        return self.end - self.start == len(self.raw)


def read(source: Path, lists: Collection[str]) -> Iterator[Line]:
    """Yield the elements of a document that is a list, or of those of its lists with these names.

    An object without such a list is itself one element. A list with another name becomes an element
    that says so. If a document ends too early or is not JSON, this is an error of the whole file.
    """
    with lines.opened(source) as file:
        try:
            yield from _elements(Scanner(file, source), lists)
        except OSError as error:
            raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


class Shape(NamedTuple):
    """The first byte of a file, the names in its first object, and whether that is all of it.

    For an object that does not end (`is_cut`), these are the names found so far.
    """

    first: bytes
    names: list[str]
    is_alone: bool
    is_cut: bool = False

    def is_document(self, lists: Collection[str]) -> bool:
        """Tell one document with such lists, even if truncated, from a file of lines."""
        return self.is_alone or (self.is_cut and not set(self.names).isdisjoint(lists))


def shape(source: Path) -> Shape:
    """Read a file to the end of its first object, or as far as it is JSON."""
    names: list[str] = []
    with lines.opened(source) as file:
        scanner = Scanner(file, source)
        first = scanner.peek()
        if first != b"{":
            return Shape(first, names, is_alone=first == b"[")
        try:
            scanner.take(b"{")
            while scanner.peek() != b"}":
                names.append(scanner.name())
                scanner.value()
                if scanner.peek() != b"}":
                    scanner.take(b",")
            scanner.take(b"}")
        except InvalidInput:  # the actual reading will say what is wrong with it
            return Shape(first, names, is_alone=False, is_cut=True)
        return Shape(first, names, is_alone=not scanner.peek())


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
        yield _element(scanner.value())
        if scanner.peek() != b"]":
            scanner.take(b",")
            if scanner.peek() == b"]":
                raise scanner.error("there is a comma before the end of a list")
    scanner.take(b"]")


def _members(scanner: Scanner, lists: Collection[str]) -> Iterator[Line]:
    """Yield the elements of an object's known lists, then a problem for each other list.

    An object without any known list is one element.
    """
    start, line, has_lists = scanner.position, scanner.line, False
    unknown: list[Line] = []
    scanner.take(b"{")
    while scanner.peek() != b"}":
        name = scanner.name()
        if name in lists and scanner.peek() == b"[":
            has_lists = True
            yield from _items(scanner)
        else:
            value = scanner.value()
            if value.raw.startswith(b"[") and value.raw[1:].strip(SPACE) != b"]":
                problem = f"the list {shown(name, 80)} is none of {', '.join(lists)}"
                unknown.append(Line(value.line, value.start, value.end, b"", None, problem))
        if scanner.peek() != b"}":
            scanner.take(b",")
    scanner.take(b"}")
    if has_lists:
        yield from unknown
    else:
        yield _element(scanner.reread(line, start))


def _element(value: RawValue) -> Line:
    """Put an element on one line: between JSON tokens, a line break is just white space."""
    raw = value.raw.replace(b"\r", b" ").replace(b"\n", b" ")
    line = Line(value.line, value.start, value.end, raw, None, None)
    if not value.is_whole:
        size = value.end - value.start
        problem = f"the element has {size:,} bytes; {MAX_LINE:,} are allowed"
        return line._replace(problem=problem)
    try:
        return line._replace(value=lines.parse(raw))
    except InvalidInput as error:
        return line._replace(problem=error.message)


class Scanner:
    """Find the ends of values in a window that moves over the file, without parsing them."""

    def __init__(self, file: BinaryIO, source: Path) -> None:
        self._file = file
        self._source = source
        self._window = file.read(CHUNK)
        self._offset = len(BOM) if self._window.startswith(BOM) else 0
        self.position = self._offset
        self.line = 1

    def peek(self) -> bytes:
        """Skip white space and return the next byte without consuming it; empty at the end."""
        while True:
            gap = GAP.match(self._window, self._offset)
            assert gap is not None, "it matches nothing too"
            self._move(gap.end())
            if self._offset < len(self._window) or not self._fill():
                return self._window[self._offset : self._offset + 1]

    def take(self, wanted: bytes) -> None:
        """Consume a byte, which must come next."""
        actual = self.peek()
        if actual != wanted:
            instead = f" instead of {shown(actual.decode('latin-1'))}" if actual else ""
            raise self.error(f"{wanted.decode()} is needed{instead}")
        self._move(self._offset + 1)

    def name(self) -> str:
        """Read the name of a member of an object, and the colon after it."""
        if self.peek() != b'"':
            raise self.error("a name is needed")
        value = self.value()
        self.take(b":")
        if len(value.raw) > MAX_NAME or not value.is_whole:
            raise self.error(f"a name has more than {MAX_NAME:,} bytes")
        return str(lines.value_of(value.raw))

    def value(self) -> RawValue:
        """Read the next value, of which only the beginning is kept if it is long."""
        first = self.peek()
        start, line = self.position, self.line
        raw = self._nested() if first in (b"{", b"[", b'"') else self._scalar()
        return RawValue(line, start, self.position, raw)

    def reread(self, line: int, start: int) -> RawValue:
        """Return everything read since a position of the file, as one value."""
        with lines.opened(self._source) as file:
            file.seek(start)
            raw = file.read(min(self.position - start, MAX_LINE + 1))
        return RawValue(line, start, self.position, raw)

    def error(self, problem: str) -> InvalidInput:
        """Return an error of the whole file, with its current line."""
        ends = "" if self._window[self._offset :] else ", but the file ends: was it cut off?"
        return InvalidInput(
            f"{self._source} is not JSON: in line {self.line} {problem}{ends}; nothing was imported"
        )

    def _scalar(self) -> bytes:
        kept = b""
        while True:
            scalar = SCALAR.match(self._window, self._offset)
            assert scalar is not None, "it matches nothing too"
            kept = (kept + scalar.group())[: MAX_LINE + 1]
            self._move(scalar.end())
            if self._offset < len(self._window) or not self._fill():
                break
        if not kept:
            raise self.error("a value is needed")
        return kept

    def _nested(self) -> bytes:
        """Read a string, a list or an object, up to the byte that closes it."""
        kept: list[bytes] = []
        room, depth, quoted = MAX_LINE + 1, 0, False
        while True:
            end, depth, quoted = self._closing(depth, quoted)
            kept.append(self._window[self._offset : min(end, self._offset + room)])
            room -= len(kept[-1])
            self._move(end)
            if depth == 0 and not quoted:
                return b"".join(kept)
            if not self._fill():
                raise self.error("a value has no end")

    def _closing(self, depth: int, quoted: bool) -> tuple[int, int, bool]:
        """Find the end of a value in this window; return also the depth and whether in a string."""
        window, offset = self._window, self._offset
        if not depth and not quoted and window.startswith(b'"', offset):
            quoted, offset = True, offset + 1
        while offset < len(window):
            if quoted:
                sign = INSIDE_STRING.search(window, offset)
                if sign is None:
                    return len(window), depth, quoted
                offset = sign.end()
                if sign.group() == b'"':
                    quoted = False
                elif offset == len(window):  # the escaped byte is in the next window
                    return offset - 1, depth, quoted
                else:
                    offset += 1
            else:
                offset, depth, quoted = _next_bracket(window, offset, depth)
            if depth == 0 and not quoted:
                break
        return offset, depth, quoted

    def _move(self, offset: int) -> None:
        self.line += self._window.count(b"\n", self._offset, offset)
        self.position += offset - self._offset
        self._offset = offset

    def _fill(self) -> bool:
        """Read on, and drop what was consumed; false at the end of the file."""
        more = self._file.read(CHUNK)
        self._window, self._offset = self._window[self._offset :] + more, 0
        return bool(more)


def _next_bracket(window: bytes, offset: int, depth: int) -> tuple[int, int, bool]:
    """Move past the next bracket, or into a string that does not end in this window."""
    passed = OUTSIDE_STRING.match(window, offset)
    assert passed is not None, "it matches nothing too"
    end = passed.end()
    sign = window[end : end + 1]
    if not sign:
        return end, depth, False
    if sign == b'"':
        return end + 1, depth, True
    return end + 1, depth + (1 if sign in b"[{" else -1), False
