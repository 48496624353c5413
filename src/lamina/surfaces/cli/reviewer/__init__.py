"""`lamina review`: a full screen if Textual is installed, otherwise one question after another."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from lamina.errors import InvalidInput
from lamina.home.extras import remedy
from lamina.surfaces.cli.invocation import Invocation

EXTRA = "review"


def start(invocation: Invocation, *, plain: bool = False) -> None:
    """Let the person at this terminal work through what waits."""
    invocation.check_operator("review")
    if invocation.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(
            "`lamina review` alone needs a terminal;"
            " `lamina review list` prints what waits, also with --json"
        )
    operator = invocation.operator("review")
    if not operator.proposals(1):
        click.echo("nothing waits for review")
        return
    if not plain and os.environ.get("TERM") != "dumb" and _has_screen():
        from lamina.surfaces.cli.reviewer.app import ReviewApp

        app = ReviewApp(operator)
        app.run()
        click.echo(app.summary())
        if app.return_code:
            raise KeyboardInterrupt
        return
    from lamina.surfaces.cli.reviewer.plain import Questions

    click.echo(Questions(operator).run())


def _has_screen() -> bool:
    """Return whether Textual is installed; if not, say once how to get the full screen."""
    if importlib.util.find_spec("textual") is not None:
        return True
    click.echo(f"for a full screen, {remedy(EXTRA)}", err=True)
    return False
