"""The full-text index: written in the same transaction as its record, read with the filter inside the query."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import apsw

from lamina import text
from lamina.store import records
from lamina.store.connection import rows
from lamina.store.records import Filter, Row

INSERT = "INSERT INTO words (rowid, content, tags) VALUES (?, ?, ?)"
# Words of the text count fully, words of the tags half.
BM25 = "bm25(words, 1.0, 0.5)"
MICROS_PER_DAY = 86_400_000_000.0


def entry(seq: int, content: str, tags: Iterable[str]) -> tuple[int, str, str]:
    """What the index holds about a record."""
    return seq, text.analyse(content), text.analyse(" ".join(tags)) if tags else ""


class Weights(NamedTuple):
    """How much recency and importance may add to a relevance of at most 1."""

    recency: float
    importance: float


def matches(
    connection: apsw.Connection, match: str, chosen: Filter, now: int, weights: Weights, limit: int
) -> list[tuple[float, Row]]:
    """The best matches, each with its relevance as a share of the best one's; equal ones by sequence."""
    where, parameters = chosen.where()
    columns = ", ".join(f"records.{name}" for name in records.COLUMNS)
    query = (
        f"WITH found AS (SELECT -{BM25} AS relevance, records.seq AS seq, records.occurred_at AS at,"
        " records.importance AS importance FROM words JOIN records ON records.seq = words.rowid"
        f" WHERE words MATCH ? AND {where}),"
        " weighed AS (SELECT *, relevance / max(relevance) OVER () AS share FROM found),"
        f" best AS (SELECT share, seq, share + ? / (1.0 + max(0, ? - at) / {MICROS_PER_DAY}) + ? * importance AS score"
        " FROM weighed ORDER BY score DESC, seq DESC LIMIT ?)"
        f" SELECT best.share, {columns} FROM best JOIN records USING (seq) ORDER BY best.score DESC, seq DESC"
    )
    scored = (match, *parameters, weights.recency, now, weights.importance, limit)
    return [(row[0], row[1:]) for row in rows(connection, query, scored)]


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


def differs(path: Path) -> bool:
    """Whether the index holds other words than its records: it is made again in memory, and the two are compared."""
    connection = apsw.Connection(":memory:", flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    try:
        connection.execute("ATTACH ? AS store", (f"{path.as_uri()}?mode=ro",))
        made = str(connection.execute("SELECT sql FROM store.sqlite_schema WHERE name = 'words'").get)
        connection.execute(made)
        stored = connection.execute(f"SELECT {', '.join(records.COLUMNS)} FROM store.records")
        connection.executemany(INSERT, map(_entry_of, stored))
        for place in ("main", "store"):
            connection.execute(f"CREATE VIRTUAL TABLE temp.{place}_words USING fts5vocab ({place}, words, row)")
        one_way = "SELECT term, doc, cnt FROM {} EXCEPT SELECT term, doc, cnt FROM {} LIMIT 1"
        pairs = (("main_words", "store_words"), ("store_words", "main_words"))
        return any(rows(connection, one_way.format(*pair)) for pair in pairs)
    finally:
        connection.close()


def _entry_of(row: Row) -> tuple[int, str, str]:
    return entry(row[0], row[records.PLACE["content"]], records.texts(row[records.PLACE["tags"]]))
