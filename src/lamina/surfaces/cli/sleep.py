"""Commands about what is known: sleep, facts, timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from lamina.errors import NotFound
from lamina.model.clock import system_clock
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.times import past
from lamina.text.words import counted, one_line, reveal, shown

if TYPE_CHECKING:
    from lamina.engines.facts import Fact

# What happened once is a point, whatever comes after it.
POINTS = frozenset({"did", "visited"})
NARROWEST, WIDEST = 10, 60
PLAN = ("facts", "tastes", "summaries", "workflows", "adjusted")
NOUNS = {"tastes": "taste", "summaries": "summary", "workflows": "workflow", "adjusted": "adjusted"}


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    sleep(group)
    facts(group)
    timeline(group)


def sleep(group: click.Group) -> None:
    @command(group, "sleep", "lamina sleep --dry-run")
    @click.option("--dry-run", is_flag=True, help="only show what would be done, and why")
    @click.option(
        "--limit",
        type=click.IntRange(1),
        default=50,
        show_default=True,
        help="lines of a dry run at most",
    )
    def run(session: Session, dry_run: bool, limit: int) -> None:
        """Let what was said become what is known: facts, tastes, summaries, workflows.

        Episodes are read, each once. What is in short-term memory is read once it is promoted; see `lamina promote`.
        """
        memory = session.memory()
        if dry_run:
            plan = memory.sleep(dry_run=True)
            output.show_json(plan) if session.json else _show_plan(plan, limit)
            return
        with output.progress("reading") as progress:
            done = memory.sleep(progress=progress)
        if session.json:
            output.show_json(done)
            return
        told = [f"{number} {name}" for name, number in done["facts"].items()]
        click.echo(f"read {counted(done['turns'], 'turn')}: {', '.join(told) or 'nothing new'}")
        others = [counted(done[name], one, name) for name, one in NOUNS.items() if done.get(name)]
        if others:
            click.echo(f"and {', '.join(others)}; proposals wait in `lamina review`")
        _show_waiting(done["waiting"])
        for note in done.get("notes", ()):
            output.attention(note, err=True)


def _show_plan(plan: dict[str, Any], limit: int) -> None:
    rows = [(one["effect"], one["fact"], one["why"], one["rule"]) for one in plan["facts"]]
    if rows:
        output.table(
            ("effect", "fact", "why", "rule"),
            rows[:limit],
            wide="fact",
            dispensable=("rule",),
            wraps=("why",),
        )
        if len(rows) > limit:
            click.echo(f"and {len(rows) - limit:,} more")
    for name in PLAN[1:]:
        for one in plan.get(name, ()):
            what = f"{one['key']}: {one['value']}" if "key" in one else one["content"]
            click.echo(
                f"{name}: {one_line(str(what), 100)}"
                + (f" ({reveal(one['why'])})" if "why" in one else "")
            )
    if not any(plan.get(name) for name in PLAN):
        click.echo("nothing to do")
    _show_waiting(plan["waiting"])


def _show_waiting(number: int) -> None:
    """Say what was not read, for whoever misses it."""
    if number:
        waits = counted(number, "memory waits", "memories wait")
        click.echo(
            f"{waits} in short-term memory: sleep reads what is promoted; see `lamina promote --dry-run`"
        )


def facts(group: click.Group) -> None:
    @command(group, "facts", "lamina facts Ana --as-of 2026-05-01")
    @click.argument("subject", required=False)
    @click.option("--attribute", help="only this, such as lives_in")
    @click.option(
        "--as-of", callback=past, help="what was true then: a day, a time, or how long ago"
    )
    def run(
        session: Session, subject: str | None, attribute: str | None, as_of: datetime | None
    ) -> None:
        """Show what is known about SUBJECT, or about everybody."""
        found = session.memory().facts(subject, attribute, as_of)
        if session.json:
            output.show_json([fact.to_dict() for fact in found])
        elif found:
            rows = [
                (fact.subject, fact.attribute, _value(fact), _when(fact), f"{fact.confidence:.2f}")
                for fact in found
            ]
            output.table(
                ("who", "what", "value", "when", "sure"),
                rows,
                wide="value",
                right=("sure",),
                dispensable=("sure",),
            )
        else:
            click.echo(
                "nothing is known"
                + (f" about {reveal(subject)}" if subject else " yet; see `lamina sleep`")
            )


def timeline(group: click.Group) -> None:
    @command(group, "timeline", "lamina timeline Ana")
    @click.argument("subject")
    def run(session: Session, subject: str) -> None:
        """Draw what holds and what held for SUBJECT over time."""
        found = session.memory().timeline(subject)
        if not found:
            raise NotFound(f"nothing is known about {shown(subject)}")
        if session.json:
            output.show_json([fact.to_dict() for fact in found])
        else:
            draw(found, system_clock())


def draw(found: Sequence[Fact], now: datetime) -> None:
    """Intervals as bars on one scale of time, one line a fact, the attributes in the order in which they began."""
    from rich.table import Table
    from rich.text import Text

    console = output.console()
    first = min(fact.valid_from for fact in found)
    last = max(now, *(fact.valid_from for fact in found))
    begins = {
        fact.attribute: min(one.valid_from for one in found if one.attribute == fact.attribute)
        for fact in found
    }
    ordered = sorted(
        found,
        key=lambda fact: (begins[fact.attribute], fact.attribute, fact.valid_from, fact.record),
    )
    width = max(NARROWEST, min(WIDEST, console.width - 60))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="cyan")
    table.add_column(
        max_width=max(12, console.width - width - 45), overflow="ellipsis", no_wrap=True
    )
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    shown_before = ""
    for fact in ordered:
        name = "" if fact.attribute == shown_before else fact.attribute
        shown_before = fact.attribute
        style = "green" if fact.valid_to is None and fact.state.value == "active" else "yellow"
        drawn = Text(bar(fact, first, last, width), style="dim" if fact.negated else style)
        table.add_row(Text(reveal(name)), Text(one_line(_value(fact))), drawn, Text(_when(fact)))
    console.print(table)


def bar(fact: Fact, first: datetime, last: datetime, width: int) -> str:
    """The interval of a fact, or a point for what happened once, on a line of so many characters."""
    span = (last - first).total_seconds() or 1.0

    def place(at: datetime) -> int:
        return min(width - 1, int((at - first).total_seconds() / span * width))

    start = place(fact.valid_from)
    if fact.attribute in POINTS:
        return "·" * start + "●" + "·" * (width - start - 1)
    end = width if fact.valid_to is None else max(start + 1, place(fact.valid_to))
    if fact.valid_to is None and fact.state.value != "active":  # it had never been so
        return "·" * start + "×" + "·" * (width - start - 1)
    return "·" * start + "█" * (end - start) + "·" * (width - end)


def _value(fact: Fact) -> str:
    return f"not {fact.value or 'any more'}" if fact.negated else fact.value


def _when(fact: Fact) -> str:
    if fact.attribute in POINTS:
        return f"{fact.valid_from.date()}"
    if fact.valid_to is None:
        return f"since {fact.valid_from.date()}" if fact.state.value == "active" else "never"
    return f"{fact.valid_from.date()} to {fact.valid_to.date()}"
