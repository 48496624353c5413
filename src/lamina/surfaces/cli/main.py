"""The program `lamina`: its options, its errors and its exit codes. The commands are in the files beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from lamina import __version__
from lamina.errors import InvalidInput, LaminaError, NotFound
from lamina.surfaces.cli import audit, files, finding, health, judging, lifecycle, memories, profiles, reviewing, running, world
from lamina.surfaces.cli.session import Session
from lamina.text import reveal

EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_NOTHING = 1, 2, 3, 4
EXIT_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--home", type=click.Path(path_type=Path), help="folder of all memories [LAMINA_HOME]")
@click.option("--agent", help="whose memory [LAMINA_AGENT, default]")
@click.option("--user", help="only memories of this person and those of nobody in particular [LAMINA_USER]")
@click.option("--json", "json_", is_flag=True, help="print JSON for programs")
@click.version_option(__version__, prog_name="lamina")
@click.pass_context
def cli(context: click.Context, home: Path | None, agent: str | None, user: str | None, json_: bool) -> None:
    """A layered, local-first, reviewable memory for AI agents."""
    context.obj = Session(home, agent, user, json_)
    context.call_on_close(context.obj.close)


memories.register(cli)
finding.register(cli)
lifecycle.register(cli)
judging.register(cli)
profiles.register(cli)
reviewing.register(cli)
world.register(cli)
running.register(cli)
audit.register(cli)
files.register(cli)
health.register(cli)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    as_json = "--json" in arguments
    try:
        code = cli.main(list(arguments), prog_name="lamina", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _complain(InvalidInput(error.format_message()), as_json, error)
        return error.exit_code
    except LaminaError as error:
        _complain(error, as_json)
        return exit_code(error)
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
    return EXIT_NOT_FOUND if isinstance(error, NotFound) else EXIT_FAILED


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
