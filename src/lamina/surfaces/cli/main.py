"""The program `lamina`: its options, its errors and its exit codes. The commands are in the files beside this one."""

from __future__ import annotations

import difflib
import importlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import msgspec

from lamina import __version__
from lamina.errors import InvalidInput, LaminaError, NotFound, StoreUnavailable
from lamina.failsafe.spool import is_outage
from lamina.surfaces.cli.invocation import EXIT_FAILSAFE, Session
from lamina.text.words import reveal

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_NOTHING = 1, 2, 3, 4
EXIT_INTERRUPTED = 130
# Which file has which commands; two of them share a group.
ROOMS: Mapping[str, tuple[str, ...]] = {
    "audit": ("audit",),
    "erase": ("erase", "erasures"),
    "failsafe": ("failsafe",),
    "export": ("export", "import", "backup", "restore"),
    "search": ("search", "context", "index", "model"),
    "compact": ("semantic", "procedural"),
    "status": ("status", "agents", "doctor", "reindex", "config", "completion"),
    "hook": ("hook", "capture"),
    "importance": ("importance",),
    "key": ("key",),
    "promote": ("promote", "prune", "archive"),
    "mcp": ("mcp",),
    "remember": ("remember", "list", "inspect", "runs"),
    "mirror": ("mirror",),
    "migrate": ("migrate",),
    "profile": ("profile", "project", "compress", "pending"),
    "review": ("profile", "review", "revoke", "rollback", "correct", "forget", "undo"),
    "run": ("run",),
    "serve": ("serve", "token"),
    "grant": ("grant", "revoke-grant", "grants", "shared"),
    "sleep": ("sleep", "facts", "timeline"),
    "world": ("world",),
}
WITH_VALUE = ("--home", "--agent", "--user")


class Program(click.Group):
    """The program's commands, each read when it is first called: a short command must not wait for all the others."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._loaded: set[str] = set()

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        self.load(*(room for room, names in ROOMS.items() if name in names))
        return super().get_command(context, name)

    def resolve_command(
        self, context: click.Context, given: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; for one that is not there, those that look like it."""
        try:
            return super().resolve_command(context, given)
        except click.UsageError as error:
            alike = difflib.get_close_matches(
                given[0], [name for names in ROOMS.values() for name in names], 3
            )
            if not alike:
                raise
            raise click.UsageError(
                f"{error.message} Did you mean {' or '.join(dict.fromkeys(alike))}?", context
            ) from None

    def list_commands(self, context: click.Context) -> list[str]:
        self.load(*ROOMS)
        return super().list_commands(context)

    def load(self, *rooms: str) -> None:
        """Read the commands of some files beside this one, once."""
        for room in rooms:
            if room not in self._loaded:
                self._loaded.add(room)
                importlib.import_module(f"lamina.surfaces.cli.{room}").register(self)


@click.group(
    cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--home", type=click.Path(path_type=Path), help="folder of all memories [LAMINA_HOME]"
)
@click.option("--agent", help="whose memory [LAMINA_AGENT, default]")
@click.option(
    "--user", help="only memories of this person, and records without a user [LAMINA_USER]"
)
@click.option("--json", "json_", is_flag=True, help="print JSON for programs")
@click.version_option(__version__, prog_name="lamina")
@click.pass_context
def cli(
    context: click.Context, home: Path | None, agent: str | None, user: str | None, json_: bool
) -> None:
    """A layered, local-first, reviewable memory for AI agents."""
    context.obj = Session(home, agent, user, json_)
    context.call_on_close(context.obj.close)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    as_json = "--json" in arguments
    try:
        code = cli.main(list(arguments), prog_name="lamina", standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, LaminaError) as error:
        if _is_hook(arguments):
            _excuse(error)
            return 0
        if isinstance(error, LaminaError):
            _complain(error, as_json)
            return exit_code(error)
        usage = _advised(error, arguments)
        _complain(InvalidInput(usage.format_message()), as_json, usage)
        return usage.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
        # The reader went away, as `head` does. Nothing more can be printed, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    return code if isinstance(code, int) else 0


def exit_code(error: LaminaError) -> int:
    if isinstance(error, InvalidInput):
        return EXIT_USAGE
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    return (
        EXIT_FAILSAFE if isinstance(error, StoreUnavailable) and is_outage(error) else EXIT_FAILED
    )


def _advised(error: click.ClickException, arguments: Sequence[str]) -> click.ClickException:
    """The same error; with what to type instead, where an option stands in the wrong place, was none, or quotes are missing."""
    if (
        isinstance(error, click.UsageError)
        and error.ctx
        and error.message.startswith("Got unexpected extra argument")
    ):
        if not any(map(_is_text, error.ctx.command.params)):
            return error
        return click.UsageError(
            f"{error.message}; put a text of several words in quotes", error.ctx
        )
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    name, command = error.option_name, error.ctx.command_path
    place = max(
        (place for place, word in enumerate(arguments) if word.startswith(name)),
        default=len(arguments),
    )
    given, following = (
        *(shlex.quote(reveal(word)) for word in arguments[place : place + 2]),
        "",
        "",
    )[:2]
    if name in WITH_VALUE:
        value = given.partition("=")[2] or following or name[2:].upper()
        typed = command.replace("lamina", f"lamina {name} {value}", 1)
        return click.UsageError(f"{name} belongs before the command: {typed}", error.ctx)
    takes_text = any(isinstance(one, click.Argument) for one in error.ctx.command.params)
    if takes_text and (" " in given or not name.startswith("--")):
        hint = f"what begins with - is taken for an option; put -- before it: {command} -- {given}"
        return click.UsageError(hint, error.ctx)
    return error


def _is_text(parameter: click.Parameter) -> bool:
    """Whether this is a text that somebody types, and neither an id nor a path."""
    return (
        isinstance(parameter, click.Argument)
        and parameter.type is click.STRING
        and parameter.metavar is None
    )


def _is_hook(arguments: Sequence[str]) -> bool:
    """Whether these words mean the command `hook`, whatever else is wrong with them."""
    commands = {name for names in ROOMS.values() for name in names}
    for before, word in pairwise(["", *arguments]):
        if word.startswith("-") or before in WITH_VALUE:
            continue
        if word in commands or not before.startswith(
            "-"
        ):  # what follows an unknown option may be its value
            return word == "hook"
    return False


def _excuse(error: click.ClickException | LaminaError) -> None:
    """Tell what is wrong with the call of a hook: its agent would take the exit code for a veto."""
    from lamina.surfaces.cli.hook import excuse

    context = getattr(error, "ctx", None)
    session = (context.find_object(Session) if context else None) or Session(
        None, None, None, False
    )
    excuse(session, error.message if isinstance(error, LaminaError) else error.format_message())


def _complain(error: LaminaError, as_json: bool, usage: click.ClickException | None = None) -> None:
    if as_json:
        click.echo(msgspec.json.encode(error.to_dict()).decode(), err=True)
    elif usage is not None:
        usage.show()
    else:
        click.echo(click.style("Error: ", fg="red") + reveal(error.message), err=True)


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
