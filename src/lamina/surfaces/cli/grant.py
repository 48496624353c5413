"""Commands about what agents may read of each other: grant, revoke-grant, grants, shared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from lamina.model.clock import system_clock
from lamina.store.tables.grants import Grant
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.remember import LAYERS
from lamina.surfaces.cli.times import end_of
from lamina.text.words import one_line


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    grant(group)
    revoke(group)
    given(group)
    shared(group)


def grant(group: click.Group) -> None:
    @command(group, "grant", "lamina --agent sky grant milton --tag house --expires 30d")
    @click.argument("grantee", metavar="AGENT")
    @click.option("--layer", type=LAYERS, help="everything in this layer")
    @click.option("--tag", help="everything with this tag")
    @click.option("--record", metavar="ID", help="this one memory")
    @click.option(
        "--expires",
        metavar="WHEN",
        callback=end_of,
        help="when it ends: 12h, 30d, 4w, a day or a time (default never)",
    )
    @click.option("--reason", help="why")
    def run(
        session: Session,
        grantee: str,
        layer: str | None,
        tag: str | None,
        record: str | None,
        expires: datetime | str | None,
        reason: str | None,
    ) -> None:
        """Let AGENT read a layer, a tag or one record of this agent's memory: the active ones, and no more than read."""
        operator = session.operator("grant")
        made = operator.grant(
            grantee,
            layer=layer,
            tag=tag,
            record=session.full_id(record) if record else record,
            expires=expires,
            reason=reason,
        )
        _show(
            session,
            made,
            f"grant {made.number}: {made.agent} may read {one_line(made.covers)}{_until(made)}",
        )


def revoke(group: click.Group) -> None:
    @command(group, "revoke-grant", "lamina --agent sky revoke-grant 17")
    @click.argument("number", type=int)
    @click.option("--reason", help="why")
    def run(session: Session, number: int, reason: str | None) -> None:
        """End the grant NUMBER of `lamina grants`."""
        ended = session.operator("revoke-grant").revoke_grant(number, reason)
        _show(
            session,
            ended,
            f"grant {ended.number} has ended: {ended.agent} no longer reads {one_line(ended.covers)} by it",
        )


def given(group: click.Group) -> None:
    @command(group, "grants", "lamina --agent sky grants --all")
    @click.option("--all", "every", is_flag=True, help="those that have ended, too")
    def run(session: Session, every: bool) -> None:
        """List what other agents may read of this agent's memory."""
        found = session.operator("grants").grants(include_ended=every)
        if session.json:
            output.show_json([one.to_dict() for one in found])
        elif found:
            _table(found, "agent", [one.agent for one in found])
        else:
            click.echo(f"{session.agent} shares nothing" + ("" if every else " now"))


def shared(group: click.Group) -> None:
    @command(group, "shared", "lamina --agent milton shared")
    def run(session: Session) -> None:
        """List what other agents share with this one; `lamina search --shared-by AGENT` reads it."""
        memory = session.memory()
        found = memory.sharing()
        if session.json:
            output.show_json([one.to_dict() for one in found])
        elif found:
            _table(found, "from", [one.giver for one in found])
        else:
            click.echo(f"nobody shares anything with {session.agent}")
        output.notes(memory.problems)


def _table(found: Sequence[Grant], title: str, names: Sequence[str]) -> None:
    now = system_clock()
    rows = [
        (
            one.number,
            name,
            one.covers,
            one.user or "all",
            output.when(one.granted_at),
            _end(one, now),
        )
        for one, name in zip(found, names, strict=True)
    ]
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


def _until(one: Grant) -> str:
    return (
        f" until {output.when(one.expires_at)} UTC"
        if one.expires_at is not None
        else " until it is revoked"
    )


def _show(session: Session, one: Grant, said: str) -> None:
    output.show_json(one.to_dict()) if session.json else click.echo(said)
