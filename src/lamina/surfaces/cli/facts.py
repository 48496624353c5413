"""Commands about what is known: facts, timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import click

from lamina.errors import NotFound
from lamina.model.clock import system_clock
from lamina.search.context.lines import HANDLE
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import one_line, reveal, shown

if TYPE_CHECKING:
    from lamina.engines.facts import Fact

# What happened once is a point in time, whatever comes after it.
POINTS = frozenset({"did", "visited"})
NARROWEST, WIDEST = 10, 60  # columns of the bars of a timeline
SHORTEST = 12  # columns for values, which continue on the next line if they are longer


@command("facts", "lamina facts Ana --as-of 2026-05-01", needs_known_agent=True)
@click.argument("subject", required=False)
@click.option("--attribute", help="only this attribute, such as lives_in")
@options.project
@options.as_of
def facts(
    invocation: Invocation,
    subject: str | None,
    attribute: str | None,
    project: str | None,
    as_of: datetime | None,
) -> None:
    """Show what is known about SUBJECT, or about everybody."""
    found = invocation.memory().facts(subject, attribute, as_of, project)
    if subject and not found:
        raise _unknown(subject, is_narrowed=bool(attribute or project or as_of))
    if invocation.json:
        output.show_json([fact.to_dict() for fact in found])
    elif found:
        rows = [
            (
                *(fact.record[-HANDLE:], fact.subject, fact.attribute),
                *(_judged(fact), _when(fact), f"{fact.confidence:.2f}"),
            )
            for fact in found
        ]
        columns = ("id", "who", "what", "value", "when", "sure")
        output.table(columns, rows, wide="value", right=("sure",), dispensable=("sure",))
    elif attribute or project or as_of:
        click.echo("no fact matches")
    else:
        click.echo(
            "nothing is known yet; `lamina sleep` reads what was remembered, but an agent's memory"
            " that says I only with a speaker"
        )


@command("timeline", "lamina timeline Ana", needs_known_agent=True)
@click.argument("subject")
def timeline(invocation: Invocation, subject: str) -> None:
    """Draw what is and was true about SUBJECT over time."""
    found = invocation.memory().timeline(subject)
    if not found:
        raise _unknown(subject)
    if invocation.json:
        output.show_json([fact.to_dict() for fact in found])
    else:
        _draw(found, system_clock())


def _unknown(subject: str, *, is_narrowed: bool = False) -> NotFound:
    if is_narrowed:
        return NotFound(
            f"no fact about {shown(subject)} matches; without options, `lamina facts` shows all"
            " about them"
        )
    return NotFound(f"nothing is known about {shown(subject)}; `lamina facts` lists what is")


def _draw(found: Sequence[Fact], now: datetime) -> None:
    """Draw facts as bars on one time scale, with the attributes in order of their beginning."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    first = min(fact.valid_from for fact in found)
    last = max(now, *(fact.valid_from for fact in found))
    begins: dict[str, datetime] = {}
    for fact in found:
        begin = begins.get(fact.attribute, fact.valid_from)
        begins[fact.attribute] = min(begin, fact.valid_from)
    ordered = sorted(
        found,
        key=lambda fact: (begins[fact.attribute], fact.attribute, fact.valid_from, fact.record),
    )
    names = [
        "" if before and before.attribute == fact.attribute else reveal(fact.attribute)
        for before, fact in pairwise([None, *ordered])
        if fact
    ]
    values = [one_line(_value(fact)) for fact in ordered]
    times = [_when(fact) for fact in ordered]
    widest = [max(map(cell_len, column)) for column in (names, values, times)]
    most, width = _widths(console.width, *widest) if console.is_terminal else (widest[1], WIDEST)
    # If a line is still too long, let the terminal break it: rich would cut the times.
    console.width = max(console.width, widest[0] + most + width + widest[2] + 3 * output.GAP)
    table = Table.grid(padding=(0, output.GAP, 0, 0))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(max_width=most, overflow="fold")
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    for name, value, fact, time in zip(names, values, ordered, times, strict=True):
        style = "green" if fact.valid_to is None and fact.state.value == "active" else "yellow"
        drawn = Text(bar(fact, first, last, width), style="dim" if fact.negated else style)
        table.add_row(Text(name), Text(value), drawn, Text(time))
    console.print(table)


def _widths(room: int, name: int, value: int, time: int) -> tuple[int, int]:
    """Share what names and times leave of a line between the values and the bars."""
    room -= name + time + 3 * output.GAP
    most = min(value, max(SHORTEST, room // 2))
    return most, max(NARROWEST, min(WIDEST, room - most))


def bar(fact: Fact, first: datetime, last: datetime, width: int) -> str:
    """Draw the interval of a fact, or a point for a single event, `width` characters wide.

    What does not hold in its interval is drawn lighter, which looks different without colours.
    """
    span = (last - first).total_seconds() or 1.0

    def position(at: datetime) -> int:
        return min(width - 1, int((at - first).total_seconds() / span * width))

    start = position(fact.valid_from)
    if fact.attribute in POINTS:
        return "·" * start + "●" + "·" * (width - start - 1)
    end = width if fact.valid_to is None else max(start + 1, position(fact.valid_to))
    if fact.valid_to is None and fact.state.value != "active":  # it was never true
        return "·" * start + "×" + "·" * (width - start - 1)
    drawn = "░" if fact.negated else "█"
    return "·" * start + drawn * (end - start) + "·" * (width - end)


def _judged(fact: Fact) -> str:
    return f"{_value(fact)} (its evidence is gone)" if fact.groundless else _value(fact)


def _value(fact: Fact) -> str:
    return f"not {fact.value or 'any more'}" if fact.negated else fact.value


def _when(fact: Fact) -> str:
    if fact.attribute in POINTS:
        return f"{fact.valid_from.date()}"
    if fact.valid_to is None:
        return f"since {fact.valid_from.date()}" if fact.state.value == "active" else "never"
    return f"{fact.valid_from.date()} to {fact.valid_to.date()}"
