"""Decide about many proposals at once: preview and summary. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from lamina.engines import review
from lamina.engines.review import Proposal
from lamina.model import slots
from lamina.model.slots import Slot
from lamina.surfaces.cli.reviewer.texts import indented, line, safe
from lamina.surfaces.cli.reviewer.wording import TRUSTS, brief, mark, more, origin, place, saying
from lamina.surfaces.review.decisions import Decision, Outcome, Verb, agreeing

DEEPER = "      "


class Step(NamedTuple):
    """The effect of a joint decision on one of its proposals."""

    decision: Decision
    effect: str
    possible: bool = True
    supersedes: bool = False


def plan(chosen: Sequence[Proposal], verb: Verb) -> list[Step]:
    """Plan each step; of proposals that exclude each other, the first is chosen."""
    if verb is Verb.REJECT:
        put_aside = "is put aside; what it says is kept out from now on"
        return [Step(Decision(verb, one), put_aside) for one in chosen]
    steps: list[Step] = []
    taken: set[str | Slot] = set()  # slots and records that an earlier step has claimed
    for one in chosen:
        replaced, here = [other.id for other in one.replaces], slots.slot(one.record)
        wanted: list[str | Slot] = [*replaced, *([here] if here is not None else ())]
        decision = agreeing(one)
        if decision.verb is Verb.FORGET:
            steps.append(Step(decision, f"forgets {review.to_forget(one.record)}"))
        elif one.problem is not None:
            steps.append(Step(decision, f"is left out: {one.problem}", possible=False))
        elif taken.intersection(wanted):
            steps.append(Step(decision, "is left out: one above takes its place", possible=False))
        else:
            taken.update(wanted)
            effect = "supersedes" if replaced else "replaces nothing"
            steps.append(Step(decision, f"becomes active, and {effect}", supersedes=bool(replaced)))
    return steps


def preview(steps: Sequence[Step], width: int) -> list[Text]:
    """Show exactly what would happen, step by step."""
    made: list[Text] = []
    for number, step in enumerate(steps, 1):
        proposal = step.decision.proposal
        record = proposal.record
        trust = Text(record.trust.value, TRUSTS[record.trust])
        where, source = line(place(record), "bold"), line(origin(proposal))
        head = Text.assemble(mark(proposal), " ", where, " · ", trust, " · ", source)
        made += indented(head, width, f"{number:>3} ")
        for sentence in saying(record):
            made += indented(safe(sentence), width, DEEPER)
        for sentence in more(record):
            made += indented(safe(sentence, "dim"), width, DEEPER)
        made += indented(line(step.effect, "green" if step.possible else "red"), width, "    → ")
        if step.supersedes:
            for other in proposal.replaces:
                superseded = Text.assemble(other.id, " ", brief(other, style="red"))
                made += indented(superseded, width, DEEPER)
    return made


def summary(outcomes: Sequence[Outcome], width: int) -> list[Text]:
    """Report how many were decided, and why others were not."""
    failed = [one for one in outcomes if one.error is not None]
    done = Counter(one.done for one in outcomes if one.error is None)
    made = [Text(f"{name:<10} {number}", "green") for name, number in done.items()]
    made += [Text(f"{'failed':<10} {len(failed)}", "red")] if failed else []
    for one in failed:
        made += [
            Text(),
            *indented(brief(one.proposal.record), width),
            *indented(line(one.error or "", "red"), width, "  ✗ ", "red"),
        ]
    return made or [Text("nothing was done")]
