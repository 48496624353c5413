"""The command that sums up the last session: recap."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import structs

from lamina.model.record import iso
from lamina.surfaces import project as projects
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_NOTHING, Invocation, command


@command("recap", "lamina recap --project importer", needs_known_agent=True)
@click.option("--project", help="of this project (default: that of the current folder)")
@click.option("--session", help="this session instead of the last one")
@click.option("--fenced", is_flag=True, help="fenced for a model to read, as hooks print it")
def recap(invocation: Invocation, project: str | None, session: str | None, fenced: bool) -> int:
    """Sum up the last session of a project: what was asked, decided, fixed and left open.
    Exits with 4 if there was none.
    """
    if project is None and session is None:
        project = projects.of_folder(Path.cwd())
    made = invocation.memory().recap(project, session)
    if invocation.json:
        told = None if made is None else {**structs.asdict(made), "at": iso(made.at)}
        output.show_json(told)
    elif made is None:
        click.echo("no session" + (f" of {project}" if project else ""))
    else:
        click.echo(made.fenced() if fenced else made.text)
    return EXIT_NOTHING if made is None else 0
