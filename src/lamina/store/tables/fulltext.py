"""The full-text index of all records, in whichever engine.

It is written in the same transaction as each record.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from lamina.model import asked_words, erased_words, hashing
from lamina.store.engine.sql import Connection, Cursor
from lamina.store.tables import records
from lamina.store.tables.fts5 import Fts5
from lamina.store.tables.records import COLUMN, Row
from lamina.store.tables.tsvectors import Tsvectors
from lamina.text.words import analyse

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

# The parts of a record in which a word is searched for.
SAID = "said"  # text and tags, and for a fact the words that ask for it
METADATA = "metadata"
Entry = tuple[int, str, str, str]  # number, then analysed text, tags and metadata


class Words(Protocol):
    """The full-text index as every engine implements it."""

    def put(self, target: Connection | Cursor, entries: Iterable[Entry], /) -> None: ...
    def replace(self, target: Connection | Cursor, entry: Entry, /) -> None: ...
    def drop(self, target: Connection | Cursor, records: Sequence[int], /) -> None: ...
    def clear(self, target: Connection | Cursor, /) -> None: ...
    def purge(self, target: Connection | Cursor, /) -> None: ...
    def holding(
        self, source: Connection, word: str, where: str, since: int, /
    ) -> NDArray[int64]: ...
    def matching(self, source: Connection, phrases: Sequence[str], limit: int, /) -> list[int]: ...
    def missing(self, source: Connection, /) -> list[int]: ...
    def differs(self, source: Connection, entries: Iterable[Entry], /) -> bool: ...


_FTS5 = Fts5()


def words(source: Connection | Cursor) -> Words:
    """Get the index of the engine that a connection belongs to."""
    if isinstance(source, (apsw.Connection, apsw.Cursor)):
        return _FTS5
    return _tsvectors(source.agent)  # type: ignore[union-attr]


@functools.cache
def _tsvectors(agent: str) -> Tsvectors:
    return Tsvectors(agent)


def entry(seq: int, content: str, tags: Iterable[str], metadata: Mapping[str, Any]) -> Entry:
    """Return the entry of a record in the index."""
    beside = words_beside(tags, asked_words.of(metadata) if metadata else "")
    return seq, analyse(content), beside, metadata_words(metadata)


def words_beside(tags: Iterable[str], asked: str) -> str:
    """Analyse the words that count like those of the text: tags, and words that ask for a fact."""
    return _analysed((*tags, asked) if asked else tuple(tags))


@functools.lru_cache(1024)
def _analysed(texts: tuple[str, ...]) -> str:
    return analyse(" ".join(texts)) if texts else ""  # many records have the same tags


def metadata_words(metadata: Mapping[str, Any]) -> str:
    """Analyse the words of metadata for the index."""
    found = [*erased_words.strings(metadata)] if metadata else ()
    return analyse(" ".join(found)) if found else ""


def holding(connection: Connection, word: str, where: str = SAID, since: int = 0) -> NDArray[int64]:
    """List the records from number `since` on that contain a word, ascending."""
    return words(connection).holding(connection, word, where, since)


def rebuild(connection: Connection) -> None:
    """Rebuild the index from the records, inside the caller's transaction."""
    words(connection).clear(connection)
    words(connection).put(connection, map(_entry_of, list(records.every(connection))))


def missing(connection: Connection) -> list[int]:
    """List records without an entry, and entries without a record."""
    return words(connection).missing(connection)


def differs(connection: Connection) -> bool:
    """Tell whether the index differs from its records."""
    return words(connection).differs(connection, map(_entry_of, records.every(connection)))


def _entry_of(row: Row) -> Entry:
    content, tags, metadata = (row[COLUMN[name]] for name in ("content", "tags", "metadata"))
    decoded = {} if metadata == "{}" else hashing.decode(metadata)
    return entry(row[0], content, records.texts(tags), decoded)
