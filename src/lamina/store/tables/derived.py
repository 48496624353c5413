"""What is derived from the records, and can be made from them again at any time."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import facets, fulltext, meta
from lamina.store.tables.records import COLUMN, Row, texts
from lamina.text import words

TAG = "INSERT INTO tags (tag, record) VALUES (?, ?)"
LINK = "INSERT INTO links (target, relation, record) VALUES (?, ?, ?)"


def rebuild(connection: Connection, *, vectors: bool = False) -> None:
    """Make the index and the facets anew, and drop what the next indexing makes; inside the caller's transaction."""
    fulltext.rebuild(connection)
    facets.rebuild(connection)
    for table in ("blocks", "codes", "days", *(("vectors", "spaces") if vectors else ())):
        connection.execute(f"DELETE FROM {table}")
    connection.executemany(meta.PUT, [("analyser", str(words.ANALYSER_VERSION)), ("blocks", "0")])


def count_unpacked(connection: Connection) -> int:
    """Count the records that are in no block yet, without what searches need."""
    query = (
        "SELECT coalesce((SELECT max(seq) FROM records), 0) - 256 * (SELECT count(*) FROM blocks)"
    )
    number = connection.execute(query).get
    return number if isinstance(number, int) else 0


def follow(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Keep what follows from new records."""
    fulltext.words(cursor).put(
        cursor, [fulltext.entry(one.seq, one.content, one.tags, one.metadata) for one in stored]
    )
    turn(cursor, stored)


def turn(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Turn tags, references and metadata round, so that they can be asked from the other side."""
    tags = [(tag, one.seq) for one in stored for tag in one.tags]
    links = [
        (target, "evidence", one.seq) for one in stored for target in one.evidence if is_id(target)
    ]
    links += [(target, "supersedes", one.seq) for one in stored for target in one.supersedes]
    plain = [
        (*facet, one.seq)
        for one in stored
        if one.metadata
        for facet in facets.all_of(one.user, one.metadata)
    ]
    for insert, found in ((TAG, tags), (LINK, links), (facets.INSERT, plain)):
        if found:
            cursor.executemany(insert, found)


def forget(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove what follows from records that leave; blocks that still have them are told by the event."""
    numbers = [(row[0],) for row in leaving]
    fulltext.words(cursor).drop(cursor, [row[0] for row in leaving])
    for (space,) in rows(cursor.connection, "SELECT number FROM spaces"):
        cursor.executemany(
            "DELETE FROM vectors WHERE space = ? AND record = ?",
            [(space, *number) for number in numbers],
        )
    chosen = json.dumps([row[0] for row in leaving])
    cursor.execute(
        "DELETE FROM days WHERE record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))",
        (chosen,),
    )
    forget_turned(cursor, leaving)


def forget_turned(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove tags, references and metadata of records, as they were turned round."""
    tags, links, plain = [], [], []
    for row in leaving:
        seq = row[0]
        tags += [(tag, seq) for tag in texts(row[COLUMN["tags"]])]
        links += [
            (target, "evidence", seq) for target in texts(row[COLUMN["evidence"]]) if is_id(target)
        ]
        links += [(target, "supersedes", seq) for target in texts(row[COLUMN["supersedes"]])]
        if row[COLUMN["metadata"]] != "{}":
            metadata = hashing.decode(row[COLUMN["metadata"]])
            plain += [(*facet, seq) for facet in facets.all_of(row[COLUMN["user"]], metadata)]
    cursor.executemany("DELETE FROM tags WHERE tag = ? AND record = ?", tags)
    cursor.executemany("DELETE FROM links WHERE target = ? AND relation = ? AND record = ?", links)
    cursor.executemany("DELETE FROM facets WHERE name = ? AND value = ? AND record = ?", plain)
