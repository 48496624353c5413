"""Commands about runs that were not closed: runs list, runs close."""

from __future__ import annotations

import click

from lamina.errors import NotFound
from lamina.model.record import plain
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.cli.remember import secrets_unlogged, show_stored

FIELDS = ("id", "task", "started_at", "note_count")


@click.group()
def runs() -> None:
    """Working memory of runs that were not closed."""


@command("list", "lamina runs list", under=runs, needs_known_agent=True)
def runs_list(invocation: Invocation) -> None:
    """List runs that are open, such as those of a process that died."""
    open_runs = invocation.memory().runs()
    if invocation.json:
        output.show_json(
            [{name: plain(getattr(run, name)) for name in FIELDS} for run in open_runs]
        )
    elif open_runs:
        rows = [
            (run.id, output.when(run.started_at), run.note_count, run.task) for run in open_runs
        ]
        columns = ("id", "started (UTC)", "notes", "task")
        output.table(columns, rows, wide="task", right=("notes",))
    else:
        click.echo("no open runs")


@command(
    "close",
    'lamina runs close 01k9zq5e7cxxxxxxxxxxxxxxxx --summary "report sent"',
    under=runs,
)
@click.argument("run_id", metavar="ID")
@click.option("--summary", help="its result, stored as an episodic memory")
@click.option("--failed", help="why it failed")
def runs_close(
    invocation: Invocation, run_id: str, summary: str | None, failed: str | None
) -> None:
    """Close the run ID: its notes are hidden, and its result is kept."""
    open_runs = {run.id: run for run in invocation.memory().runs()}
    whole_id = invocation.full_id(run_id)
    if whole_id not in open_runs:
        raise NotFound(f"there is no open run {whole_id}; `lamina runs list` shows them")
    with secrets_unlogged():
        ending = open_runs[whole_id].close(summary, failed)
    if ending is not None:
        show_stored(invocation, ending)
    else:
        click.echo("closed")
