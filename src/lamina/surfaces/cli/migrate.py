"""The command that moves memories to another database: migrate."""

from __future__ import annotations

from typing import Any

import click

from lamina.errors import LaminaError, Refused
from lamina.memory.migrate import advice, has_arrived, move
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@command("migrate", "lamina migrate --to postgresql://lamina@db.example/lamina")
@click.option(
    "--to",
    required=True,
    help="The address of a PostgreSQL database, or `file` for the file in the home.",
)
@click.option(
    "--all-agents", is_flag=True, help="Move the memories of all agents that this home has."
)
def migrate(invocation: Invocation, to: str, all_agents: bool) -> None:
    """Move memories to PostgreSQL, or back into files. All rows are compared before the new place
    is used.

    Nobody can write meanwhile. If it is interrupted, run it again: it continues where it stopped,
    and skips agents that have moved.
    """
    agents = sorted(invocation.home.agents()) if all_agents else [invocation.agent]
    moved: list[dict[str, Any]] = []
    try:
        for agent in agents:
            invocation.check_operator("migrate")
            with output.progress(f"moving {agent}") as advance:
                try:
                    moved.append(move(invocation.home, agent, to, advance))
                except Refused as error:
                    if not (all_agents and has_arrived(invocation.home, agent, to, error)):
                        raise
    except LaminaError:
        if moved:  # these were moved nonetheless
            _show(invocation, to, moved)
        raise
    _show(invocation, to, moved)


def _show(invocation: Invocation, to: str, moved: list[dict[str, Any]]) -> None:
    if invocation.json:
        output.show_json(moved)
        return
    numbers = ("records", "archived", "events")
    rows = [(one["agent"], *(f"{one[name]:,}" for name in numbers), one["to"]) for one in moved]
    output.table(("agent", *numbers, "now at"), rows, right=numbers)
    click.echo()
    click.echo(advice(to))
