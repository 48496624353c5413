"""Commands about the operator key."""

from __future__ import annotations

import sys

import click

from lamina.errors import InvalidInput
from lamina.home import operator_key
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    key = click.Group("key", help="The optional key that operators of this home need.")
    group.add_command(key)
    status(key)
    set_(key)
    remove(key)


def status(group: click.Group) -> None:
    @command(group, "status", "lamina key status")
    def run(session: Session) -> None:
        """Say whether operators of this home need a key."""
        needed = operator_key.is_set(session.home.path)
        if session.json:
            output.show_json({"needed": needed})
        else:
            click.echo(
                "operators of this home need its key"
                if needed
                else "operators of this home need no key"
            )


def set_(group: click.Group) -> None:
    @command(group, "set", "lamina key set")
    def run(session: Session) -> None:
        """Set or change the key: asked for in a terminal, else the first line of standard input."""
        session.check_operator("key set")
        operator_key.change(session.home.path, _asked())
        click.echo("operators of this home need this key from now on", err=session.json)


def remove(group: click.Group) -> None:
    @command(group, "remove", "lamina key remove")
    def run(session: Session) -> None:
        """Let operators need no key any more."""
        session.check_operator("key remove")
        had = operator_key.remove(session.home.path)
        click.echo("the key is removed" if had else "there was no key", err=session.json)


def _asked() -> str:
    if sys.stdin.isatty():
        return str(
            click.prompt("new operator key", hide_input=True, confirmation_prompt=True, err=True)
        )
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"standard input is not UTF-8: {error.reason} at byte {error.start}"
        ) from None
