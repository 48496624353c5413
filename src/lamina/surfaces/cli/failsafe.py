"""Commands about the fail-safe: what waits in it, and replaying it into the store."""

from __future__ import annotations

from typing import Any

import click

from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted

OUTCOMES = {
    "constrained": "of them constrained, see `lamina review list`",
    "known": "known already",
    "rejected": "that could not be used, see rejected.jsonl",
}


@click.group()
def failsafe() -> None:
    """Memories that were accepted while the store could not be written."""


@command("status", "lamina failsafe status", under=failsafe)
def failsafe_status(invocation: Invocation) -> None:
    """Show the memories that wait for the store, and lines that could not be used. Nothing is
    replayed.
    """
    report = invocation.spool().status()
    if invocation.json:
        output.show_json(report)
        return
    click.echo(f"{report['folder']}\n")
    rows = [
        (f"{name}.jsonl", f"{report[name]['lines']:,}", output.size(report[name]["bytes"]))
        for name in ("short_term", "long_term")
    ]
    output.table(("file", "waiting", "size"), rows, right=("waiting", "size"))
    if report["oldest"]:
        since = report["oldest"][:16].replace("T", " ")
        advice = "`lamina failsafe replay` stores all of them"
        click.echo(f"\nthe oldest waits since {since} UTC; {advice}")
    else:
        click.echo("\nnothing waits")
    _show_unusable(report)


def _show_unusable(report: dict[str, Any]) -> None:
    for broken in report["broken"]:
        output.attention(f"{broken['file']}, line {broken['line']}: {broken['why']}")
    if report["rejected"]:
        lines = counted(report["rejected"], "line")
        output.attention(
            f"{lines} could not be used; see rejected.jsonl, which has the reason of each"
        )


@command("replay", "lamina failsafe replay", under=failsafe)
def failsafe_replay(invocation: Invocation) -> None:
    """Store the waiting memories, each once and in order. Every command that opens the store
    does the same.
    """
    with output.progress("replaying") as advance:
        report = invocation.memory(replay=False).replay_failsafe(advance)
    if invocation.json:
        output.show_json(report)
        return
    parts = [f"{report['stored']:,} stored"]
    parts += [f"{report[name]:,} {words}" for name, words in OUTCOMES.items() if report[name]]
    click.echo(", ".join(parts) if report["archived"] else "nothing waits")
    for path in report["archived"]:
        click.echo(f"the lines are in {path} now")
