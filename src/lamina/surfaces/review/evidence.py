"""Read what a proposal rests on: each record with the turns beside it in its conversation."""

from __future__ import annotations

from typing import NamedTuple

from lamina.errors import NotFound
from lamina.memory.operator import Operator
from lamina.model.clock import is_id
from lamina.model.record import Layer, Record

MOST_TURNS = 1000  # of a conversation in which neighbours are looked for


class Evidence(NamedTuple):
    """A piece of evidence: what names it, the record if there is one, and its neighbours."""

    reference: str
    record: Record | None
    before: Record | None = None
    after: Record | None = None


def found(operator: Operator, reference: str) -> Record | None:
    """Return the record that evidence names, unless that is no record or erased."""
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
