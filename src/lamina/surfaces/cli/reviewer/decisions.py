"""The decisions of one sitting.

Each is made on its own, failures are reported, and confirmations can be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from lamina.engines.review import Proposal
from lamina.errors import LaminaError, NotFound
from lamina.memory.operator import Operator
from lamina.model.record import Record
from lamina.surfaces.cli.reviewer.batch import CONFIRM, DONE, Outcome

UNDONE = "taken back"


class Confirmed(NamedTuple):
    """A proposal, and the record that it became."""

    proposal: Proposal
    record: Record


class Decisions:
    """The decisions of a person in one sitting."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._confirmed: list[list[Confirmed]] = []
        self._counts: Counter[str] = Counter()

    def decide(
        self,
        verb: str,
        chosen: Sequence[Proposal],
        reason: str | None,
        go_on: Callable[[int], bool] = lambda _: True,
    ) -> list[Outcome]:
        """Decide one by one until `go_on` says no; a failure does not stop the others."""
        self._confirmed.append([])
        outcomes = []
        with self._operator.batch():
            for number, one in enumerate(chosen):
                if not go_on(number):
                    break
                attempt = partial(self._decide, verb, one, reason)
                outcomes.append(self._outcome(one, DONE[verb], attempt))
        if not self._confirmed[-1]:
            self._confirmed.pop()
        return outcomes

    def _decide(self, verb: str, proposal: Proposal, reason: str | None) -> None:
        if verb == CONFIRM:
            record = self._operator.confirm(proposal.record.id, reason)
            self._confirmed[-1].append(Confirmed(proposal, record))
        else:
            self._operator.reject(proposal.record.id, reason)

    @property
    def last(self) -> list[Proposal]:
        """The proposals that were last confirmed together."""
        return [one.proposal for one in self._confirmed[-1]] if self._confirmed else []

    def undo(self) -> list[Outcome]:
        """Take the last confirmation back, or all of those that were made together."""
        together = self._confirmed.pop()
        with self._operator.batch():
            return [
                self._outcome(one.proposal, UNDONE, partial(self._undo, one.record))
                for one in reversed(together)
            ]

    def _undo(self, record: Record) -> None:
        confirmations = [
            event.seq
            for event in self._operator.history(record.id)
            if event.action == CONFIRM and event.at == record.updated_at
        ]
        if not confirmations:
            raise NotFound(f"the history of {record.id} has no confirmation of {record.updated_at}")
        self._operator.undo(confirmations[-1])

    def _outcome(self, proposal: Proposal, done: str, attempt: Callable[[], None]) -> Outcome:
        try:
            attempt()
        except LaminaError as error:
            return Outcome(proposal, done, error.message)
        self._counts[done] += 1
        return Outcome(proposal, done)

    def summary(self) -> str:
        """Say what was done, in a few words."""
        done = ", ".join(f"{name} {number}" for name, number in self._counts.items())
        return done or "nothing was decided"
