"""The command that sums up old short-term memories: compress."""

from __future__ import annotations

from typing import Any

import click

from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted, reveal


@command("compress", "lamina compress --hours 48 --dry-run")
@click.option(
    "--hours", type=float, default=48, show_default=True, help="only what is older than this"
)
@click.option("--dry-run", is_flag=True, help="only show what would happen to each memory, and why")
@options.lines_of_dry_run
def compress(invocation: Invocation, hours: float, dry_run: bool, limit: int) -> None:
    """Sum up old short-term memories in the profile and in projects, and archive those that were
    summed up.
    """
    memory = invocation.memory()
    report = memory.compress_short_to_long(hours, dry_run=dry_run)
    if invocation.json:
        output.show_json(report)
        return
    if dry_run:
        _table_of_decisions(invocation, report["decisions"], limit)
    click.echo(_summary(report, dry_run))
    for problem in () if dry_run else memory.status()["problems"]:
        output.attention(problem, err=True)


def _table_of_decisions(
    invocation: Invocation, decisions: list[dict[str, Any]], limit: int
) -> None:
    """Show what would happen to each memory; changes come first."""
    ordered = sorted(decisions, key=lambda decision: decision["what"] == "left")
    contents = invocation.memory().contents([decision["id"] for decision in ordered[:limit]])
    rows = [
        (
            *(decision[name] for name in ("id", "what", "target", "rule")),
            contents.get(decision["id"], ""),
        )
        for decision in ordered[:limit]
    ]
    if rows:
        columns = ("id", "what", "where", "why", "content")
        output.table(columns, rows, wide="content", dispensable=("id",), wraps=("where", "why"))
    if len(ordered) > limit:
        click.echo(f"and {len(ordered) - limit:,} more; see --limit")


def _summary(report: dict[str, Any], dry_run: bool) -> str:
    """Summarise in a sentence what was done, or would be done."""
    number, waiting = report["compressed"], report.get("waiting", 0)
    memories = counted(number, "memory", "memories")
    parts = [f"{memories} {'to compress' if dry_run else 'compressed'}"]
    parts += [
        f"{name}: {', '.join(report[name])}" for name in ("profile", "projects") if report[name]
    ]
    if waiting:
        parts.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for review")
    return reveal("; ".join([*parts, f"{report['left']:,} left"]))
