"""Commands about the installation: config, completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from lamina.errors import InvalidInput
from lamina.home import settings, settings_file
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a setting in a shell."""
    return [name for name in settings.TABLE if name.startswith(incomplete)]


@click.group(invoke_without_command=True, epilog="Example:  lamina config set maintenance auto")
@click.option("--json", "json_", is_flag=True, help="print JSON for programs")
@click.pass_context
def config(context: click.Context, json_: bool) -> None:
    """Show every setting, its value, and where the value comes from; or set one in config.toml."""
    context.obj.json = context.obj.json or json_
    if context.invoked_subcommand is None:
        _show(context.obj)


def _show(invocation: Invocation) -> None:
    chosen = settings.load(invocation.home.path).values.values()
    if invocation.json:
        output.show_json([_plain(one) for one in chosen])
        return
    rows = [
        (one.setting.name, settings.shown_value(one.value), one.origin, one.setting.help)
        for one in chosen
    ]
    columns = ("setting", "value", "from", "meaning")
    output.table(columns, rows, wide="meaning", wraps=("value", "meaning"))


def _plain(one: settings.Value) -> dict[str, Any]:
    name, meaning = one.setting.name, one.setting.help
    return {"name": name, "value": _safe(one.value), "origin": one.origin, "help": meaning}


def _safe(value: Any) -> Any:
    """Convert a value to JSON; a password in a text is not shown."""
    if isinstance(value, tuple):
        return [_safe(one) for one in value]
    return settings.shown_value(value) if isinstance(value, str) else value


@command("set", "lamina config set sleep.sure 70", under=config)
@click.argument("name", shell_complete=_complete)
@click.argument("value")
def config_set(invocation: Invocation, name: str, value: str) -> None:
    """Set NAME to VALUE in config.toml; several values are separated by commas."""
    invocation.check_operator("config set")
    settings_file.change(invocation.home.path, {name: settings.typed(name, value)})
    _show_changed(invocation, name)


@command("unset", "lamina config unset sleep.sure", under=config)
@click.argument("name", shell_complete=_complete)
def config_unset(invocation: Invocation, name: str) -> None:
    """Remove NAME from config.toml, so that its default applies again."""
    invocation.check_operator("config unset")
    settings_file.change(invocation.home.path, {name: None})
    _show_changed(invocation, name)


def _show_changed(invocation: Invocation, name: str) -> None:
    """Show the effective value: the environment overrides the file."""
    now = settings.load(invocation.home.path).values.get(name)
    if now is None:  # the name in the file was not a setting
        click.echo(f"{name} is not a setting, and was removed from the file")
    elif invocation.json:
        output.show_json(_plain(now))
    else:
        click.echo(f"{name} = {settings.shown_value(now.value)}  (from {now.origin})")
        if now.origin == now.setting.variable:
            output.attention(f"{now.origin} in the environment overrides the file", err=True)


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
