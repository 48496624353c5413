"""The command that lists the agents of a home: agents."""

from __future__ import annotations

import click

from lamina.memory.agents import list_agents
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@command("agents", "lamina agents")
def agents(invocation: Invocation) -> None:
    """List the agents of this home: how many active memories each has, its size on disk, and
    when it last changed.
    """
    invocation.check_operator("agents")
    found = [*list_agents(invocation.home)]
    if invocation.json:
        output.show_json([agent.to_dict() for agent in found])
        return
    if not found:
        click.echo(f"no agents in {invocation.home.path} yet; the first memory creates one")
        return
    rows = []
    for agent in found:
        changed = output.when(agent.changed_at) if agent.changed_at else ""
        rows.append((agent.name, agent.memories, output.size(agent.bytes), changed))
    columns = ("agent", "memories", "size", "last change (UTC)")
    output.table(columns, rows, right=("memories", "size"))
    for agent in found:
        if agent.problem:
            output.attention(agent.problem)
