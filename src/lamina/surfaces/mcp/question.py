"""Word a proposal as a question for the person at a client, and parse the answer. Pure.

Only plain and complete text without secrets passes through a client: what a person cannot see
completely in a dialog is not asked there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.engines import review
from lamina.engines.review import Proposal
from lamina.model.record import Record
from lamina.surfaces.cli.reviewer import wording
from lamina.surfaces.review.decisions import Decision, Verb, agreeing, is_possible
from lamina.text.secrets import detection
from lamina.text.words import one_line, reveal

LONGEST = 4000  # characters of a question
LONGEST_REASON = 400
WIDTH = 300  # of a piece of evidence, which may be cut
QUOTED = 3  # pieces of evidence
LEAVE = "leave it waiting"
DECISION, REASON = "decision", "reason"


class Question(NamedTuple):
    """The question to a person, and the words for both decisions."""

    text: str
    agree: str
    refuse: str


def question(proposal: Proposal, evidence: Sequence[Record], agent: str) -> Question | None:
    """Word a proposal; None if it should not be decided in a dialog."""
    if not is_possible(proposal):
        return None
    forgets = review.to_forget(proposal.record) is not None
    record = proposal.record
    lines = (
        _forgetting(record, evidence, agent) if forgets else _changing(proposal, evidence, agent)
    )
    text = "\n".join((*lines, f"id {record.id}, trust {record.trust.value}"))
    if len(text) > LONGEST or _has_secret(text, (record, *proposal.replaces, *evidence)):
        return None
    return Question(text, "forget", "keep") if forgets else Question(text, "confirm", "reject")


def _has_secret(text: str, records: Iterable[Record]) -> bool:
    fields = [{"content": one.content, "metadata": one.metadata} for one in records]
    return bool(detection.in_text(text) or detection.in_fields(*fields))


def _forgetting(request: Record, evidence: Sequence[Record], agent: str) -> list[str]:
    lines = [f"An agent asks to forget a memory of {agent}."]
    for one in evidence:
        lines += _quoted("to forget", wording.saying(one))
    return [*lines, *_quoted("the request", [request.content])]


def _changing(proposal: Proposal, evidence: Sequence[Record], agent: str) -> list[str]:
    record = proposal.record
    lines = [f"An agent proposes a change to the memory of {agent}."]
    lines += _quoted("about", [wording.place(record)])
    for other in proposal.replaces:
        lines += _quoted("now", wording.saying(other))
    lines += _quoted("proposed", wording.saying(record))
    if more := wording.more(record):
        lines += _quoted("stored with it", more)
    for one in evidence[:QUOTED]:
        lines += _quoted("because of", [one_line(one.content, WIDTH)])
    left = len(record.evidence) - len(evidence[:QUOTED])
    lines += [f"and {left} more"] if left > 0 else []
    return [*lines, *_reason(record), *_cautions(proposal)]


def _quoted(label: str, lines: Iterable[str]) -> list[str]:
    """Quote lines below their label, with a mark before each so that none looks like a label."""
    return [f"{label}:", *(f"| {reveal(part)}" for line in lines for part in line.split("\n"))]


def _reason(record: Record) -> list[str]:
    reason = record.metadata.get("reason")
    return _quoted("the agent's reason", [reason]) if isinstance(reason, str) and reason else []


def _cautions(proposal: Proposal) -> list[str]:
    found = (*wording.obstacles(proposal), *wording.echoes(proposal))
    return [f"note: {one_line(line.plain.lstrip('!?~ '), WIDTH)}" for line in found]


def schema(asked: Question) -> dict[str, Any]:
    """Make the form: a choice, whose default changes nothing, and a reason."""
    return {
        "type": "object",
        "properties": {
            DECISION: {
                "type": "string",
                "title": "Decision",
                "description": f"{LEAVE} decides nothing",
                "enum": [LEAVE, asked.agree, asked.refuse],
                "default": LEAVE,
            },
            REASON: {
                "type": "string",
                "title": "Reason",
                "description": "why; it may stay empty",
                "maxLength": LONGEST_REASON,
            },
        },
        "required": [DECISION],
    }


def decision(
    asked: Question, proposal: Proposal, content: Mapping[str, Any] | None
) -> Decision | None:
    """Read the decision from a filled form; None if the proposal is to wait.

    Raises ValueError if the form is not the one that was sent.
    """
    given = dict(content or {})
    choice, reason = given.pop(DECISION, None), given.pop(REASON, None)
    is_text = reason is None or (isinstance(reason, str) and len(reason) <= LONGEST_REASON)
    if given or not is_text or choice not in (LEAVE, asked.agree, asked.refuse):
        raise ValueError("the answer does not match the form")
    if choice == LEAVE:
        return None
    why = (reason or "").strip() or None
    if choice == asked.refuse:
        return Decision(Verb.REJECT, proposal, why)
    return agreeing(proposal)._replace(reason=why)
