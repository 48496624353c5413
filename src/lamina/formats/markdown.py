"""Write one document for people: who, what is known, what was done and when.

Markup in a memory is escaped, so that it cannot affect the rest of the document. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from lamina.formats import entries
from lamina.model import slots
from lamina.model.record import Layer, Record, State
from lamina.text import words

# Characters with a meaning anywhere in a line, and those with one at its start.
SIGNS = re.compile(r"[\\`*_\[\]<>&|~$^#!@{}]|:(?=//)|(?<=\bwww)\.", re.I)
START = re.compile(r"[-+=:]|\d+[.)]")
INDENT = re.compile(r"[ \t]+")
PARTS = ("goals", "blockers", "next_steps")
CARRIED = frozenset("id user layer state content tags occurred_at speaker".split())


def refusal(record: Record) -> str | None:
    """Say why a record is not in the document."""
    if record.layer is Layer.WORKING:
        return "working memory ends with its run"
    return "it was taken back, forgotten or rejected" if record.state is State.TOMBSTONED else None


def lost(record: Record) -> list[str]:
    """Name the fields of a record that the document does not show."""
    return entries.lost(record, CARRIED)


def document(agent: str, everything: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of the document."""
    records = list(everything)
    active = [record for record in records if record.state is State.ACTIVE]
    yield f"# Memory of {inline(agent)}"
    yield from _section("Profile", _profile(_in(active, Layer.PROFILE)))
    facts = _in(active, Layer.SEMANTIC)
    plain = [record for record in facts if slots.project_name(record) is None]
    projects = [record for record in facts if slots.project_name(record) is not None]
    yield from _section("Facts", _items(plain))
    yield from _section("Projects", _projects(projects))
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
    """Yield a heading and the lines under it; nothing if there are none."""
    lines = list(body)
    if lines:
        yield from ("", f"{'#' * level} {title}", *([""] if lines[0] else []), *lines)


def _items(records: Sequence[Record]) -> Iterator[str]:
    for record in records:
        yield _item(block(record.content), record)


def _profile(records: Sequence[Record]) -> Iterator[str]:
    """Yield the profile of each user by key, after the profile without a user."""

    def key(record: Record) -> str:
        return str(record.metadata.get("profile_key"))

    ordered = sorted(records, key=lambda record: (record.user or "", key(record), record.seq))
    for user, own in groupby(ordered, key=lambda record: record.user):
        lines = [
            _item(f"**{inline(key(record))}**: {block(record.content)}", record) for record in own
        ]
        yield from _section(inline(user), lines, 3) if user is not None else lines


def _projects(records: Sequence[Record]) -> Iterator[str]:
    for record in sorted(records, key=lambda record: (str(slots.project_name(record)), record.seq)):
        summary: Mapping[str, Any] = record.metadata["project"]
        lines = [
            f"- {part.replace('_', ' ')}: {block(text)}"
            for part in PARTS
            for text in entries.strings(summary.get(part))
        ]
        lines = lines or [_item(block(record.content), record)]
        yield from _section(inline(str(slots.project_name(record))), lines, 3)


def _days(records: Sequence[Record]) -> Iterator[str]:
    """Yield a section for each day."""
    ordered = sorted(records, key=lambda record: (record.occurred_at, record.seq))
    for day, own in groupby(ordered, key=lambda record: record.occurred_at.date()):
        yield from _section(str(day), [_timed_item(record) for record in own], 3)


def _timed_item(record: Record) -> str:
    who = f"**{inline(record.speaker)}**: " if record.speaker else ""
    return _item(f"{record.occurred_at:%H:%M} {who}{block(record.content)}", record)


def _item(text: str, record: Record) -> str:
    """Write one memory as a list item, with its user, its tags and its id."""
    labels = [*([f"for {record.user}"] if record.user else []), *record.tags]
    suffix = f" ({inline(', '.join(labels))})" if labels else ""
    return f"- {text}{suffix} `{record.id}`"


def inline(value: str) -> str:
    """Put a text on one line, with all markup escaped."""
    return _line(words.one_line(value))


def block(value: str) -> str:
    """Write a text of any number of lines so that it fits into a list item."""
    lines = words.reveal(value).split("\n")
    paragraphs = [
        [_line(line.rstrip()) for line in paragraph]
        for has_text, paragraph in groupby(lines, key=lambda line: bool(line.strip()))
        if has_text
    ]
    return "\n\n  ".join("\\\n  ".join(paragraph) for paragraph in paragraphs)


def _line(value: str) -> str:
    escaped = INDENT.sub(_spaces, value, count=1) if value[:1] in (" ", "\t") else value
    escaped = SIGNS.sub(_escaped, escaped)
    start = START.match(escaped)
    if start is None:
        return escaped
    last = start.end() - 1
    return f"{escaped[:last]}\\{escaped[last:]}"


def _spaces(indent: re.Match[str]) -> str:
    """Write an indentation that is visible, but does not mean code."""
    return "\u00a0" * len(indent.group().expandtabs(4))


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign.group()}"
