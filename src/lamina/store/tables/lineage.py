"""Trace records back to a source, which they or their evidence name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from lamina.model import hashing
from lamina.model.clock import is_id
from lamina.model.record import Record, State, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

BATCH = 500
TIME = 10  # the first characters of an id encode its time


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The part of an archived line that names its origin."""

    id: str
    user: str | None = None
    source: str | None = None
    evidence: tuple[str, ...] = ()


class Replaced(NamedTuple):
    """What a record says that is no longer so: the values, and what holds in their place."""

    values: tuple[str, ...]
    now: tuple[str, ...]


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


def replaced(
    connection: Connection, targets: Sequence[str], user: str | None
) -> dict[str, Replaced]:
    """Map records to what replaced the facts that rest on them, at last, in order."""
    # Porto was replaced by Lisbon, and Lisbon by Braga.
    query = (
        "WITH RECURSIVE former (target, metadata, content, heir) AS ("
        " SELECT l.target, old.metadata, old.content, old.superseded_by FROM links l"
        " JOIN records old ON old.seq = l.record WHERE l.relation = 'evidence'"
        f" AND l.target IN ({records.marks(targets)}) AND old.layer = 'semantic'"
        " AND old.state = 'superseded'"
        " UNION SELECT former.target, former.metadata, former.content, later.superseded_by"
        " FROM former JOIN records later ON later.id = former.heir AND later.state = 'superseded')"
        " SELECT former.target, former.metadata, now.content, now.metadata FROM former"
        " JOIN records now ON now.id = former.heir WHERE now.state = 'active'"
        " AND now.content <> former.content AND (? IS NULL OR now.user IS NULL OR now.user = ?)"
        " ORDER BY now.seq"
    )
    found: dict[str, Replaced] = {}
    for target, former, now, metadata in rows(connection, query, (*targets, user, user)):
        value = hashing.decode(former).get("value")
        before = found.get(target, Replaced((), ()))
        values = before.values if value is None else _once(before.values, str(value))
        is_end = value is not None and hashing.decode(metadata).get("negated") is True
        found[target] = Replaced(values, before.now if is_end else _once(before.now, now))
    return found


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
