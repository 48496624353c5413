"""The words of all records: written in the same transaction as each record, asked for those that hold a word."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from lamina.model import erased_words, hashing
from lamina.store.engine.sql import Connection, Cursor
from lamina.store.tables import records
from lamina.store.tables.fts5 import Fts5
from lamina.store.tables.records import Row
from lamina.store.tables.tsvectors import Tsvectors
from lamina.text import words as text

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

# Where a word is looked for.
SAID = "said"  # in the text and the tags
METADATA = "metadata"
Entry = tuple[int, str, str, str]


class Words(Protocol):
    """What every engine does with words; entries are of analysed text."""

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
    def differs(self, source: Connection, made: Iterable[Entry], /) -> bool: ...


_FTS5 = Fts5()


def words(source: Connection | Cursor) -> Words:
    """The words that lie where a connection leads."""
    if isinstance(source, (apsw.Connection, apsw.Cursor)):
        return _FTS5
    return _tsvectors(source.agent)  # type: ignore[union-attr]


@functools.cache
def _tsvectors(agent: str) -> Tsvectors:
    return Tsvectors(agent)


def entry(seq: int, content: str, tags: Iterable[str], metadata: Mapping[str, Any]) -> Entry:
    """What the index holds about a record."""
    own = text.analyse(" ".join(erased_words.strings(metadata))) if metadata else ""
    return seq, text.analyse(content), text.analyse(" ".join(tags)) if tags else "", own


def holding(connection: Connection, word: str, where: str = SAID, since: int = 0) -> NDArray[int64]:
    """The numbers of all records from one on that hold a word, ascending."""
    return words(connection).holding(connection, word, where, since)


def rebuild(connection: Connection) -> None:
    """Make the index anew from the records, inside the caller's transaction."""
    words(connection).clear(connection)
    words(connection).put(connection, map(_entry_of, list(records.every(connection))))


def missing(connection: Connection) -> list[int]:
    """Records without an entry, and entries without a record."""
    return words(connection).missing(connection)


def differs(connection: Connection) -> bool:
    """Whether the index holds other words than its records."""
    return words(connection).differs(connection, map(_entry_of, records.every(connection)))


def _entry_of(row: Row) -> Entry:
    place = records.COLUMN
    metadata = row[place["metadata"]]
    own = {} if metadata == "{}" else hashing.decode(metadata)
    return entry(row[0], row[place["content"]], records.texts(row[place["tags"]]), own)
