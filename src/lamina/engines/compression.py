"""How old short-term memories become lines of the profile and of projects. Pure; each decision says why."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from lamina.engines import profile
from lamina.errors import InvalidInput
from lamina.model import hashing, rules
from lamina.model.record import Record, Trust
from lamina.text import words as text

PROFILE_KINDS = frozenset({"preference", "fact", "decision"})
PROJECT_TAG = "project:"
DO_NOT_ASSUME = "do_not_assume"
# Which section of a project a tag stands for.
SORTING = {"goal": "goals", "blocker": "blockers", "next": "next_steps", "next_step": "next_steps"}
ENTRY_BYTES = 4096  # a longer text is no line of a profile
ROOM = 128 * 1024  # what the lines of one record may take together
MOST_EVIDENCE = 10_000
SLUG = 60
ORIGIN = "compression"  # what the summaries that are written here say of themselves


class Shelf(StrEnum):
    """Where summaries are kept."""

    PROFILE = "profile"
    PROJECT = "project"


class Fate(StrEnum):
    """What becomes of a short-term memory."""

    PROFILE = "profile"
    PROJECT = "project"
    KNOWN = "known"  # a summary says it already, or something newer
    LEFT = "left"


class Target(NamedTuple):
    """A line that a memory is worth."""

    shelf: Shelf
    key: str
    section: str
    value: Any
    rule: str


class Decision(NamedTuple):
    """What becomes of one memory, where it goes, and the rule that decided."""

    record: str
    fate: Fate
    target: str | None
    rule: str


class Summary(msgspec.Struct, frozen=True):
    """What a long-term record says or is to say. The value of a project is a mapping of its sections."""

    shelf: Shelf
    key: str
    value: Any
    evidence: tuple[str, ...]
    trust: Trust
    importance: float
    occurred_at: datetime
    constrained: bool = False
    record: Record | None = None  # the one that says it already


class Joined(NamedTuple):
    """More evidence for what a record says already."""

    record: Record
    evidence: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True):
    """What is to be written, and what becomes of each memory."""

    summaries: tuple[Summary, ...]
    joined: tuple[Joined, ...]
    decisions: tuple[Decision, ...]

    @property
    def compressed(self) -> tuple[str, ...]:
        """The memories that a summary stands for from now on."""
        return tuple(
            decision.record for decision in self.decisions if decision.fate is not Fate.LEFT
        )

    @property
    def left(self) -> tuple[str, ...]:
        """The memories that stay as they are."""
        return tuple(decision.record for decision in self.decisions if decision.fate is Fate.LEFT)


class Addition(NamedTuple):
    """A memory, and one line that it is worth."""

    item: Record
    target: Target


class Grown(NamedTuple):
    """What came of the additions to one summary."""

    decisions: Sequence[Decision]
    summary: Summary | None = None
    joined: Sequence[Joined] = ()


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
    """Decide about every memory of one user. `active` and `waiting` are the summaries there are and those under review.

    Without `may_confirm`, what concerns the profile waits for a person. What comes from outside always does.
    """
    known = Known(active, waiting)
    decisions: list[Decision] = []
    refused: list[Decision] = []
    groups: dict[tuple[bool, Shelf, str], list[Addition]] = {}
    for item in sorted(items, key=lambda item: item.seq):
        since = max(
            item.created_at, item.last_verified or item.created_at
        )  # one that was brought back is young again
        if left := staying(item.id, item.kind, item.tags, since, now, cutoff_hours):
            decisions.append(left)
            continue
        for target in targets(item):
            if is_rejected(target):
                refused.append(_decided(item, target, Fate.LEFT, "rejected before"))
                continue
            group = item.trust is Trust.EXTERNAL, target.shelf, text.normalise(target.key)
            groups.setdefault(group, []).append(Addition(item, target))
    made: list[Grown] = []
    for external, shelf, key in sorted(
        groups
    ):  # what is trusted comes first, so that what is not can build on it
        grow = _single if shelf is Shelf.PROFILE and key not in profile.LISTS else _lines
        constrained = external or (shelf is Shelf.PROFILE and not may_confirm)
        bases = known.bases(shelf, key, constrained=constrained, external=external)
        if external:
            bases += [
                one.summary for one in made if one.summary and _is_about(one.summary, shelf, key)
            ]
        grown = grow(groups[external, shelf, key], bases, known.evidence(shelf, key))
        if constrained and grown.summary is not None:
            grown = _proposed(grown) if most_proposals else _postponed(grown)
            most_proposals = max(0, most_proposals - 1)
        made.append(grown)
    order = {item.id: item.seq for item in items}
    decisions += _merged([*refused, *(decision for grown in made for decision in grown.decisions)])
    return Plan(
        tuple(grown.summary for grown in made if grown.summary is not None),
        tuple(joined for grown in made for joined in grown.joined),
        tuple(sorted(decisions, key=lambda decision: order[decision.record])),
    )


def staying(
    record_id: str,
    kind: str,
    tags: Sequence[str],
    since: datetime,
    now: datetime,
    cutoff_hours: float,
) -> Decision | None:
    """That a memory stays, if that can be said without its text."""
    if since > now - timedelta(hours=cutoff_hours):
        return Decision(record_id, Fate.LEFT, None, f"younger than {cutoff_hours:g} hours")
    if kind not in PROFILE_KINDS and not project_names(tags):
        return Decision(
            record_id, Fate.LEFT, None, f"nothing summarises the kind {kind} outside a project"
        )
    return None


def project_names(tags: Iterable[str]) -> list[str]:
    """The projects that tags name."""
    return [
        name
        for tag in tags
        if tag.startswith(PROJECT_TAG) and (name := tag.removeprefix(PROJECT_TAG).strip())
    ]


def targets(item: Record) -> list[Target]:
    """The lines that a memory of a project or of the profile's kinds is worth."""
    said, names = item.content.strip(), project_names(item.tags)
    if names:
        sections = list(dict.fromkeys(SORTING[tag] for tag in item.tags if tag in SORTING))
        rule = "its tags say where" if sections else f"kind {item.kind}"
        sections = sections or ["goals" if item.kind == "project" else "next_steps"]
        return [
            Target(Shelf.PROJECT, name, section, said, rule)
            for name in names
            for section in sections
        ]
    if DO_NOT_ASSUME in item.tags:
        return [Target(Shelf.PROFILE, DO_NOT_ASSUME, "", said, f"tag {DO_NOT_ASSUME}")]
    key = _given_key(item)
    if key is not None:
        return [
            Target(Shelf.PROFILE, key, "", value, "its profile_key")
            for value in _given_values(item, key)
        ]
    if item.kind == "preference":
        return [Target(Shelf.PROFILE, slug(said), "", said, "kind preference")]
    return [Target(Shelf.PROFILE, "stable_facts", "", said, f"kind {item.kind}")]


