"""Find the evidence that records rest on, and whether it still exists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.model.clock import is_id
from lamina.model.record import Layer, Record, State
from lamina.model.rejection import BELIEVABLE
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records
from lamina.store.tables.interfaces import RecordSource

BATCH = 500


def grounds(connection: Connection, record: Record) -> dict[str, State | None]:
    """Map each piece of evidence of a record to its state; None if it was erased.

    It is empty if some of the evidence is not here, because that cannot be judged.
    """
    if not record.evidence or not all(map(is_id, record.evidence)):
        return {}
    return _states(connection, record.evidence)


def lost(connection: Connection, record: Record) -> list[str]:
    """List the evidence of a record that no longer supports it."""
    states = _states(connection, list(filter(is_id, record.evidence)))
    return [id_ for id_, state in states.items() if state not in BELIEVABLE]


def groundless(connection: Connection, found: Iterable[Record]) -> set[str]:
    """Find the records whose evidence was all forgotten, superseded or erased."""
    resting = [one for one in found if one.evidence and all(map(is_id, one.evidence))]
    known = _states(connection, list(dict.fromkeys(id_ for one in resting for id_ in one.evidence)))
    return {one.id for one in resting if not any(known[id_] in BELIEVABLE for id_ in one.evidence)}


def count_groundless(store: RecordSource, connection: Connection, user: str | None) -> int:
    """Count the active semantic records whose evidence is gone.

    It starts from what is gone, which is little compared to the whole store.
    """
    resting = (
        "SELECT l.record FROM records t CROSS JOIN links l"  # SQLite keeps this order
        " WHERE t.state IN ('tombstoned', 'superseded')"
        " AND l.target = t.id AND l.relation = 'evidence'"
        " UNION SELECT l.record FROM erased e CROSS JOIN links l"
        " WHERE l.target = e.id AND l.relation = 'evidence'"
    )
    query = (
        f"{records.SELECT} WHERE layer = 'semantic' AND state = 'active'"
        f" AND seq IN ({resting}) AND (? IS NULL OR user IS NULL OR user = ?)"
    )
    found = [store.record(row) for row in rows(connection, query, (user, user))]
    return len(groundless(connection, found))


def supporting(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Find the records that are evidence for something that is or was known or in the profile."""
    found: set[str] = set()
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = (
            "SELECT l.target FROM links l JOIN records r ON r.seq = l.record"
            f" WHERE l.relation = 'evidence' AND l.target IN ({records.marks(part)})"
            " AND r.layer IN ('semantic', 'profile') AND r.state IN ('active', 'superseded')"
        )
        found |= {target for (target,) in rows(connection, query, part)}
    return found


def _states(connection: Connection, ids: Sequence[str]) -> dict[str, State | None]:
    """Read the states of records. Archived ones and notes of runs count as they were."""
    states: dict[str, State | None] = dict.fromkeys(ids)
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = f"SELECT id, layer, state FROM records WHERE id IN ({records.marks(part)})"
        for record_id, layer, state in rows(connection, query, part):
            states[record_id] = State.ACTIVE if layer == Layer.WORKING else State(state)
        query = f"SELECT id FROM archived WHERE id IN ({records.marks(part)})"
        states |= {record_id: State.ACTIVE for (record_id,) in rows(connection, query, part)}
    return states
