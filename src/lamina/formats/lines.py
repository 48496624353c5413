"""Read the lines of a JSONL file one at a time; a bad line does not stop the others."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from lamina.errors import InvalidInput, NotFound
from lamina.model import hashing
from lamina.store.engine import raw_file
from lamina.text.words import one_line, shown

MAX_LINE = 4 * 1024 * 1024
CHUNK = 1024 * 1024
BOM = b"\xef\xbb\xbf"
WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
NAMES = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
}


class Line(NamedTuple):
    """One line: its number, range and bytes in the file, and its object or its problem.

    If a line is too long, `raw` is only its beginning. `lost` names what the object lacks of the
    source, such as columns with bytes.
    """

    number: int
    start: int
    end: int
    raw: bytes
    value: dict[str, Any] | None
    problem: str | None
    lost: tuple[str, ...] = ()


def opened(source: Path) -> BinaryIO:
    """Open a file; raise an error that says why it cannot be read."""
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise InvalidInput(f"{source} is not a file")
        with ExitStack() as stack:
            file = stack.enter_context(raw_file.opened(source))
            file.peek(1)  # some files, for example in /proc, can be opened but not read
            stack.pop_all()
            return file
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


def read(source: Path) -> Iterator[Line]:
    """Yield every line that is not blank, in order. Only one at a time is in memory."""
    with opened(source) as file:
        try:
            yield from _lines(file)
        except OSError as error:
            raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[Line]:
    number = start = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        end = start + len(raw)
        if len(raw) > MAX_LINE:
            end += _skip_rest(file, raw)
            problem = f"the line has {end - start:,} bytes; {MAX_LINE:,} are allowed"
            yield Line(number, start, end, raw, None, problem)
        elif (raw.removeprefix(BOM) if number == 1 else raw).strip():
            line = Line(number, start, end, raw.rstrip(b"\r\n"), None, None)
            yield _parsed(line, is_torn=not raw.endswith(b"\n"))
        start = end


def _skip_rest(file: BinaryIO, raw: bytes) -> int:
    """Skip to the end of a line that is too long; return the number of bytes."""
    skipped = 0
    while not raw.endswith(b"\n") and (raw := file.readline(CHUNK)):
        skipped += len(raw)
    return skipped


def _parsed(line: Line, *, is_torn: bool) -> Line:
    raw = line.raw.removeprefix(BOM) if line.number == 1 else line.raw
    try:
        return line._replace(value=parse(raw))
    except InvalidInput as error:
        end = "; the file ends in the middle of this line" if is_torn else ""
        return line._replace(problem=error.message + end)


def parse(raw: bytes) -> dict[str, Any]:
    """Parse the object in a line, whose values the store must be able to hold."""
    value = _decoded(_text(raw))
    if not isinstance(value, dict):
        raise InvalidInput(
            f'this is {NAMES[type(value)]}, where an object such as {{"content": …}} is needed'
        )
    return checked(value)


def checked(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object; raise unless the store can hold all of its values."""
    for name, item in value.items():
        hashing.check_text(name, "a name")
        hashing.check_json(item, name if name.isidentifier() else one_line(name, 80))
    return value


def value_of(raw: bytes) -> Any:
    """Parse any JSON value with unique names and values that the store can hold."""
    value = _decoded(_text(raw))
    hashing.check_json(value, "this")
    return value


def _text(raw: bytes) -> str:
    if b"\0" in raw:
        wide = " (is the file UTF-16? UTF-8 is needed)" if raw.startswith(WIDE_BOMS) else ""
        raise InvalidInput(
            f"there is a NUL byte at column {raw.index(0) + 1}: this is not text{wide}"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the byte at column {error.start + 1} is not UTF-8: {error.reason}"
        ) from None


def _decoded(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"this is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
        ) from None
    except RecursionError:
        raise InvalidInput("the values are nested too deeply") from None
    except ValueError as error:  # an integer with more digits than Python reads
        raise InvalidInput(
            f"this is not JSON that can be stored: {one_line(str(error), 200)}"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise for a duplicate name, since its value would be a guess."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInput(f"the name {shown(twice)} occurs twice in one object")
    return value


def _refuse_constant(name: str) -> Any:
    raise InvalidInput(f"{name} is not a number that JSON can hold")


# Python's own decoder, because it alone reports duplicate names.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
