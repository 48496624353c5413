"""Options and values that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from lamina.errors import InvalidInput
from lamina.model.record import Layer, State
from lamina.model.rules import KINDS
from lamina.surfaces.cli.times import past

LAYER = click.Choice([layer.value for layer in Layer])
STATE = click.Choice([state.value for state in State])
Function = TypeVar("Function", bound=Callable[..., Any])


def also(option: str, parameter: str, **settings: Any) -> Callable[[Function], Function]:
    """Let a parameter also be given by another option, in the spelling of a program people know.

    The parameter itself needs `either` as its callback.
    """

    def keep(context: click.Context, _: click.Parameter, value: object) -> None:
        context.meta[f"also {parameter}"] = (option, value)

    return click.option(
        option, f"also_{parameter}", is_eager=True, expose_value=False, callback=keep, **settings
    )


def either(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return a parameter in whichever spelling it was given; an argument must be given in one."""
    option, other = context.meta[f"also {parameter.name}"]
    is_given, is_other_given = (one not in (None, ()) for one in (value, other))
    is_argument = isinstance(parameter, click.Argument)
    name = parameter.human_readable_name if is_argument else parameter.opts[0]
    if is_given and is_other_given:
        raise click.UsageError(f"{name} and {option} mean the same; give one of them", context)
    if is_argument and not is_given and not is_other_given:
        raise click.MissingParameter(ctx=context, param=parameter, param_hint=f"'{name}'")
    return other if is_other_given else value


def text(name: str, help: str) -> Callable[[Function], Function]:
    """Accept a text as an argument, or through the option of its name."""

    def decorate(function: Function) -> Function:
        argument = click.argument(name, required=False, callback=either)
        return argument(also(f"--{name}", name, metavar="TEXT", help=help)(function))

    return decorate


def check_asked(text: str, name: str) -> None:
    """Reject a question without words: finding nothing would mean nothing."""
    if not text.strip():
        raise InvalidInput(
            f"{name} is empty; say what to look for, or `lamina list` shows what is new"
        )


def complete_kind(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete a kind in a shell."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


layers = click.option(
    "--layer", "layers", type=LAYER, multiple=True, help="only this layer; may be repeated"
)


def state_option(help: str) -> Callable[[Function], Function]:
    """Accept states through `--state` or `--status`."""

    def decorate(function: Function) -> Function:
        settings: dict[str, Any] = {"type": STATE, "multiple": True}
        status = also("--status", "states", help="the same as --state", **settings)
        return click.option("--state", "states", callback=either, help=help, **settings)(
            status(function)
        )

    return decorate


states = state_option("only this state (default active)")
session = click.option("--session", help="only of this conversation")
project = click.option("--project", help="only of this project")
kinds = click.option(
    "--kind", "kinds", multiple=True, shell_complete=complete_kind, help="only this kind"
)
tags = click.option("--tag", "tags", multiple=True, help="with any of these tags")
since = click.option(
    "--since", callback=past, help="not before: a day, a time, or how long ago, such as 7d"
)
until = click.option("--until", callback=past, help="before: a day, a time, or how long ago")
as_of = click.option(
    "--as-of", callback=past, help="what was true then: a day, a time, or how long ago"
)
kind_of_new = click.option(
    "--kind", shell_complete=complete_kind, help="what sort of memory (default crumb)"
)
tags_of_new = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")
metadata_of_new = click.option(
    "--meta", "metadata", multiple=True, metavar="K=V", help="metadata; V may be JSON"
)
limit = click.option("--limit", type=int, default=50, show_default=True, help="the most to show")
lines_of_dry_run = click.option(
    "--limit",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="the most lines of a dry run",
)
yes = click.option("--yes", is_flag=True, help="do not ask")
reason = click.option("--reason", help="why")
shared_by = click.option(
    "--shared-by", metavar="AGENT", help="use the memories that AGENT shares, instead of your own"
)


def metadata_from(pairs: tuple[str, ...]) -> dict[str, Any] | None:
    """Read metadata from arguments of the form NAME=VALUE."""
    metadata: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput(f"--meta {pair!r} is not of the form NAME=VALUE")
        metadata[name] = value_from(value)
    return metadata or None


def value_from(text: str) -> Any:
    """Parse a value as JSON if it is JSON, or else return the text itself."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


def not_utf8(error: UnicodeDecodeError) -> InvalidInput:
    """Explain that standard input cannot be read as text."""
    return InvalidInput(f"standard input is not UTF-8: {error.reason} at byte {error.start}")
