"""What sleep reads: episodes that it has not read yet, and the facts that there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from lamina.model.clock import from_micros, to_micros
from lamina.model.record import Layer, Record
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events, records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import COLUMN, Row

RECENT = 20_000
LONGEST_SESSION = 5_000
ACTIVITY = (
    "SELECT CAST(body ->> 'at' AS BIGINT) FROM (SELECT body FROM events ORDER BY seq DESC LIMIT ?) AS recent"
    " WHERE body ->> 'actor' NOT LIKE 'system:%'"
)
# What is older has been summed up, or will not be.
LATELY = timedelta(days=90)
SUMMARISED = (
    "SELECT turn FROM heard WHERE what = 'summary' UNION"
    " SELECT l.target FROM links l JOIN records r ON r.seq = l.record WHERE l.relation = 'evidence'"
    " AND r.layer = 'episodic' AND r.seq IN (SELECT record FROM facets WHERE name = 'origin' AND value = 'sleep')"
)
AGING = (
    "SELECT r.seq, r.event, r.id, r.layer, r.importance,"
    " CASE WHEN a.adjusted = r.importance THEN a.original ELSE r.importance END, r.created_at"
    " FROM records r LEFT JOIN aged a ON a.record = r.id"
    " WHERE r.layer IN ('short_term', 'episodic', 'semantic') AND r.state = 'active' ORDER BY r.seq"
)
SLEPT = "slept"  # where an event tells how far sleep has read
AGE = (
    "INSERT INTO aged (record, original, adjusted) VALUES (?, ?, ?)"
    " ON CONFLICT (record) DO UPDATE SET original = excluded.original, adjusted = excluded.adjusted"
)
EPISODES = f"{records.SELECT} WHERE layer = 'episodic' AND state = 'active'"
PROMOTED = (
    f"{EPISODES} AND seq <= ? AND promoted_at IS NOT NULL AND id NOT IN (SELECT turn FROM heard WHERE what = 'promoted')"
    " AND id NOT IN (SELECT value FROM json_each(?))"
)


# Turns of which something was made that is erased.
AGAIN = (
    f"{EPISODES} AND id IN (SELECT turn FROM reread) AND id NOT IN (SELECT value FROM json_each(?))"
)


class Marks(NamedTuple):
    """How far sleep has read: up to which number, which older ones that were promoted since, and which once more."""

    seq: int = 0
    promoted: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


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

    def __init__(self, store: RecordSource) -> None:
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

    def count_waiting(self) -> int:
        """How many memories sleep does not read yet: those of short-term memory, until they are promoted."""
        query = "SELECT count(*) FROM records WHERE layer = 'short_term' AND state = 'active'"
        with self._store.database.snapshot() as connection:
            return int(str(connection.execute(query).get))

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
            return [self._store.record(row) for row in found], [
                target for (target,) in rows(connection, SUMMARISED)
            ]

    def endings(self, now: datetime) -> tuple[list[Record], list[Record]]:
        """How tasks have ended lately, and the notes of their runs."""
        status = "seq IN (SELECT record FROM facets WHERE name = 'status')"
        with self._store.database.snapshot() as connection:
            found = rows(
                connection,
                f"{EPISODES} AND created_at > ? AND {status} ORDER BY seq",
                (to_micros(now - LATELY),),
            )
            endings = [self._store.record(row) for row in found]
            wanted = json.dumps([one for ending in endings for one in ending.evidence])
            query = f"{records.SELECT} WHERE layer = 'working' AND id IN (SELECT value FROM json_each(?)) ORDER BY seq"
            return endings, [self._store.record(row) for row in rows(connection, query, (wanted,))]

    def aging(self) -> list[Aging]:
        """The active records whose importance may change with time, and what it was before sleep changed it."""
        with self._store.database.snapshot() as connection:
            return [
                Aging(
                    seq, event, record_id, Layer(layer), importance, original, from_micros(created)
                )
                for seq, event, record_id, layer, importance, original, created in rows(
                    connection, AGING
                )
            ]

    def activity(self) -> tuple[datetime | None, list[int]]:
        """When anybody but the system last changed something, and how much of that fell on each hour of the day."""
        with self._store.database.snapshot() as connection:
            times = [from_micros(at) for (at,) in rows(connection, ACTIVITY, (RECENT,))]
        by_hour = [0] * 24
        for at in times:
            by_hour[at.hour] += 1
        return (times[0] if times else None), by_hour


def marks(connection: Connection) -> Marks:
    found = connection.execute("SELECT seq FROM slept").get
    return Marks(int(str(found or 0)))


def advance(cursor: Cursor, to: Marks) -> None:
    cursor.execute(
        "INSERT INTO slept (one, seq) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET seq = excluded.seq",
        (to.seq,),
    )
    hear(cursor, to.promoted, "promoted")
    cursor.executemany("DELETE FROM reread WHERE turn = ?", [(turn,) for turn in to.again])


def hear(cursor: Cursor, turns: Sequence[str], what: str) -> None:
    """Keep which turns were promoted and read, or are part of a summary."""
    cursor.executemany(
        "INSERT INTO heard (turn, what) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(turn, what) for turn in turns],
    )


def read_again(cursor: Cursor, turns: Sequence[str]) -> None:
    """Let sleep read turns once more, and sum them up anew."""
    again = "INSERT INTO reread (turn) VALUES (?) ON CONFLICT DO NOTHING"
    cursor.executemany(again, [(turn,) for turn in turns])
    summed_up = "DELETE FROM heard WHERE turn = ? AND what = 'summary'"
    cursor.executemany(summed_up, [(turn,) for turn in turns])


def forget(cursor: Cursor, gone: Sequence[str]) -> None:
    """Remove what is kept about records that are erased."""
    for query in (
        "DELETE FROM heard WHERE turn = ?",
        "DELETE FROM reread WHERE turn = ?",
        "DELETE FROM aged WHERE record = ?",
    ):
        cursor.executemany(query, [(record_id,) for record_id in gone])


def age(cursor: Cursor, aged: Sequence[tuple[str, float, float]]) -> None:
    """Keep the original importance of records beside what it became."""
    cursor.executemany(AGE, aged)


def has_heard(connection: Connection, turns: Sequence[str]) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM heard WHERE what = 'promoted' AND turn IN (SELECT value FROM json_each(?)))"
    return bool(connection.execute(query, (json.dumps(turns),)).get)


def aged(connection: Connection) -> dict[str, tuple[float, float]]:
    """Find out from the events what the importance of records was before sleep adjusted it, and
    what it became."""
    found: dict[str, tuple[float, float]] = {}
    for (body,) in rows(
        connection, "SELECT body FROM events WHERE body ->> 'action' = 'sleep' ORDER BY seq"
    ):
        for change in events.body_of(body).changes:
            if "importance" in change.before:
                original, last = found.get(
                    change.id, (change.before["importance"], change.before["importance"])
                )
                kept = (
                    original if last == change.before["importance"] else change.before["importance"]
                )
                found[change.id] = kept, change.after["importance"]
    return found


def rebuild(connection: Connection) -> None:
    """Make `aged` anew from the events."""
    put = "INSERT INTO aged (record, original, adjusted) VALUES (?, ?, ?)"
    connection.executemany(put, [(record, *both) for record, both in aged(connection).items()])


def unread(connection: Connection, since: Marks, limit: int) -> tuple[list[Row], Marks]:
    """The next episodes, and how far sleep has read with them: new ones, those that were promoted later, those once more.

    A session is not parted. New ones that were promoted before are read now, and not once more as promoted ones.
    """
    found = list(
        rows(connection, f"{EPISODES} AND seq > ? ORDER BY seq LIMIT ?", (since.seq, limit))
    )
    if found:
        found += _same_session(connection, found[-1])
        last = found[-1][COLUMN["seq"]]
        between = (last, json.dumps(since.promoted), since.seq)
        promoted = tuple(
            row[COLUMN["id"]] for row in rows(connection, f"{PROMOTED} AND seq > ?", between)
        )
        return found, since._replace(seq=last, promoted=(*since.promoted, *promoted))
    found = list(
        rows(
            connection,
            f"{PROMOTED} ORDER BY seq LIMIT ?",
            (since.seq, json.dumps(since.promoted), limit),
        )
    )
    if found:
        return found, since._replace(
            promoted=(*since.promoted, *(row[COLUMN["id"]] for row in found))
        )
    found = list(
        rows(connection, f"{AGAIN} ORDER BY seq LIMIT ?", (json.dumps(since.again), limit))
    )
    return found, since._replace(again=(*since.again, *(row[COLUMN["id"]] for row in found)))


def _same_session(connection: Connection, last: Row) -> list[Row]:
    """What follows directly in the session of the last row, so that it is read as one."""
    session = last[COLUMN["session"]], last[COLUMN["user"]]
    if session[0] is None:
        return []
    found: list[Row] = []
    for row in rows(
        connection,
        f"{EPISODES} AND seq > ? ORDER BY seq LIMIT ?",
        (last[COLUMN["seq"]], LONGEST_SESSION),
    ):
        if (row[COLUMN["session"]], row[COLUMN["user"]]) != session:
            break
        found.append(row)
    return found


def count_unread(connection: Connection, since: Marks) -> int:
    fresh = connection.execute(
        f"SELECT count(*) FROM ({EPISODES} AND seq > ?) AS found", (since.seq,)
    ).get
    older = connection.execute(f"SELECT count(*) FROM ({PROMOTED}) AS found", (since.seq, "[]")).get
    again = connection.execute(f"SELECT count(*) FROM ({AGAIN}) AS found", ("[]",)).get
    return int(str(fresh)) + int(str(older)) + int(str(again))


def episodes(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The episode that each of some turns belongs to: what has it as evidence, and tells who took part."""
    query = (
        "SELECT l.target, r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'evidence' AND l.target IN (SELECT value FROM json_each(?))"
        " AND r.layer = 'episodic' AND r.metadata -> 'participants' IS NOT NULL ORDER BY r.seq DESC"
    )
    return dict(rows(connection, query, (json.dumps(list(ids)),)))


def facts(connection: Connection, states: tuple[str, ...], user: str | None) -> list[Row]:
    """The rows of facts, which have an attribute."""
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND state IN ({records.marks(states)})"
        " AND seq IN (SELECT record FROM facets WHERE name = 'attribute')"
        " AND (? IS NULL OR user IS NULL OR user = ?) ORDER BY seq"
    )
    return list(rows(connection, query, (*states, user, user)))
