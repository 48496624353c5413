"""Commands about what agents may read of each other: grant, revoke-grant, grants, shared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from lamina.model.clock import system_clock
from lamina.store.tables.grants import Grant
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.cli.times import end_of
from lamina.text.words import one_line


@command("grant", "lamina --agent sky grant milton --tag house --expires 30d")
@click.argument("grantee", metavar="AGENT")
@click.option("--layer", type=options.LAYER, help="everything in this layer")
@click.option("--tag", help="everything with this tag")
@click.option("--record", metavar="ID", help="this one memory")
@click.option(
    "--expires",
    metavar="WHEN",
    callback=end_of,
    help="when it ends: 12h, 30d, 4w, a day or a time (default never)",
)
@options.reason
def grant(invocation: Invocation, grantee: str, record: str | None, **terms: Any) -> None:
    """Let AGENT read the active memories of a layer or tag, or one record. It cannot write."""
    operator = invocation.operator("grant")
    record = invocation.full_id(record) if record else record
    made = operator.grant(grantee, record=record, **terms)
    end = f"{output.when(made.expires_at)} UTC" if made.expires_at else "it is revoked"
    may_read = f"{made.agent} may read {one_line(made.covers)}"
    _show(invocation, made, f"grant {made.number}: {may_read} until {end}")


@command("revoke-grant", "lamina --agent sky revoke-grant 17")
@click.argument("number", type=int)
@options.reason
def revoke_grant(invocation: Invocation, number: int, reason: str | None) -> None:
    """End the grant NUMBER of `lamina grants`."""
    ended = invocation.operator("revoke-grant").revoke_grant(number, reason)
    no_longer = f"{ended.agent} no longer reads {one_line(ended.covers)} by it"
    _show(invocation, ended, f"grant {ended.number} has ended: {no_longer}")


@command("grants", "lamina --agent sky grants --all", needs_known_agent=True)
@click.option("--all", "every", is_flag=True, help="include those that have ended")
def grants(invocation: Invocation, every: bool) -> None:
    """List what other agents may read of this agent's memory."""
    found = invocation.operator("grants").grants(include_ended=every)
    if invocation.json:
        output.show_json([one.to_dict() for one in found])
    elif found:
        _table(found, "agent", [one.agent for one in found])
    else:
        click.echo(f"{invocation.agent} shares nothing" + ("" if every else " now"))


@command("shared", "lamina --agent milton shared")
def shared(invocation: Invocation) -> None:
    """List what other agents share with this one; `lamina search --shared-by AGENT` reads it."""
    memory = invocation.memory()
    found = memory.sharing()
    if invocation.json:
        output.show_json([one.to_dict() for one in found])
    elif found:
        _table(found, "from", [one.giver for one in found])
    else:
        click.echo(f"nobody shares anything with {invocation.agent}")
    output.notes(memory.problems)


def _table(found: Sequence[Grant], title: str, agents: Sequence[str]) -> None:
    """Print grants, each with the agent that gives or receives it."""
    now = system_clock()
    rows = []
    for one, agent in zip(found, agents, strict=True):
        times = (output.when(one.granted_at), _end(one, now))
        rows.append((one.number, agent, one.covers, one.user or "all", *times))
    columns = ("grant", title, "may read", "of user", "since (UTC)", "until (UTC)")
    output.table(
        columns, rows, wide="may read", right=("grant",), dispensable=("since (UTC)", "of user")
    )


def _end(one: Grant, now: datetime) -> str:
    if one.ended_at is not None:
        return f"ended {output.when(one.ended_at)}"
    if one.expires_at is None:
        return "it is revoked"
    return output.when(one.expires_at) + (" (past)" if one.expires_at <= now else "")


def _show(invocation: Invocation, one: Grant, sentence: str) -> None:
    output.show_json(one.to_dict()) if invocation.json else click.echo(sentence)
