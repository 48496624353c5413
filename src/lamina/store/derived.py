"""What is derived from the records, and can be made from them again at any time."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from lamina import canon, text
from lamina.clock import is_id
from lamina.store import facets, fulltext
from lamina.store.connection import rows
from lamina.store.records import PLACE, Row, texts


def rebuild(connection: apsw.Connection, *, vectors: bool = False) -> None:
    """Make the index and the facets anew, and drop what the next indexing makes; inside the caller's transaction."""
    fulltext.rebuild(connection)
    facets.rebuild(connection)
    for table in ("blocks", "codes", "days", *(("vectors", "spaces") if vectors else ())):
        connection.execute(f"DELETE FROM {table}")
    put = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    connection.executemany(put, [("analyser", str(text.ANALYSER_VERSION)), ("blocks", "0")])


def forget(cursor: apsw.Cursor, leaving: Sequence[Row]) -> None:
    """Remove what follows from records that leave; blocks that still have them are told by the event."""
    numbers = [(row[0],) for row in leaving]
    cursor.executemany("DELETE FROM words WHERE rowid = ?", numbers)
    for (space,) in rows(cursor.connection, "SELECT number FROM spaces"):
        cursor.executemany("DELETE FROM vectors WHERE space = ? AND record = ?", [(space, *number) for number in numbers])
    chosen = json.dumps([row[0] for row in leaving])
    cursor.execute("DELETE FROM days WHERE record IN (SELECT value FROM json_each(?))", (chosen,))
    forget_turned(cursor, leaving)


def forget_turned(cursor: apsw.Cursor, leaving: Sequence[Row]) -> None:
    """Remove tags, references and metadata of records, as they were turned round."""
    tags, links, plain = [], [], []
    for row in leaving:
        seq = row[0]
        tags += [(tag, seq) for tag in texts(row[PLACE["tags"]])]
        links += [(target, "evidence", seq) for target in texts(row[PLACE["evidence"]]) if is_id(target)]
        links += [(target, "supersedes", seq) for target in texts(row[PLACE["supersedes"]])]
        if row[PLACE["metadata"]] != "{}":
            plain += [(*facet, seq) for facet in facets.of(canon.decode(row[PLACE["metadata"]]))]
    cursor.executemany("DELETE FROM tags WHERE tag = ? AND record = ?", tags)
    cursor.executemany("DELETE FROM links WHERE target = ? AND relation = ? AND record = ?", links)
    cursor.executemany("DELETE FROM facets WHERE name = ? AND value = ? AND record = ?", plain)
