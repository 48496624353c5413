"""The command that prints what a model should read before it works: context."""

from __future__ import annotations

import click

from lamina.search.context import room
from lamina.search.context.lines import HANDLE
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.cli.search import exit_code_of_nothing, nothing_found


@command(
    "context",
    'lamina context "prepare the weekly report" --explain',
    needs_known_agent=True,
)
@click.argument("goal")
@click.option(
    "--max-chars", type=int, default=2000, show_default=True, help="the maximum length of the text"
)
@click.option("--tokens", type=int, help="the maximum number of tokens, instead of characters")
@click.option("--session", help="leave out what this session was given before")
@click.option(
    "--project",
    help="use memories of this project or of no project; of others only if GOAL names them",
)
@click.option("--explain", is_flag=True, help="say why each memory is there")
@options.shared_by
def context(
    invocation: Invocation,
    goal: str,
    max_chars: int,
    tokens: int | None,
    session: str | None,
    project: str | None,
    explain: bool,
    shared_by: str | None,
) -> int:
    """Print what a model should read before GOAL: what always applies, is known, and was said.
    It is fenced as data. Exits with 4 if there is nothing.
    """
    options.check_asked(goal, "GOAL")
    viewer = invocation.viewer(shared_by)
    made = viewer.context(goal, room(max_chars), session, project, tokens)
    invocation.tells_outage = not made.is_whole
    if invocation.json:
        output.show_json(made.to_dict())
    else:
        click.echo(made.text or nothing_found(invocation, shared_by, made.is_whole))
        if explain:
            for item in made.reasons:
                click.echo(f"{item.record.id[-HANDLE:]}  {item.section:<6}  {item.why}")
        output.notes(made.notes)
    return 0 if made.items else exit_code_of_nothing(made.is_whole)
