"""The command that serves the memory to agents that speak the Model Context Protocol: mcp."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lamina.errors import LaminaError, Refused
from lamina.home import calls, extras, operator_key
from lamina.home.folder import agent_name, user_name
from lamina.home.settings import load
from lamina.memory.agent import Memory
from lamina.model.clock import system_clock
from lamina.model.record import Actor, Role, Trust
from lamina.surfaces.cli.invocation import Invocation, command, role
from lamina.text.words import reveal

if TYPE_CHECKING:
    from subprocess import Popen

    from mcp.server.lowlevel import Server

    from lamina.memory.operator import Operator
    from lamina.surfaces.mcp.asking import Asking
    from lamina.surfaces.mcp.review_page import ReviewPages
    from lamina.surfaces.mcp.worker import HandleWorker
    from lamina.surfaces.review.browser.app import Locked

log = logging.getLogger("lamina")

SURFACE = "mcp"
PORT = 8766
SECONDS = 30.0
UPKEEP = timedelta(minutes=1)  # between two checks for due jobs


@command("mcp", "lamina --agent sky mcp")
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="listen on the loopback interface instead of a pipe",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="with --http; 0 takes a free one",
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0.1, 3600),
    default=SECONDS,
    show_default=True,
    help="of a call",
)
@click.option(
    "--tools",
    "choice",
    type=click.Choice(["basic", "full"]),
    default="full",
    show_default=True,
    help="basic: remember, search, recall, propose; full: facts, corrections and more",
)
@click.option(
    "--untrusted", is_flag=True, help="trust what is remembered here as little as text from outside"
)
def mcp(
    invocation: Invocation,
    over_http: bool,
    port: int,
    seconds: float,
    choice: str,
    untrusted: bool,
) -> None:
    """Serve the memory as tools (Model Context Protocol) until the client closes its pipe.

    Agent and user are those of --agent and --user; the tools always have an agent's authority.
    With --http it listens at http://127.0.0.1:PORT/mcp, and clients need a token of
    `lamina token create`.
    """
    agent_name(invocation.agent)
    try:
        import mcp  # noqa: F401 - an extra that may be missing
    except ImportError:
        raise Refused(f"serving tools needs mcp; {extras.remedy('mcp')}") from None
    from lamina.surfaces.mcp import server, tools
    from lamina.surfaces.mcp.worker import HandleWorker

    if problem := calls.note(invocation.home, invocation.agent, calls.TOOLS, system_clock()):
        click.echo(f"lamina mcp: this start is not noted: {reveal(problem)}", err=True)
    keeper = HandleWorker(lambda: invocation.agent_handle(SURFACE), seconds, _upkeep(invocation))
    asking = _asking(invocation, keeper)
    try:
        chosen = tools.tools(Trust.EXTERNAL if untrusted else None, choice)
        make = partial(server.make_server, keeper, chosen, _more_kinds(invocation), asking)
        if over_http:
            longest = seconds if asking is None else max(seconds, asking.seconds)
            _listen(invocation, keeper, make, port, longest)
        else:
            from lamina.surfaces.mcp import stdio

            keeper.warm()
            stdio.run(make())
    finally:
        if asking is not None:
            asking.close()
        keeper.close()


def _asking(invocation: Invocation, keeper: HandleWorker) -> Asking | None:
    """Create the object that asks people about proposals, if the operator allows any client to."""
    try:
        settings = load(invocation.home.path)
    except LaminaError:  # the first call reports why
        return None
    if not settings["mcp.elicitation"] or role() is not Role.OPERATOR:
        return None
    from lamina.surfaces.mcp.asking import Asking
    from lamina.surfaces.mcp.elicitation import granted

    return Asking(
        keeper,
        lambda: granted(load(invocation.home.path)["mcp.elicitation"]),
        None if invocation.is_locked else invocation.decider,
        _pages(invocation),
        settings["mcp.elicitation_seconds"],
    )


def _pages(invocation: Invocation) -> ReviewPages | None:
    """Create the pages on this machine for deciding, if their libraries are installed."""
    try:
        from lamina.surfaces.mcp.review_page import ReviewPages
        from lamina.surfaces.review.browser.app import Locked
    except ModuleNotFoundError as error:
        log.warning("no page can be shown without %s; %s", error.name, extras.remedy("http"))
        return None

    def opened(surface: str) -> Operator | Locked:
        if not operator_key.is_set(invocation.home.path):
            return invocation.decider(surface)
        # Even if this process has the key, whoever follows the link must know it.
        unlock = partial(invocation.decider, surface)
        return Locked(invocation.agent, invocation.user, unlock)

    return ReviewPages(opened, invocation.refusals(SURFACE))


def _more_kinds(invocation: Invocation) -> Collection[str]:
    """List the kinds that this home adds; if that fails, the first call reports why."""
    try:
        kinds: Collection[str] = load(invocation.home.path)["kinds.extra"]
    except LaminaError:
        return ()
    return kinds


def _listen(
    invocation: Invocation,
    keeper: HandleWorker,
    make: Callable[..., Server[Any]],
    port: int,
    seconds: float,
) -> None:
    """Serve over HTTP. Errors of the store are reported at once: no client would see them."""
    from lamina.home.tokens import Tokens
    from lamina.memory.refusals import NOBODY, Trails
    from lamina.store.tables.refusals import Refusal
    from lamina.surfaces.mcp.auth import TokenScope

    try:
        from lamina.surfaces.http.console.timings import Timings
        from lamina.surfaces.mcp import http
    except ModuleNotFoundError as error:
        raise Refused(f"--http needs {error.name}; {extras.remedy('http')}") from None

    access, trails = Tokens(invocation.home.path), Trails(invocation.home)

    def check(secret: str) -> TokenScope | None:
        token = access.find(secret, system_clock())
        if token is None:
            return None
        whose = (token.agent, user_name(token.user))
        return TokenScope(whose, token.tools, token.label, token.name)

    def note(token: str | None, lacks: str) -> None:
        actor = Actor(Role.AGENT, token or NOBODY, SURFACE)
        trails.leave(invocation.agent, Refusal(system_clock(), actor, SURFACE, lacks))

    listening = http.listen(port)
    with listening, closing(trails):
        memory = keeper.warm().result()
        host, number = listening.getsockname()
        url = f"http://{host}:{number}{http.PATH}"
        click.echo(f"serving the memory of {memory.agent} at {url}", err=True)
        whose = memory.agent, user_name(memory.user)
        timings = Timings()
        server = make(timed=timings.add)
        http.run(server, listening, seconds, whose, check, note, keeper, timings)


def _upkeep(invocation: Invocation) -> Callable[[Memory], None]:
    """Return a function that starts due jobs after a write; it checks for them now and then."""
    started: Popen[bytes] | None = None
    looked: datetime | None = None

    def start(memory: Memory) -> None:
        nonlocal started, looked
        now = system_clock()
        is_recent = looked is not None and now - looked < UPKEEP
        if is_recent or memory.settings["maintenance"] != "auto":
            return
        looked = now
        from lamina.surfaces.maintenance import start_if_due

        home, agent = invocation.home.path, invocation.agent
        with invocation.scheduler() as scheduler:
            started = start_if_due(scheduler.orchestrator(), home, agent, started)

    return start
