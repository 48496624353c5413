"""Commands about the installation: config, completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from lamina.errors import InvalidInput
from lamina.home import settings
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@command("config", "lamina config")
def config(invocation: Invocation) -> None:
    """Show every setting, its value, and where the value comes from."""
    chosen = settings.load(invocation.home.path).values.values()
    if invocation.json:
        output.show_json(
            [
                {
                    "name": one.setting.name,
                    # A text may hold a password, which is not shown.
                    "value": settings.shown_value(one.value)
                    if isinstance(one.value, str)
                    else [*map(settings.shown_value, one.value)]
                    if isinstance(one.value, tuple)
                    else one.value,
                    "origin": one.origin,
                    "help": one.setting.help,
                }
                for one in chosen
            ]
        )
        return
    rows = [
        (one.setting.name, settings.shown_value(one.value), one.origin, one.setting.help)
        for one in chosen
    ]
    columns = ("setting", "value", "from", "meaning")
    output.table(columns, rows, wide="meaning", wraps=("value", "meaning"))


@command("completion", 'eval "$(lamina completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(invocation: Invocation, shell: str) -> None:
    """Print the script that lets SHELL complete commands and options."""
    kind = get_completion_class(shell)
    if kind is None:
        raise InvalidInput(f"no completion for {shell}")
    program = click.get_current_context().find_root().command
    script = kind(program, {}, "lamina", "_LAMINA_COMPLETE").source()
    output.show_json({"script": script}) if invocation.json else click.echo(script)
