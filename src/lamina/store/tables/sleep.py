"""Read what sleep needs: episodes that it has not read yet, facts, and aging records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

from lamina.model import rules
from lamina.model.clock import from_micros, to_micros
from lamina.model.record import Layer, Record
from lamina.store.engine.sql import Connection, Cursor, rows
from lamina.store.tables import events, records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import COLUMN, Row
from lamina.text.words import normalise

RECENT = 20_000
LONGEST_SESSION = 5_000
ACTIVITY = (
    "SELECT CAST(body ->> 'at' AS BIGINT)"
    " FROM (SELECT body FROM events ORDER BY seq DESC LIMIT ?) AS recent"
    " WHERE body ->> 'actor' NOT LIKE 'system:%'"
)
# Older episodes have been summarised, or will not be.
LATELY = timedelta(days=90)
SUMMARISED = (
    "SELECT turn FROM heard WHERE what = 'summary' UNION"
    " SELECT l.target FROM links l JOIN records r ON r.seq = l.record"
    " WHERE l.relation = 'evidence' AND r.layer = 'episodic'"
    " AND r.seq IN (SELECT record FROM facets WHERE name = 'origin' AND value = 'sleep')"
)
_ORIGINAL = "CASE WHEN a.adjusted = r.importance THEN a.original ELSE r.importance END"
ORIGINAL = f"SELECT {_ORIGINAL} FROM records r LEFT JOIN aged a ON a.record = r.id WHERE r.id = ?"
AGING = (
    f"SELECT r.seq, r.event, r.id, r.layer, r.importance, {_ORIGINAL}, r.created_at"
    " FROM records r LEFT JOIN aged a ON a.record = r.id"
    " WHERE r.layer IN ('short_term', 'episodic', 'semantic') AND r.state = 'active' ORDER BY r.seq"
)
SLEPT = "slept"  # the detail in which an event says how far sleep has read
AGE = (
    "INSERT INTO aged (record, original, adjusted) VALUES (?, ?, ?)"
    " ON CONFLICT (record) DO UPDATE SET original = excluded.original, adjusted = excluded.adjusted"
)
EPISODES = f"{records.SELECT} WHERE layer = 'episodic' AND state = 'active'"
# Records that may contain statements: all turns, and explicit memories that last. Facts do not
# count, nor does what engines derived from other records.
_LASTING = ", ".join(f"'{kind}'" for kind in sorted(rules.LASTING_KINDS))
_ENGINES = ", ".join(f"'{origin}'" for origin in sorted(rules.ENGINES))
STATEMENTS = (
    f"{records.SELECT} WHERE state = 'active' AND (layer = 'episodic'"
    f" OR (layer = 'short_term' AND kind IN ({_LASTING}))"
    " OR (layer = 'semantic' AND metadata ->> 'attribute' IS NULL"
    f" AND metadata ->> 'origin' NOT IN ({_ENGINES})))"
)
PROMOTED = (
    f"{EPISODES} AND seq <= ? AND promoted_at IS NOT NULL"
    " AND id NOT IN (SELECT turn FROM heard WHERE what = 'promoted')"
    " AND id NOT IN (SELECT value FROM json_each(?))"
)
# Turns whose derived records have been erased since.
AGAIN = (
    f"{STATEMENTS} AND id IN (SELECT turn FROM reread)"
    " AND id NOT IN (SELECT value FROM json_each(?))"
)


class Marks(NamedTuple):
    """How far sleep has read."""

    seq: int = 0  # every statement up to this number
    promoted: tuple[str, ...] = ()  # earlier ones that were promoted later
    again: tuple[str, ...] = ()  # those that were to be read again


class Aging(NamedTuple):
    """The fields that decide how important a record still is."""

    seq: int
    event: int
    id: str
    layer: Layer
    importance: float
    original: float
    created_at: datetime


class Night:
    """Read what sleep needs from a store, each answer at one moment."""

    def __init__(self, store: RecordSource) -> None:
        self._store = store

    def slept(self) -> Marks:
        """Read how far sleep has read."""
        with self._store.database.snapshot() as connection:
            return marks(connection)

    def unread(self, since: Marks, limit: int) -> tuple[list[Record], Marks]:
        """Read the next records that sleep has not read, and the new marks after them."""
        with self._store.database.snapshot() as connection:
            episodes, after = unread(connection, since, limit)
        return self._records(episodes), after

    def count_unread(self) -> int:
        with self._store.database.snapshot() as connection:
            return count_unread(connection, marks(connection))

    def count_waiting(self) -> int:
        """Count the memories that sleep will not read until they are promoted."""
        query = (
            "SELECT count(*) FROM records WHERE layer = 'short_term' AND state = 'active'"
            f" AND kind NOT IN ({_LASTING})"
        )
        with self._store.database.snapshot() as connection:
            return int(str(connection.execute(query).get))

    def facts(self, states: tuple[str, ...], user: str | None) -> list[Record]:
        """Read the records with a subject, an attribute and a value, oldest first."""
        with self._store.database.snapshot() as connection:
            return self._records(facts(connection, states, user))

    def changed_facts(self, known: Mapping[int, int]) -> tuple[dict[int, int], list[Record]]:
        """Read the facts whose last event differs from the known one for their number.

        The last event of each fact, by its number, comes first.
        """
        with self._store.database.snapshot() as connection:
            versions, changed = changed_facts(connection, known)
            return versions, self._records(changed)

    def facts_with(
        self, attributes: Sequence[str], beginnings: Sequence[str], user: str | None
    ) -> list[Record]:
        """Read facts in any state by their attributes, or by the beginnings of these."""
        with self._store.database.snapshot() as connection:
            return self._records(facts_with(connection, attributes, beginnings, user))

    def episodes(self, ids: Sequence[str]) -> dict[str, str]:
        """Map turns to the episodes they belong to."""
        with self._store.database.snapshot() as connection:
            return episodes(connection, ids)

    def unsummarised(self, now: datetime) -> tuple[list[Record], list[str]]:
        """Read the recent episodes, and list those that already belong to a summary."""
        since = to_micros(now - LATELY)
        with self._store.database.snapshot() as connection:
            recent = rows(connection, f"{EPISODES} AND created_at > ? ORDER BY seq", (since,))
            summarised = [target for (target,) in rows(connection, SUMMARISED)]
        return self._records(recent), summarised

    def endings(self, now: datetime) -> tuple[list[Record], list[Record]]:
        """Read the recent ends of tasks, and the notes of their runs."""
        has_status = "seq IN (SELECT record FROM facets WHERE name = 'status')"
        recent = f"{EPISODES} AND created_at > ? AND {has_status} ORDER BY seq"
        is_evidence = "id IN (SELECT value FROM json_each(?))"
        notes = f"{records.SELECT} WHERE layer = 'working' AND {is_evidence} ORDER BY seq"
        with self._store.database.snapshot() as connection:
            endings = self._records(rows(connection, recent, (to_micros(now - LATELY),)))
            ids = [record_id for ending in endings for record_id in ending.evidence]
            return endings, self._records(rows(connection, notes, (json.dumps(ids),)))

    def aging(self) -> list[Aging]:
        """Read the active records whose importance may change, with their original importance."""
        with self._store.database.snapshot() as connection:
            return [
                Aging(seq, event, id_, Layer(layer), importance, original, from_micros(created))
                for seq, event, id_, layer, importance, original, created in rows(connection, AGING)
            ]

    def original(self, record_id: str) -> float | None:
        """Read the importance of a record before sleep adjusted it."""
        with self._store.database.snapshot() as connection:
            found = rows(connection, ORIGINAL, (record_id,))
        return float(found[0][0]) if found else None

    def activity(self) -> tuple[datetime | None, list[int]]:
        """Find the last change not made by the system, and count such changes by hour."""
        with self._store.database.snapshot() as connection:
            times = [from_micros(at) for (at,) in rows(connection, ACTIVITY, (RECENT,))]
        by_hour = [0] * 24
        for at in times:
            by_hour[at.hour] += 1
        return (times[0] if times else None), by_hour

    def _records(self, found: Sequence[Row]) -> list[Record]:
        return [self._store.record(row) for row in found]


def marks(connection: Connection) -> Marks:
    seq = connection.execute("SELECT seq FROM slept").get
    return Marks(int(str(seq or 0)))


def advance(cursor: Cursor, to: Marks) -> None:
    update = (
        "INSERT INTO slept (one, seq) VALUES (1, ?)"
        " ON CONFLICT (one) DO UPDATE SET seq = excluded.seq"
    )
    cursor.execute(update, (to.seq,))
    hear(cursor, to.promoted, "promoted")
    cursor.executemany("DELETE FROM reread WHERE turn = ?", [(turn,) for turn in to.again])


def hear(cursor: Cursor, turns: Sequence[str], what: str) -> None:
    """Note that turns were promoted and read, or belong to a summary."""
    insert = "INSERT INTO heard (turn, what) VALUES (?, ?) ON CONFLICT DO NOTHING"
    cursor.executemany(insert, [(turn, what) for turn in turns])


def read_again(cursor: Cursor, turns: Sequence[str]) -> None:
    """Let sleep read turns again and summarise them anew."""
    again = "INSERT INTO reread (turn) VALUES (?) ON CONFLICT DO NOTHING"
    cursor.executemany(again, [(turn,) for turn in turns])
    summed_up = "DELETE FROM heard WHERE turn = ? AND what = 'summary'"
    cursor.executemany(summed_up, [(turn,) for turn in turns])


def forget(cursor: Cursor, gone: Sequence[str]) -> None:
    """Remove what is stored about records that are erased."""
    for query in (
        "DELETE FROM heard WHERE turn = ?",
        "DELETE FROM reread WHERE turn = ?",
        "DELETE FROM aged WHERE record = ?",
    ):
        cursor.executemany(query, [(record_id,) for record_id in gone])


def age(cursor: Cursor, aged: Sequence[tuple[str, float, float]]) -> None:
    """Store the original importance of records beside the adjusted one."""
    cursor.executemany(AGE, aged)


def has_heard(connection: Connection, turns: Sequence[str]) -> bool:
    query = (
        "SELECT EXISTS (SELECT 1 FROM heard"
        " WHERE what = 'promoted' AND turn IN (SELECT value FROM json_each(?)))"
    )
    return bool(connection.execute(query, (json.dumps(turns),)).get)


def aged(connection: Connection) -> dict[str, tuple[float, float]]:
    """Derive from the events the importance of records before and after sleep adjusted it."""
    query = "SELECT body FROM events WHERE body ->> 'action' = 'sleep' ORDER BY seq"
    by_record: dict[str, tuple[float, float]] = {}
    for (body,) in rows(connection, query):
        for change in events.body_of(body).changes:
            if "importance" in change.before:
                before = change.before["importance"]
                original, adjusted = by_record.get(change.id, (before, before))
                # If it differs from what sleep set, it was changed since, and is the original.
                original = original if adjusted == before else before
                by_record[change.id] = original, change.after["importance"]
    return by_record


def rebuild(connection: Connection) -> None:
    """Rebuild `aged` from the events."""
    insert = "INSERT INTO aged (record, original, adjusted) VALUES (?, ?, ?)"
    connection.executemany(insert, [(record, *both) for record, both in aged(connection).items()])


def unread(connection: Connection, since: Marks, limit: int) -> tuple[list[Row], Marks]:
    """Read the next statements: new ones, or some promoted later, or some to be read again.

    A session is not split. New ones that are already promoted are read now, and not again as
    promoted ones.
    """
    query = f"{STATEMENTS} AND seq > ? ORDER BY seq LIMIT ?"
    new = list(rows(connection, query, (since.seq, limit)))
    if new:
        new += _same_session(connection, new[-1])
        last = new[-1][COLUMN["seq"]]
        between = (last, json.dumps(since.promoted), since.seq)
        promoted = _ids(rows(connection, f"{PROMOTED} AND seq > ?", between))
        return new, since._replace(seq=last, promoted=(*since.promoted, *promoted))
    query = f"{PROMOTED} ORDER BY seq LIMIT ?"
    later = list(rows(connection, query, (since.seq, json.dumps(since.promoted), limit)))
    if later:
        return later, since._replace(promoted=(*since.promoted, *_ids(later)))
    query = f"{AGAIN} ORDER BY seq LIMIT ?"
    again = list(rows(connection, query, (json.dumps(since.again), limit)))
    return again, since._replace(again=(*since.again, *_ids(again)))


def _ids(found: Sequence[Row]) -> list[str]:
    return [row[COLUMN["id"]] for row in found]


def _same_session(connection: Connection, last: Row) -> list[Row]:
    """Read what directly follows a row in its session, so that they are read together."""
    session = last[COLUMN["session"]], last[COLUMN["user"]]
    if session[0] is None:
        return []
    query = f"{STATEMENTS} AND seq > ? ORDER BY seq LIMIT ?"
    following = rows(connection, query, (last[COLUMN["seq"]], LONGEST_SESSION))
    return list(
        takewhile(lambda row: (row[COLUMN["session"]], row[COLUMN["user"]]) == session, following)
    )


def count_unread(connection: Connection, since: Marks) -> int:
    def count(query: str, *parameters: Any) -> int:
        return int(str(connection.execute(f"SELECT count(*) FROM ({query}) AS q", parameters).get))

    new = count(f"{STATEMENTS} AND seq > ?", since.seq)
    return new + count(PROMOTED, since.seq, "[]") + count(AGAIN, "[]")


def episodes(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Map turns to their episodes: records that cite the turn and name the participants."""
    query = (
        "SELECT l.target, r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'evidence' AND l.target IN (SELECT value FROM json_each(?))"
        " AND r.layer = 'episodic' AND r.metadata -> 'participants' IS NOT NULL ORDER BY r.seq DESC"
    )
    return dict(rows(connection, query, (json.dumps(list(ids)),)))


