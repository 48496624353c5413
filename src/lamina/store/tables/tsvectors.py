"""The full-text index in PostgreSQL, with FTS5's tokenizer, so that the same words match."""

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

SHORT = 20_000  # characters of a text whose words certainly fit into one tsvector
AT_ONCE = 1500  # words in a tsvector, even if all are of the greatest length
LONGEST = 512  # bytes of a word, as PostgreSQL has a limit; of a longer one, its digest is stored
INSERT = (
    "INSERT INTO words (record, part, said, metadata)"
    " VALUES (?, ?, array_to_tsvector(CAST(? AS text[])), array_to_tsvector(CAST(? AS text[])))"
)


@functools.cache
def _tokenizer() -> Callable[..., Any]:
    """Get the tokenizer of FTS5 from an in-memory database that is never written to."""
    connection = apsw.Connection(":memory:")
    tokenizer: Callable[..., Any] = connection.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
    return tokenizer


def cut(analysed: str) -> list[str]:
    """Split a text into words."""
    only_words = {"include_offsets": False, "include_colocated": False}
    words = _tokenizer()(analysed.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, **only_words)
    if max(map(len, words), default=0) < LONGEST // 4:
        return list(words)
    return [_short(word) for word in words]


def _short(word: str) -> str:
    encoded = word.encode()
    return word if len(encoded) <= LONGEST else "#" + hashlib.sha256(encoded).hexdigest()


class Tsvectors:
    """The words of an agent's records as tsvectors; every word is prefixed with the agent."""

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
        """Do nothing: PostgreSQL removes deleted rows from its index itself."""

    def holding(self, source: Connection, word: str, where: str, since: int) -> NDArray[int64]:
        """List the records from number `since` on that contain a word in this part, ascending."""
        import numpy as np

        # Not through the view: the words include the owner, and the view would make PostgreSQL read
        # all rows of the owner.
        query = f"SELECT record FROM lamina.words WHERE {where} @@ CAST(?1 AS tsquery)"
        parameters: list[str | int] = [self.query(cut(word))]
        if since:
            query += " AND record >= ?2"
            parameters.append(since)
        return np.unique(numbers(source, query, parameters))

    def matching(self, source: Connection, phrases: Sequence[str], limit: int) -> list[int]:
        """List some records that contain all words of the phrases, not necessarily side by side."""
        wanted = [word for phrase in phrases for word in cut(phrase)]
        if not wanted:
            return []
        query = (
            "SELECT record FROM lamina.words"
            " WHERE (said @@ CAST(?1 AS tsquery) OR metadata @@ CAST(?1 AS tsquery))"
            " AND (said || metadata) @@ CAST(?2 AS tsquery) ORDER BY record LIMIT ?3"
        )
        some, every = self.query(wanted, "|"), self.query(wanted)
        return [number for (number,) in rows(source, query, (some, every, limit))]

    def missing(self, source: Connection) -> list[int]:
        """List records without an entry, and entries without a record."""
        query = (
            "SELECT seq FROM records WHERE seq NOT IN (SELECT record FROM words)"
            " UNION SELECT record FROM words WHERE record NOT IN (SELECT seq FROM records)"
        )
        return [seq for (seq,) in source.execute(query)]

    def differs(self, source: Connection, entries: Iterable[Entry]) -> bool:
        """Tell whether the index differs from these entries of its records."""
        query = (
            "SELECT record, part, tsvector_to_array(said), tsvector_to_array(metadata) FROM words"
        )
        actual = {_unordered(*row) for row in source.execute(query)}
        expected = {_unordered(*row) for entry in entries for row in self._rows(entry)}
        return actual != expected

    def _rows(self, entry: Entry) -> list[tuple[int, int, list[str], list[str]]]:
        seq, content, tags, metadata = entry
        said = self._words(f"{content} {tags}" if tags else content)
        no_words: list[str] = []
        parts = zip_longest(said, self._words(metadata), fillvalue=no_words)
        return [(seq, part, *both) for part, both in enumerate(parts)]

    def _words(self, analysed: str) -> list[list[str]]:
        """Split the distinct words of a text into groups that each fit into one tsvector."""
        words = [self._prefix + word for word in dict.fromkeys(cut(analysed))] if analysed else []
        if len(analysed) < SHORT:
            return [words]
        return [words[start : start + AT_ONCE] for start in range(0, len(words), AT_ONCE)]

    def query(self, words: Sequence[str], by: str = "&") -> str:
        """Write a query for the words, all of them or any."""
        escaped = ((self._prefix + word).replace("\\", "\\\\").replace("'", "''") for word in words)
        return f" {by} ".join(f"'{word}'" for word in escaped)


def _unordered(record: int, part: int, said: Iterable[str], metadata: Iterable[str]) -> object:
    """Make a row comparable: a tsvector sorts its words."""
    return record, part, frozenset(said), frozenset(metadata)
