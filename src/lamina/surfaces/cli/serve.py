"""Commands of the HTTP surface: serve, and the tokens that open it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from lamina.errors import InvalidInput, Refused
from lamina.home import extras
from lamina.home.tokens import Access, Token
from lamina.memory.opening import chosen_user
from lamina.model import clock
from lamina.model.clock import system_clock
from lamina.model.record import Role
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.times import end_of
from lamina.text.words import counted, one_line

if TYPE_CHECKING:
    from lamina.surfaces.http.service import Service, Visitor

NEVER = "never"
PORT = 8765


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    serve(group)
    tokens = click.Group(
        "token",
        help="Tokens for programs: to read over HTTP; with --tools also to remember, over MCP.",
    )
    group.add_command(tokens)
    create(tokens)
    show(tokens)
    revoke(tokens)


def serve(group: click.Group) -> None:
    @command(group, "serve", "lamina --agent sky serve --port 8765")
    @click.option("--host", default="127.0.0.1", show_default=True, help="the address to listen at")
    @click.option(
        "--port",
        type=int,
        default=PORT,
        show_default=True,
        help="the port; 0 takes one that is free",
    )
    @click.option(
        "--allow-remote",
        "remote",
        multiple=True,
        metavar="NAME",
        help="let other machines in, who call this one NAME",
    )
    def run(session: Session, host: str, port: int, remote: tuple[str, ...]) -> None:
        """Let programs and browsers read memories over HTTP, until Ctrl-C."""
        server, app, service_of = _surface()
        visitor = _visitor(session)
        listening = server.listen(host, port, remote)
        taken = listening.getsockname()[1]
        service = service_of(session.home.path, visitor, system_clock)
        made = server.server(app.create(service, taken, remote), service.limits)
        url = f"http://{f'[{host}]' if ':' in host else host}:{taken}"
        _greet(session, service, url)
        if sys.stdin.isatty():
            threading.Thread(
                target=offer_links, args=(sys.stdin, service, url), name="lamina-links", daemon=True
            ).start()
        server.run(made, listening)


def _surface() -> tuple[Any, Any, type[Service]]:
    """What serving needs, which not everybody has installed."""
    try:
        from lamina.surfaces.http import app, server
        from lamina.surfaces.http.service import Service
    except ModuleNotFoundError as error:
        raise Refused(f"serving needs {error.name}; {extras.remedy('http')}") from None
    return server, app, Service


def _visitor(session: Session) -> Visitor:
    """Whom a browser that signs in stands for: whoever started the server. Their store is made ready on the way."""
    from lamina.surfaces.http.service import Visitor

    operator = session.operator("serve")
    found = Visitor(operator.agent, operator.user, Role.OPERATOR, operator.actor.name)
    session.close()
    return found


def _greet(session: Session, service: Service, url: str) -> None:
    if session.json:
        output.show_json({"url": url, "sign_in": _link(service, url)})
        return
    click.echo(f"serving {url}, read-only; Ctrl-C ends it")
    click.echo(f"programs need a token: `lamina token create`; what they can ask: {url}/docs")
    click.echo(f"sign in, once and within ten minutes:  {_link(service, url)}")


def offer_links(keys: Iterable[str], service: Service, url: str) -> None:
    """Print another link for signing in whenever somebody presses Enter."""
    for _ in keys:
        click.echo(f"sign in, once and within ten minutes:  {_link(service, url)}")


def _link(service: Service, url: str) -> str:
    return f"{url}/sign-in?link={service.sessions.link()}"


def create(group: click.Group) -> None:
    @command(group, "create", "lamina token create --agent sky --expires 30d --name dashboard")
    @click.option("--agent", help="whose memory it opens (default: the agent of the program)")
    @click.option("--user", help="only memories of this person, and records without a user")
    @click.option(
        "--expires",
        default="90d",
        show_default=True,
        help="when it ends: 12h, 30d, 4w, a day, a time or never",
    )
    @click.option("--name", help="what it is for")
    @click.option("--trail", is_flag=True, help="it may read the audit trail too")
    @click.option(
        "--tools",
        is_flag=True,
        help="it may use the tools of `lamina mcp --http`, which remember and propose",
    )
    @click.pass_context
    def run(
        context: click.Context,
        /,
        session: Session,
        agent: str | None,
        user: str | None,
        expires: str,
        name: str | None,
        trail: bool,
        tools: bool,
    ) -> None:
        """Create a token and print it, this one time."""
        session.check_operator("token create")
        made, secret = Access(session.home.path).create(
            agent if agent is not None else session.agent,
            chosen_user(user if user is not None else context.find_root().params["user"]),
            system_clock(),
            expires=_end(context, expires),
            name=name,
            trail=trail,
            tools=tools,
        )
        if session.json:
            output.show_json({**made.to_dict(), "token": secret})
            return
        click.echo(secret)
        click.echo(
            f"token {made.id} opens {_opens(made)}{_until(made)}; it is shown only now", err=True
        )


def show(group: click.Group) -> None:
    @command(group, "list", "lamina --agent sky token list")
    @click.pass_context
    def run(context: click.Context, /, session: Session) -> None:
        """List the tokens of this home, without their secrets; those of one agent or user with `lamina --agent` or `--user`."""
        session.check_operator("token list")
        every = Access(session.home.path).tokens()
        asked = (
            context.find_root().params
        )  # as typed: who has an agent of their own still manages the whole home
        agent, user = asked["agent"], asked["user"]
        found = [one for one in every if agent in (None, one.agent) and user in (None, one.user)]
        if session.json:
            output.show_json([token.to_dict() for token in found])
        elif found:
            now = system_clock()
            rows = [
                (one.id, _opens(one), one.name or "", output.when(one.created), _ends(one, now))
                for one in found
            ]
            output.table(
                ("id", "opens", "name", "created (UTC)", "expires"),
                rows,
                wide="opens",
                dispensable=("created (UTC)",),
            )
        else:
            click.echo(f"there are no tokens{_whose(agent, user)}; see `lamina token create`")
        if len(found) < len(every) and not session.json:
            click.echo(
                f"{counted(len(every) - len(found), 'other token')} in this home; `lamina token list` shows all",
                err=True,
            )


def revoke(group: click.Group) -> None:
    @command(group, "revoke", "lamina token revoke 3f9a11c2")
    @click.argument("token_id", metavar="ID")
    def run(session: Session, token_id: str) -> None:
        """End the token ID of `lamina token list`, at once."""
        session.check_operator("token revoke")
        gone = Access(session.home.path).revoke(token_id.lower())
        if session.json:
            output.show_json(gone.to_dict())
        else:
            click.echo(f"token {gone.id} opens nothing any more")


def _end(context: click.Context, given: str) -> datetime | None:
    if given == NEVER:
        return None
    found = end_of(
        context, next(one for one in context.command.params if one.name == "expires"), given
    )
    if found is None:
        raise InvalidInput("--expires is empty; give a time such as 30d, or never")
    return clock.moment(found, "--expires")


def _opens(token: Token) -> str:
    owner = "" if token.user is None else f" for {one_line(token.user)}"
    more = (" and its trail" if token.trail else "") + (", with tools" if token.tools else "")
    return f"the memory of {token.agent}{owner}{more}"


def _whose(agent: str | None, user: str | None) -> str:
    return ("" if agent is None else f" for the memory of {one_line(agent)}") + (
        "" if user is None else f" for {one_line(user)}"
    )


def _until(token: Token) -> str:
    return "" if token.expires is None else f" until {output.when(token.expires)} UTC"


def _ends(token: Token, now: datetime) -> str:
    if token.expires is None:
        return NEVER
    return output.when(token.expires) + ("" if token.is_open(now) else " (over)")
