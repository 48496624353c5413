"""One document for people to read: who, what is known, what was done and when. Nothing in a memory leaves its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from lamina.formats import entries
from lamina.model import slots
from lamina.model.record import Layer, Record, State
from lamina.text import words

# Signs that mean something wherever they stand, and those that mean something at the start of a line.
SIGNS = re.compile(r"[\\`*_\[\]<>&|~$^#!@{}]|:(?=//)|(?<=\bwww)\.", re.I)
START = re.compile(r"[-+=:]|\d+[.)]")
INDENT = re.compile(r"[ \t]+")
PARTS = ("goals", "blockers", "next_steps")
CARRIED = frozenset("id user layer state content tags occurred_at speaker".split())


def refusal(record: Record) -> str | None:
    """Why a record is not in the document."""
    if record.layer is Layer.WORKING:
        return "working memory ends with its run"
    return "it was taken back, forgotten or rejected" if record.state is State.TOMBSTONED else None


def lost(record: Record) -> list[str]:
    """The fields of a record that the document does not show."""
    return entries.missing(record, CARRIED)


def document(agent: str, found: Iterable[Record]) -> Iterator[str]:
    """The document, line by line."""
    records = list(found)
    active = [record for record in records if record.state is State.ACTIVE]
    yield f"# Memory of {inline(agent)}"
    yield from _section("Profile", _profile(_in(active, Layer.PROFILE)))
    facts = _in(active, Layer.SEMANTIC)
    yield from _section("Facts", _items([one for one in facts if slots.project_name(one) is None]))
    yield from _section(
        "Projects", _projects([one for one in facts if slots.project_name(one) is not None])
    )
    yield from _section("Procedures", _items(_in(active, Layer.PROCEDURAL)))
    yield from _section("Timeline", _days(_in(active, Layer.EPISODIC, Layer.SHORT_TERM)))
    yield from _section("World", _items(_in(active, Layer.WORLD)))
    yield from _section("Waiting for review", _items(_with(records, State.CONSTRAINED)))
    yield from _section("Replaced", _items(_with(records, State.SUPERSEDED)))


def _in(records: Sequence[Record], *layers: Layer) -> list[Record]:
    return [record for record in records if record.layer in layers]


def _with(records: Sequence[Record], state: State) -> list[Record]:
    return [record for record in records if record.state is state]


def _section(title: str, body: Iterable[str], level: int = 2) -> Iterator[str]:
    """A heading and what is under it; nothing when that is nothing."""
    lines = list(body)
    if lines:
        yield from ("", f"{'#' * level} {title}", *([""] if lines[0] else []), *lines)


def _items(records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        yield _item(block(record.content), record)


def _profile(records: Sequence[Record]) -> Iterator[str]:
    """What is known about each person, by key; first what concerns nobody in particular."""
    chosen = sorted(
        records, key=lambda one: (one.user or "", str(one.metadata.get("profile_key")), one.seq)
    )
    for user, own in groupby(chosen, key=lambda one: one.user):
        lines = [
            _item(f"**{inline(str(one.metadata.get('profile_key')))}**: {block(one.content)}", one)
            for one in own
        ]
        yield from _section(inline(user), lines, 3) if user is not None else lines


def _projects(records: Sequence[Record]) -> Iterator[str]:
    for record in sorted(records, key=lambda one: (str(slots.project_name(one)), one.seq)):
        summary: Mapping[str, Any] = record.metadata["project"]
        lines = [
            f"- {name.replace('_', ' ')}: {block(one)}"
            for name in PARTS
            for one in entries.strings(summary.get(name))
        ]
        yield from _section(
            inline(str(slots.project_name(record))),
            lines or [_item(block(record.content), record)],
            3,
        )


def _days(records: Sequence[Record]) -> Iterator[str]:
    """What happened, by day."""
    chosen = sorted(records, key=lambda one: (one.occurred_at, one.seq))
    for day, own in groupby(chosen, key=lambda one: one.occurred_at.date()):
        yield from _section(str(day), [_happened(one) for one in own], 3)


def _happened(record: Record) -> str:
    who = f"**{inline(record.speaker)}**: " if record.speaker else ""
    return _item(f"{record.occurred_at:%H:%M} {who}{block(record.content)}", record)


def _item(said: str, record: Record) -> str:
    """One memory as an item of a list, with what it is called by."""
    more = [*(f"for {record.user}" for _ in filter(None, [record.user])), *record.tags]
    told = f" ({inline(', '.join(more))})" if more else ""
    return f"- {said}{told} `{record.id}`"


def inline(value: str) -> str:
    """A text on one line, in which every sign is only a sign."""
    return _line(words.one_line(value))


def block(value: str) -> str:
    """A text of any number of lines, as it may stand in an item of a list."""
    paragraphs = [
        [_line(line.rstrip()) for line in lines]
        for is_blank, lines in groupby(
            words.reveal(value).split("\n"), key=lambda line: not line.strip()
        )
        if not is_blank
    ]
    return "\n\n  ".join("\\\n  ".join(lines) for lines in paragraphs)


def _line(value: str) -> str:
    escaped = INDENT.sub(_spaces, value, count=1) if value[:1] in (" ", "\t") else value
    escaped = SIGNS.sub(_escaped, escaped)
    start = START.match(escaped)
    return (
        escaped if start is None else f"{escaped[: start.end() - 1]}\\{escaped[start.end() - 1 :]}"
    )


def _spaces(found: re.Match[str]) -> str:
    """An indentation that is seen, and is no sign of code."""
    return "\u00a0" * len(found.group().expandtabs(4))


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found.group()}"
