"""What records rest on, and whether it is still there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lamina.model.clock import is_id
from lamina.model.record import Layer, Record, State
from lamina.model.rejection import BELIEVABLE
from lamina.store.engine.sql import Connection, rows
from lamina.store.tables import records

BATCH = 500


def grounds(connection: Connection, record: Record) -> dict[str, State | None]:
    """Map the evidence of a record to its state; None for what is erased.

    It is empty for a record whose evidence is not all here: what is elsewhere cannot be judged.
    """
    if not record.evidence or not all(map(is_id, record.evidence)):
        return {}
    return _states(connection, record.evidence)


def groundless(connection: Connection, found: Iterable[Record]) -> set[str]:
    """Find the records all of whose evidence was forgotten, superseded or erased."""
    resting = [one for one in found if one.evidence and all(map(is_id, one.evidence))]
    known = _states(connection, list(dict.fromkeys(id_ for one in resting for id_ in one.evidence)))
    return {one.id for one in resting if not any(known[id_] in BELIEVABLE for id_ in one.evidence)}


def _states(connection: Connection, ids: Sequence[str]) -> dict[str, State | None]:
    """Read the states of records. Archived ones and the notes of a run still say what they said."""
    states: dict[str, State | None] = dict.fromkeys(ids)
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        query = f"SELECT id, layer, state FROM records WHERE id IN ({records.marks(part)})"
        for record_id, layer, state in rows(connection, query, part):
            states[record_id] = State.ACTIVE if layer == Layer.WORKING else State(state)
        query = f"SELECT id FROM archived WHERE id IN ({records.marks(part)})"
        states |= {record_id: State.ACTIVE for (record_id,) in rows(connection, query, part)}
    return states
