"""The full-text index in a SQLite file: a table of FTS5 that is written in the same transaction as its record."""

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
# How a text becomes words; other stores cut theirs by the same tokenizer, so that the same words match.
TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc"))


class Fts5:
    """What is asked of the words of all records."""

    def put(self, target: Connection | Cursor, entries: Iterable[Entry]) -> None:
        target.executemany(INSERT, entries)

    def replace(self, target: Connection | Cursor, entry: Entry) -> None:
        target.execute(REPLACE, entry)

    def drop(self, target: Connection | Cursor, records: Sequence[int]) -> None:
        target.executemany("DELETE FROM words WHERE rowid = ?", [(number,) for number in records])

    def clear(self, target: Connection | Cursor) -> None:
        target.execute("INSERT INTO words (words) VALUES ('delete-all')")

    def purge(self, target: Connection | Cursor) -> None:
        """Leave nothing of words that no record holds any more."""
        target.execute("INSERT INTO words (words) VALUES ('optimize')")

    def holding(self, source: Connection, word: str, where: str, since: int) -> NDArray[int64]:
        """The numbers of all records from one on that hold a word there, ascending."""
        query = "SELECT rowid AS record FROM words WHERE words MATCH ? AND rowid >= ?"
        return numbers(source, query, (f'{{{COLUMNS[where]}}} : "{word}"', since))

    def matching(self, source: Connection, phrases: Sequence[str], limit: int) -> list[int]:
        """Some records that hold phrases anywhere."""
        said = " ".join(f'"{phrase}"' for phrase in phrases)
        query = "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?"
        return [number for (number,) in rows(source, query, (said or '""', limit))]

    def missing(self, source: Connection) -> list[int]:
        """Records without an entry, and entries without a record."""
        query = (
            "SELECT seq FROM records WHERE seq NOT IN (SELECT rowid FROM words)"
            " UNION SELECT rowid FROM words WHERE rowid NOT IN (SELECT seq FROM records)"
        )
        return [seq for (seq,) in source.execute(query)]

    def differs(self, source: Connection, made: Iterable[Entry]) -> bool:
        """Whether the index holds other words than its records: it is made again in memory, and the two are compared."""
        assert isinstance(source, apsw.Connection)
        connection = apsw.Connection(
            ":memory:", flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        )
        try:
            connection.execute("ATTACH ? AS store", (address(Path(source.filename)),))
            table = str(
                connection.execute("SELECT sql FROM store.sqlite_schema WHERE name = 'words'").get
            )
            connection.execute(table)
            connection.executemany(INSERT, made)
            for place in ("main", "store"):
                connection.execute(
                    f"CREATE VIRTUAL TABLE temp.{place}_words USING fts5vocab ({place}, words, row)"
                )
            one_way = "SELECT term, doc, cnt FROM {} EXCEPT SELECT term, doc, cnt FROM {} LIMIT 1"
            pairs = (("main_words", "store_words"), ("store_words", "main_words"))
            return any(rows(connection, one_way.format(*pair)) for pair in pairs)
        finally:
            connection.close()
