"""What deciding about a memory would do: what a proposal replaces, whether it is stale, what an undo puts back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import msgspec

from lamina.engines import facts, profile
from lamina.engines.claims import attributes
from lamina.errors import Conflict, Refused
from lamina.model import rejection, rules, slots
from lamina.model.record import Change, Event, Layer, Record, Role, State, iso
from lamina.text import words as text

# So many of the words of the shorter text make two texts similar.
SIMILAR = 0.5
# So many rivals and so many similar records are named with a proposal: nobody reads more, and each may have thousands.
MOST_RIVALS = 100
MOST_SIMILAR = 20
# Events that an operator can take back.
UNDONE = ("confirm", "rollback", "forget", "correct", "revoke")
# The event that proposes what was changed in the files of the world model.
FROM_FILES = "world.propose"
# Where a request names the record that somebody wants forgotten.
FORGET = "forget"


class Entry(msgspec.Struct, frozen=True):
    """A record, and the number of the last event about it."""

    record: Record
    event: int


class Effect(NamedTuple):
    """A record that waits, and what confirming it would do: what the order of the queue depends on."""

    record: Record
    event: int
    replaces: tuple[Record, ...]
    problem: str | None


class Proposal(msgspec.Struct, frozen=True):
    """Something that waits for a decision, with what a person needs to make it."""

    record: Record
    by: str  # the action that put it here
    since: datetime
    replaces: tuple[Record, ...]
    problem: str | None  # why it could not be confirmed as things are
    rivals: tuple[str, ...]  # other proposals for the same place, the first `MOST_RIVALS`
    similar: tuple[
        Record, ...
    ]  # what was rejected before and says nearly the same, the newest `MOST_SIMILAR`

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


def check_fresh(proposal: Entry, replaced: Sequence[Entry]) -> None:
    """Raise when anything that a proposal would replace has changed since it was proposed."""
    for other in replaced:
        if other.record.state is not State.ACTIVE:
            state = other.record.state.value
            raise Conflict(
                f"its source {other.record.id} is {state} by now; propose anew",
                record=other.record.id,
            )
        if other.event > proposal.event:
            raise Conflict(
                f"{other.record.id} has taken its place or changed since this was proposed; propose anew",
                record=other.record.id,
            )


def may_replace(record: Record, history: Sequence[Event]) -> bool:
    """Whether a proposal replaces what stands in its place. An imported tool is only a memory."""
    return record.layer is not Layer.WORLD or history[0].action == FROM_FILES


def check_pending(record: Record) -> None:
    if record.state is not State.CONSTRAINED:
        raise Refused(
            f"the record {record.id} is {record.state.value}; only what is constrained waits for a decision"
        )


def to_forget(record: Record) -> str | None:
    """The record that a request asks to have forgotten; nothing for any other record."""
    asked = (
        record.metadata.get(FORGET)
        if record.kind == "request" and record.layer is Layer.EPISODIC
        else None
    )
    return asked if isinstance(asked, str) else None


def check_no_request(record: Record) -> None:
    """Raise for a request to forget: whoever wants that says so with the verb itself, one record at a time."""
    asked = to_forget(record)
    if asked is not None:
        raise Refused(
            f"it asks to forget {asked}: `lamina forget {asked}` hides that, `lamina erase {asked}` removes it for good,"
            f" `lamina review reject {record.id} --reason …` declines"
        )


def check_active(record: Record, verb: str) -> None:
    if record.state is not State.ACTIVE:
        raise Refused(
            f"the record {record.id} is {record.state.value}; only what is active can be {verb}"
        )


def corrected(record: Record, given: str, reason: str) -> tuple[str, Mapping[str, Any]]:
    """The text and the metadata of a record that is corrected: of a profile or a fact, what is given is the value."""
    metadata = record.metadata
    if record.layer is Layer.PROFILE:
        key = str(metadata["profile_key"])
        value = profile.read(key, given)
        return profile.content_of(key, value), {**metadata, "value": value, "reason": reason}
    if facts.is_fact(record):
        denied = metadata.get("negated") is True
        told = attributes.sentence(
            metadata["subject"], metadata["attribute"], given, negated=denied
        )
        return told, {**metadata, "value": given, "rule": "corrected"}
    return given, metadata


def restored(record: Record, predecessors: Iterable[Record]) -> list[Record]:
    """What comes back when a record is rolled back: what it had superseded, and nobody else since."""
    if record.layer is Layer.EPISODIC:  # what happened is hidden, and nothing else is touched
        return []
    return [
        one
        for one in predecessors
        if one.state is State.SUPERSEDED and one.superseded_by == record.id
    ]


def check_undoable(event: Event, last_events: Mapping[str, int], role: Role) -> tuple[Change, ...]:
    """The changes of an event, when all of them can be taken back: nothing has happened to the records since."""
    if event.action not in UNDONE:
        known = ", ".join(UNDONE)
        raise Refused(f"event {event.seq} is {event.action!r}; what can be undone is {known}")
    for change in event.changes:
        if last_events.get(change.record) != event.seq:
            raise Conflict(
                f"{change.record} has changed since event {event.seq}; undo that first",
                record=change.record,
            )
        if "state" in change.before:
            rules.check_move(State(change.after["state"]), State(change.before["state"]), role)
    return event.changes


def barred(rejected: Record, active: Iterable[Record]) -> list[bytes]:
    """The values that stay out once a proposal is rejected: what is active says what it says, whoever repeats it."""
    known = {
        one
        for record in active
        if record.state is State.ACTIVE
        for one in rejection.fingerprints(record)
    }
    return [one for one in rejection.fingerprints(rejected) if one not in known]


class Rejected:
    """What was rejected before, the oldest first, by place and by word: what is similar is found without reading all of it."""

    def __init__(self, rejected: Sequence[Record]) -> None:
        self._rejected = rejected

    def similar(self, proposal: Record) -> tuple[Record, ...]:
        """What was rejected in the same place, or in much the same words; the newest of that."""
        here = slots.slot(proposal)
        if here is not None:
            return tuple(self._by_place.get(here, ())[-MOST_SIMILAR:])
        words = _words(proposal)
        near = sorted(
            {number for word in words for number in self._by_word.get(word, ())}, reverse=True
        )
        newest = islice(
            (one for one in near if self._is_similar(one, proposal, words)), MOST_SIMILAR
        )
        return tuple(self._rejected[number] for number in sorted(newest))

    def _is_similar(self, number: int, proposal: Record, words: frozenset[str]) -> bool:
        other, others = self._rejected[number], self._words[number]
        if other.layer is not proposal.layer or other.user not in (None, proposal.user):
            return False
        return len(words & others) >= SIMILAR * max(1, min(len(words), len(others)))

    @cached_property
    def _by_place(self) -> Mapping[slots.Slot, Sequence[Record]]:
        found: dict[slots.Slot, list[Record]] = {}
        for one in self._rejected:
            if (here := slots.slot(one)) is not None:
                found.setdefault(here, []).append(one)
        return found

    @cached_property
    def _words(self) -> Sequence[frozenset[str]]:
        return [_words(one) for one in self._rejected]

    @cached_property
    def _by_word(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                found.setdefault(word, []).append(number)
        return found


def _words(record: Record) -> frozenset[str]:
    """The words that tell a text from others."""
    return frozenset(text.terms(record.content))


Waiting = TypeVar("Waiting", Effect, Proposal)


def ranked(waiting: Iterable[Waiting]) -> list[Waiting]:
    """By what they would change: those that can be confirmed first, of those what replaces most, then the oldest."""
    return sorted(
        waiting,
        key=lambda one: (
            one.problem is not None,
            -len(one.replaces),
            one.record.created_at,
            one.record.seq,
        ),
    )
