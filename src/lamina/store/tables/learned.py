"""What a store has to learn from, and what was learned: decisions in its events, and models as JSON."""

from __future__ import annotations

from typing import NamedTuple

from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events
from lamina.store.tables.events import Body, Changed


class Decided(NamedTuple):
    """That somebody turned out to care for a record, or not; how much it tells."""

    liked: bool
    weight: float


# What an operator does says most; what moves by itself follows from an importance and says little about it.
BY_OPERATORS = {
    "confirm": Decided(True, 1.0),
    "archive.restore": Decided(True, 1.0),
    "reject": Decided(False, 1.0),
    "rollback": Decided(False, 1.0),
    "forget": Decided(False, 1.0),
    "prune": Decided(False, 1.0),
}
BY_ANYBODY = {
    "promote": Decided(True, 0.25),
    "rotate": Decided(False, 0.25),
    "expire": Decided(False, 0.25),
}
STATES = {
    "confirm": "active",
    "reject": "tombstoned",
    "rollback": "tombstoned",
    "forget": "tombstoned",
}
PAGE = 200


def decisions(connection: Connection, limit: int) -> dict[str, Decided]:
    """The last decision about each record, of the newest that were decided about."""
    found: dict[str, Decided] = {}
    before = events.LAST
    while len(found) < limit:
        page = rows(
            connection, f"{events.SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?", (before, PAGE)
        )
        if not page:
            break
        for seq, text, _ in page:
            before = seq
            body = events.body_of(text)
            decided = _decided(body)
            for change in body.changes if decided is not None else ():
                if decided is not None and _concerns(body.action, change):
                    found.setdefault(change.id, decided)
    return dict(list(found.items())[:limit])


def _decided(body: Body) -> Decided | None:
    if body.actor.startswith("operator:") and body.action in BY_OPERATORS:
        return BY_OPERATORS[body.action]
    return BY_ANYBODY.get(body.action)


def _concerns(action: str, change: Changed) -> bool:
    """Whether a change is what was decided, and not what follows from it, such as the record that another supersedes."""
    return action not in STATES or change.after.get("state") == STATES[action]


def load(connection: Connection, name: str) -> str | None:
    found = connection.execute("SELECT body FROM models WHERE name = ?", (name,)).get
    return found if isinstance(found, str) else None


def keep(cursor: Cursor, name: str, body: str | None, now: int) -> None:
    """Keep what was learned in the place of what was; nothing, when there is nothing to learn any more."""
    cursor.execute("DELETE FROM models WHERE name = ?", (name,))
    if body is not None:
        cursor.execute(
            "INSERT INTO models (name, body, made_at) VALUES (?, ?, ?)", (name, body, now)
        )


def forget(cursor: Cursor) -> None:
    """Remove everything that was learned."""
    cursor.execute("DELETE FROM models")


def count_erasures(connection: Connection) -> int:
    """How often something was erased: what was learned before must not be kept after."""
    number = connection.execute("SELECT count(*) FROM erasures").get
    return number if isinstance(number, int) else 0
