"""The command that shows what is in the store and what needs attention: status."""

from __future__ import annotations

from typing import Any

import click

from lamina.failsafe.outage import unreported
from lamina.home.folder import LATELY
from lamina.model.clock import system_clock
from lamina.model.record import State
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.surfaces.cli.mirror import problems_of_mirrors
from lamina.surfaces.cli.run import jobs_table
from lamina.surfaces.cli.sleep import used
from lamina.surfaces.hooks import problems
from lamina.text.words import counted, one_line

SHOWN = ("home", "agent", "user", "store", "place", "events", "head")
ATTEMPTS = 5  # kinds of violations to show, the most frequent ones


@command("status", "lamina status", needs_known_agent=True)
def status(invocation: Invocation) -> int:
    """Show the contents of the store, its size, and what needs attention.
    Exits with 1 if it cannot be read.
    """
    memory = invocation.memory()
    report = memory.status()
    invocation.tells_outage = True
    is_read = report["store"] is not None
    if is_read:
        report["problems"] += unreported(memory.outage, problems_of_mirrors(memory))
    report["problems"] += problems.recent(invocation.home, invocation.agent, system_clock())
    output.show_json(report) if invocation.json else _show(invocation, report)
    invocation.starts_jobs = True  # the jobs shown as due are started now
    return 0 if is_read else EXIT_FAILED


def _show(invocation: Invocation, report: dict[str, Any]) -> None:
    fields = [(name, report[name]) for name in SHOWN if report.get(name)]
    if report["store"] is None:
        output.pairs([*fields, ("records", "unknown: the store could not be read")])
    else:
        output.pairs(fields)
        _show_store(report)
    attempts = f"violations in the last {LATELY.days} days (`lamina audit violations`)"
    numbers = {
        "archived": report["archived"],
        "open runs": report["open_runs"],
        attempts: report.get("violations"),
    }
    for label, number in numbers.items():
        if number:
            click.echo(f"{label}: {number}")
    if (waiting := report["waiting"]).get("count"):
        click.echo(_waiting(waiting))
    if (given := report["given"]).get("given"):
        click.echo(
            f"given in contexts in the last {LATELY.days} days:"
            f" {counted(given['given'], 'memory', 'memories')}, used {given['used']:,}"
            f" ({given['rate']:.0%})"
        )
    for attempt, number in [*report.get("violations_by_attempt", {}).items()][:ATTEMPTS]:
        click.echo(f"  {number:>5}  {one_line(attempt, 100)}")
    if (refused := report.get("refused") or {}).get("attempts"):
        click.echo(_refused(**refused))
    if "model" in report:
        _show_model(report["model"])
    if report.get("jobs"):
        click.echo()
        jobs_table(invocation.memory().jobs())
    if others := report.get("other_jobs"):
        click.echo(f"not ours, in schedule.yaml: {', '.join(others)}")
    for problem in report["problems"]:
        output.attention(problem)


def _waiting(waiting: dict[str, Any]) -> str:
    """Report how many facts, preferences and decisions wait in short-term memory, and why."""
    return (
        f"waiting in short-term memory (`lamina promote --dry-run`): {waiting['count']:,} of the"
        f" kinds fact, preference and decision ({waiting['why']}),"
        f" the oldest since {waiting['oldest'][:10]}"
    )


def _refused(attempts: int, last: dict[str, Any]) -> str:
    """Report how many attempts were refused recently, and the last of them."""
    number = counted(attempts, "attempt")
    who = f"{last['actor']} ({last['surface']}), {last['verb']}"
    seen = f"last {last['at'][:16].replace('T', ' ')}, {one_line(who, 80)}"
    return (
        f"refused in the last {LATELY.days} days (`lamina audit log --refused`): {number}, {seen}"
    )


def _show_model(model: dict[str, Any]) -> None:
    """Report what the language model has used recently."""
    last, month = model["last_night"], model["last_30_days"]
    told = (
        f"last night {used(last)}; in 30 days, {counted(month['nights'], 'night')}: {used(month)}"
        if month["nights"]
        else "not used in the last 30 days"
    )
    click.echo(f"model {one_line(model['name'], 80)}: {told}")


def _show_store(report: dict[str, Any]) -> None:
    click.echo()
    states = [state.value for state in State]
    rows = [
        (layer, *(numbers.get(state, 0) for state in states))
        for layer, numbers in report["records"].items()
    ]
    output.table(("records", *states), rows or [("none yet", *"    ")], right=states)
    click.echo()
    parts = report.get("bytes", {})
    most = max(parts.values(), default=1)
    shares = [(part, output.size(size), output.bar(size, most)) for part, size in parts.items()]
    output.table(("part", "size", ""), shares, right=("size",))
