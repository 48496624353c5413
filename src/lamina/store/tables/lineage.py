"""What came from where: which records go back to a source, themselves or by their evidence."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lamina.model.clock import is_id
from lamina.model.record import Record, State, Trust
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.records import COLUMN, Row
from lamina.text import words

BATCH = 500
TIME = 10  # characters of an id


class Origin(msgspec.Struct, frozen=True, gc=False):
    """What a line of the archive says about where it came from."""

    id: str
    user: str | None = None
    source: str | None = None
    evidence: tuple[str, ...] = ()


def revocable(store: RecordSource, source: str, user: str | None) -> tuple[list[Record], int]:
    """The active records that go back to a source, and how many records of the archive do."""
    with store.database.moment() as connection:
        found, archived, _ = tainted(store, connection, source, user)
        return [store.record(row) for row in found], archived


def tainted(
    store: RecordSource, connection: Connection, source: str, user: str | None
) -> tuple[list[Row], int, set[str]]:
    """The active rows that go back to a source, in their order, how many records of the archive do, and the ids of all.

    A record is derived only from what was there before it: what it was given later merely agrees with it.
    """
    wanted = words.normalise(source)
    archived = _archived(store)
    sources = [
        one
        for (one,) in rows(
            connection, "SELECT DISTINCT source FROM records WHERE source IS NOT NULL"
        )
    ]
    chosen = [one for one in sources if words.normalise(one) == wanted]
    query = f"SELECT id FROM records WHERE source IN ({records.marks(chosen)})"
    found = {record_id for (record_id,) in rows(connection, query, chosen)}
    found |= {
        one.id
        for one in archived
        if one.source is not None and words.normalise(one.source) == wanted
    }
    resting: dict[str, list[str]] = {}
    for one in archived:
        for evidence in one.evidence:
            resting.setdefault(evidence, []).append(one.id)
    fresh = found
    while fresh:
        later: set[str] = set()
        for target in fresh:
            later.update(one for one in resting.get(target, ()) if _is_older(target, one))
            later.update(_derived(connection, target))
        fresh = later - found
        found = found | fresh
    active = _active(connection, sorted(found), user)
    return active, sum(one.id in found and user in (None, one.user) for one in archived), found


def trusts(store: RecordSource, connection: Connection, ids: Sequence[str]) -> set[Trust]:
    """How far some records may be believed, wherever they are."""
    found: dict[str, Trust] = {}
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = f"SELECT id, trust FROM records WHERE id IN ({records.marks(part)})"
        found |= {record_id: Trust(trust) for record_id, trust in rows(connection, query, part)}
    archived = [one for one in ids if one not in found]
    return {
        *found.values(),
        *(record.trust for one in archived if (record := store.get(one)) is not None),
    }


def resting(connection: Connection, target: str, user: str | None) -> list[str]:
    """The records that rest on a record, of those that this user may see, in their order."""
    query = (
        "SELECT r.id FROM links l JOIN records r ON r.seq = l.record"
        f" WHERE l.target = ?1 AND l.relation = 'evidence' AND {records.visible('?2')} ORDER BY r.seq"
    )
    return [one for (one,) in rows(connection, query, (target, user))]


def _derived(connection: Connection, target: str) -> list[str]:
    """The records that have had this one as evidence from the beginning, as far as their ids or their numbers say so."""
    query = (
        "SELECT r.id, r.seq > (SELECT seq FROM records WHERE id = ?1)"
        " FROM links l JOIN records r ON r.seq = l.record WHERE l.target = ?1 AND l.relation = 'evidence'"
    )
    return [
        one
        for one, is_later in rows(connection, query, (target,))
        if is_later or _is_older(target, one)
    ]


def _is_older(one: str, other: str) -> bool:
    """Whether a record was made before another, or in the same moment: its id begins with the time."""
    return one[:TIME] <= other[:TIME]


def _active(connection: Connection, ids: list[str], user: str | None) -> list[Row]:
    found: list[Row] = []
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = f"{records.SELECT} WHERE id IN ({records.marks(part)}) AND state = ? AND (? IS NULL OR user = ?)"
        found += rows(connection, query, (*part, State.ACTIVE, user, user))
    return sorted(found, key=lambda row: row[COLUMN["seq"]])


def _archived(store: RecordSource) -> list[Origin]:
    """Where each archived record came from, of those that can say so."""
    decode = msgspec.json.Decoder(Origin).decode
    found = [decode(line) for _, _, line in store.archived_lines()]
    return [one for one in found if one.source is not None or any(map(is_id, one.evidence))]
