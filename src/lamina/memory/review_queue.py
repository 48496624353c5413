"""The review queue: rank all proposals, and describe the requested ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lamina.engines import review
from lamina.engines.review import Effect, Proposal, VersionedRecord
from lamina.errors import Conflict, NotFound, Refused
from lamina.memory import profile_facts
from lamina.model import slots
from lamina.model.record import Layer, Record, State
from lamina.model.rejection import replaced_ids
from lamina.model.slots import Slot
from lamina.store.core.store import Store
from lamina.store.tables import events, grounds, records
from lamina.store.tables import slots as holding
from lamina.store.tables.records import COLUMN, Filter, Row
from lamina.store.tables.rejections import RejectedValues
from lamina.text import words

GROUNDLESS = "its evidence is gone: it was forgotten, superseded or erased"


class Queue(list[Proposal]):
    """A page of the queue, with the number of proposals after it and in all."""

    def __init__(self, proposals: Sequence[Proposal] = (), before: int = 0, total: int = 0) -> None:
        super().__init__(proposals)
        self.before = before
        self.total = total

    @property
    def left(self) -> int:
        """How many proposals come after this page."""
        return self.total - self.before - len(self)


def read(
    store: Store, user: str | None, limit: int | None = None, after: str | None = None
) -> Queue:
    """List what waits, most effect first: all, or `limit` items after a waiting record."""
    with store.snapshot():
        waiting = [
            entry(store, row) for row in store.rows(Filter(user, states=(State.CONSTRAINED,)))
        ]
        barred = store.rejections.every()
        ranked = review.ranked(_effects(store, waiting, barred))
        start = _start(ranked, after)
        part = ranked[start:] if limit is None else ranked[start : start + limit]
        rejected = review.Rejected(_rejected(store, user, barred) if part else ())
        with store.read() as db:
            actions = events.actions(db, {one.event for one in part})
        rivals = _rivals(ranked)
        described = [_proposal(one, actions[one.event], rivals, rejected) for one in part]
        return Queue(described, start, len(ranked))


def entry(store: Store, row: Row) -> VersionedRecord:
    return VersionedRecord(store.record(row), row[COLUMN["event"]])


def _start(ranked: Sequence[Effect], after: str | None) -> int:
    if after is None:
        return 0
    for number, one in enumerate(ranked, 1):
        if one.record.id == after:
            return number
    raise NotFound(f"{words.shown(after)} no longer waits; ask without `after` to start again")


def _effects(
    store: Store, waiting: Sequence[VersionedRecord], barred: RejectedValues
) -> list[Effect]:
    """Determine the effect of each proposal with a fixed number of queries, however many wait."""
    replaced = _replaced(store, waiting)
    with store.read() as db:
        unfounded = grounds.groundless(db, [one.record for one in waiting])
    outdated = profile_facts.outdated(store, [one.record for one in waiting])
    problems = {name: f"{review.OVERTAKEN}: {why}" for name, why in outdated.items()}
    problems |= dict.fromkeys(unfounded, GROUNDLESS)
    return [
        _effect(store, one, others, barred, problems.get(one.record.id))
        for one, others in zip(waiting, replaced, strict=True)
    ]


def _effect(
    store: Store,
    waiting: VersionedRecord,
    standing: Sequence[VersionedRecord],
    barred: RejectedValues,
    unsupported: str | None,
) -> Effect:
    record = waiting.record
    if (
        standing
        and record.layer is Layer.WORLD
        and not review.may_replace(record, store.history(record.id))
    ):
        return Effect(record, waiting.event, (), f"{standing[0].record.id} has its name")
    replaced = tuple(other.record for other in standing)
    problem = _problem(waiting, standing, barred) or unsupported
    return Effect(record, waiting.event, replaced, problem)


def _replaced(store: Store, waiting: Sequence[VersionedRecord]) -> list[list[VersionedRecord]]:
    """Find the records that each proposal would replace: those in its slot, or those it names."""
    here = [slots.slot(one.record) for one in waiting]
    names = [
        replaced_ids(one.record) if place is None else []
        for one, place in zip(waiting, here, strict=True)
    ]
    with store.read() as db:
        holders = holding.among(store, db, {slot for slot in here if slot is not None})
        rows = records.by_ids(db, {name for some in names for name in some})
    found = [
        [rows[name] for name in some if name in rows] if place is None else holders.get(place, ())
        for place, some in zip(here, names, strict=True)
    ]
    return [[entry(store, row) for row in some] for some in found]


def _problem(
    waiting: VersionedRecord, replaced: Sequence[VersionedRecord], barred: RejectedValues
) -> str | None:
    """Explain why a proposal could not be confirmed in the current state."""
    try:
        review.check_no_request(waiting.record)
        review.check_fresh(waiting, replaced)
    except (Conflict, Refused) as error:
        return error.message
    found = barred.of(waiting.record)
    return None if found is None else f"it was rejected, in record {found}"


def _rejected(store: Store, user: str | None, barred: RejectedValues) -> list[Record]:
    """List rejected records that this user may see, wherever they are stored now."""
    with store.read() as db:
        rows = records.by_ids(db, barred.records)
    found = [
        store.record(rows[one]) if one in rows else store.get(one, user) for one in barred.records
    ]
    return [one for one in found if one is not None and (user is None or one.user in (None, user))]


def _rivals(ranked: Sequence[Effect]) -> Mapping[Slot, Sequence[str]]:
    """Map each slot to the proposals for it, in the order of the queue."""
    found: dict[Slot, list[str]] = {}
    for one in ranked:
        if (here := slots.slot(one.record)) is not None:
            found.setdefault(here, []).append(one.record.id)
    return found


def _proposal(
    one: Effect, by: str, rivals: Mapping[Slot, Sequence[str]], rejected: review.Rejected
) -> Proposal:
    record, here = one.record, slots.slot(one.record)
    near = rivals[here][: review.MOST_RIVALS + 1] if here is not None else ()
    others = tuple([other for other in near if other != record.id][: review.MOST_RIVALS])
    return Proposal(
        record, by, record.updated_at, one.replaces, one.problem, others, rejected.similar(record)
    )
