"""The command that prints what a model should read before it works: context."""

from __future__ import annotations

from typing import Any

import click

from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.cli.search import exit_code_of_nothing, nothing_found


@command(
    "context",
    'lamina context "prepare the weekly report" --max-chars 1000',
    needs_known_agent=True,
)
@click.argument("goal")
@click.option(
    "--max-chars", type=int, default=2000, show_default=True, help="how long the text may be"
)
@options.shared_by
def context(invocation: Invocation, goal: str, max_chars: int, shared_by: str | None) -> int:
    """Print what profile, procedures and facts say about GOAL, fenced for a model to read.
    Exits with 4 for nothing.
    """
    options.check_asked(goal, "GOAL")
    made = invocation.viewer(shared_by).memory_context(goal, max_chars=max_chars)
    invocation.tells_outage = not made.is_whole
    if invocation.json:
        answer: dict[str, Any] = {"text": made.text, "items": [hit.to_dict() for hit in made.items]}
        output.show_json({**answer, "notes": made.notes} if made.notes else answer)
    else:
        click.echo(made.text or nothing_found(invocation, shared_by, made.is_whole))
        output.notes(made.notes)
    return 0 if made.items else exit_code_of_nothing(made.is_whole)