def facts(connection: Connection, states: tuple[str, ...], user: str | None) -> list[Row]:
    """Read the rows of facts, which are the semantic records with an attribute."""
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND state IN ({records.marks(states)})"
        " AND seq IN (SELECT record FROM facets WHERE name = 'attribute')"
        " AND (? IS NULL OR user IS NULL OR user = ?) ORDER BY seq"
    )
    return list(rows(connection, query, (*states, user, user)))


def changed_facts(
    connection: Connection, known: Mapping[int, int]
) -> tuple[dict[int, int], list[Row]]:
    """Read the last event of each fact in any state, and the rows of those not known."""
    versions = dict(
        rows(
            connection,
            "SELECT seq, event FROM records WHERE layer = 'semantic'"
            " AND seq IN (SELECT record FROM facets WHERE name = 'attribute') ORDER BY seq",
        )
    )
    changed = [number for number, event in versions.items() if known.get(number) != event]
    query = (
        f"{records.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        " ORDER BY seq"
    )
    return versions, rows(connection, query, (_json(changed),)) if changed else []


def facts_with(
    connection: Connection, attributes: Sequence[str], beginnings: Sequence[str], user: str | None
) -> list[Row]:
    """Read the rows of facts with some attributes, in any state, oldest first."""
    alike = "".join(" OR value LIKE ?" for _ in beginnings)
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND seq IN (SELECT record FROM facets"
        f" WHERE name = 'attribute' AND (value IN ({records.marks(attributes)}){alike}))"
        " AND (? IS NULL OR user IS NULL OR user = ?) ORDER BY seq"
    )
    begin = [f"{beginning}%" for beginning in beginnings]
    return list(rows(connection, query, (*attributes, *begin, user, user)))


