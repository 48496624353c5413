"""The users of a store: whoever has a record in it, or had one that is archived."""

from __future__ import annotations

from collections.abc import Callable

from lamina.home.folder import stored_user
from lamina.store.engine.sql import Connection, rows


def resolved(given: object, connected: Callable[[], Connection]) -> str | None:
    """The name of a user as the store has it. Refuse a new one that looks like another."""
    return stored_user(given, lambda name: is_known(connected(), name), lambda: every(connected()))


def is_known(connection: Connection, name: str) -> bool:
    """Whether a record is this user's."""
    query = "SELECT 1 FROM records WHERE user = ?1 UNION ALL SELECT 1 FROM archived WHERE user = ?1 LIMIT 1"
    return connection.execute(query, (name,)).get is not None


def every(connection: Connection) -> list[str]:
    """The names of all users."""
    query = "SELECT user FROM records WHERE user IS NOT NULL UNION SELECT user FROM archived WHERE user IS NOT NULL"
    return sorted(name for (name,) in rows(connection, query))
