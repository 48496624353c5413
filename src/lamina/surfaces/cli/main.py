"""The program `lamina`: its options, its errors and its exit codes.

The commands are in the files beside this one, each named after its command.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from lamina import __version__
from lamina.errors import InvalidInput, LaminaError, NotFound, StoreUnavailable
from lamina.failsafe.spool import is_outage
from lamina.surfaces.cli.invocation import (
    EXIT_FAILED,
    EXIT_FAILSAFE,
    EXIT_INTERRUPTED,
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    Invocation,
)
from lamina.text.words import meant, reveal, shown

# The commands in each file.
FILES: Mapping[str, tuple[str, ...]] = {
    "agents": ("agents",),
    "archive": ("archive",),
    "audit": ("audit",),
    "backup": ("backup", "restore"),
    "capture": ("capture",),
    "compact": ("semantic", "procedural"),
    "compress": ("compress",),
    "config": ("config", "completion"),
    "context": ("context",),
    "correct": ("correct", "forget", "rollback", "undo"),
    "demo": ("demo",),
    "doctor": ("doctor", "reindex"),
    "erase": ("erase", "erasures"),
    "export": ("export",),
    "facts": ("facts", "timeline"),
    "failsafe": ("failsafe",),
    "grant": ("grant", "revoke-grant", "grants", "shared"),
    "hook": ("hook",),
    "import_": ("import",),
    "importance": ("importance",),
    "index": ("index", "model"),
    "init": ("init",),
    "install": ("install", "uninstall"),
    "key": ("key",),
    "list": ("list", "inspect"),
    "mcp": ("mcp",),
    "migrate": ("migrate",),
    "mirror": ("mirror",),
    "pending": ("pending",),
    "profile": ("profile", "project"),
    "promote": ("promote",),
    "prune": ("prune",),
    "recap": ("recap",),
    "remember": ("remember",),
    "review": ("review",),
    "revoke": ("revoke",),
    "run": ("run",),
    "runs": ("runs",),
    "search": ("search",),
    "serve": ("serve",),
    "sleep": ("sleep",),
    "status": ("status",),
    "token": ("token",),
    "world": ("world",),
}
FILE_OF = {name: file for file, names in FILES.items() for name in names}
PLAIN = {"a valid integer": "a whole number", "a valid float": "a number"}
SURPLUS = "Got unexpected extra argument"
WITH_VALUE = ("--home", "--agent", "--user")


# The commands that Skylattice has under `memory`.
UNDER_MEMORY = (
    *("list", "inspect", "search", "profile", "review"),
    *("semantic", "procedural", "rollback", "export"),
)


class Program(click.Group):
    """Commands of the program; a file is imported when one of its commands is first called.

    A short command must not wait for the imports of all the others.
    """

    def __init__(self, *arguments: Any, names: Collection[str] = FILE_OF, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._names = names

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self._names and name not in self.commands:
            self._load(name)
        return super().get_command(context, name)

    def list_commands(self, context: click.Context) -> list[str]:
        for name in self._names:
            self._load(name)
        return super().list_commands(context)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section, from a table, so that none has to be imported."""
        from lamina.surfaces.cli.sections import LINES, SECTIONS

        names = {*self._names, *self.commands}
        width = max(map(len, names))
        others = self._described(context, sorted(name for name in names if name not in LINES))
        for title, lines in {**SECTIONS, "Other": others}.items():
            if rows := [(f"{name:<{width}}", lines[name]) for name in lines if name in names]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _described(self, context: click.Context, names: Sequence[str]) -> dict[str, str]:
        """Describe commands by their own help texts."""
        found = {name: self.get_command(context, name) for name in names}
        return {name: one.get_short_help_str() for name, one in found.items() if one is not None}

    def _load(self, name: str) -> None:
        module = importlib.import_module(f"lamina.surfaces.cli.{FILE_OF[name]}")
        for value in vars(module).values():
            if isinstance(value, click.Command) and value.name == name:
                self.add_command(value)


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`lamina COMMAND --help` explains a command, with an example.",
)
@click.option(
    "--home", type=click.Path(path_type=Path), help="the folder with all memories [LAMINA_HOME]"
)
@click.option("--agent", help="whose memory; `default` if not set [LAMINA_AGENT]")
@click.option("--user", help="only memories of this user, or without a user [LAMINA_USER]")
@click.option("--json", "json_", is_flag=True, help="print JSON for programs")
@click.version_option(__version__, prog_name="lamina")
@click.pass_context
def cli(
    context: click.Context, home: Path | None, agent: str | None, user: str | None, json_: bool
) -> None:
    """A layered, local-first, reviewable memory for AI agents."""
    context.obj = Invocation(home, agent, user, json_)
    context.call_on_close(context.obj.close)


@cli.group(cls=Program, names=UNDER_MEMORY, epilog="Example:  lamina memory list")
def memory() -> None:
    """The same commands, as users of Skylattice type them."""


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
        usage = _with_advice(error, arguments)
        _complain(InvalidInput(usage.format_message()), as_json, usage)
        return usage.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
        # The reader has gone, as with `head`. Nothing more can be printed, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    return code if isinstance(code, int) else 0


def exit_code(error: LaminaError) -> int:
    if isinstance(error, InvalidInput):
        return EXIT_USAGE
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    if isinstance(error, StoreUnavailable) and is_outage(error):
        return EXIT_FAILSAFE
    return EXIT_FAILED