def slug(said: str) -> str:
    """A key for a text: its words, and a few letters of its hash where the words alone could mean another text."""
    plain = text.normalise(said)
    words = text.WORD.findall(plain)
    name = "-".join(words)
    is_whole = " ".join(words) == plain.rstrip(".!") and len(name) <= SLUG
    if is_whole and profile.place(name)[0] == "preferences":
        return name
    digest = hashlib.blake2b(plain.encode(), digest_size=4).hexdigest()
    return f"{name[:SLUG].strip('-') or 'preference'}-{digest}"


class Known:
    """The summaries that there are, by shelf and key."""

    def __init__(self, active: Iterable[Record], waiting: Iterable[Record]) -> None:
        active = list(active)
        self._active = {
            (Shelf.PROFILE, key): record for key, record in profile.by_key(active).items()
        }
        self._active |= {
            (Shelf.PROJECT, name): record for name, record in profile.by_name(active).items()
        }
        self._waiting: dict[tuple[Shelf, str], list[Record]] = {}
        for record in sorted(waiting, key=lambda record: record.seq):
            name = profile.project_name(record)
            shelf = Shelf.PROFILE if name is None else Shelf.PROJECT
            key = text.normalise(str(record.metadata.get("profile_key") if name is None else name))
            self._waiting.setdefault((shelf, key), []).append(record)

    def evidence(self, shelf: Shelf, key: str) -> frozenset[str]:
        """The memories that a summary of this key stands for already, be it active or under review."""
        # A proposal that somebody made names what it rests on, which need not be what it says.
        waiting = [
            one
            for one in self._waiting.get((shelf, key), [])
            if one.metadata.get("origin") == ORIGIN
        ]
        records = [*waiting, *filter(None, [self._active.get((shelf, key))])]
        return frozenset(item for record in records for item in record.evidence)

    def bases(self, shelf: Shelf, key: str, *, constrained: bool, external: bool) -> list[Summary]:
        """What additions build on. A proposal holds what is active and what waits, so that confirming it loses nothing.

        What is trusted never builds on what is not.
        """
        found = list(filter(None, [self._active.get((shelf, key))]))
        if constrained:
            found += [
                one
                for one in self._waiting.get((shelf, key), [])
                if external or one.trust is not Trust.EXTERNAL
            ]
        return [_summary(shelf, one) for one in found]


