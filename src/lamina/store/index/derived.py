"""Derive words, tags, links and facets from the records; all can be made again at any time."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events, facets, fulltext
from lamina.store.tables.records import COLUMN, Row, texts
from lamina.text import words

TAG = "INSERT INTO tags (tag, record) VALUES (?, ?)"
LINK = "INSERT INTO links (target, relation, record) VALUES (?, ?, ?)"


def rebuild(connection: Connection, *, vectors: bool = False) -> None:
    """Make words and facets anew, and drop what the next indexing makes.

    It happens inside the caller's transaction.
    """
    fulltext.rebuild(connection)
    facets.rebuild(connection)
    for table in ("blocks", "codes", "days", *(("vectors", "spaces") if vectors else ())):
        connection.execute(f"DELETE FROM {table}")
    meta = [("analyser", str(words.ANALYSER_VERSION)), ("blocks", "0")]
    connection.executemany(events.PUT_META, meta)


def follow(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Index new records: their words, and what `turn` writes."""
    entries = [
        fulltext.entry(record.seq, record.content, record.tags, record.metadata)
        for record in stored
    ]
    fulltext.words(cursor).put(cursor, entries)
    turn(cursor, stored)


def turn(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Write the tables by which records are found from their tags, links and metadata."""
    tags: list[tuple[str, int]] = []
    links: list[tuple[str, str, int]] = []
    found_by: list[tuple[str, str, int]] = []
    for record in stored:
        seq = record.seq
        tags += [(tag, seq) for tag in record.tags]
        links += [(target, "evidence", seq) for target in record.evidence if is_id(target)]
        links += [(target, "supersedes", seq) for target in record.supersedes]
        if record.metadata:
            found_by += [(*facet, seq) for facet in facets.all_of(record.user, record.metadata)]
    if tags:
        cursor.executemany(TAG, tags)
    if links:
        cursor.executemany(LINK, links)
    if found_by:
        cursor.executemany(facets.INSERT, found_by)


def forget(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove what was derived from records that leave.

    Blocks may still have them; readers learn from the event that they are gone.
    """
    numbers = [row[0] for row in leaving]
    fulltext.words(cursor).drop(cursor, numbers)
    for (space,) in rows(cursor.connection, "SELECT number FROM spaces"):
        delete = "DELETE FROM vectors WHERE space = ? AND record = ?"
        cursor.executemany(delete, [(space, number) for number in numbers])
    delete = "DELETE FROM days WHERE record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    cursor.execute(delete, (json.dumps(numbers),))
    forget_turned(cursor, leaving)


def forget_turned(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove what `turn` wrote for these records."""
    tags: list[tuple[str, int]] = []
    links: list[tuple[str, str, int]] = []
    found_by: list[tuple[str, str, int]] = []
    for row in leaving:
        seq, evidence, metadata = row[0], row[COLUMN["evidence"]], row[COLUMN["metadata"]]
        tags += [(tag, seq) for tag in texts(row[COLUMN["tags"]])]
        links += [(target, "evidence", seq) for target in texts(evidence) if is_id(target)]
        links += [(target, "supersedes", seq) for target in texts(row[COLUMN["supersedes"]])]
        if metadata != "{}":
            pairs = facets.all_of(row[COLUMN["user"]], hashing.decode(metadata))
            found_by += [(*facet, seq) for facet in pairs]
    cursor.executemany("DELETE FROM tags WHERE tag = ? AND record = ?", tags)
    cursor.executemany("DELETE FROM links WHERE target = ? AND relation = ? AND record = ?", links)
    cursor.executemany("DELETE FROM facets WHERE name = ? AND value = ? AND record = ?", found_by)
