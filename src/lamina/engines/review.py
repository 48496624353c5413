"""Check decisions in a review: what they replace, if they are stale, what undo restores. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from lamina.engines import profile
from lamina.errors import Conflict, Refused
from lamina.model import rejection, rules, slots
from lamina.model.record import Change, Event, Layer, Record, Role, State, iso
from lamina.text.words import terms

# The share of the words of the shorter text that makes two texts similar.
SIMILAR = 0.5
# The maximum number listed with a proposal: there may be thousands, and nobody reads more.
MOST_RIVALS = 100
MOST_SIMILAR = 20
# Events that an operator can take back.
REJECT = "reject"
UNDONE = ("confirm", REJECT, "rollback", "forget", "correct", "revoke")
# Words for the states in which evidence no longer supports what rests on it.
GONE = {State.TOMBSTONED: "forgotten", State.SUPERSEDED: "superseded"}
OVERTAKEN = "the facts say otherwise by now"
# The event that proposes changes made in the files of the world model.
FROM_FILES = "world.propose"
# The metadata field in which a request names the record to forget.
FORGET = "forget"
DIFFERENCES = "differences"  # metadata: steps that only some of the replaced procedures have


class VersionedRecord(msgspec.Struct, frozen=True):
    """A record and the number of the last event about it."""

    record: Record
    event: int


class Effect(NamedTuple):
    """A waiting record and the effect of confirming it, which determines the order of the queue."""

    record: Record
    event: int
    replaces: tuple[Record, ...]
    problem: str | None


class Proposal(msgspec.Struct, frozen=True):
    """A record that waits for a decision, with the information needed to make it."""

    record: Record
    by: str  # the action that put it here
    since: datetime
    replaces: tuple[Record, ...]
    problem: str | None  # why it cannot be confirmed at present
    rivals: tuple[str, ...]  # other proposals for the same slot, the first `MOST_RIVALS`
    # Rejected records that say nearly the same, the newest `MOST_SIMILAR`.
    similar: tuple[Record, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "record": self.record.to_dict(),
            "by": self.by,
            "since": iso(self.since),
            "replaces": [record.id for record in self.replaces],
            "problem": self.problem,
            "rivals": list(self.rivals),
            "similar": [record.id for record in self.similar],
        }


def check_fresh(proposal: VersionedRecord, replaced: Sequence[VersionedRecord]) -> None:
    """Raise if anything that a proposal would replace has changed since it was proposed."""
    for other in replaced:
        record = other.record
        if record.state is not State.ACTIVE:
            problem = f"its source {record.id} is {record.state.value} by now; propose it again"
            raise Conflict(problem, record=record.id)
        if other.event > proposal.event:
            problem = f"{record.id} has taken its place or changed since this was proposed"
            raise Conflict(f"{problem}; propose it again", record=record.id)


def may_replace(record: Record, history: Sequence[Event]) -> bool:
    """Tell if a proposal may replace the holder of its slot. An imported tool is only a memory."""
    return record.layer is not Layer.WORLD or history[0].action == FROM_FILES


def differences(metadata: Mapping[str, Any]) -> list[str]:
    """List which steps a canonical procedure takes from, or leaves out of, those it replaces."""
    found, replaced = metadata.get(DIFFERENCES), metadata.get("duplicates")
    if not isinstance(found, (list, tuple)) or not isinstance(replaced, (list, tuple)):
        return []
    listed = [one for one in found if isinstance(one, Mapping)]
    steps = [(one.get("step"), one.get("in")) for one in listed]
    return [
        f"in {len(ids)} of {len(replaced)}: {step}"
        for step, ids in steps
        if isinstance(step, str) and isinstance(ids, (list, tuple))
    ]


def check_pending(record: Record) -> None:
    if record.state is not State.CONSTRAINED:
        raise Refused(
            f"the record {record.id} is {record.state.value};"
            " only constrained records wait for a decision"
        )


def to_forget(record: Record) -> str | None:
    """Return the id of the record that a request asks to forget; None for any other record."""
    if record.kind != "request" or record.layer is not Layer.EPISODIC:
        return None
    asked = record.metadata.get(FORGET)
    return asked if isinstance(asked, str) else None


def check_no_request(record: Record) -> None:
    """Raise for a request to forget, which is done with the verb itself, one record at a time."""
    asked = to_forget(record)
    if asked is not None:
        raise Refused(
            f"it asks to forget {asked}: `lamina forget {asked}` hides it,"
            f" `lamina erase {asked}` removes it permanently,"
            f" `lamina review reject {record.id} --reason …` declines"
        )


def check_active(record: Record, verb: str) -> None:
    if record.state is not State.ACTIVE:
        successor = f" by {record.superseded_by}" if record.superseded_by else ""
        raise Refused(
            f"the record {record.id} is {record.state.value}{successor};"
            f" only active records can be {verb}"
        )


def corrected(record: Record, given: str, reason: str) -> tuple[str, Mapping[str, Any]]:
    """Build the text and metadata of a corrected record; for a profile, from its value."""
    metadata = record.metadata
    if record.layer is Layer.PROFILE:
        key = str(metadata["profile_key"])
        value = profile.read(key, given)
        return profile.content_of(key, value), {**metadata, "value": value, "reason": reason}
    return given, metadata


def restored(record: Record, predecessors: Iterable[Record]) -> list[Record]:
    """List what a rollback restores: records that this one, and no other since, superseded."""
    if record.layer is Layer.EPISODIC:  # an event is only hidden, and nothing else changes
        return []
    return [
        one
        for one in predecessors
        if one.state is State.SUPERSEDED and one.superseded_by == record.id
    ]


def says_one_of(record: Record, barred: Collection[bytes]) -> bool:
    """Tell if a record says something that is barred."""
    return not frozenset(barred).isdisjoint(rejection.fingerprints(record))


def check_grounded(record: Record, grounds: Mapping[str, State | None]) -> None:
    """Raise if all evidence of a proposal is gone; None stands for an erased record."""
    if grounds and not any(state in rejection.BELIEVABLE for state in grounds.values()):
        one, state = next(iter(grounds.items()))
        gone = "erased" if state is None else GONE.get(state, state.value)
        raise Conflict(
            f"its evidence is gone: {one} is {gone}; propose it again with other evidence,"
            f" or reject it",
            record=one,
        )


def check_supported(record: Record, outdated: Mapping[str, str]) -> None:
    """Raise if the facts from which a proposal was made now contradict it."""
    if (why := outdated.get(record.id)) is not None:
        raise Conflict(f"{OVERTAKEN}: {why}; `lamina sleep` proposes what is left of it")


def check_undoable(event: Event, last_events: Mapping[str, int], role: Role) -> tuple[Change, ...]:
    """Return the changes of an event, or raise if one of its records has changed since."""
    if event.action not in UNDONE:
        known = ", ".join(UNDONE)
        raise Refused(f"event {event.seq} is {event.action!r}; only these can be undone: {known}")
    for change in event.changes:
        if last_events.get(change.record) != event.seq:
            problem = f"{change.record} has changed since event {event.seq}; undo that first"
            raise Conflict(problem, record=change.record)
        if "state" in change.before:
            rules.check_move(State(change.after["state"]), State(change.before["state"]), role)
    return event.changes


def barred(rejected: Record, active: Iterable[Record]) -> list[bytes]:
    """List the fingerprints that are barred once a proposal is rejected.

    Values of active records are not among them: they may be repeated.
    """
    known = set(fingerprints(record for record in active if record.state is State.ACTIVE))
    return [one for one in rejection.fingerprints(rejected) if one not in known]


def fingerprints(records: Iterable[Record]) -> list[bytes]:
    """List the fingerprints of all values in records."""
    every = (one for record in records for one in rejection.fingerprints(record))
    return list(dict.fromkeys(every))


class Rejected:
    """Rejected records, oldest first, indexed by slot and by word to find similar ones fast."""

    def __init__(self, rejected: Sequence[Record]) -> None:
        self._rejected = rejected

    def similar(self, proposal: Record) -> tuple[Record, ...]:
        """Find the newest ones that were rejected for the same slot, or have similar words."""
        slot = slots.slot(proposal)
        if slot is not None:
            return tuple(self._by_slot.get(slot, ())[-MOST_SIMILAR:])
        words = _words(proposal)
        sharing = {number for word in words for number in self._by_word.get(word, ())}
        newest_first = sorted(sharing, reverse=True)
        similar = (one for one in newest_first if self._is_similar(one, proposal, words))
        return tuple(self._rejected[number] for number in sorted(islice(similar, MOST_SIMILAR)))

    def _is_similar(self, number: int, proposal: Record, words: frozenset[str]) -> bool:
        other, others = self._rejected[number], self._words[number]
        if other.layer is not proposal.layer or other.user not in (None, proposal.user):
            return False
        return len(words & others) >= SIMILAR * max(1, min(len(words), len(others)))

    @cached_property
    def _by_slot(self) -> Mapping[slots.Slot, Sequence[Record]]:
        by_slot: dict[slots.Slot, list[Record]] = {}
        for record in self._rejected:
            if (slot := slots.slot(record)) is not None:
                by_slot.setdefault(slot, []).append(record)
        return by_slot

    @cached_property
    def _words(self) -> Sequence[frozenset[str]]:
        return [_words(record) for record in self._rejected]

    @cached_property
    def _by_word(self) -> Mapping[str, Sequence[int]]:
        by_word: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                by_word.setdefault(word, []).append(number)
        return by_word


def _words(record: Record) -> frozenset[str]:
    """Collect the informative words of a record's text."""
    return frozenset(terms(record.content))


Waiting = TypeVar("Waiting", Effect, Proposal)


def ranked(waiting: Iterable[Waiting]) -> list[Waiting]:
    """Sort by effect: confirmable ones first, then those that replace most, then the oldest."""
    return sorted(waiting, key=_rank)


def _rank(one: Effect | Proposal) -> tuple[bool, int, datetime, int]:
    record = one.record
    return one.problem is not None, -len(one.replaces), record.created_at, record.seq
