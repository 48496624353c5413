"""The words of all records in PostgreSQL, cut by the tokenizer that a file uses, so that the same words match."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import apsw

from lamina.store.engine.sql import Connection, Cursor, numbers, rows
from lamina.store.tables.fts5 import TOKENIZER

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from lamina.store.tables.fulltext import Entry

SHORT = 20_000  # characters of a text whose words surely fit together
AT_ONCE = 1500  # words, of the longest
LONGEST = 512  # bytes of a word; PostgreSQL has a limit, too. What is longer is known by its digest
INSERT = (
    "INSERT INTO words (record, part, said, metadata)"
    " VALUES (?, ?, array_to_tsvector(CAST(? AS text[])), array_to_tsvector(CAST(? AS text[])))"
)


@functools.cache
def _tokenizer() -> Callable[..., Any]:
    """FTS5's own, of a database in memory that is never written to."""
    connection = apsw.Connection(":memory:")
    tokenizer: Callable[..., Any] = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
    return tokenizer


def cut(analysed: str) -> list[str]:
    """The words of a text."""
    found = _tokenizer()(
        analysed.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return [word if len(word) < LONGEST // 4 else _short(word) for word in found]


def _short(word: str) -> str:
    encoded = word.encode()
    return word if len(encoded) <= LONGEST else "#" + hashlib.sha256(encoded).hexdigest()


class Tsvectors:
    """What is asked of the words of an agent's records. Every word has the agent in front of it."""

    def __init__(self, agent: str) -> None:
        self._prefix = agent + "/"

    def put(self, target: Connection | Cursor, entries: Iterable[Entry]) -> None:
        target.executemany(INSERT, [row for entry in entries for row in self._rows(entry)])

    def replace(self, target: Connection | Cursor, entry: Entry) -> None:
        target.execute("DELETE FROM words WHERE record = ?", (entry[0],))
        target.executemany(INSERT, self._rows(entry))

    def drop(self, target: Connection | Cursor, records: Sequence[int]) -> None:
        target.executemany("DELETE FROM words WHERE record = ?", [(number,) for number in records])

    def clear(self, target: Connection | Cursor) -> None:
        target.execute("DELETE FROM words")

    def purge(self, target: Connection | Cursor) -> None:
        """PostgreSQL takes deleted rows out of its index by itself."""

    def holding(self, source: Connection, word: str, where: str, since: int) -> NDArray[int64]:
        """The numbers of all records from one on that hold a word there, ascending."""
        # Not by the view: the owner is in the words, and PostgreSQL would rather look at all rows of the owner.
        query = f"SELECT record FROM lamina.words WHERE {where} @@ CAST(?1 AS tsquery)"
        query += " AND record >= ?2" if since else ""
        import numpy as np

        return np.unique(
            numbers(source, query, (self._query(cut(word)), since)[: 2 if since else 1])
        )

    def matching(self, source: Connection, phrases: Sequence[str], limit: int) -> list[int]:
        """Some records that hold the words of phrases anywhere; whether they stand together is for the caller to see."""
        wanted = [word for phrase in phrases for word in cut(phrase)]
        if not wanted:
            return []
        query = (
            "SELECT record FROM lamina.words WHERE (said @@ CAST(?1 AS tsquery) OR metadata @@ CAST(?1 AS tsquery))"
            " AND (said || metadata) @@ CAST(?2 AS tsquery) ORDER BY record LIMIT ?3"
        )
        some, every = self._query(wanted, "|"), self._query(wanted)
        return [number for (number,) in rows(source, query, (some, every, limit))]

    def missing(self, source: Connection) -> list[int]:
        """Records without an entry, and entries without a record."""
        query = (
            "SELECT seq FROM records WHERE seq NOT IN (SELECT record FROM words)"
            " UNION SELECT record FROM words WHERE record NOT IN (SELECT seq FROM records)"
        )
        return [seq for (seq,) in source.execute(query)]

    def differs(self, source: Connection, made: Iterable[Entry]) -> bool:
        """Whether the index holds other words than its records."""
        query = (
            "SELECT record, part, tsvector_to_array(said), tsvector_to_array(metadata) FROM words"
        )
        there = {(*row[:2], frozenset(row[2]), frozenset(row[3])) for row in source.execute(query)}
        meant = {
            (*row[:2], frozenset(row[2]), frozenset(row[3]))
            for entry in made
            for row in self._rows(entry)
        }
        return there != meant

    def _rows(self, entry: Entry) -> list[tuple[int, int, list[str], list[str]]]:
        seq, content, tags, metadata = entry
        said, beside = self._words(f"{content} {tags}" if tags else content), self._words(metadata)
        none: list[str] = []
        return [
            (seq, part, *both)
            for part, both in enumerate(zip_longest(said, beside, fillvalue=none))
        ]

    def _words(self, analysed: str) -> list[list[str]]:
        """The words of a text, each once; so many together as a tsvector takes."""
        found = [self._prefix + word for word in dict.fromkeys(cut(analysed))] if analysed else []
        if len(analysed) < SHORT:
            return [found]
        return [found[start : start + AT_ONCE] for start in range(0, len(found), AT_ONCE)]

    def _query(self, words: Sequence[str], by: str = "&") -> str:
        return f" {by} ".join(
            "'" + (self._prefix + word).replace("\\", "\\\\").replace("'", "''") + "'"
            for word in words
        )
