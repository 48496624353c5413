"""Derive words, tags, links and facets from the records; all can be rebuilt at any time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import facets, fulltext, meta
from lamina.store.tables.records import COLUMN, Row, texts
from lamina.text import words

TAG = "INSERT INTO tags (tag, record) VALUES (?, ?)"
LINK = "INSERT INTO links (target, relation, record) VALUES (?, ?, ?)"
TURNED = "SELECT seq, user, tags, evidence, supersedes, metadata FROM records"
AT_ONCE = 10_000  # records


def rebuild(connection: Connection, *, vectors: bool = False) -> None:
    """Rebuild words, tags, links and facets, and drop what the next indexing makes.

    It happens inside the caller's transaction.
    """
    fulltext.rebuild(connection)
    rebuild_turned(connection)
    for table in ("blocks", "codes", "days", *(("vectors", "tokens", "spaces") if vectors else ())):
        connection.execute(f"DELETE FROM {table}")
    connection.executemany(meta.PUT, [("analyser", str(words.ANALYSER_VERSION)), ("blocks", "0")])


def rebuild_turned(connection: Connection) -> None:
    """Rebuild what `turn` writes, for all records."""
    for table in ("tags", "links", "facets"):
        connection.execute(f"DELETE FROM {table}")
    stored = rows(connection, TURNED)
    for start in range(0, len(stored), AT_ONCE):
        turned = Turned()
        for row in stored[start : start + AT_ONCE]:
            turned.add_stored(*row)
        turned.write(connection)


def count_unpacked(connection: Connection) -> int:
    """Count the records that are not in a block yet and lack what searches need."""
    query = (
        "SELECT coalesce((SELECT max(seq) FROM records), 0) - 256 * (SELECT count(*) FROM blocks)"
    )
    number = connection.execute(query).get
    return number if isinstance(number, int) else 0


def follow(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Index new records: their words, and what `turn` writes."""
    entries = [
        fulltext.entry(record.seq, record.content, record.tags, record.metadata)
        for record in stored
    ]
    fulltext.words(cursor).put(cursor, entries)
    turn(cursor, stored)


def turn(cursor: Cursor, stored: Sequence[Record]) -> None:
    """Write the tables that lead from tags, links and metadata to their records."""
    turned = Turned()
    for record in stored:
        evidence, supersedes = record.evidence, record.supersedes
        turned.add(record.seq, record.user, record.tags, evidence, supersedes, record.metadata)
    turned.write(cursor)


def forget(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove what was derived from records that leave.

    Blocks may still contain them; readers learn from the event that they are gone.
    """
    numbers = [row[0] for row in leaving]
    fulltext.words(cursor).drop(cursor, numbers)
    for (space,) in rows(cursor.connection, "SELECT number FROM spaces"):
        for table in ("vectors", "tokens"):
            delete = f"DELETE FROM {table} WHERE space = ? AND record = ?"
            cursor.executemany(delete, [(space, number) for number in numbers])
    delete = "DELETE FROM days WHERE record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    cursor.execute(delete, (json.dumps(numbers),))
    forget_turned(cursor, leaving)


def forget_turned(cursor: Cursor, leaving: Sequence[Row]) -> None:
    """Remove what `turn` wrote for these records."""
    turned = Turned()
    names = ("user", "tags", "evidence", "supersedes", "metadata")
    for row in leaving:
        turned.add_stored(row[0], *(row[COLUMN[name]] for name in names))
    delete = "DELETE FROM tags WHERE tag = ? AND record = ?"
    cursor.executemany(delete, turned.tags)
    delete = "DELETE FROM links WHERE target = ? AND relation = ? AND record = ?"
    cursor.executemany(delete, turned.links)
    delete = "DELETE FROM facets WHERE name = ? AND value = ? AND record = ?"
    cursor.executemany(delete, turned.facets)


class Turned:
    """Rows of the tables `tags`, `links` and `facets`, which lead from a value to its records."""

    def __init__(self) -> None:
        self.tags: list[tuple[str, int]] = []
        self.links: list[tuple[str, str, int]] = []
        self.facets: list[tuple[str, str, int]] = []

    def add(
        self,
        seq: int,
        user: str | None,
        tags: Sequence[str],
        evidence: Sequence[str],
        supersedes: Sequence[str],
        metadata: Mapping[str, Any],
    ) -> None:
        if tags:
            self.tags += [(tag, seq) for tag in tags]
        if evidence:
            self.links += [(target, "evidence", seq) for target in evidence if is_id(target)]
        if supersedes:
            self.links += [(target, "supersedes", seq) for target in supersedes]
        if metadata:
            self.facets += [(*facet, seq) for facet in facets.all_of(user, metadata)]

    def add_stored(
        self,
        seq: int,
        user: str | None,
        tags: str,
        evidence: str,
        supersedes: str,
        metadata: str,
    ) -> None:
        """Add a record by its stored columns."""
        decoded = {} if metadata == "{}" else hashing.decode(metadata)
        self.add(seq, user, texts(tags), texts(evidence), texts(supersedes), decoded)

    def write(self, target: Connection | Cursor) -> None:
        """Insert all rows; skip tables without any."""
        if self.tags:
            target.executemany(TAG, self.tags)
        if self.links:
            target.executemany(LINK, self.links)
        if self.facets:
            target.executemany(facets.INSERT, self.facets)
