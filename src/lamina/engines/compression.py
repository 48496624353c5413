"""Plan how old short-term memories become lines in the profile and in projects. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from lamina.engines import profile
from lamina.errors import InvalidInput
from lamina.model import hashing, rules
from lamina.model.record import Record, Trust
from lamina.text import words

PROFILE_KINDS = frozenset({"preference", "fact", "decision"})
PROJECT_TAG = "project:"
DO_NOT_ASSUME = "do_not_assume"
# The section of a project for each tag.
SORTING = {"goal": "goals", "blocker": "blockers", "next": "next_steps", "next_step": "next_steps"}
ENTRY_BYTES = 4096  # a longer text is not a line of a profile
ROOM = 128 * 1024  # the total size of the lines in one record
MOST_EVIDENCE = 10_000
ORIGIN = "compression"  # the origin in the metadata of these summaries


class Shelf(StrEnum):
    """The kind of summary: the user's profile, or a project's memory."""

    PROFILE = "profile"
    PROJECT = "project"


class Fate(StrEnum):
    """The outcome for a short-term memory."""

    PROFILE = "profile"
    PROJECT = "project"
    KNOWN = "known"  # a summary already says it, or something newer
    LEFT = "left"


class Target(NamedTuple):
    """A line that a memory contributes."""

    shelf: Shelf
    key: str
    section: str
    value: Any
    rule: str


class Decision(NamedTuple):
    """The outcome for one memory, its summary, and the rule that decided."""

    record: str
    fate: Fate
    target: str | None
    rule: str


class Summary(msgspec.Struct, frozen=True):
    """The content of a long-term record; a project's value maps its sections to lines."""

    shelf: Shelf
    key: str
    value: Any
    evidence: tuple[str, ...]
    trust: Trust
    importance: float
    occurred_at: datetime
    constrained: bool = False
    record: Record | None = None  # the record that already holds it


class Joined(NamedTuple):
    """A record with additional evidence for its present content."""

    record: Record
    evidence: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True):
    """The summaries to write, and the outcome for each memory."""

    summaries: tuple[Summary, ...]
    joined: tuple[Joined, ...]
    decisions: tuple[Decision, ...]

    @property
    def compressed(self) -> tuple[str, ...]:
        """The memories that a summary replaces from now on."""
        return tuple(one.record for one in self.decisions if one.fate is not Fate.LEFT)

    @property
    def left(self) -> tuple[str, ...]:
        """The memories that stay unchanged."""
        return tuple(one.record for one in self.decisions if one.fate is Fate.LEFT)


class Addition(NamedTuple):
    """A memory, and one line that it contributes."""

    item: Record
    target: Target


class Grown(NamedTuple):
    """The result of adding lines to one summary."""

    decisions: Sequence[Decision]
    summary: Summary | None = None
    joined: Sequence[Joined] = ()


# Additions by whether their source is external, the shelf, and the normalised key.
Groups = dict[tuple[bool, Shelf, str], list[Addition]]


def plan(
    items: Sequence[Record],
    active: Iterable[Record],
    waiting: Iterable[Record],
    now: datetime,
    cutoff_hours: float,
    *,
    may_confirm: bool,
    is_rejected: Callable[[Target], bool] = lambda target: False,
    most_proposals: int = 1 << 31,
) -> Plan:
    """Decide about all memories of one user.

    `active` and `waiting` are the active summaries and those under review. Without `may_confirm`,
    changes of the profile wait for a person. External memories always do.
    """
    decisions: list[Decision] = []
    old: list[Record] = []
    for item in sorted(items, key=lambda item: item.seq):
        # A memory that was restored counts as new.
        since = max(item.created_at, item.last_verified or item.created_at)
        if stays := staying(item.id, item.kind, item.tags, since, now, cutoff_hours):
            decisions.append(stays)
        else:
            old.append(item)
    groups, refused = _grouped(old, is_rejected)
    grown = _grown(groups, Summaries(active, waiting), may_confirm, most_proposals)
    decisions += _merged([*refused, *(decision for one in grown for decision in one.decisions)])
    order = {item.id: item.seq for item in items}
    return Plan(
        tuple(one.summary for one in grown if one.summary is not None),
        tuple(joined for one in grown for joined in one.joined),
        tuple(sorted(decisions, key=lambda decision: order[decision.record])),
    )


def _grouped(
    items: Iterable[Record], is_rejected: Callable[[Target], bool]
) -> tuple[Groups, list[Decision]]:
    """Group the lines of memories by summary; leave out rejected ones."""
    groups: Groups = {}
    refused: list[Decision] = []
    for item in items:
        for target in targets(item):
            if is_rejected(target):
                refused.append(_decided(item, target, Fate.LEFT, "rejected before"))
                continue
            group = item.trust is Trust.EXTERNAL, target.shelf, words.normalise(target.key)
            groups.setdefault(group, []).append(Addition(item, target))
    return groups, refused


