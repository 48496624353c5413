"""Go through the queue question by question, without a full screen."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from lamina.engines.review import Proposal
from lamina.memory.operator import Operator
from lamina.model.clock import Clock, system_clock
from lamina.surfaces.cli.reviewer import detail, editing
from lamina.surfaces.cli.reviewer.detail import Opened
from lamina.surfaces.cli.reviewer.texts import line
from lamina.surfaces.cli.reviewer.wording import place, reported
from lamina.surfaces.review import evidence
from lamina.surfaces.review.decisions import (
    REASONS,
    Decision,
    Decisions,
    Outcome,
    Verb,
    agreeing,
    is_possible,
)

CHOICES = {
    "c": "confirm (or forget what is asked to be forgotten)",
    "e": "edit, then confirm",
    "r": "reject",
    "s": "skip",
    "u": "undo the last decision",
    "q": "quit",
    "?": "this list",
}


class Questions:
    """Ask about one proposal after another."""

    def __init__(self, operator: Operator, clock: Clock = system_clock) -> None:
        self._operator = operator
        self._clock = clock
        self._decisions = Decisions(operator)
        self._console = Console(highlight=False)

    def run(self) -> str:
        """Ask until every proposal is decided or skipped, and summarise what was done."""
        skipped: set[str] = set()
        while (proposal := self._next(skipped)) is not None:
            self._show(proposal)
            answer = self._ask(proposal, skipped)
            if answer == "q":
                break
        left = len(self._operator.proposals())
        return f"{self._decisions.summary()}; {left} still waiting"

    def _next(self, skipped: set[str]) -> Proposal | None:
        waiting = self._operator.proposals()
        return next((one for one in waiting if one.record.id not in skipped), None)

    def _show(self, proposal: Proposal) -> None:
        rests_on = evidence.read(self._operator, proposal.record.evidence)
        opened = Opened(proposal, self._operator.history(proposal.record.id), [], {}, rests_on)
        width = self._console.width
        self._print([Text(), line(place(proposal.record), "bold")])
        self._print(detail.change(opened, width))
        self._print(detail.evidence(opened.evidence, width))

    def _ask(self, proposal: Proposal, skipped: set[str]) -> str:
        """Ask until an answer completes this proposal."""
        while True:
            answer = click.prompt(f"decide [{','.join(CHOICES)}]", default="s", show_default=False)
            answer = answer.strip().lower()[:1]
            if answer == "s":
                skipped.add(proposal.record.id)
            elif answer == "u":
                self._undo(skipped)
            elif answer in ("c", "e", "r"):
                if not self._decided(answer, proposal):
                    continue
            elif answer != "q":
                self._print([Text(f"{key}  {what}") for key, what in CHOICES.items()])
                continue
            return answer

    def _decided(self, answer: str, proposal: Proposal) -> bool:
        """Make a decision, and return whether that succeeded."""
        decision = self._decision(answer, proposal)
        if decision is None:
            return False
        (outcome,) = self._decisions.decide([decision])
        self._report(outcome)
        return outcome.error is None

    def _decision(self, answer: str, proposal: Proposal) -> Decision | None:
        if answer == "r":
            known = ", ".join(f"{number} {one}" for number, one in enumerate(REASONS, 1))
            given = click.prompt(f"why ({known}, other words, or Enter)", default="")
            named = given.isdecimal() and 1 <= int(given) <= len(REASONS)
            reason = REASONS[int(given) - 1] if named else given.strip()
            return Decision(Verb.REJECT, proposal, reason or None)
        if answer == "e":
            if (obstacle := editing.obstacle(proposal.record)) is not None:
                self._print([line(obstacle, "red")])
                return None
            edited = click.prompt("the right text", default=editing.text(proposal.record))
            return editing.decision(proposal, edited)
        if not is_possible(proposal):
            self._print([line("it cannot be confirmed, as said above", "red")])
            return None
        return agreeing(proposal)

    def _undo(self, skipped: set[str]) -> None:
        if not (last := self._decisions.last):
            self._print([Text("nothing was decided in this session that could be undone")])
            return
        for outcome in self._decisions.undo():
            self._report(outcome)
        skipped.difference_update(one.proposal.record.id for one in last)

    def _report(self, outcome: Outcome) -> None:
        style = "green" if outcome.error is None else "red"
        self._print([line(reported(outcome), style)])

    def _print(self, lines: Sequence[Text]) -> None:
        for one in lines:
            self._console.print(one)