def _is_about(summary: Summary, shelf: Shelf, key: str) -> bool:
    return summary.shelf is shelf and text.normalise(summary.key) == key


def _summary(shelf: Shelf, record: Record) -> Summary:
    """What a record says."""
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
    """Add lines to a list, or to the sections of a project; what is there already is only joined."""
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
    summary = _made(first, value, bases, added, repeated) if added else None
    return Grown(decisions, summary, _joined(bases, repeated, summary))


def _single(
    additions: Sequence[Addition], bases: Sequence[Summary], evidence: frozenset[str]
) -> Grown:
    """Set a key that holds one value: the newest statement counts, and those that agree with it are its evidence."""
    decisions: list[Decision] = []
    open_: list[Addition] = []
    for item, target in additions:
        if item.id in evidence:
            decisions.append(_decided(item, target, Fate.KNOWN, "summarised already"))
        elif problem := _problem(len(hashing.encode(target.value))):
            decisions.append(_decided(item, target, Fate.LEFT, problem))
        else:
            open_.append(Addition(item, target))
    if not open_:
        return Grown(decisions)
    base = max(bases, key=lambda base: base.occurred_at, default=None)
    newest = max(open_, key=lambda one: (_said(one.item), one.item.seq))
    value = (
        newest.target.value if base is None or _said(newest.item) > base.occurred_at else base.value
    )
    is_known = base is not None and profile.same_value(value, base.value)
    agreeing: list[Addition] = []
    for item, target in open_:
        if not profile.same_value(target.value, value):
            decisions.append(_decided(item, target, Fate.KNOWN, "something newer is known"))
            continue
        agreeing.append(Addition(item, target))
        fate, rule = (Fate.KNOWN, "says what is known") if is_known else (Fate.PROFILE, target.rule)
        decisions.append(_decided(item, target, fate, rule))
    summary = None if is_known else _made(newest.target, value, (), [newest.item], agreeing)
    return Grown(decisions, summary, _joined(bases, agreeing, summary))


def _made(
    target: Target,
    value: Any,
    bases: Sequence[Summary],
    added: Sequence[Record],
    repeated: Sequence[Addition],
) -> Summary:
    """A summary that grew; a repetition from a less trusted source does not lower its trust, it is left out."""
    trust = rules.lowest_trust([item.trust for item in added] + [base.trust for base in bases])
    before = dict.fromkeys(source for base in bases for source in base.evidence)
    also = [one.item for one in repeated if _is_as_trusted(one.item, trust)]
    sources = sorted(
        [*added, *also[: MOST_EVIDENCE - len(before) - len(added)]], key=lambda item: item.seq
    )
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
    """Repetitions as evidence, each of the first record of its user that says the same and is trusted no more."""
    held = [
        (base.record, _tokens(base), dict.fromkeys(base.evidence))
        for base in bases
        if base.record is not None
    ]
    taken = frozenset(summary.evidence if summary else ())
    for item, target in repeated:
        for record, tokens, sources in held:
            is_same = record.user == item.user and (target.section, _token(target.value)) in tokens
            if is_same and item.id not in taken and _is_as_trusted(item, record.trust):
                if len(sources) < MOST_EVIDENCE:
                    sources[item.id] = None
                break
    return [
        Joined(record, tuple(sources))
        for record, _, sources in held
        if len(sources) > len(record.evidence)
    ]


