"""Looking through the archive as `grep -i` does: content, tags and values of metadata, without loading the files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from lamina.errors import Corrupt, StoreUnavailable
from lamina.model import hashing
from lamina.model.record import Record
from lamina.store.engine.sql import Connection
from lamina.store.tables import archived, record_lines

if TYPE_CHECKING:
    from lamina.store.archive.archive import Archive

CHUNK = 8 * 1024 * 1024
# The only characters outside ASCII that are letters inside it, but for their case: the sign for kelvin, İ, and ſ.
FOREIGN = {b"k": b"\xe2\x84\xaa", b"i": b"\xc4\xb0", b"s": b"\xc5\xbf"}
Found = tuple[int, bytes]


class Wanted(msgspec.Struct, frozen=True):
    """What is looked for: a text, as it stands, in any case; a span of time; whose."""

    text: str
    user: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Peek(msgspec.Struct, frozen=True):
    """As much of a line as decides."""

    content: str
    tags: list[str]
    metadata: dict[str, Any]
    user: str | None
    occurred_at: datetime


_peek = msgspec.json.Decoder(Peek).decode


def search(
    store_archive: Archive, connection: Connection, wanted: Wanted, limit: int
) -> list[Record]:
    """The newest lines first; each is checked against the index before it is believed."""
    found: list[Record] = []
    for file in archived.files(connection):
        try:
            with store_archive.filing.shelf.open(connection, file.file) as opened:
                hits = deque(matches(opened, wanted), maxlen=limit - len(found))
        except FileNotFoundError:
            raise store_archive.missing(file.file) from None
        except OSError as error:
            raise StoreUnavailable(
                f"{store_archive.filing.shelf.label(file.file)} cannot be read: {error.strerror}"
            ) from error
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
            TypeError,
        ):  # such as a time without a zone
            raise store_archive.altered(file.file) from None
        found += [_record(store_archive, connection, file.file, *hit) for hit in reversed(hits)]
        if len(found) == limit:
            break
    return found


def _record(
    store_archive: Archive, connection: Connection, file: str, number: int, line: bytes
) -> Record:
    label = f"{file}:{number}"
    try:
        found = record_lines.read(line)
    except Corrupt:
        raise store_archive.altered(label) from None
    return record_lines.record_of(store_archive.checked(found, file, connection), label)


def matches(file: BinaryIO, wanted: Wanted) -> Iterator[Found]:
    """The lines of a file that match, with their numbers."""
    small = _small(wanted.text)
    plain = _plain(hashing.encode(small)[1:-1].decode())
    for first, chunk in _chunks(file):
        for number, line in _candidates(chunk, plain, small):
            if _matches(_peek(line), small, wanted):
                yield first + number, line


def _matches(line: Peek, small: str, wanted: Wanted) -> bool:
    if wanted.user is not None and line.user not in (None, wanted.user):
        return False
    if wanted.since is not None and line.occurred_at < wanted.since:
        return False
    if wanted.until is not None and line.occurred_at >= wanted.until:
        return False
    return any(
        small in _small(value) for value in (line.content, *line.tags, *_values(line.metadata))
    )


def _values(value: Any) -> Iterator[str]:
    """Every plain value of some metadata, however deep, as JSON writes it."""
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


def _small(text: str) -> str:
    """A text in small letters, in which the other forms of s are one with it."""
    return text.lower().replace("ς", "σ").replace("ſ", "s")


def _chunks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines, many at a time, with the number of the first."""
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


def _candidates(chunk: bytes, plain: bytes, small: str) -> Iterator[Found]:
    """The lines that may match, by their number in the chunk. Bytes are compared, which is fast: most lines do not."""
    if not plain or any(letter in plain and sign in chunk for letter, sign in FOREIGN.items()):
        yield from (found for found in enumerate(chunk.splitlines()))
        return
    lowered = chunk.lower()
    number = start = 0
    while (at := lowered.find(plain, start)) >= 0:
        begin = lowered.rfind(b"\n", start, at) + 1 or start
        end = lowered.find(b"\n", at)
        end = len(lowered) if end < 0 else end
        number += lowered.count(b"\n", start, begin)
        yield number, chunk[begin:end]
        number, start = number + 1, end + 1


def _plain(small: str) -> bytes:
    """The longest part of a text whose bytes are the same in every case, once those of ASCII are small."""
    runs = [
        "".join(run)
        for same, run in groupby(small, lambda c: c.isascii() or c.upper() == c.lower())
        if same
    ]
    return max(runs, key=len, default="").encode()
