"""Commands about the tokens of programs: token create, token list, token revoke."""

from __future__ import annotations

from datetime import datetime

import click

from lamina.errors import InvalidInput
from lamina.home.tokens import Token, Tokens
from lamina.model.clock import moment, system_clock
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.cli.times import end_of
from lamina.text.words import counted, one_line

NEVER = "never"


@click.group()
def token() -> None:
    """Tokens for programs: to read over HTTP; with --tools also to remember, over MCP."""


def _expiry(context: click.Context, parameter: click.Parameter, value: str) -> datetime | None:
    """Read when a token ends, which may be never."""
    if value == NEVER:
        return None
    end = end_of(context, parameter, value)
    if not end:
        raise InvalidInput("--expires is empty; give a time such as 30d, or never")
    return moment(end, "--expires")


@command("create", "lamina token create --agent sky --expires 30d --name dashboard", under=token)
@click.option("--agent", help="whose memory it opens (default: the agent of the program)")
@click.option("--user", help="only memories of this person, and records without a user")
@click.option(
    "--expires",
    default="90d",
    show_default=True,
    callback=_expiry,
    help="when it ends: 12h, 30d, 4w, a day, a time or never",
)
@click.option("--name", help="what it is for")
@click.option("--trail", is_flag=True, help="it may read the audit trail too")
@click.option(
    "--tools",
    is_flag=True,
    help="it may use the tools of `lamina mcp --http`, which remember and propose",
)
def token_create(
    invocation: Invocation,
    agent: str | None,
    user: str | None,
    expires: datetime | None,
    name: str | None,
    trail: bool,
    tools: bool,
) -> None:
    """Create a token and print it, this one time."""
    invocation.check_operator("token create")
    made, secret = Tokens(invocation.home.path).create(
        agent if agent is not None else invocation.agent,
        user if user is not None else invocation.user,
        system_clock(),
        expires=expires,
        name=name,
        trail=trail,
        tools=tools,
    )
    if invocation.json:
        output.show_json({**made.to_dict(), "token": secret})
        return
    click.echo(secret)
    until = "" if made.expires is None else f" until {output.when(made.expires)} UTC"
    click.echo(f"token {made.id} opens {_scope(made)}{until}; it is shown only now", err=True)


@command("list", "lamina --agent sky token list", under=token)
@click.pass_context
def token_list(context: click.Context, /, invocation: Invocation) -> None:
    """List the tokens of this home, without their secrets; those of one agent or user with
    `lamina --agent` or `--user`.
    """
    invocation.check_operator("token list")
    every = Tokens(invocation.home.path).tokens()
    # Only if typed: LAMINA_AGENT is ignored, since an operator manages the tokens of all agents.
    agent, user = (context.find_root().params[name] for name in ("agent", "user"))
    found = [one for one in every if agent in (None, one.agent) and user in (None, one.user)]
    if invocation.json:
        output.show_json([one.to_dict() for one in found])
        return
    if found:
        now = system_clock()
        rows = [
            (one.id, _scope(one), one.name or "", output.when(one.created), _end(one, now))
            for one in found
        ]
        columns = ("id", "opens", "name", "created (UTC)", "expires")
        output.table(columns, rows, wide="opens", dispensable=("created (UTC)",))
    else:
        whose = "" if agent is None else f" for the memory of {one_line(agent)}"
        whose += "" if user is None else f" for {one_line(user)}"
        click.echo(f"there are no tokens{whose}; see `lamina token create`")
    if len(found) < len(every):
        others = counted(len(every) - len(found), "other token")
        click.echo(f"{others} in this home; `lamina token list` shows all", err=True)


@command("revoke", "lamina token revoke 3f9a11c2", under=token)
@click.argument("token_id", metavar="ID")
def token_revoke(invocation: Invocation, token_id: str) -> None:
    """Revoke the token ID of `lamina token list`, at once."""
    invocation.check_operator("token revoke")
    ended = Tokens(invocation.home.path).revoke(token_id.lower())
    if invocation.json:
        output.show_json(ended.to_dict())
    else:
        click.echo(f"token {ended.id} opens nothing any more")


def _scope(one: Token) -> str:
    """Describe which memory a token opens, and to what extent."""
    owner = "" if one.user is None else f" for {one_line(one.user)}"
    more = (" and its trail" if one.trail else "") + (", with tools" if one.tools else "")
    return f"the memory of {one.agent}{owner}{more}"


def _end(one: Token, now: datetime) -> str:
    if one.expires is None:
        return NEVER
    return output.when(one.expires) + ("" if one.is_open(now) else " (over)")