def _said(record: Record) -> datetime:
    """When something was said; nobody says it before it is remembered, whatever time was given."""
    return min(record.occurred_at, record.created_at)


def _is_as_trusted(item: Record, trust: Trust) -> bool:
    return rules.lowest_trust((item.trust, trust)) is trust


def _proposed(grown: Grown) -> Grown:
    assert grown.summary is not None
    return grown._replace(summary=msgspec.structs.replace(grown.summary, constrained=True))


def _postponed(grown: Grown) -> Grown:
    """Nothing is written, so every memory that would have been summed up stays."""
    rule = "no more proposals are taken today"
    return Grown(
        [
            one if one.fate is Fate.LEFT else one._replace(fate=Fate.LEFT, rule=rule)
            for one in grown.decisions
        ]
    )


def _sections(shelf: Shelf, bases: Sequence[Summary]) -> dict[str, list[str]]:
    """The lines of some summaries, each once."""
    names = profile.SECTIONS if shelf is Shelf.PROJECT else ("",)
    lines: dict[str, dict[str, str]] = {name: {} for name in names}
    for base in bases:
        for name in names:
            for line in (
                base.value[name] if shelf is Shelf.PROJECT else profile.texts_of(base.value)
            ):
                lines[name].setdefault(text.normalise(line), line)
    return {name: list(found.values()) for name, found in lines.items()}


def _tokens(base: Summary) -> frozenset[tuple[str, str | bytes]]:
    """What a summary says, in a form that tells whether something else says the same."""
    if base.shelf is Shelf.PROJECT or text.normalise(base.key) in profile.LISTS:
        sections = _sections(base.shelf, [base])
        return frozenset((name, _token(line)) for name, lines in sections.items() for line in lines)
    return frozenset({("", _token(base.value))})


def _token(value: Any) -> str | bytes:
    return text.normalise(value) if isinstance(value, str) else hashing.encode(value)


def _problem(room: int, size: int = 0, sources: int = 0) -> str | None:
    """Why a line cannot be added."""
    if room > ENTRY_BYTES:
        return f"longer than a summary takes ({ENTRY_BYTES:,} bytes)"
    return "the summary is full" if size + room > ROOM or sources >= MOST_EVIDENCE else None


def _decided(item: Record, target: Target, fate: Fate, rule: str) -> Decision:
    return Decision(item.id, fate, target.key, rule)


def _merged(decisions: Iterable[Decision]) -> list[Decision]:
    """One decision for each memory: it stays when one of its summaries could not take it."""
    order = [Fate.LEFT, Fate.PROFILE, Fate.PROJECT, Fate.KNOWN]
    grouped: dict[str, list[Decision]] = {}
    for one in decisions:
        grouped.setdefault(one.record, []).append(one)
    return [
        min(some, key=lambda one: order.index(one.fate))._replace(
            target=", ".join(dict.fromkeys(str(one.target) for one in some))
        )
        for some in grouped.values()
    ]


def _given_key(item: Record) -> str | None:
    """The key that a memory names for itself, when it is one."""
    try:
        return profile.canonical(rules.label(item.metadata.get("profile_key"), "profile_key"))
    except InvalidInput:
        return None


def _given_values(item: Record, key: str) -> list[Any]:
    """The value that a memory gives beside its key, or what it says."""
    try:
        value = profile.checked(key, item.metadata.get("value"))
    except InvalidInput:
        return [item.content.strip()]
    return value or [item.content.strip()] if key in profile.LISTS else [value]