def _with_advice(error: click.ClickException, words: Sequence[str]) -> click.ClickException:
    """Add to a usage error what to type instead, if possible."""
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return error
    if isinstance(error, click.MissingParameter):
        advice = _advice_for_missing(error)
    elif isinstance(error, click.BadParameter):
        advice = _advice_for_value(error)
    elif isinstance(error, click.NoSuchCommand):
        advice = _advice_for_command(error.command_name, error.ctx)
    elif isinstance(error, click.NoSuchOption):
        advice = _advice_for_option(error.option_name, words, error.ctx)
    elif error.message.startswith(SURPLUS):
        advice = _advice_for_surplus(error.message, error.ctx)
    else:
        advice = None
    return click.UsageError(advice, error.ctx) if advice else error


def _advice_for_command(name: str, context: click.Context) -> str | None:
    """Suggest the command that was probably meant, or list the existing ones."""
    group = context.command
    if isinstance(group, Program):
        from lamina.surfaces.cli.sections import suggestion

        # In the group `memory` too, any command of the program may be meant.
        known = {*FILE_OF, *cli.commands}
        return f"there is no command {shown(name)}; {suggestion(name, known, context.command_path)}"
    if not isinstance(group, click.Group):
        return None
    names = group.list_commands(context)
    problem = f"`{context.command_path}` has no command {shown(name)}"
    alone = ""
    if group.invoke_without_command:
        does = (group.help or "").partition(";")[0].rstrip(".")
        alone = f"; `{context.command_path}` alone: {does[:1].lower()}{does[1:]}"
    return f"{problem}; it has {', '.join(names)}{meant(name, names)}{alone}"


def _advice_for_surplus(message: str, context: click.Context) -> str:
    """Explain what to do with words that a command does not take."""
    surplus = reveal(message.partition("(")[2].removesuffix(")"))
    problem = f"`{context.command_path}` does not take {surplus}"
    if _takes_text(context):
        return f"{problem}; put a text of several words in quotes"
    return f"{problem}; `{context.command_path} --help` shows what it takes"


def _advice_for_missing(error: click.MissingParameter) -> str | None:
    """Explain what a command needs, with its example."""
    assert error.ctx is not None
    command, parameter = error.ctx.command, error.param
    if parameter is None:
        return None
    name = _name(parameter)
    example = (command.epilog or "").removeprefix("Example:").strip()
    return f"`{error.ctx.command_path}` needs {name}" + (f", such as: {example}" if example else "")


def _advice_for_value(error: click.BadParameter) -> str | None:
    """Explain in plain words which value is wrong."""
    if error.param is None:
        return None
    problem = error.message.removesuffix(".")
    for theirs, ours in PLAIN.items():
        problem = problem.replace(theirs, ours)
    kind = error.param.type
    choices = [str(one) for one in kind.choices] if isinstance(kind, click.Choice) else []
    given = problem.removeprefix("'").partition("'")[0]
    return f"{_name(error.param)}: {problem}{meant(given, choices)}"


def _name(parameter: click.Parameter) -> str:
    """Name a parameter in the way it is typed."""
    is_argument = isinstance(parameter, click.Argument)
    return parameter.human_readable_name if is_argument else parameter.opts[0]


def _advice_for_option(name: str, words: Sequence[str], context: click.Context) -> str | None:
    """Advise on an option that belongs to the program, or was meant as text."""
    positions = [number for number, word in enumerate(words) if word.startswith(name)]
    typed, following = (*map(reveal, words[positions[-1] :] if positions else ()), "", "")[:2]
    command = context.command_path
    if name in WITH_VALUE:
        value = shlex.quote(typed.partition("=")[2] or following or name[2:].upper())
        whole = command.replace("lamina", f"lamina {name} {value}", 1)
        return f"{name} belongs before the command: {whole}"
    takes_argument = any(isinstance(part, click.Argument) for part in context.command.params)
    if takes_argument and (" " in typed or not name.startswith("--")):
        whole = f"{command} -- {shlex.quote(typed)}"
        return f"what begins with - is taken for an option; put -- before it: {whole}"
    return None


def _takes_text(context: click.Context) -> bool:
    """Return whether a command takes a text that a person types, rather than an id or a path."""
    return any(
        isinstance(part, click.Argument) and part.type is click.STRING and part.metavar is None
        for part in context.command.params
    )


def _is_hook(words: Sequence[str]) -> bool:
    """Return whether these words call the command `hook`, whatever else is wrong with them."""
    for before, word in pairwise(["", *words]):
        if word.startswith("-") or before in WITH_VALUE:
            continue
        # A word after an unknown option may be the value of that option.
        if word in FILE_OF or not before.startswith("-"):
            return word == "hook"
    return False


def _excuse(error: click.ClickException | LaminaError) -> None:
    """Report a wrong call of a hook without failing, which its agent would take as a veto."""
    from lamina.surfaces.cli.hook import excuse

    context = getattr(error, "ctx", None)
    invocation = context.find_object(Invocation) if context else None
    problem = error.message if isinstance(error, LaminaError) else error.format_message()
    excuse(invocation or Invocation(None, None, None, False), problem)


def _complain(error: LaminaError, as_json: bool, usage: click.ClickException | None = None) -> None:
    if as_json:
        click.echo(msgspec.json.encode(error.to_dict()).decode(), err=True)
    elif usage is not None:
        usage.show()
    else:
        click.echo(click.style("Error: ", fg="red") + reveal(error.message), err=True)


def main() -> NoReturn:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
