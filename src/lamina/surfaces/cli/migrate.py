"""The command that moves memories to another database."""

from __future__ import annotations

from typing import Any

import click

from lamina.errors import LaminaError, Refused
from lamina.memory import migrate
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command

URL = "postgresql://lamina@db.example/lamina"


def register(group: click.Group) -> None:
    """Hang this command under the program."""

    @command(group, "migrate", f"lamina migrate --to {URL}")
    @click.option(
        "--to",
        required=True,
        help="The address of a PostgreSQL database, or `file` for the file in the home.",
    )
    @click.option(
        "--all-agents", is_flag=True, help="Move the memories of all agents that this home has."
    )
    def run(session: Session, to: str, all_agents: bool) -> None:
        """Move memories to PostgreSQL, or back into files. What was moved is compared row by row before it is used.

        Nobody can write meanwhile. If it is interrupted, run it again: it goes on where it was, and leaves out agents that
        are there already.
        """
        agents = sorted(session.home.agents()) if all_agents else [session.agent]
        moved: list[dict[str, Any]] = []
        try:
            for agent in agents:
                session.check_operator("migrate")
                with output.progress(f"moving {agent}") as advance:
                    try:
                        moved.append(migrate.move(session.home, agent, to, advance))
                    except Refused as error:
                        if not (all_agents and migrate.has_arrived(session.home, agent, to, error)):
                            raise
        except LaminaError:
            if moved:  # these have moved all the same
                _show(session, to, moved)
            raise
        _show(session, to, moved)


def _show(session: Session, to: str, moved: list[dict[str, Any]]) -> None:
    if session.json:
        output.show_json(moved)
        return
    numbers = ("records", "archived", "events")
    shown = [(one["agent"], *(f"{one[name]:,}" for name in numbers), one["to"]) for one in moved]
    output.table(("agent", *numbers, "now at"), shown, right=numbers)
    click.echo()
    click.echo(migrate.advice(to))
