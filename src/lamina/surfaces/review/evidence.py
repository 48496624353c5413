"""Read the evidence of a proposal: each record with its neighbouring turns in the conversation."""

from __future__ import annotations

from typing import NamedTuple

from lamina.errors import NotFound
from lamina.memory.operator import Operator
from lamina.model.clock import is_id
from lamina.model.record import Layer, Record

MOST_TURNS = 1000  # turns of a conversation in which to find neighbours


class Evidence(NamedTuple):
    """A piece of evidence: its reference, the record if there is one, and its neighbours."""

    reference: str
    record: Record | None
    before: Record | None = None
    after: Record | None = None


def found(operator: Operator, reference: str) -> Record | None:
    """Return the record that a reference names, unless it is not a record or was erased."""
    try:
        return operator.get(reference) if is_id(reference) else None
    except NotFound:
        return None


def read(operator: Operator, references: tuple[str, ...]) -> list[Evidence]:
    """Read all evidence of a proposal, with the turns before and after each turn."""
    return [_with_neighbours(operator, one, found(operator, one)) for one in references]


def _with_neighbours(operator: Operator, reference: str, record: Record | None) -> Evidence:
    if record is None or record.session is None or record.layer is not Layer.EPISODIC:
        return Evidence(reference, record)
    told = operator.list(layers=(Layer.EPISODIC,), session=record.session, limit=MOST_TURNS)
    turns = [one for one in reversed(told) if "participants" not in one.metadata]  # no episodes
    ids = [one.id for one in turns]
    if record.id not in ids:
        return Evidence(reference, record)
    here = ids.index(record.id)
    before = turns[here - 1] if here else None
    after = turns[here + 1] if here + 1 < len(turns) else None
    return Evidence(reference, record, before, after)
