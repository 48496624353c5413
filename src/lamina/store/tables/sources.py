"""How many active memories came from each source outside, by time and by how they begin."""

from __future__ import annotations

from lamina.model.record import State, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables.records import visible

OUTSIDE = f"trust = '{Trust.EXTERNAL}' AND state = '{State.ACTIVE}' AND created_at >= ?2 AND {visible('?1')}"


def arrived(
    connection: Connection, user: str | None, since: int, slot: int
) -> list[tuple[str | None, int, int]]:
    """Each source, a slot of time by its number, and how many memories came from the one in the other."""
    query = f"SELECT source, created_at / ?3, count(*) FROM records WHERE {OUTSIDE} GROUP BY 1, 2 ORDER BY 1, 2"
    return [
        (source, int(number), count)
        for source, number, count in rows(connection, query, (user, since, slot))
    ]


def repeated(
    connection: Connection, user: str | None, since: int, beginning: int, least: int
) -> list[tuple[str | None, int]]:
    """Each source, and how many of its memories begin alike, if those are not few."""
    query = (
        f"SELECT source, count(*) FROM records WHERE {OUTSIDE} GROUP BY source, lower(substr(content, 1, CAST(?3 AS INTEGER)))"
        " HAVING count(*) >= ?4 ORDER BY 1, 2"
    )
    return [
        (source, count)
        for source, count in rows(connection, query, (user, since, beginning, least))
    ]
