"""Show one proposal: the present beside the proposed state, its origin and evidence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.text import Text

from lamina.engines.review import Proposal, differences
from lamina.memory.proposals import QUARANTINE
from lamina.model.clock import is_id
from lamina.model.record import Change, Event, Record
from lamina.surfaces.cli.output import STATE_STYLES
from lamina.surfaces.cli.reviewer import comparison
from lamina.surfaces.cli.reviewer.texts import indented, line, rule, safe, wrapped
from lamina.surfaces.cli.reviewer.wording import (
    CARE,
    TRUSTS,
    ago,
    because,
    more,
    obstacles,
    plain,
    saying,
)
from lamina.surfaces.review.evidence import Evidence

NAMES = 10  # columns for the names of fields


class Opened(NamedTuple):
    """A proposal with what was read about it."""

    proposal: Proposal
    history: Sequence[Event]
    rivals: Sequence[Proposal]
    refusals: Mapping[str, Event]  # how similar proposals were rejected, by their ids
    evidence: Sequence[Evidence] = ()


def change(opened: Opened, width: int) -> list[Text]:
    """Show warnings, and what would change: what a person must see before confirming it."""
    return [*_cautions(opened, width), *_difference(opened.proposal, width)]


def about(opened: Opened, now: datetime, width: int) -> list[Text]:
    """Show the evidence of a proposal, then the facts about it."""
    rests_on = evidence(opened.evidence, width)
    return [*rests_on, rule("about", width), *_facts(opened, now, width)]


def _cautions(opened: Opened, width: int) -> list[Text]:
    made = [one for caution in obstacles(opened.proposal) for one in wrapped(caution, width)]
    for other in opened.proposal.similar:
        event = opened.refusals.get(other.id)
        when = "" if event is None else f" on {event.at.day} {event.at:%b %Y}"
        why = "" if event is None or event.reason is None else f", {because(event.reason)}"
        caution = f"rejected{when} in {other.id}: {' · '.join(saying(other))}{why}"
        made += indented(line(caution, CARE), width, "~ ", CARE)
    for rival in opened.rivals:
        says = f"{' · '.join(saying(rival.record))} ({rival.record.trust})"
        caution = f"another waits for this place: {says}"
        made += indented(line(caution, CARE), width, "~ ", CARE)
    return [*made, Text()] if made else []


def _difference(proposal: Proposal, width: int) -> list[Text]:
    """Show the present beside the proposed state; one below the other on a narrow screen."""
    proposed, replaced = saying(proposal.record), proposal.replaces
    if not replaced:
        was_active = proposal.by == QUARANTINE
        what = "it was active, and waits again" if was_active else "it replaces nothing"
        text = [part for sentence in proposed for part in wrapped(safe(sentence), width)]
        return [rule(f"proposed; {what}", width), *text]
    if len(replaced) == 1:
        before, rows = "now", comparison.aligned(saying(replaced[0]), proposed)
    else:
        before = f"now, in {len(replaced)} records"
        rows = [comparison.gathered([saying(one) for one in replaced], proposed)]
    if width < comparison.SIDE_BY_SIDE:
        return [rule(f"- {before}   + proposed", width), *comparison.stacked(rows, width)]
    half = comparison.column(width)
    head = Text.assemble(rule(before, half), ("─┬─", "dim"), rule("proposed", width - half - 3))
    return [head, *comparison.side_by_side(rows, width)]


def _facts(opened: Opened, now: datetime, width: int) -> list[Text]:
    """List names and values; omit those without content."""
    proposal, record = opened.proposal, opened.proposal.record
    last = opened.history[-1] if opened.history else None
    who = "" if last is None else f", {last.actor} ({last.surface})"
    reason = last.reason if last is not None and last.reason else record.metadata.get("reason")
    weights = f"importance {record.importance:.2f} · confidence {record.confidence:.2f}"
    facts = {
        "trust": Text(record.trust.value, TRUSTS[record.trust]),
        "source": line(record.source or ""),
        "by": line(f"{proposal.by}{who}"),
        "since": line(f"{ago(now, proposal.since)}, {proposal.since:%Y-%m-%d %H:%M} UTC"),
        "because": safe(plain(reason) if reason else ""),
        "user": line(record.user or ""),
        "speaker": line(record.speaker or ""),
        "kind": line(f"{record.kind} · {weights}"),
        "tags": line(" ".join(record.tags)),
        "steps": safe("\n".join(differences(record.metadata))),
        "metadata": safe("\n".join(more(record))),
        "evidence": line(" ".join(record.evidence)),
        "replaces": line(" ".join(one.id for one in proposal.replaces)),
        "id": line(record.id),
    }
    return [
        one
        for name, value in facts.items()
        if value
        for one in indented(value, width, name.ljust(NAMES), "cyan")
    ]


def evidence(found: Sequence[Evidence], width: int) -> list[Text]:
    """Show each piece of evidence in full, between its neighbours; say if it is missing."""
    if not found:
        return [Text("it names no evidence", CARE), Text()]
    made: list[Text] = []
    for one in found:
        made.append(rule(f"evidence {line(one.reference).plain}", width))
        if one.record is None:
            missing = "not in the store; look there yourself"
            what = "there is no such record any more" if is_id(one.reference) else missing
            made += [*wrapped(Text(what, CARE), width), Text()]
            continue
        made += _described(one.record, width)
        made += _neighbour(one.before, width)
        made += indented(safe(one.record.content), width, "▸ ", "bold cyan")
        made += [*_neighbour(one.after, width), Text()]
    return made


def _neighbour(turn: Record | None, width: int) -> list[Text]:
    """Show the turn before or after on one line."""
    if turn is None:
        return []
    said = f"{turn.speaker}: {turn.content}" if turn.speaker else turn.content
    return [Text.assemble("  ", line(said, "dim", width=max(10, width - 2)))]


def _described(record: Record, width: int) -> list[Text]:
    about = [record.layer.value, record.kind, f"{record.occurred_at:%Y-%m-%d %H:%M} UTC"]
    about += [f"from {record.source}"] if record.source else []
    about += [f"said by {record.speaker}"] if record.speaker else []
    about += ["archived"] if record.archived else []
    state = Text(record.state.value, STATE_STYLES[record.state])
    trust = Text(record.trust.value, TRUSTS[record.trust])
    return wrapped(Text.assemble(state, " · ", trust, " · ", line(" · ".join(about), "dim")), width)


def history(events: Sequence[Event], record_id: str, width: int) -> list[Text]:
    """Show what happened to a record, oldest first: who, when, why, and what changed."""
    made: list[Text] = []
    for event in events:
        who = line(f"by {event.actor} ({event.surface}), event {event.seq}")
        when = (f"{event.at:%Y-%m-%d %H:%M} ", "dim")
        made += wrapped(Text.assemble(when, line(event.action, "bold"), " ", who), width)
        made += indented(safe(event.reason), width, "  because ", "dim") if event.reason else []
        for change in event.changes:
            made += _changed(change, width) if change.record == record_id else []
    return made


def _changed(change: Change, width: int) -> list[Text]:
    entries = [
        f"{name}: {plain(value)} → {plain(change.after.get(name))}"
        for name, value in change.before.items()
    ]
    return [one for entry in entries for one in indented(line(entry), width)]
