"""What sleep reads: episodes that it has not read yet, and the facts that there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import apsw

from lamina.clock import from_micros, to_micros
from lamina.model import Layer, Record
from lamina.store import records
from lamina.store.connection import rows
from lamina.store.records import PLACE, Row

if TYPE_CHECKING:
    from lamina.store.store import Store

RECENT = 20_000
ACTIVITY = (
    "SELECT body ->> 'at' FROM (SELECT body FROM events ORDER BY seq DESC LIMIT ?) WHERE body ->> 'actor' NOT LIKE 'system:%'"
)
# What is older has been summed up, or will not be.
LATELY = timedelta(days=90)
SUMMARISED = (
    "SELECT DISTINCT l.target FROM links l JOIN records r ON r.seq = l.record WHERE l.relation = 'evidence'"
    " AND r.layer = 'episodic' AND r.seq IN (SELECT record FROM facets WHERE name = 'origin' AND value = 'sleep')"
)
AGING = (
    "SELECT r.seq, r.event, r.id, r.layer, r.importance,"
    " CASE WHEN a.adjusted = r.importance THEN a.original ELSE r.importance END, r.created_at"
    " FROM records r LEFT JOIN aged a ON a.record = r.seq"
    " WHERE r.layer IN ('short_term', 'episodic', 'semantic') AND r.state = 'active' ORDER BY r.seq"
)
EPISODES = f"{records.SELECT} WHERE layer = 'episodic' AND state = 'active'"


class Marks(NamedTuple):
    """How far sleep has read: up to which number, and of older ones up to which time of their promotion."""

    seq: int = 0
    promoted: int = 0


class Aging(NamedTuple):
    """What decides how much a record matters by now."""

    seq: int
    event: int
    id: str
    layer: Layer
    importance: float
    original: float
    created_at: datetime


class Night:
    """What sleep reads of a store, each look at one moment of it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def slept(self) -> Marks:
        """How far sleep has read."""
        with self._store.database.snapshot() as connection:
            return marks(connection)

    def unread(self, since: Marks, limit: int) -> tuple[list[Record], Marks]:
        """The next episodes that sleep has not read, and how far it has with them."""
        with self._store.database.snapshot() as connection:
            found, after = unread(connection, since, limit)
        return [self._store.record(row) for row in found], after

    def count_unread(self) -> int:
        with self._store.database.snapshot() as connection:
            return count_unread(connection, marks(connection))

    def facts(self, states: tuple[str, ...], user: str | None) -> list[Record]:
        """Records with a subject, an attribute and a value, in their order."""
        with self._store.database.snapshot() as connection:
            return [self._store.record(row) for row in facts(connection, states, user)]

    def episodes(self, ids: Sequence[str]) -> dict[str, str]:
        """The episode that each of some turns belongs to."""
        with self._store.database.snapshot() as connection:
            return episodes(connection, ids)

    def unsummarised(self, now: datetime) -> tuple[list[Record], list[str]]:
        """What happened lately, and which of it is part of a summary already."""
        since = to_micros(now - LATELY)
        with self._store.database.snapshot() as connection:
            found = rows(connection, f"{EPISODES} AND created_at > ? ORDER BY seq", (since,))
            return [self._store.record(row) for row in found], [target for (target,) in rows(connection, SUMMARISED)]

    def endings(self, now: datetime) -> tuple[list[Record], list[Record]]:
        """How tasks have ended lately, and the notes of their runs."""
        status = "seq IN (SELECT record FROM facets WHERE name = 'status')"
        with self._store.database.snapshot() as connection:
            found = rows(connection, f"{EPISODES} AND created_at > ? AND {status} ORDER BY seq", (to_micros(now - LATELY),))
            endings = [self._store.record(row) for row in found]
            wanted = json.dumps([one for ending in endings for one in ending.evidence])
            query = f"{records.SELECT} WHERE layer = 'working' AND id IN (SELECT value FROM json_each(?)) ORDER BY seq"
            return endings, [self._store.record(row) for row in rows(connection, query, (wanted,))]

    def aging(self) -> list[Aging]:
        """The active records whose importance may change with time, and what it was before sleep changed it."""
        with self._store.database.snapshot() as connection:
            return [
                Aging(seq, event, record_id, Layer(layer), importance, original, from_micros(created))
                for seq, event, record_id, layer, importance, original, created in rows(connection, AGING)
            ]

    def activity(self) -> tuple[datetime | None, list[int]]:
        """When anybody but the system last changed something, and how much of that fell on each hour of the day."""
        with self._store.database.snapshot() as connection:
            times = [from_micros(at) for (at,) in rows(connection, ACTIVITY, (RECENT,))]
        by_hour = [0] * 24
        for at in times:
            by_hour[at.hour] += 1
        return (times[0] if times else None), by_hour


def marks(connection: apsw.Connection) -> Marks:
    return Marks(**dict(rows(connection, "SELECT mark, value FROM slept")))


def advance(cursor: apsw.Cursor, to: Marks) -> None:
    put = "INSERT INTO slept (mark, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    cursor.executemany(put, list(to._asdict().items()))


def age(cursor: apsw.Cursor, aged: Sequence[tuple[int, float, float]]) -> None:
    """Keep the original importance of records beside what it became."""
    cursor.executemany("INSERT OR REPLACE INTO aged (record, original, adjusted) VALUES (?, ?, ?)", aged)


def unread(connection: apsw.Connection, since: Marks, limit: int) -> tuple[list[Row], Marks]:
    """The next episodes, and how far sleep has read with them: new ones first, then those that were promoted later.

    Those that were promoted at one moment are not parted.
    """
    found = list(rows(connection, f"{EPISODES} AND seq > ? ORDER BY seq LIMIT ?", (since.seq, limit)))
    if found:
        return found, since._replace(seq=found[-1][PLACE["seq"]])
    older, ordered = f"{EPISODES} AND seq <= ? AND promoted_at > ?", "ORDER BY promoted_at, seq"
    found = list(rows(connection, f"{older} {ordered} LIMIT ?", (*since, limit)))
    if len(found) == limit:
        last = found[-1][PLACE["promoted_at"]]
        found = list(rows(connection, f"{older} AND promoted_at <= ? {ordered}", (*since, last)))
    return found, since._replace(promoted=found[-1][PLACE["promoted_at"]]) if found else since


def count_unread(connection: apsw.Connection, since: Marks) -> int:
    query = f"SELECT count(*) FROM ({EPISODES} AND (seq > ? OR promoted_at > ?))"
    return int(str(connection.execute(query, since).get))


def episodes(connection: apsw.Connection, ids: Sequence[str]) -> dict[str, str]:
    """The episode that each of some turns belongs to: what has it as evidence, and tells who took part."""
    query = (
        "SELECT l.target, r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'evidence' AND l.target IN (SELECT value FROM json_each(?))"
        " AND r.layer = 'episodic' AND r.metadata -> 'participants' IS NOT NULL ORDER BY r.seq DESC"
    )
    return dict(rows(connection, query, (json.dumps(list(ids)),)))


def facts(connection: apsw.Connection, states: tuple[str, ...], user: str | None) -> list[Row]:
    """The rows of facts, which have an attribute."""
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND state IN ({records.marks(states)})"
        " AND seq IN (SELECT record FROM facets WHERE name = 'attribute')"
        " AND (? IS NULL OR user IS NULL OR user = ?) ORDER BY seq"
    )
    return list(rows(connection, query, (*states, user, user)))
