"""The full-text index in a SQLite file: an FTS5 table, written together with the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from lamina.store.engine.sql import Connection, Cursor, numbers, rows
from lamina.store.engine.sqlite import address

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from lamina.store.tables.fulltext import Entry

INSERT = "INSERT INTO words (rowid, content, tags, metadata) VALUES (?, ?, ?, ?)"
REPLACE = "REPLACE" + INSERT.removeprefix("INSERT")
COLUMNS = {"said": "content tags", "metadata": "metadata"}
# The tokenizer that splits a text into words. PostgreSQL uses it too, to match the same words.
TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc"))


class Fts5:
    """The words of all records, in an FTS5 table."""

    def put(self, target: Connection | Cursor, entries: Iterable[Entry]) -> None:
        target.executemany(INSERT, entries)

    def replace(self, target: Connection | Cursor, entry: Entry) -> None:
        target.execute(REPLACE, entry)

    def drop(self, target: Connection | Cursor, records: Sequence[int]) -> None:
        target.executemany("DELETE FROM words WHERE rowid = ?", [(number,) for number in records])

    def clear(self, target: Connection | Cursor) -> None:
        target.execute("INSERT INTO words (words) VALUES ('delete-all')")

    def purge(self, target: Connection | Cursor) -> None:
        """Remove the remains of words that no record contains any more."""
        target.execute("INSERT INTO words (words) VALUES ('optimize')")

    def holding(self, source: Connection, word: str, where: str, since: int) -> NDArray[int64]:
        """List the records from number `since` on that contain a word in this part, ascending."""
        query = "SELECT rowid AS record FROM words WHERE words MATCH ? AND rowid >= ?"
        return numbers(source, query, (f'{{{COLUMNS[where]}}} : "{word}"', since))

    def matching(self, source: Connection, phrases: Sequence[str], limit: int) -> list[int]:
        """List some records that contain all phrases."""
        pattern = " ".join(f'"{phrase}"' for phrase in phrases) or '""'
        query = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
        return [number for (number,) in rows(source, query, (pattern, limit))]

    def missing(self, source: Connection) -> list[int]:
        """List records without an entry, and entries without a record."""
        query = (
            "SELECT seq FROM records WHERE seq NOT IN (SELECT rowid FROM words)"
            " UNION SELECT rowid FROM words WHERE rowid NOT IN (SELECT seq FROM records)"
        )
        return [seq for (seq,) in source.execute(query)]

    def differs(self, source: Connection, entries: Iterable[Entry]) -> bool:
        """Tell whether the index differs from these entries of its records.

        It is rebuilt in memory, and the two are compared.
        """
        assert isinstance(source, apsw.Connection)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(":memory:", flags=flags)
        try:
            connection.execute("ATTACH ? AS store", (address(Path(source.filename)),))
            definition = "SELECT sql FROM store.sqlite_schema WHERE name = 'words'"
            connection.execute(str(connection.execute(definition).get))
            connection.executemany(INSERT, entries)
            for schema in ("main", "store"):
                vocabulary = f"fts5vocab ({schema}, words, row)"
                connection.execute(f"CREATE VIRTUAL TABLE temp.{schema}_words USING {vocabulary}")
            less = "SELECT term, doc, cnt FROM {} EXCEPT SELECT term, doc, cnt FROM {} LIMIT 1"
            pairs = (("main_words", "store_words"), ("store_words", "main_words"))
            return any(rows(connection, less.format(*pair)) for pair in pairs)
        finally:
            connection.close()
