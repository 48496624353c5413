"""Show the queue: a row for each proposal, and more about the one under the cursor. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rich.text import Text

from lamina.engines.review import Proposal
from lamina.surfaces.cli.reviewer import frame
from lamina.surfaces.cli.reviewer.frame import Size
from lamina.surfaces.cli.reviewer.texts import cut, indented, line, padded, wrapped
from lamina.surfaces.cli.reviewer.wording import (
    TRUSTS,
    age,
    because,
    brief,
    echoes,
    mark,
    obstacles,
    origin,
    place,
)

ABOUT = 4  # lines about the row under the cursor
TALL = 16  # lines of a screen that has room for them
FROM, PLACE = 18, 26  # the most columns that these take
WIDE = 100  # columns of a screen that has room for wider gaps
LEAD = 4  # the cursor, the mark of the person, the warning, a space


class Queue(NamedTuple):
    """The part of the queue that is shown, and the row of the cursor."""

    proposals: Sequence[Proposal]
    waiting: int
    now: datetime
    whose: str
    cursor: int = 0
    top: int = 0
    marked: frozenset[str] = frozenset()
    words: str = ""


class Columns(NamedTuple):
    """The widths of the columns."""

    number: int
    age: int
    origin: int
    trust: int
    place: int


def title(queue: Queue) -> Text:
    """Say how much waits, and how much of that is shown and marked."""
    number = len(queue.proposals)
    parts = ["1 waits" if queue.waiting == 1 else f"{queue.waiting} wait"]
    parts += [f"{number} with “{queue.words}”"] if queue.words else []
    parts += [f"{len(queue.marked)} marked"] if queue.marked else []
    parts += [f"row {queue.cursor + 1} of {number}"] if number else []
    return Text.assemble(" ", line(f"review of {queue.whose}: {' · '.join(parts)}"))


def rows(height: int) -> int:
    """Count the rows that a screen shows."""
    return max(1, frame.room(height) - 1 - (ABOUT + 1 if height >= TALL else 0))


def top(queue: Queue, height: int) -> int:
    """Choose the first row, so that the cursor is in sight and rows move as little as can be."""
    room = rows(height)
    least, most = queue.cursor - room + 1, min(queue.cursor, len(queue.proposals) - room)
    return max(0, least, min(queue.top, most))


def lines(queue: Queue, size: Size) -> list[Text]:
    """Draw the body of the screen."""
    width, height = size
    if not queue.proposals:
        what = "nothing that waits has these words" if queue.words else "nothing waits for review"
        return [Text(), *indented(Text(what), width)]
    shown = range(queue.top, min(queue.top + rows(height), len(queue.proposals)))
    columns = _columns(queue, width)
    made = [_heading(columns, width), *(_row(queue, number, columns, width) for number in shown)]
    if height < TALL:
        return made
    made += [Text()] * (rows(height) + 1 - len(made))
    return [*made, Text("─" * width, "dim"), *_about(queue.proposals[queue.cursor], width)]


def _columns(queue: Queue, width: int) -> Columns:
    """Make columns as wide as what is in them, within a share of the line."""
    found = queue.proposals
    origins = max(line(origin(one), width=FROM).cell_len for one in found)
    places = max(line(place(one.record), width=PLACE).cell_len for one in found)
    return Columns(
        number=len(str(len(found))),
        age=max(3, *(len(age(queue.now, one.since)) for one in found)),
        origin=min(max(4, origins), max(6, width // 7)),
        trust=max(len(one.record.trust) for one in found),
        place=min(max(5, places), max(8, width // 5)),
    )


def _gap(width: int) -> int:
    return 2 if width >= WIDE else 1


def _heading(columns: Columns, width: int) -> Text:
    names = ("#".rjust(columns.number), "age".rjust(columns.age), "from", "trust", "place")
    cells = [name.ljust(room + _gap(width)) for name, room in zip(names, columns, strict=True)]
    return cut(Text(f"{' ' * LEAD}{''.join(cells)}what it says ← now", "dim"), width)


def _row(queue: Queue, number: int, columns: Columns, width: int) -> Text:
    proposal = queue.proposals[number]
    record, here = proposal.record, number == queue.cursor
    cells = [
        Text(str(number + 1).rjust(columns.number), "dim"),
        Text(age(queue.now, proposal.since).rjust(columns.age)),
        line(origin(proposal), width=columns.origin),
        Text(record.trust.value, TRUSTS[record.trust]),
        line(place(record), width=columns.place),
    ]
    pointer, chosen = "▸" if here else " ", "●" if record.id in queue.marked else " "
    made = Text.assemble((pointer, "bold cyan"), (chosen, "bold cyan"), mark(proposal), " ")
    for cell, room in zip(cells, columns, strict=True):
        made.append_text(padded(cell, room + _gap(width)))
    made.append_text(_change(proposal, width - made.cell_len))
    if here:
        made.stylize("bold")
    return cut(made, width)


def _change(proposal: Proposal, room: int) -> Text:
    """Show what is proposed, and what it would replace, in the rest of a line."""
    room = max(8, room)
    if not proposal.replaces:
        return brief(proposal.record, room)
    first, *others = proposal.replaces
    before = Text(f"{1 + len(others)} records", "dim") if others else brief(first, room // 3, "dim")
    made = brief(proposal.record, max(2, room - before.cell_len - 3))
    return made.append(" ← ", "dim").append_text(before)


def _about(proposal: Proposal, width: int) -> list[Text]:
    """Describe the row under the cursor with what found no room in it."""
    record = proposal.record
    user = [f"user {record.user}"] if record.user else []
    facts = [place(record), record.kind, *user, origin(proposal), record.id]
    why = record.metadata.get("reason")
    last = [*obstacles(proposal), *echoes(proposal)][:1]
    last += [line(because(why), "dim")] if isinstance(why, str) else []
    says = _first(wrapped(brief(record, ABOUT * width), width), ABOUT - 1 - len(last), width)
    return [line(" · ".join(facts), "cyan", width), *says, *(cut(one, width) for one in last)]


def _first(text: list[Text], number: int, width: int) -> list[Text]:
    """Return some lines of a text; the last of them says when there are more."""
    if len(text) <= number:
        return text
    return [*text[: number - 1], cut(text[number - 1], width - 1).append("…")]