def _grown(
    groups: Groups, summaries: Summaries, may_confirm: bool, most_proposals: int
) -> list[Grown]:
    """Add each group to its summary; trusted ones first, so that the others can build on them."""
    results: list[Grown] = []
    for external, shelf, key in sorted(groups):
        constrained = external or (shelf is Shelf.PROFILE and not may_confirm)
        bases = summaries.bases(shelf, key, constrained=constrained, external=external)
        if external:
            new = (one.summary for one in results if one.summary)
            bases += [summary for summary in new if _is_about(summary, shelf, key)]
        grow = _single if shelf is Shelf.PROFILE and key not in profile.LISTS else _lines
        grown = grow(groups[external, shelf, key], bases, summaries.evidence(shelf, key))
        if constrained and grown.summary is not None:
            grown = _proposed(grown) if most_proposals else _postponed(grown)
            most_proposals = max(0, most_proposals - 1)
        results.append(grown)
    return results


def staying(
    record_id: str,
    kind: str,
    tags: Sequence[str],
    since: datetime,
    now: datetime,
    cutoff_hours: float,
) -> Decision | None:
    """Decide that a memory stays, if that does not depend on its text; otherwise return None."""
    if since > now - timedelta(hours=cutoff_hours):
        return Decision(record_id, Fate.LEFT, None, f"younger than {cutoff_hours:g} hours")
    if kind not in PROFILE_KINDS and not project_names(tags):
        rule = f"nothing summarises the kind {kind} outside a project"
        return Decision(record_id, Fate.LEFT, None, rule)
    return None


def project_names(tags: Iterable[str]) -> list[str]:
    """List the projects named by tags."""
    tagged = (tag for tag in tags if tag.startswith(PROJECT_TAG))
    return [name for tag in tagged if (name := tag.removeprefix(PROJECT_TAG).strip())]


def targets(item: Record) -> list[Target]:
    """List the lines that a memory contributes to a project or to the profile."""
    line, names = item.content.strip(), project_names(item.tags)
    if names:
        sections = list(dict.fromkeys(SORTING[tag] for tag in item.tags if tag in SORTING))
        rule = "its tags say where" if sections else f"kind {item.kind}"
        sections = sections or ["goals" if item.kind == "project" else "next_steps"]
        return [
            Target(Shelf.PROJECT, name, section, line, rule)
            for name in names
            for section in sections
        ]
    if DO_NOT_ASSUME in item.tags:
        return [Target(Shelf.PROFILE, DO_NOT_ASSUME, "", line, f"tag {DO_NOT_ASSUME}")]
    key = _own_key(item)
    if key is not None:
        values = _own_values(item, key)
        return [Target(Shelf.PROFILE, key, "", value, "its profile_key") for value in values]
    if item.kind == "preference":
        return [Target(Shelf.PROFILE, profile.slug(line), "", line, "kind preference")]
    return [Target(Shelf.PROFILE, "stable_facts", "", line, f"kind {item.kind}")]


class Summaries:
    """The summaries of one user, active or under review, by shelf and key."""

    def __init__(self, active: Iterable[Record], waiting: Iterable[Record]) -> None:
        active = list(active)
        keys, names = profile.by_key(active), profile.by_name(active)
        self._active = {(Shelf.PROFILE, key): record for key, record in keys.items()}
        self._active |= {(Shelf.PROJECT, name): record for name, record in names.items()}
        self._waiting: dict[tuple[Shelf, str], list[Record]] = {}
        for record in sorted(waiting, key=lambda record: record.seq):
            name = profile.project_name(record)
            shelf = Shelf.PROFILE if name is None else Shelf.PROJECT
            key = str(record.metadata.get("profile_key") if name is None else name)
            self._waiting.setdefault((shelf, words.normalise(key)), []).append(record)

    def evidence(self, shelf: Shelf, key: str) -> frozenset[str]:
        """Collect the memories that an active or waiting summary of this key is based on."""
        # A proposal by a person cites its evidence, which need not say the same.
        waiting = self._waiting.get((shelf, key), [])
        records = [record for record in waiting if record.metadata.get("origin") == ORIGIN]
        if active := self._active.get((shelf, key)):
            records.append(active)
        return frozenset(source for record in records for source in record.evidence)

    def bases(self, shelf: Shelf, key: str, *, constrained: bool, external: bool) -> list[Summary]:
        """List the summaries that additions build on.

        A proposal contains what is active and what waits, so that confirming it loses nothing.
        Trusted summaries never build on untrusted ones.
        """
        active = self._active.get((shelf, key))
        records = [] if active is None else [active]
        if constrained:
            waiting = self._waiting.get((shelf, key), [])
            records += [one for one in waiting if external or one.trust is not Trust.EXTERNAL]
        return [_summary(shelf, record) for record in records]


