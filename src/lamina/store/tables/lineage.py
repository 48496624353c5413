"""Trace records back to a source, which they or their evidence name."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Outdated, Record, State, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

BATCH = 500
TIME = 10  # the first characters of an id encode its time
# What became of the facts on some records: Porto was replaced by Lisbon, and Lisbon by Braga. What
# was rejected, and is known again, is not rejected any more.
OUTDATED = """
WITH RECURSIVE former (target, said, seq, state, metadata, content, heir) AS (
    SELECT l.target, said.content, old.seq, old.state, old.metadata, old.content, old.superseded_by
    FROM links l JOIN records said ON said.id = l.target JOIN records old ON old.seq = l.record
    WHERE l.relation = 'evidence' AND l.target IN (SELECT value FROM json_each(?1))
    AND old.layer = 'semantic' AND (old.state = 'superseded' OR old.state = 'tombstoned'
    AND old.metadata ->> 'attribute' IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM facets v JOIN records r ON r.seq = v.record WHERE v.name = 'value'
        AND v.value = old.metadata ->> 'value' AND r.content = old.content AND r.state = 'active'
    ))
    UNION SELECT f.target, f.said, f.seq, f.state, f.metadata, f.content, later.superseded_by
    FROM former f JOIN records later ON later.id = f.heir AND later.state = 'superseded'
    WHERE f.state = 'superseded'
)
SELECT f.target, f.said, f.metadata, f.content, now.content, now.metadata
FROM former f LEFT JOIN records now ON now.id = f.heir AND f.state = 'superseded'
AND now.state = 'active' AND now.content <> f.content
AND (?2 IS NULL OR now.user IS NULL OR now.user = ?2)
WHERE now.seq IS NOT NULL OR f.state = 'tombstoned' ORDER BY coalesce(now.seq, 0), f.seq
"""


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The part of an archived line that names its origin."""

    id: str
    user: str | None = None
    source: str | None = None
    evidence: tuple[str, ...] = ()


def revocable(store: RecordSource, source: str, user: str | None) -> tuple[list[Record], int]:
    """Find the active records that go back to a source, and count the archived ones."""
    with store.database.moment() as connection:
        active, archived, _ = tainted(store, connection, source, user)
        return [store.record(row) for row in active], archived


def tainted(
    store: RecordSource, connection: Connection, source: str, user: str | None
) -> tuple[list[Row], int, set[str]]:
    """Find the active rows that go back to a source; count the archived ones; collect all ids.

    A record is derived only from what existed before it: evidence that was added later merely
    agrees with it.
    """
    archived = _archived(store)
    tainted_ids = _from_source(connection, archived, source)
    archived_on: dict[str, list[str]] = {}
    for origin in archived:
        for evidence in origin.evidence:
            archived_on.setdefault(evidence, []).append(origin.id)
    fresh = tainted_ids
    while fresh:
        later: set[str] = set()
        for target in fresh:
            later.update(id_ for id_ in archived_on.get(target, ()) if _is_older(target, id_))
            later.update(_derived(connection, target))
        fresh = later - tainted_ids
        tainted_ids = tainted_ids | fresh
    active = _active(connection, sorted(tainted_ids), user)
    of_user = [origin.id for origin in archived if user in (None, origin.user)]
    return active, sum(record_id in tainted_ids for record_id in of_user), tainted_ids


def trusts(store: RecordSource, connection: Connection, ids: Sequence[str]) -> set[Trust]:
    """Collect the levels of trust of some records, archived or not."""
    stored: dict[str, Trust] = {}
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = f"SELECT id, trust FROM records WHERE id IN ({records.marks(part)})"
        stored |= {record_id: Trust(trust) for record_id, trust in rows(connection, query, part)}
    archived = (store.get(record_id) for record_id in ids if record_id not in stored)
    return {*stored.values(), *(record.trust for record in archived if record is not None)}


def resting(connection: Connection, target: str, user: str | None) -> list[str]:
    """List the records that have this one as evidence and that this user may see, oldest first."""
    query = (
        "SELECT r.id FROM links l JOIN records r ON r.seq = l.record WHERE l.target = ?1"
        f" AND l.relation = 'evidence' AND {records.visible('?2')} ORDER BY r.seq"
    )
    return [record_id for (record_id,) in rows(connection, query, (target, user))]


