"""The full-text index: written in the same transaction as its record, read with the filter inside the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apsw

from lamina import text
from lamina.store import records
from lamina.store.records import Filter, Row

INSERT = "INSERT INTO words (rowid, content, tags) VALUES (?, ?, ?)"
# Words of the text count fully, words of the tags half.
BM25 = "bm25(words, 1.0, 0.5)"


def entry(seq: int, content: str, tags: Iterable[str]) -> tuple[int, str, str]:
    """What the index holds about a record."""
    return seq, text.analyse(content), text.analyse(" ".join(tags)) if tags else ""


def matches(connection: apsw.Connection, match: str, chosen: Filter, limit: int) -> Iterator[tuple[float, Row]]:
    """The best matches with their relevance, best first; ties by sequence, so that the cut is always the same."""
    where, parameters = chosen.where()
    columns = ", ".join(f"records.{name}" for name in records.COLUMNS)
    query = (
        f"SELECT -{BM25} AS relevance, {columns} FROM words JOIN records ON records.seq = words.rowid"
        f" WHERE words MATCH ? AND {where} ORDER BY relevance DESC, records.seq DESC LIMIT ?"
    )
    for row in connection.execute(query, (match, *parameters, limit)):
        yield row[0], row[1:]


def rebuild(connection: apsw.Connection) -> None:
    """Make the index anew from the records, inside the caller's transaction."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.executemany(INSERT, (_entry_of(row) for row in list(records.every(connection))))


def missing(connection: apsw.Connection) -> list[int]:
    """Records without an entry, and entries without a record."""
    query = (
        "SELECT seq FROM records WHERE seq NOT IN (SELECT rowid FROM words)"
        " UNION SELECT rowid FROM words WHERE rowid NOT IN (SELECT seq FROM records)"
    )
    return [seq for (seq,) in connection.execute(query)]


def _entry_of(row: Row) -> tuple[int, str, str]:
    return entry(row[0], row[records.PLACE["content"]], records.texts(row[records.PLACE["tags"]]))
