"""Writes docs/reference.md from the program: commands, settings and errors. `make docs` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from lamina import config, errors
from lamina.surfaces.cli.main import cli

TARGET = Path(__file__).parent / "reference.md"


def reference() -> str:
    """The whole page."""
    parts = ["# Reference", "", "Made by `make docs` from the program itself.", ""]
    parts += ["## Settings", "", *settings(), "", "## Errors", "", *exceptions(), "", "## Commands", "", *commands()]
    return "\n".join(parts).rstrip() + "\n"


def settings() -> Iterator[str]:
    yield 'In `config.toml` of the home (`[audit]` `reads = "strict"`), over it the environment, over it an argument.'
    yield ""
    yield "| setting | default | environment | meaning |"
    yield "|---|---|---|---|"
    for setting in config.SETTINGS:
        yield f"| `{setting.name}` | `{setting.default!r}` | `{setting.variable}` | {setting.help} |"
    yield ""
    yield "`LAMINA_HOME`, `LAMINA_AGENT`, `LAMINA_USER` are the defaults of the program's options; `LAMINA_ROLE=agent` makes it"
    yield "refuse what only an operator may do."


def exceptions() -> Iterator[str]:
    yield "| exception | code | meaning |"
    yield "|---|---|---|"
    known: list[type[errors.LaminaError]] = [errors.LaminaError, *errors.LaminaError.__subclasses__()]
    for error in known:
        yield f"| `{error.__name__}` | `{error.code}` | {error.__doc__} |"


def commands() -> Iterator[str]:
    for path, command in walk(cli, "lamina"):
        with click.Context(command, info_name=path, terminal_width=100, help_option_names=["-h", "--help"]) as context:
            yield f"### {path}"
            yield ""
            yield "```text"
            yield command.get_help(context).rstrip()
            yield "```"
            yield ""


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and everything under it, in the order of their names."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from walk(command.commands[name], f"{path} {name}")


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")