def _is_about(summary: Summary, shelf: Shelf, key: str) -> bool:
    return summary.shelf is shelf and words.normalise(summary.key) == key


def _summary(shelf: Shelf, record: Record) -> Summary:
    """Read the summary in a record."""
    is_project = shelf is Shelf.PROJECT
    return Summary(
        shelf,
        str(profile.project_name(record) if is_project else record.metadata["profile_key"]),
        profile.sections_of(record) if is_project else record.metadata.get("value"),
        record.evidence,
        record.trust,
        record.importance,
        _said(record),
        record=record,
    )


def _lines(
    additions: Sequence[Addition], bases: Sequence[Summary], evidence: frozenset[str]
) -> Grown:
    """Add lines to a list or to a project's sections; repetitions only become evidence."""
    first = additions[0].target
    sections = _sections(first.shelf, bases)
    there = {(name, _token(line)) for name, lines in sections.items() for line in lines}
    size, sources = len(hashing.encode(sections)), sum(len(base.evidence) for base in bases)
    added: list[Record] = []
    repeated: list[Addition] = []
    decisions: list[Decision] = []
    for item, target in additions:
        line, room = (target.section, _token(target.value)), len(hashing.encode(target.value))
        if item.id in evidence:
            decisions.append(_decided(item, target, Fate.KNOWN, "summarised already"))
        elif line in there:
            repeated.append(Addition(item, target))
            decisions.append(_decided(item, target, Fate.KNOWN, "says what is known"))
        elif problem := _problem(room, size, sources + len(added)):
            decisions.append(_decided(item, target, Fate.LEFT, problem))
        else:
            sections[target.section].append(target.value)
            there.add(line)
            size += room + 1
            added.append(item)
            decisions.append(_decided(item, target, Fate(target.shelf.value), target.rule))
    value = sections if first.shelf is Shelf.PROJECT else sections[""]
    summary = _new_summary(first, value, bases, added, repeated) if added else None
    return Grown(decisions, summary, _joined(bases, repeated, summary))


def _single(
    additions: Sequence[Addition], bases: Sequence[Summary], evidence: frozenset[str]
) -> Grown:
    """Set a key with one value: the newest statement counts, those that agree are its evidence."""
    decisions: list[Decision] = []
    fresh: list[Addition] = []
    for item, target in additions:
        if item.id in evidence:
            decisions.append(_decided(item, target, Fate.KNOWN, "summarised already"))
        elif problem := _problem(len(hashing.encode(target.value))):
            decisions.append(_decided(item, target, Fate.LEFT, problem))
        else:
            fresh.append(Addition(item, target))
    if not fresh:
        return Grown(decisions)
    base = max(bases, key=lambda base: base.occurred_at, default=None)
    newest = max(fresh, key=lambda addition: (_said(addition.item), addition.item.seq))
    is_newer = base is None or _said(newest.item) > base.occurred_at
    value = newest.target.value if base is None or is_newer else base.value
    is_known = base is not None and profile.same_value(value, base.value)
    agreeing: list[Addition] = []
    for item, target in fresh:
        if not profile.same_value(target.value, value):
            decisions.append(_decided(item, target, Fate.KNOWN, "something newer is known"))
            continue
        agreeing.append(Addition(item, target))
        fate, rule = (Fate.KNOWN, "says what is known") if is_known else (Fate.PROFILE, target.rule)
        decisions.append(_decided(item, target, fate, rule))
    summary = None if is_known else _new_summary(newest.target, value, (), [newest.item], agreeing)
    return Grown(decisions, summary, _joined(bases, agreeing, summary))


def _new_summary(
    target: Target,
    value: Any,
    bases: Sequence[Summary],
    added: Sequence[Record],
    repeated: Sequence[Addition],
) -> Summary:
    """Build a summary with added lines.

    A repetition from a less trusted source is left out, so that it does not lower the trust.
    """
    trust = rules.lowest_trust([item.trust for item in added] + [base.trust for base in bases])
    before = dict.fromkeys(source for base in bases for source in base.evidence)
    also = [one.item for one in repeated if _is_as_trusted(one.item, trust)]
    room = MOST_EVIDENCE - len(before) - len(added)
    sources = sorted([*added, *also[:room]], key=lambda item: item.seq)
    return Summary(
        target.shelf,
        bases[0].key if bases else target.key,
        value,
        tuple(before | dict.fromkeys(item.id for item in sources)),
        trust,
        max([item.importance for item in added] + [base.importance for base in bases]),
        max([_said(item) for item in added] + [base.occurred_at for base in bases]),
    )


