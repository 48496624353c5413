"""What deciding about a memory would do: what a proposal replaces, whether it is stale, what an undo puts back. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from lamina import rules
from lamina.engines import profile
from lamina.errors import Conflict, Refused
from lamina.model import Change, Event, Layer, Record, Role, State

# Where a proposal names the records that it would take the place of, by its layer.
REPLACES: Mapping[Layer, str] = {Layer.SEMANTIC: "compacted_from", Layer.PROCEDURAL: "duplicates"}
# Events that an operator can take back.
UNDONE = ("confirm", "rollback", "forget", "correct", "revoke")


class Entry(msgspec.Struct, frozen=True):
    """A record, and the number of the last event about it."""

    record: Record
    event: int


def named(proposal: Record) -> list[str]:
    """The records that a proposal says it would replace."""
    given = proposal.metadata.get(REPLACES.get(proposal.layer, ""), ())
    return [item for item in given if isinstance(item, str)] if isinstance(given, (list, tuple)) else []


def same_place(proposal: Record, others: Iterable[Entry]) -> list[Entry]:
    """The active records that stand where a profile proposal would stand: same user, same key."""
    key = str(proposal.metadata.get("profile_key", ""))
    return [
        other
        for other in others
        if other.record.user == proposal.user
        and other.record.id != proposal.id
        and profile.same_key(str(other.record.metadata.get("profile_key", "")), key)
    ]


def check_fresh(proposal: Entry, replaced: Sequence[Entry]) -> None:
    """Raise when anything that a proposal would replace has changed since it was proposed."""
    for other in replaced:
        if other.record.state is not State.ACTIVE:
            state = other.record.state.value
            raise Conflict(f"its source {other.record.id} is {state} by now; propose anew", record=other.record.id)
        if other.event > proposal.event:
            raise Conflict(
                f"{other.record.id} has taken its place or changed since this was proposed; propose anew",
                record=other.record.id,
            )


def check_pending(record: Record) -> None:
    if record.state is not State.CONSTRAINED:
        raise Refused(f"the record {record.id} is {record.state.value}; only what is constrained waits for a decision")


def check_active(record: Record, verb: str) -> None:
    if record.state is not State.ACTIVE:
        raise Refused(f"the record {record.id} is {record.state.value}; only what is active can be {verb}")


def restored(record: Record, predecessors: Iterable[Record]) -> list[Record]:
    """What comes back when a record is rolled back: what it had superseded, and nobody else since."""
    if record.layer is Layer.EPISODIC:  # what happened is hidden, and nothing else is touched
        return []
    return [one for one in predecessors if one.state is State.SUPERSEDED and one.superseded_by == record.id]


def check_undoable(event: Event, last_events: Mapping[str, int], role: Role) -> tuple[Change, ...]:
    """The changes of an event, when all of them can be taken back: nothing has happened to the records since."""
    if event.action not in UNDONE:
        known = ", ".join(UNDONE)
        raise Refused(f"event {event.seq} is {event.action!r}; what can be undone is {known}")
    for change in event.changes:
        if last_events.get(change.record) != event.seq:
            raise Conflict(f"{change.record} has changed since event {event.seq}; undo that first", record=change.record)
        if "state" in change.before:
            rules.check_move(State(change.after["state"]), State(change.before["state"]), role)
    return event.changes


def ranked(proposals: Collection[Record], active: Collection[Record]) -> list[tuple[Record, list[str]]]:
    """Proposals by what they would change: those that replace something first, then the oldest."""
    entries = [Entry(record, 0) for record in active]

    def effect(proposal: Record) -> list[str]:
        if proposal.layer is Layer.PROFILE:
            return [other.record.id for other in same_place(proposal, entries)]
        return named(proposal)

    found = [(proposal, effect(proposal)) for proposal in proposals]
    return sorted(found, key=lambda pair: (-len(pair[1]), pair[0].created_at, pair[0].seq))