def active(connection: Connection, beginning: str, user: str | None) -> list[Row]:
    """Read the rows of active facts by the beginning of their attribute, oldest first."""
    after = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND state = 'active' AND seq IN"
        " (SELECT record FROM facets WHERE name = 'attribute' AND value >= ? AND value < ?)"
        " AND (? IS NULL OR user IS NULL OR user = ?) ORDER BY seq"
    )
    return list(rows(connection, query, (beginning, after, user, user)))


def about(connection: Connection, subject: str, attributes: Sequence[str]) -> list[Row]:
    """Read the rows of facts about one subject with some attributes, in any state, oldest first.

    They are found by their facets, so the cost does not depend on what is known of other subjects.
    """
    spellings = {subject, subject.lower(), subject.upper(), subject.title(), normalise(subject)}
    of_subject = (
        "SELECT record FROM facets WHERE name = 'subject'"
        " AND value IN (SELECT value FROM json_each(?))"
    )
    of_both = (
        "SELECT record FROM facets WHERE name = 'attribute'"
        " AND value IN (SELECT value FROM json_each(?))"
        " AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    numbers = [number for (number,) in rows(connection, of_subject, (_json(sorted(spellings)),))]
    if not numbers:
        return []
    parameters = _json(list(attributes)), _json(numbers)
    found = [number for (number,) in rows(connection, of_both, parameters)]
    query = (
        f"{records.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        " AND layer = 'semantic' ORDER BY seq"
    )
    return list(rows(connection, query, (_json(found),))) if found else []


def _json(values: list[Any]) -> str:
    return json.dumps(values)