def _joined(
    bases: Sequence[Summary], repeated: Sequence[Addition], summary: Summary | None
) -> list[Joined]:
    """Add repetitions to records as evidence.

    Each goes to the first record of its user that says the same and is not trusted more.
    """
    records = [(base.record, base) for base in bases if base.record is not None]
    held = [(record, _tokens(base), dict.fromkeys(base.evidence)) for record, base in records]
    taken = frozenset(summary.evidence if summary else ())
    for item, target in repeated:
        for record, tokens, sources in held:
            is_same = record.user == item.user and (target.section, _token(target.value)) in tokens
            if is_same and item.id not in taken and _is_as_trusted(item, record.trust):
                if len(sources) < MOST_EVIDENCE:
                    sources[item.id] = None
                break
    grown = (
        (record, sources) for record, _, sources in held if len(sources) > len(record.evidence)
    )
    return [Joined(record, tuple(sources)) for record, sources in grown]


def _said(record: Record) -> datetime:
    """Return when a record was said: never later than it was stored, whatever it claims."""
    return min(record.occurred_at, record.created_at)


def _is_as_trusted(item: Record, trust: Trust) -> bool:
    return rules.lowest_trust((item.trust, trust)) is trust


def _proposed(grown: Grown) -> Grown:
    assert grown.summary is not None
    return grown._replace(summary=msgspec.structs.replace(grown.summary, constrained=True))


def _postponed(grown: Grown) -> Grown:
    """Discard a summary, so that all of its memories stay."""
    rule = "the daily limit of proposals is reached"
    decisions = [
        one if one.fate is Fate.LEFT else one._replace(fate=Fate.LEFT, rule=rule)
        for one in grown.decisions
    ]
    return Grown(decisions)


def _sections(shelf: Shelf, bases: Sequence[Summary]) -> dict[str, list[str]]:
    """Collect the lines of summaries, each once; a list in the profile has one section."""
    is_project = shelf is Shelf.PROJECT
    names = profile.SECTIONS if is_project else ("",)
    sections: dict[str, dict[str, str]] = {name: {} for name in names}
    for base in bases:
        for name in names:
            for line in base.value[name] if is_project else profile.texts_of(base.value):
                sections[name].setdefault(words.normalise(line), line)
    return {name: list(lines.values()) for name, lines in sections.items()}


def _tokens(base: Summary) -> frozenset[tuple[str, str | bytes]]:
    """Reduce a summary to tokens by which repetitions of its lines are recognised."""
    if base.shelf is Shelf.PROJECT or words.normalise(base.key) in profile.LISTS:
        sections = _sections(base.shelf, [base])
        return frozenset((name, _token(line)) for name, lines in sections.items() for line in lines)
    return frozenset({("", _token(base.value))})


def _token(value: Any) -> str | bytes:
    return words.normalise(value) if isinstance(value, str) else hashing.encode(value)


def _problem(room: int, size: int = 0, sources: int = 0) -> str | None:
    """Return why a line cannot be added; None if it can."""
    if room > ENTRY_BYTES:
        return f"longer than a summary takes ({ENTRY_BYTES:,} bytes)"
    return "the summary is full" if size + room > ROOM or sources >= MOST_EVIDENCE else None


def _decided(item: Record, target: Target, fate: Fate, rule: str) -> Decision:
    return Decision(item.id, fate, target.key, rule)


def _merged(decisions: Iterable[Decision]) -> list[Decision]:
    """Make one decision per memory: it stays if one of its summaries could not take it."""
    order = [Fate.LEFT, Fate.PROFILE, Fate.PROJECT, Fate.KNOWN]
    grouped: dict[str, list[Decision]] = {}
    for decision in decisions:
        grouped.setdefault(decision.record, []).append(decision)
    merged = []
    for group in grouped.values():
        first = min(group, key=lambda decision: order.index(decision.fate))
        keys = dict.fromkeys(str(decision.target) for decision in group)
        merged.append(first._replace(target=", ".join(keys)))
    return merged


def _own_key(item: Record) -> str | None:
    """Return the valid profile key that a memory names, if any."""
    try:
        return profile.canonical(rules.label(item.metadata.get("profile_key"), "profile_key"))
    except InvalidInput:
        return None


def _own_values(item: Record, key: str) -> list[Any]:
    """Return the values that a memory gives for its key, or else its text."""
    try:
        value = profile.checked(key, item.metadata.get("value"))
    except InvalidInput:
        return [item.content.strip()]
    return value or [item.content.strip()] if key in profile.LISTS else [value]
