"""What is derived from the records, and can be made from them again at any time."""

from __future__ import annotations

import apsw

from lamina import text
from lamina.store import facets, fulltext


def rebuild(connection: apsw.Connection, *, vectors: bool = False) -> None:
    """Make the index and the facets anew, and drop what the next indexing makes; inside the caller's transaction."""
    fulltext.rebuild(connection)
    facets.rebuild(connection)
    for table in ("blocks", "codes", "days", *(("vectors", "spaces") if vectors else ())):
        connection.execute(f"DELETE FROM {table}")
    put = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    connection.executemany(put, [("analyser", str(text.ANALYSER_VERSION)), ("blocks", "0")])
