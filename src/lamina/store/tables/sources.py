"""Count the active memories from each outside source, by time and by their first words."""

from __future__ import annotations

from lamina.model.record import State, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables.records import visible

OUTSIDE = (
    f"trust = '{Trust.EXTERNAL}' AND state = '{State.ACTIVE}' AND created_at >= ?2"
    f" AND {visible('?1')}"
)


def arrived(
    connection: Connection, user: str | None, since: int, slot: int
) -> list[tuple[str | None, int, int]]:
    """Count memories by source and by interval of time, which is identified by its number."""
    query = (
        f"SELECT source, created_at / ?3, count(*) FROM records WHERE {OUTSIDE}"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    )
    counts = rows(connection, query, (user, since, slot))
    return [(source, int(number), count) for source, number, count in counts]


def repeated(
    connection: Connection, user: str | None, since: int, beginning: int, least: int
) -> list[tuple[str | None, int]]:
    """Count the memories of a source that begin alike, if there are at least `least`."""
    query = (
        f"SELECT source, count(*) FROM records WHERE {OUTSIDE}"
        " GROUP BY source, lower(substr(content, 1, CAST(?3 AS INTEGER)))"
        " HAVING count(*) >= ?4 ORDER BY 1, 2"
    )
    counts = rows(connection, query, (user, since, beginning, least))
    return [(source, count) for source, count in counts]
