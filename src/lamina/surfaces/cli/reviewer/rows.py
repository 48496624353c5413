"""Show the queue: a row for each proposal, a line for each group. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from lamina.engines.review import Proposal
from lamina.surfaces.cli.reviewer.texts import line
from lamina.surfaces.cli.reviewer.wording import TRUSTS, age, brief, mark, origin, place

COLUMNS = ("", "age", "from", "trust", "about", "what it says ← now")
MARKS, AGE, TRUST = 2, 4, 8  # columns of fixed widths
FROM, ABOUT = 18, 26  # maximum widths of these columns
LEAST = 10
GAPS = 2 * len(COLUMNS)  # a space on each side of each column


def widths(proposals: Sequence[Proposal], width: int) -> tuple[int, ...]:
    """Distribute the width of a table: columns are as wide as their content, within limits."""
    origins = max((line(origin(one), width=FROM).cell_len for one in proposals), default=0)
    places = max((line(place(one.record), width=ABOUT).cell_len for one in proposals), default=0)
    source = min(max(4, origins), max(6, width // 7))
    about = min(max(5, places), max(8, width // 5))
    rest = width - GAPS - MARKS - AGE - TRUST - source - about
    return MARKS, AGE, source, TRUST, about, max(LEAST, rest)


def cells(
    proposal: Proposal, now: datetime, is_marked: bool, room: Sequence[int]
) -> tuple[Text, ...]:
    """Make the cells of a proposal, none wider than its column."""
    record = proposal.record
    return (
        Text.assemble(("●" if is_marked else " ", "bold cyan"), mark(proposal)),
        Text(age(now, proposal.since)),
        line(origin(proposal), width=room[2]),
        Text(record.trust.value, TRUSTS[record.trust]),
        line(place(record), width=room[4]),
        _change(proposal, room[5]),
    )


def heading(name: str, number: int, room: Sequence[int]) -> tuple[Text, ...]:
    """Make the cells of a line that heads a group."""
    empty = [Text("") for _ in COLUMNS[:-1]]
    return *empty, line(f"{name} ({number})", "bold cyan", width=room[-1])


def _change(proposal: Proposal, room: int) -> Text:
    """Show what is proposed, and what it would replace, in the rest of the line."""
    if not proposal.replaces:
        return brief(proposal.record, room)
    first, *others = proposal.replaces
    before = Text(f"{1 + len(others)} records", "dim") if others else brief(first, room // 3, "dim")
    made = brief(proposal.record, max(2, room - before.cell_len - 3))
    return made.append(" ← ", "dim").append_text(before)
