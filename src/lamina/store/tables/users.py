"""The users of a store: those who have a record in it or in its archive."""

from __future__ import annotations

from collections.abc import Callable

from lamina.home.folder import stored_user
from lamina.store.engine.sql import Connection, rows

# From each user in the index straight to the next one: a user may have very many records.
DISTINCT = """
WITH RECURSIVE names (name) AS (
    SELECT min(user) FROM records
    UNION ALL SELECT (SELECT min(user) FROM records WHERE user > name) FROM names
    WHERE name IS NOT NULL
)
SELECT name FROM names WHERE name IS NOT NULL"""


def resolved(name: object, connected: Callable[[], Connection]) -> str | None:
    """Spell the name of a user as the store does; refuse a new one that looks like another."""
    return stored_user(name, lambda user: is_known(connected(), user), lambda: every(connected()))


def is_known(connection: Connection, name: str) -> bool:
    """Tell whether this user has a record in the store or in the archive."""
    query = (
        "SELECT 1 FROM records WHERE user = ?1"
        " UNION ALL SELECT 1 FROM archived WHERE user = ?1 LIMIT 1"
    )
    return connection.execute(query, (name,)).get is not None


def every(connection: Connection) -> list[str]:
    """List the names of all users."""
    archived = "SELECT user FROM archived WHERE user IS NOT NULL"
    return sorted(name for (name,) in rows(connection, f"{DISTINCT} UNION {archived}"))
