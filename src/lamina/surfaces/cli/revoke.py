"""The command that returns everything from a source to review: revoke."""

from __future__ import annotations

from collections.abc import Sequence

import click

from lamina.errors import Refused
from lamina.model.record import Record
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted

SHOWN = 20  # lines of a preview


@command("revoke", 'lamina revoke --source web:example.com --reason "it was hacked"')
@click.option("--source", required=True, help="where it came from, as `lamina inspect` shows it")
@click.option("--reason", help="why; needed unless it is a dry run")
@click.option("--dry-run", is_flag=True, help="only show what would wait for review")
@options.yes
def revoke(
    invocation: Invocation, source: str, reason: str | None, dry_run: bool, yes: bool
) -> None:
    """Put everything that came from a source, or was derived from it, under review again.
    `lamina undo` reverts this.
    """
    operator = invocation.operator("revoke")
    records, archived = operator.revocable(source)
    if dry_run or not (yes or invocation.json):
        _show_tainted(invocation, records, archived)
    if dry_run:
        return
    if reason is None:
        raise click.UsageError("say why with --reason")
    memories = counted(len(records), "memory", "memories")
    if records and not yes and not output.confirmed(f"put {memories} under review?"):
        raise Refused("nothing was done; use --yes to skip the question")
    moved = operator.revoke(source, reason)
    if invocation.json:
        output.show_json({"moved": [record.id for record in moved], "archived": archived})
    else:
        waiting = counted(len(moved), "memory waits", "memories wait")
        click.echo(f"{waiting} for review now; `lamina undo` takes it back")


def _show_tainted(invocation: Invocation, records: Sequence[Record], archived: int) -> None:
    """Show what came from the source, or part of it if that is much."""
    if invocation.json:
        moved = [record.id for record in records]
        output.show_json({"moved": moved, "archived": archived, "dry_run": True})
        return
    if records:
        output.records(records[:SHOWN])
    if len(records) > SHOWN:
        click.echo(f"and {len(records) - SHOWN} more")
    active = counted(len(records), "active memory goes", "active memories go")
    click.echo(f"{active} back to this source")
    if archived:
        others = counted(archived, "memory does", "memories do")
        click.echo(f"of the archive, {others} too; nothing of that moves")
