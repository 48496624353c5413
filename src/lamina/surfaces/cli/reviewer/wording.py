"""Describe a proposal for every screen: its origin, its content, and warnings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from rich.text import Text

from lamina.engines import profile, review
from lamina.engines.review import DIFFERENCES, MOST_RIVALS, Proposal
from lamina.memory.proposals import QUARANTINE
from lamina.model.record import Layer, Record, Trust
from lamina.model.rejection import REPLACES
from lamina.model.slots import world_entry
from lamina.surfaces.cli.reviewer import texts
from lamina.surfaces.cli.reviewer.texts import line, safe
from lamina.surfaces.review.decisions import Outcome

TRUSTS = {Trust.OPERATOR: "green", Trust.AGENT: "cyan", Trust.EXTERNAL: "yellow"}
PROBLEM, CARE = "bold red", "yellow"
AGES = ((604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "m"))
# The actions that create proposals, in a word.
ACTIONS = {
    "profile.propose": "proposal",
    "semantic.compact": "compaction",
    "procedural.dedup": "dedup",
    QUARANTINE: "revoked",
    "undo": "undone",
}
# Metadata that is shown in a form of its own.
SHOWN = frozenset({"profile_key", "value", "reason", "project", DIFFERENCES, *REPLACES.values()})
MARKS = (
    ("!", PROBLEM, "cannot be confirmed as things are"),
    ("?", "bold magenta", "has hidden characters; they are spelled out, such as <U+202E>"),
    ("~", CARE, "was rejected before in much the same words, or others wait for the same place"),
)


def age(now: datetime, then: datetime) -> str:
    """Describe how long ago a moment was, as briefly as possible."""
    seconds = max(0.0, (now - then).total_seconds())
    return next((f"{int(seconds // size)}{unit}" for size, unit in AGES if seconds >= size), "now")


def ago(now: datetime, then: datetime) -> str:
    span = age(now, then)
    return span if span == "now" else f"{span} ago"


def origin(proposal: Proposal) -> str:
    """Name the source of a proposal, or else what created it."""
    maker, source = ACTIONS.get(proposal.by, proposal.by), proposal.record.source
    if source is None:
        return maker
    return f"{maker} {source}" if proposal.by == QUARANTINE else source


def place(record: Record) -> str:
    """Name the layer of a record, and its key in that layer."""
    if record.layer is Layer.PROFILE:
        return f"profile/{record.metadata.get('profile_key', '')}"
    if (project := profile.project_name(record)) is not None:
        return f"project/{project}"
    if (entry := world_entry(record)) is not None:
        return f"world/{entry}"
    workflow = record.metadata.get("workflow")
    is_part = record.layer is Layer.PROCEDURAL and workflow
    return f"{record.layer.value}/{workflow}" if is_part else record.layer.value


def saying(record: Record) -> list[str]:
    """Return the lines of what a record says: a list, the sections of a project, or a text.

    A text that differs from the value beside it is shown too: both would be stored.
    """
    lines, expected = _values(record)
    return lines if record.content == expected else [*lines, *record.content.split("\n")]


def _values(record: Record) -> tuple[list[str], str | None]:
    """Return the lines of a value, and the text that belongs to it."""
    if record.layer is Layer.PROFILE and "value" in record.metadata:
        key, value = str(record.metadata.get("profile_key", "")), record.metadata["value"]
        return _lines(value), profile.content_of(key, value)
    if (name := profile.project_name(record)) is not None:
        sections = {title: items for title, items in profile.sections_of(record).items() if items}
        lines = [
            entry
            for title, items in sections.items()
            for entry in (f"{title}:", *(f"- {one}" for one in items))
        ]
        return lines, profile.content_of_project(name, profile.sections_of(record))
    return [], None


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{name}: {profile.text_of(item)}" for name, item in value.items()]
    items = value if isinstance(value, (list, tuple)) else [value]
    return [one for item in items for one in profile.text_of(item).split("\n")] or ["nothing"]


def more(record: Record) -> list[str]:
    """Return the lines for the other metadata of a record."""
    return [
        f"{name}: {plain(value)}" for name, value in record.metadata.items() if name not in SHOWN
    ]


def plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def brief(record: Record, width: int = 0, style: str = "") -> Text:
    """Return what a record says on one line."""
    return line(" · ".join(saying(record)), style, width)


def hidden(record: Record) -> int:
    """Count the characters that would be stored but that no reader sees."""
    parts = (place(record), record.source or "", *record.tags, *saying(record), *more(record))
    return sum(map(texts.hidden, parts))


def mark(proposal: Proposal) -> Text:
    """Choose the single character that calls for a second look."""
    reasons = (
        proposal.problem is not None and review.to_forget(proposal.record) is None,
        hidden(proposal.record) > 0,
        bool(proposal.similar or proposal.rivals),
    )
    for (sign, style, _), applies in zip(MARKS, reasons, strict=True):
        if applies:
            return Text(sign, style)
    return Text(" ")


def obstacles(proposal: Proposal) -> list[Text]:
    """List the problems of a proposal itself."""
    found = []
    if review.to_forget(proposal.record) is not None:
        found.append(Text("it asks to forget the record below", CARE))
    elif proposal.problem is not None:
        found.append(safe(f"! it cannot be confirmed: {proposal.problem}", PROBLEM))
    if number := hidden(proposal.record):
        what = "1 hidden character is" if number == 1 else f"{number} hidden characters are"
        found.append(Text(f"? {what} spelled out here", "bold magenta"))
    return found


def echoes(proposal: Proposal) -> list[Text]:
    """List what is similar to a proposal, one line each."""
    found = [line(f"~ like one that was rejected: {one.content}", CARE) for one in proposal.similar]
    if number := len(proposal.rivals):
        many = f"{number} or more" if number == MOST_RIVALS else f"{number}"
        what = "another proposal waits" if number == 1 else f"{many} other proposals wait"
        found.append(Text(f"~ {what} for the same place", CARE))
    return found


def reported(outcome: Outcome, *more: str) -> str:
    """Report the outcome of a decision: why it failed, or what was done to what."""
    if outcome.error is not None:
        return outcome.error
    return f"{outcome.done}: {' · '.join([*saying(outcome.proposal.record), *more])}"


def because(reason: str) -> str:
    """Format a reason as the end of a sentence, however it was written."""
    return reason if reason[:8].casefold() == "because " else f"because {reason}"
