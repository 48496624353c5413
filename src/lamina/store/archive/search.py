"""Search the archive as `grep -i` does: content, tags and metadata, without loading the files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from lamina.errors import Corrupt
from lamina.model import hashing
from lamina.model.record import Record
from lamina.store.engine.sql import Connection
from lamina.store.tables import archived, record_lines

if TYPE_CHECKING:
    from lamina.store.archive.archive import Archive

CHUNK = 8 * 1024 * 1024
# The only characters outside ASCII that become ASCII letters in lower case: kelvin sign, İ and ſ.
FOREIGN = {b"k": b"\xe2\x84\xaa", b"i": b"\xc4\xb0", b"s": b"\xc5\xbf"}
Hit = tuple[int, bytes]  # the number of a line, and the line


class ArchiveQuery(msgspec.Struct, frozen=True):
    """A query to the archive: a literal text in any case, a user, and a span of time."""

    text: str
    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Peek(msgspec.Struct, frozen=True):
    """The part of a line that decides whether it matches."""

    content: str
    tags: list[str]
    metadata: dict[str, Any]
    user: str | None
    occurred_at: datetime


_peek = msgspec.json.Decoder(Peek).decode
# TypeError: for example, a time without a time zone.
NOT_A_LINE = (msgspec.DecodeError, UnicodeDecodeError, TypeError)


def search(
    store_archive: Archive, connection: Connection, wanted: ArchiveQuery, limit: int
) -> list[Record]:
    """Find the newest lines that match; each is checked against the index."""
    newest: list[Record] = []
    for file in archived.files(connection):
        try:
            with store_archive.filing.shelf.open(connection, file.file) as opened:
                hits = deque(matches(opened, wanted), maxlen=limit - len(newest))
        except FileNotFoundError:
            raise store_archive.missing(file.file) from None
        except OSError as error:
            raise store_archive.unreadable(file.file, error) from error
        except NOT_A_LINE:
            raise store_archive.altered(file.file) from None
        newest += [_record(store_archive, connection, file.file, *hit) for hit in reversed(hits)]
        if len(newest) == limit:
            break
    return newest


def _record(
    store_archive: Archive, connection: Connection, file: str, number: int, line: bytes
) -> Record:
    label = f"{file}:{number}"
    try:
        written = record_lines.read(line)
    except Corrupt:
        raise store_archive.altered(label) from None
    return record_lines.record_of(store_archive.checked(written, file, connection), label)


def matches(file: BinaryIO, wanted: ArchiveQuery) -> Iterator[Hit]:
    """Yield the lines of a file that match, with their numbers."""
    text = _lower(wanted.text)
    caseless = _caseless_part(hashing.encode(text)[1:-1].decode())
    for first, chunk in _chunks(file):
        for number, line in _candidates(chunk, caseless):
            if _matches(_peek(line), text, wanted):
                yield first + number, line


def _matches(line: Peek, text: str, wanted: ArchiveQuery) -> bool:
    if wanted.user is not None and line.user not in (None, wanted.user):
        return False
    if wanted.since is not None and line.occurred_at < wanted.since:
        return False
    if wanted.until is not None and line.occurred_at >= wanted.until:
        return False
    values = (line.content, *line.tags, *_values(line.metadata))
    return any(text in _lower(value) for value in values)


def _values(value: Any) -> Iterator[str]:
    """Yield every plain value of some metadata, however deep, as JSON writes it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif value is not None:
        yield hashing.encode(value).decode()


def _lower(text: str) -> str:
    """Convert a text to lower case, with one form of each s and sigma."""
    return text.lower().replace("ς", "σ").replace("ſ", "s")


def _chunks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield many whole lines at a time, with the number of the first."""
    number, rest = 1, b""
    while read := file.read(CHUNK):
        end = read.rfind(b"\n") + 1
        if not end:
            rest += read
            continue
        chunk, rest = rest + read[:end], read[end:]
        yield number, chunk
        number += chunk.count(b"\n")
    if rest:
        yield number, rest


def _candidates(chunk: bytes, caseless: bytes) -> Iterator[Hit]:
    """Yield the lines that may match, with their numbers in the chunk.

    Comparing bytes is fast, and rules out most lines.
    """
    has_foreign = any(letter in caseless and sign in chunk for letter, sign in FOREIGN.items())
    if not caseless or has_foreign:
        yield from enumerate(chunk.splitlines())
        return
    lowered = chunk.lower()
    number = start = 0
    while (at := lowered.find(caseless, start)) >= 0:
        begin = lowered.rfind(b"\n", start, at) + 1 or start
        end = lowered.find(b"\n", at)
        end = len(lowered) if end < 0 else end
        number += lowered.count(b"\n", start, begin)
        yield number, chunk[begin:end]
        number, start = number + 1, end + 1


def _caseless_part(lowered: str) -> bytes:
    """Find the longest part of a text whose bytes depend on case only in ASCII letters."""
    runs = groupby(lowered, lambda char: char.isascii() or char.upper() == char.lower())
    caseless = ["".join(run) for is_caseless, run in runs if is_caseless]
    return max(caseless, key=len, default="").encode()
