"""The decisions of one sitting: each is separate, and the last one can always be undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from lamina.engines import review
from lamina.engines.review import Proposal
from lamina.errors import LaminaError, NotFound
from lamina.memory.operator import Operator
from lamina.model.record import Record

UNDONE = "undone"
# The most frequent reasons; any other may be typed.
REASONS = (
    "not true",
    "not true any more",
    "said about somebody else",
    "not worth keeping",
    "too private to keep",
    "known already",
)


class Verb(StrEnum):
    """What a person decides about a proposal."""

    CONFIRM = "confirm"
    REJECT = "reject"
    FORGET = "forget"  # the record that a request asks to forget

    @property
    def done(self) -> str:
        """The verb as a participle, for what has happened."""
        return {"confirm": "confirmed", "reject": "rejected", "forget": "forgotten"}[self]


class Decision(NamedTuple):
    """A person's decision, with their comments."""

    verb: Verb
    proposal: Proposal
    reason: str | None = None
    content: str | None = None  # the text to confirm instead of the proposed one


class Outcome(NamedTuple):
    """The outcome of a decision or its undoing; `error` says why it failed."""

    proposal: Proposal
    done: str
    error: str | None = None


class Decided(NamedTuple):
    """A decision that was made, and the record that it changed."""

    decision: Decision
    record: Record


def agreeing(proposal: Proposal, content: str | None = None) -> Decision:
    """Agree to a proposal: confirm it, or forget what it asks to forget."""
    verb = Verb.CONFIRM if review.to_forget(proposal.record) is None else Verb.FORGET
    return Decision(verb, proposal, content=content)


def is_possible(proposal: Proposal) -> bool:
    """Return whether a person can agree to a proposal in its current state."""
    return proposal.problem is None or review.to_forget(proposal.record) is not None


class Decisions:
    """Make the decisions of a person, and keep them on a stack for undo."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._made: list[list[Decided]] = []
        self._counts: Counter[str] = Counter()

    def decide(self, decisions: Sequence[Decision], *, joined: bool = False) -> list[Outcome]:
        """Decide one by one; a failure does not stop the others.

        If joined, they are undone together with the previous ones.
        """
        outcomes = []
        made = self._made.pop() if joined and self._made else []
        with self._operator.batch():
            for one in decisions:
                try:
                    made.append(Decided(one, self._decide(one)))
                except LaminaError as error:
                    outcomes.append(Outcome(one.proposal, one.verb.done, error.message))
                else:
                    outcomes.append(self._count(one.proposal, one.verb.done))
        if made:
            self._made.append(made)
        return outcomes

    def _decide(self, decision: Decision) -> Record:
        verb, record_id = decision.verb, decision.proposal.record.id
        if verb is Verb.CONFIRM:
            return self._operator.confirm(record_id, decision.reason, decision.content)
        if verb is Verb.REJECT:
            return self._operator.reject(record_id, decision.reason)
        asked = review.to_forget(decision.proposal.record)
        if asked is None:
            raise NotFound(f"{record_id} does not ask to forget anything")
        return self._operator.forget(asked, decision.reason)

    @property
    def last(self) -> Sequence[Decision]:
        """The last decision, or those that were made together."""
        return [one.decision for one in self._made[-1]] if self._made else ()

    def undo(self) -> list[Outcome]:
        """Undo the last decision, or all that were made together."""
        outcomes = []
        with self._operator.batch():
            for one in reversed(self._made.pop()):
                proposal = one.decision.proposal
                try:
                    self._operator.undo(self._event(one))
                except LaminaError as error:
                    outcomes.append(Outcome(proposal, UNDONE, error.message))
                else:
                    outcomes.append(self._count(proposal, UNDONE))
        return outcomes

    def _event(self, one: Decided) -> int:
        """Find the event of a decision in the history of the record that it changed."""
        record, action = one.record, one.decision.verb.value
        found = [
            event.seq
            for event in self._operator.history(record.id)
            if event.action == action and event.at == record.updated_at
        ]
        if not found:
            raise NotFound(f"the history of {record.id} does not have this decision any more")
        return found[-1]

    def _count(self, proposal: Proposal, done: str) -> Outcome:
        self._counts[done] += 1
        return Outcome(proposal, done)

    def summary(self) -> str:
        """Summarise what was done, in a few words."""
        done = ", ".join(f"{name} {number}" for name, number in self._counts.items())
        return done or "nothing was decided"
