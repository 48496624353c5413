"""The full-text index: written in the same transaction as its record, asked for the records that hold a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from lamina import canon, text, traces
from lamina.store import records
from lamina.store.connection import rows
from lamina.store.records import Row

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

INSERT = "INSERT INTO words (rowid, content, tags, metadata) VALUES (?, ?, ?, ?)"
REPLACE = "REPLACE" + INSERT.removeprefix("INSERT")
# The columns that a word is looked for in.
TEXT = "content tags"
METADATA = "metadata"


def entry(seq: int, content: str, tags: Iterable[str], metadata: Mapping[str, Any]) -> tuple[int, str, str, str]:
    """What the index holds about a record."""
    own = text.analyse(" ".join(traces.strings(metadata))) if metadata else ""
    return seq, text.analyse(content), text.analyse(" ".join(tags)) if tags else "", own


def holding(connection: apsw.Connection, word: str, columns: str = TEXT) -> NDArray[int64]:
    """The numbers of all records that hold a word, ascending.

    They come as one text: handing over row by row would take longer than finding them.
    """
    import numpy as np

    query = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
    found = connection.execute(query, (f'{{{columns}}} : "{word}"',)).get
    return np.fromstring(found, np.int64, sep=",") if found else np.zeros(0, np.int64)


def rebuild(connection: apsw.Connection) -> None:
    """Make the index anew from the records, inside the caller's transaction."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.executemany(INSERT, map(_entry_of, list(records.every(connection))))


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


def _entry_of(row: Row) -> tuple[int, str, str, str]:
    place = records.PLACE
    metadata = row[place["metadata"]]
    own = {} if metadata == "{}" else canon.decode(metadata)
    return entry(row[0], row[place["content"]], records.texts(row[place["tags"]]), own)