def resting_on_any(
    connection: Connection, targets: Sequence[str], user: str | None
) -> list[tuple[str, str]]:
    """List pairs of a record and one that rests on it and that this user may see, oldest first."""
    query = (
        "SELECT l.target, r.id FROM links l JOIN records r ON r.seq = l.record"
        " WHERE l.relation = 'evidence' AND l.target IN (SELECT value FROM json_each(?1))"
        f" AND {records.visible('?2')} ORDER BY r.seq"
    )
    return rows(connection, query, (hashing.encode(list(targets)).decode(), user))


def facts_on(
    connection: Connection, targets: Sequence[str], user: str | None
) -> list[tuple[str, Row]]:
    """List pairs of a record and an active fact that rests on it, the newest facts first."""
    query = (
        f"SELECT l.target, {', '.join(f'r.{name}' for name in records.COLUMN)}"
        " FROM links l JOIN records r ON r.seq = l.record WHERE l.relation = 'evidence'"
        f" AND l.target IN ({records.marks(targets)}) AND r.layer = 'semantic'"
        " AND r.state = 'active' AND (? IS NULL OR r.user IS NULL OR r.user = ?)"
        " ORDER BY r.seq DESC"
    )
    return [(row[0], row[1:]) for row in rows(connection, query, (*targets, user, user))]


def outdated(
    connection: Connection, targets: Sequence[str], user: str | None
) -> dict[str, Outdated]:
    """Map records to what became of the facts that rest on them: what replaced these at last, in
    order, and which were rejected, rolled back or forgotten.
    """
    found: dict[str, Outdated] = {}
    parameters = (hashing.encode(list(targets)).decode(), user)
    for target, said, fact, content, now, metadata in rows(connection, OUTDATED, parameters):
        before, former = found.get(target, Outdated()), hashing.decode(fact)
        value = former.get("value")
        if now is not None:
            values = before.values if value is None else _once(before.values, str(value))
            is_end = value is not None and hashing.decode(metadata).get("negated") is True
            holding = before.now if is_end else _once(before.now, now)
            found[target] = before._replace(values=values, now=holding)
        elif _says(said, str(value)):
            one = content if former.get("negated") is True else str(value)
            found[target] = before._replace(rejected=_once(before.rejected, one))
    return found


def _says(said: str, value: str) -> bool:
    """Tell whether a record has a word of a value: a corrected fact rests on one without."""
    return not words.tokens(value).isdisjoint(words.tokens(said))


def _once(listed: tuple[str, ...], one: str) -> tuple[str, ...]:
    return listed if one in listed else (*listed, one)


def _from_source(connection: Connection, archived: Sequence[Origin], source: str) -> set[str]:
    """Find the ids of the records that name a source themselves, however it is spelled."""
    wanted = words.normalise(source)
    query = "SELECT DISTINCT source FROM records WHERE source IS NOT NULL"
    spellings = [name for (name,) in rows(connection, query) if words.normalise(name) == wanted]
    query = f"SELECT id FROM records WHERE source IN ({records.marks(spellings)})"
    ids = {record_id for (record_id,) in rows(connection, query, spellings)}
    return ids | {
        origin.id
        for origin in archived
        if origin.source is not None and words.normalise(origin.source) == wanted
    }


def _derived(connection: Connection, target: str) -> list[str]:
    """List the records that had this one as evidence from the start, by id or number."""
    query = (
        "SELECT r.id, r.seq > (SELECT seq FROM records WHERE id = ?1) FROM links l"
        " JOIN records r ON r.seq = l.record WHERE l.target = ?1 AND l.relation = 'evidence'"
    )
    citing = rows(connection, query, (target,))
    return [id_ for id_, is_later in citing if is_later or _is_older(target, id_)]


def _is_older(record_id: str, other_id: str) -> bool:
    """Tell whether a record is no younger than another, by the times in their ids."""
    return record_id[:TIME] <= other_id[:TIME]


def _active(connection: Connection, ids: list[str], user: str | None) -> list[Row]:
    active: list[Row] = []
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        is_wanted = f"id IN ({records.marks(part)}) AND state = ? AND (? IS NULL OR user = ?)"
        query = f"{records.SELECT} WHERE {is_wanted}"
        active += rows(connection, query, (*part, State.ACTIVE, user, user))
    return sorted(active, key=lambda row: row[COLUMN["seq"]])


def _archived(store: RecordSource) -> list[Origin]:
    """Read the origins of the archived records that name a source or evidence."""
    decode = msgspec.json.Decoder(Origin).decode
    origins = [decode(line) for _, _, line in store.archived_lines()]
    return [
        origin
        for origin in origins
        if origin.source is not None or any(map(is_id, origin.evidence))
    ]
