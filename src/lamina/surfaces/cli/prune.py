"""The command that moves memories of any layer to the archive: prune."""

from __future__ import annotations

from typing import Any

import click

from lamina.errors import Refused
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command

SHOWN = 20  # lines of a preview


@command("prune", "lamina prune --layer episodic --older-than 365 --below 0.3 --dry-run")
@options.layers
@click.option(
    "--older-than",
    type=float,
    metavar="DAYS",
    help="only what happened at least this many days ago",
)
@click.option(
    "--below", type=float, metavar="IMPORTANCE", help="only memories below this importance, 0 to 1"
)
@options.tags
@options.states
@click.option("--dry-run", is_flag=True, help="only show what would go")
@options.yes
def prune(
    invocation: Invocation,
    older_than: float | None,
    below: float | None,
    dry_run: bool,
    yes: bool,
    **bounds: Any,
) -> None:
    """Move memories of any layer to the archive. They are shown first; `archive restore` brings
    them back.
    """
    operator = invocation.operator("prune")
    bounds |= {"older_than_days": older_than, "importance_below": below}
    bounds["states"] = bounds["states"] or ("active",)
    preview = operator.prunable(SHOWN, **bounds)
    if not invocation.json and preview["records"]:
        output.records(preview["records"])
    number = preview["pruned"]
    if dry_run or not number:
        _show(invocation, {"pruned": number, "dry_run": dry_run})
        return
    if not yes and (invocation.json or not output.confirmed(f"move {number} to the archive?")):
        raise Refused(f"nothing was moved; add --yes to move {number} to the archive, or --dry-run")
    _show(invocation, operator.prune(**bounds))


def _show(invocation: Invocation, report: dict[str, Any]) -> None:
    if invocation.json:
        output.show_json(report)
    elif report["dry_run"]:
        click.echo(f"{report['pruned']} would go to the archive")
    else:
        click.echo(f"{report['pruned']} moved to the archive")
