"""The users of a store: those who have a record in it or in its archive."""

from __future__ import annotations

import json
from collections.abc import Callable

from lamina.home.folder import stored_user
from lamina.store.engine.sql import Connection, rows

# Step from each user in the index directly to the next: a user may have very many records.
DISTINCT = """
WITH RECURSIVE names (name) AS (
    SELECT min(user) FROM records
    UNION ALL SELECT (SELECT min(user) FROM records WHERE user > name) FROM names
    WHERE name IS NOT NULL
)
SELECT name FROM names WHERE name IS NOT NULL"""
ARCHIVED = "SELECT DISTINCT user FROM archived WHERE user IS NOT NULL"
BEGUN = """
SELECT value FROM json_each(?1)
WHERE EXISTS (SELECT 1 FROM records WHERE user >= value AND user < value || ?2)"""
LAST = chr(0x10FFFF)  # in no name: it sorts after everything that may follow a prefix


def resolved(name: object, connected: Callable[[], Connection]) -> str | None:
    """Return the name of a user as the store spells it; refuse one that looks like another."""
    return stored_user(
        name,
        lambda user: is_known(connected(), user),
        lambda likeness: has_likeness(connected(), likeness),
    )


def is_known(connection: Connection, name: str) -> bool:
    """Tell whether this user has a record in the store or in the archive."""
    query = (
        "SELECT 1 FROM records WHERE user = ?1"
        " UNION ALL SELECT 1 FROM archived WHERE user = ?1 LIMIT 1"
    )
    return connection.execute(query, (name,)).get is not None


def every(connection: Connection) -> list[str]:
    """List the names of all users."""
    return sorted(name for (name,) in rows(connection, f"{DISTINCT} UNION {ARCHIVED}"))


def has_likeness(connection: Connection, likeness: str) -> bool:
    """Tell whether the name of a user has this skeleton.

    The index is searched letter by letter through prefixes that users have: the time depends on the
    length of the name, not on the number of users.
    """
    from lamina.text import lookalikes  # needed for few names, and not when commands start

    beginnings = [""]
    for letter in likeness:
        longer = [start + one for start in beginnings for one in lookalikes.drawn_like(letter)]
        found = rows(connection, BEGUN, (json.dumps(longer), LAST))
        beginnings = [beginning for (beginning,) in found]
    if any(is_known(connection, name) for name in beginnings):
        return True
    archived = rows(connection, ARCHIVED)
    return any(lookalikes.skeleton(name) == likeness for (name,) in archived)
