"""Commands about the operator key: key status, key set, key remove."""

from __future__ import annotations

import sys

import click

from lamina.home import operator_key
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command


@click.group()
def key() -> None:
    """The optional key that operators of this home need."""


@command("status", "lamina key status", under=key)
def key_status(invocation: Invocation) -> None:
    """Say whether operators of this home need a key."""
    needed = operator_key.is_set(invocation.home.path)
    if invocation.json:
        output.show_json({"needed": needed})
    else:
        click.echo(f"operators of this home need {'its' if needed else 'no'} key")


@command("set", "lamina key set", under=key)
def key_set(invocation: Invocation) -> None:
    """Set or change the key: typed in a terminal, or the first line of standard input."""
    invocation.check_operator("key set")
    operator_key.change(invocation.home.path, _new_key())
    click.echo("operators of this home need this key from now on", err=invocation.json)


@command("remove", "lamina key remove", under=key)
def key_remove(invocation: Invocation) -> None:
    """Remove the key, so that operators no longer need one."""
    invocation.check_operator("key remove")
    had = operator_key.remove(invocation.home.path)
    click.echo("the key is removed" if had else "there was no key", err=invocation.json)


def _new_key() -> str:
    if sys.stdin.isatty():
        prompt = "new operator key"
        return str(click.prompt(prompt, hide_input=True, confirmation_prompt=True, err=True))
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise options.not_utf8(error) from None
