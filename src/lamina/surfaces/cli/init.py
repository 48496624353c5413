"""The command that begins a memory: init. A person's first `remember` asks the same questions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from lamina.errors import LaminaError
from lamina.home import settings
from lamina.home.folder import agent_name, user_name
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command

NAMES = ("agent", "user", "maintenance")


@command("init", "lamina init")
@click.option(
    "--jobs/--no-jobs", default=None, help="whether jobs run automatically in the background"
)
def init(invocation: Invocation, jobs: bool | None) -> None:
    """Set up the agent, its user, and whether jobs run automatically.

    The answers become the defaults of all commands, in config.toml of the home. In a script, with
    --json and in CI it never asks: pass --agent, --user and --no-jobs, or use the defaults.
    """
    invocation.check_operator("init")
    options = click.get_current_context().find_root().params
    given = {name: options[name] for name in ("agent", "user") if options[name] is not None}
    given |= {} if jobs is None else {"maintenance": "auto" if jobs else "off"}
    if "agent" in given:
        agent_name(given["agent"])
    user_name(given.get("user"))
    begin(invocation, given)
    chosen = settings.load(invocation.home.path)
    if invocation.json:
        values = {name: chosen[name] for name in NAMES}
        output.show_json({"home": str(invocation.home.path), **values})
        return
    whose = f" of {chosen['user']}" if chosen["user"] else ""
    click.echo(f"the agent {chosen['agent']} keeps its memory{whose} in {invocation.home.path}")
    click.echo('next: `lamina remember "…"`, or `lamina install --list` for your coding agents')


def is_first(invocation: Invocation) -> bool:
    """Return whether this home is new and nothing says yet whose memory it is."""
    options = click.get_current_context().find_root().params
    is_said = options["agent"] or options["user"] or os.environ.get("LAMINA_AGENT")
    has_file = (invocation.home.path / settings.FILE_NAME).exists()
    return not (is_said or has_file or [*invocation.home.agents()])


def can_ask(invocation: Invocation) -> bool:
    """Return whether there is a person to ask."""
    if invocation.json or os.environ.get("CI"):
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


def begin(invocation: Invocation, given: dict[str, str]) -> None:
    """Ask for what is not given, if there is a person to ask, and save the answers."""
    now = settings.load(invocation.home.path, environment={})  # only from the file
    values = dict(given)
    if can_ask(invocation):
        for name, ask in (("agent", _agent), ("user", _user), ("maintenance", _jobs)):
            if name not in values:
                values[name] = ask(now[name])
    changed = {name: value for name, value in values.items() if value != now[name]}
    if changed:
        from lamina.home import settings_file

        settings_file.change(invocation.home.path, changed)


def _agent(now: str) -> str:
    return str(
        click.prompt("name of the agent", default=now, value_proc=_checked(agent_name), err=True)
    )


def _user(now: str) -> str:
    question = "whose memory is it (a name, or - for everybody's)"
    said = click.prompt(question, default=now or "-", value_proc=_checked(user_name), err=True)
    return "" if said == "-" else str(said)


def _jobs(now: str) -> str:
    question = "run jobs in the background (promotion, sleep, archive)"
    return "auto" if click.confirm(question, default=now == "auto", err=True) else "off"


def _checked(rule: Callable[[str], object]) -> Callable[[str], str]:
    """Ask again after an answer that a rule rejects."""

    def check(text: str) -> str:
        try:
            rule(text)
        except LaminaError as error:
            raise click.UsageError(error.message) from None
        return text

    return check
