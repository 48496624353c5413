"""Read the decisions in the events of a store, and store the models learned from them."""

from __future__ import annotations

from typing import NamedTuple

from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events
from lamina.store.tables.events import Body, ChangedRecord


class Decided(NamedTuple):
    """A sign that a record is wanted, or is not, and the weight of this sign."""

    liked: bool
    weight: float


# A decision of an operator counts most; a move that follows from an importance says little about
# it.
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
    """Find the last decision about each record, newest decisions first."""
    query = f"{events.SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?"
    latest: dict[str, Decided] = {}
    seq = events.LAST
    while len(latest) < limit and (page := rows(connection, query, (seq, PAGE))):
        for _, text, _ in page:
            body = events.body_of(text)
            decided = _decision(body)
            if decided is None:
                continue
            for change in body.changes:
                if _concerns(body.action, change):
                    latest.setdefault(change.id, decided)
        seq = page[-1][0]
    return dict(list(latest.items())[:limit])


def _decision(body: Body) -> Decided | None:
    if body.actor.startswith("operator:") and body.action in BY_OPERATORS:
        return BY_OPERATORS[body.action]
    return BY_ANYBODY.get(body.action)


def _concerns(action: str, change: ChangedRecord) -> bool:
    """Tell whether a change was the decision itself, not its consequence for another record."""
    return action not in STATES or change.after.get("state") == STATES[action]


def load(connection: Connection, name: str) -> str | None:
    body = connection.execute("SELECT body FROM models WHERE name = ?", (name,)).get
    return body if isinstance(body, str) else None


def keep(cursor: Cursor, name: str, body: str | None, now: int) -> None:
    """Replace a model; with None, remove it, because there is nothing to learn any more."""
    cursor.execute("DELETE FROM models WHERE name = ?", (name,))
    if body is not None:
        insert = "INSERT INTO models (name, body, made_at) VALUES (?, ?, ?)"
        cursor.execute(insert, (name, body, now))


def forget(cursor: Cursor) -> None:
    """Remove everything that was learned."""
    cursor.execute("DELETE FROM models")


def count_erasures(connection: Connection) -> int:
    """Count the erasures: a model from before one must not be kept after it."""
    number = connection.execute("SELECT count(*) FROM erasures").get
    return number if isinstance(number, int) else 0
