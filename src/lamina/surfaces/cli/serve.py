"""The command that serves memories over HTTP: serve."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from lamina.errors import Refused
from lamina.home import extras
from lamina.model.clock import system_clock
from lamina.model.record import Role
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.surfaces.maintenance import keep_starting

if TYPE_CHECKING:
    from lamina.surfaces.http.service import Service, Visitor

PORT = 8765


@command("serve", "lamina --agent sky serve --port 8765")
@click.option("--host", default="127.0.0.1", show_default=True, help="the address to listen at")
@click.option(
    "--port", type=int, default=PORT, show_default=True, help="the port; 0 takes one that is free"
)
@click.option(
    "--allow-remote",
    "remote",
    multiple=True,
    metavar="NAME",
    help="accept requests from other machines, which call this one NAME",
)
@click.option(
    "--all-agents", is_flag=True, help="let a signed-in browser switch between the agents here"
)
def serve(
    invocation: Invocation, host: str, port: int, remote: tuple[str, ...], all_agents: bool
) -> None:
    """Let programs and browsers read memories over HTTP, until Ctrl-C."""
    server, app, service_type = _surface()
    visitor = _visitor(invocation)
    listening = server.listen(host, port, remote)
    number = listening.getsockname()[1]
    service = service_type(invocation.home.path, visitor, system_clock, all_agents=all_agents)
    made = server.server(app.create(service, number, remote), service.limits)
    url = f"http://{f'[{host}]' if ':' in host else host}:{number}"
    _greet(invocation, service, url)
    if sys.stdin.isatty():
        arguments = (sys.stdin, service, url)
        threading.Thread(
            target=offer_links, args=arguments, name="lamina-links", daemon=True
        ).start()
    stop = threading.Event()
    jobs = (invocation.scheduler, invocation.home.path, invocation.agent, stop)
    threading.Thread(target=keep_starting, args=jobs, name="lamina-jobs", daemon=True).start()
    try:
        server.run(made, listening)
    finally:
        stop.set()


def _surface() -> tuple[Any, Any, type[Service]]:
    """Import what serving needs, an extra that may be missing."""
    try:
        from lamina.surfaces.http import app, server
        from lamina.surfaces.http.service import Service
    except ModuleNotFoundError as error:
        raise Refused(f"serving needs {error.name}; {extras.remedy('http')}") from None
    return server, app, Service


def _visitor(invocation: Invocation) -> Visitor:
    """Let a signed-in browser act as the operator; this also prepares the store."""
    from lamina.surfaces.http.service import Visitor

    operator = invocation.operator("serve")
    visitor = Visitor(operator.agent, operator.user, Role.OPERATOR, operator.actor.name)
    invocation.close()
    return visitor


def _greet(invocation: Invocation, service: Service, url: str) -> None:
    if invocation.json:
        output.show_json({"url": url, "sign_in": _link(service, url)})
        return
    click.echo(f"serving {url}, read-only; Ctrl-C ends it")
    click.echo(f"programs need a token: `lamina token create`; what they can ask: {url}/docs")
    click.echo(f"sign in, once and within ten minutes:  {_link(service, url)}")


def offer_links(keys: Iterable[str], service: Service, url: str) -> None:
    """Print another sign-in link whenever Enter is pressed."""
    for _ in keys:
        click.echo(f"sign in, once and within ten minutes:  {_link(service, url)}")


def _link(service: Service, url: str) -> str:
    return f"{url}/sign-in?link={service.sessions.link()}"
