"""Commands about the world model: tools, integrations, and their files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

import click

from lamina.engines.review import FROM_FILES
from lamina.errors import InvalidInput, NotFound, Refused
from lamina.formats.world import HELD, INTEGRATION, TOOL, parsed, pretty
from lamina.formats.world_edits import Edited, FileEdit
from lamina.model.record import Layer, Record
from lamina.model.slots import world_entry
from lamina.store.engine import raw_file
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.secrets import detection
from lamina.text.words import counted, reveal

COLOURS = {"+": "green", "-": "red"}
SOURCE = click.Path(path_type=Path, allow_dash=True)


@click.group()
def world() -> None:
    """Tools and integrations that the agent knows."""


@command("list", "lamina world list", under=world, needs_known_agent=True)
def world_list(invocation: Invocation) -> None:
    """List tools and integrations, with the environment variables that they name.

    Changes in the files that were not applied, and waiting proposals, follow below.
    """
    memory = invocation.memory()
    entries = memory.world.records()
    if invocation.json:
        output.show_json([_as_dict(entry) for entry in entries])
        return
    if entries:
        rows = [
            (_kind(entry), _name(entry), " ".join(_variables(entry)), _about(entry))
            for entry in entries
        ]
        columns = ("what", "name", "variables", "about")
        output.table(columns, rows, wide="about", dispensable=("what",), wraps=("variables",))
    else:
        click.echo("no tools or integrations")
    edits, problems = memory.world.edited()
    for edit in edits:
        click.echo(f"not applied: {_sentence(edit)}; `lamina world sync` shows it")
    _show_problems([problem.to_dict() for problem in problems])
    _show_waiting(invocation)


@command("show", "lamina world show search_flights", under=world, needs_known_agent=True)
@click.argument("name")
@click.option(
    "--integration", is_flag=True, help="the integration of this name, when there is a tool too"
)
def world_show(invocation: Invocation, name: str, integration: bool) -> None:
    """Show the tool or integration NAME as it was given."""
    kinds = (INTEGRATION,) if integration else (TOOL, INTEGRATION)
    entries = invocation.memory().world.records()
    named = {_kind(entry): entry for entry in entries if _name(entry) == name}
    kind = next((kind for kind in kinds if kind in named), None)
    if kind is None:
        either = " or ".join(kinds)
        raise NotFound(f"there is no {either} {name!r}; `lamina world list` shows all")
    entry = named[kind]
    if invocation.json:
        output.show_json(_as_dict(entry))
        return
    variables = ", ".join(_variables(entry)) or "none"
    output.pairs([("what", kind), ("record", entry.id), ("variables", variables)])
    click.echo(reveal(pretty(_definition(entry)).decode()), nl=False)


@world.group("tool")
def world_tool() -> None:
    """What the agent can use."""


@command("add", "lamina world tool add search_flights.json", under=world_tool)
@click.argument("source", metavar="FILE", type=SOURCE)
def world_tool_add(invocation: Invocation, source: Path) -> None:
    """Store the tool definition in FILE, or each of a list; - reads standard input.

    A tool of the same name is superseded. Changes in the files meanwhile are proposed, not applied.
    """
    model = invocation.operator("world tool add").world
    definitions = _read(source)
    if not isinstance(definitions, list):
        definitions = [definitions]
    _show_kept(invocation, model.set_tools(definitions))


@world.group("integration")
def world_integration() -> None:
    """What the agent is connected to."""


@command("set", "lamina world integration set github github.json", under=world_integration)
@click.argument("name")
@click.argument("source", metavar="FILE", type=SOURCE)
def world_integration_set(invocation: Invocation, name: str, source: Path) -> None:
    """Store the configuration in FILE for the integration NAME; - reads standard input.

    Secrets are refused: write "${NAME}" with the name of an environment variable in their place.
    """
    model = invocation.operator("world integration set").world
    _show_kept(invocation, [model.set_integration(name, _read(source))])


@command("remove", "lamina world remove github --integration", under=world)
@click.argument("name")
@click.option("--integration", is_flag=True, help="an integration instead of a tool")
def world_remove(invocation: Invocation, name: str, integration: bool) -> None:
    """Hide the tool NAME, and remove it from the files."""
    kind = INTEGRATION if integration else TOOL
    invocation.operator("world remove").world.remove(kind, name)
    if invocation.json:
        output.show_json({"removed": {"world": kind, "name": name}})
    else:
        click.echo(f"removed {kind} {name}")
        _show_waiting(invocation)


@command("sync", "lamina world sync --dry-run", under=world)
@click.option("--dry-run", is_flag=True, help="only show the changes in the files")
@options.yes
def world_sync(invocation: Invocation, dry_run: bool, yes: bool) -> int:
    """Show the changes in the files, apply them, then rewrite the files.

    Exits with 1 when a file could not be applied. A deleted file comes back.
    """
    model = invocation.operator("world sync").world
    edited = model.edited()
    if dry_run:
        return _show_dry_run(invocation, edited)
    edits = [edit for edit in edited.edits if not edit.is_deleted_file]
    if edits and not invocation.json:
        _show_edits(edits)
    if edits and not yes and not output.confirmed(f"Take in {counted(len(edits), 'change')}?"):
        raise Refused("nothing was applied; use --yes to skip the question")
    report = model.sync(edited.edits)
    if invocation.json:
        output.show_json(report)
    else:
        for name in report["taken"]:
            click.echo(f"applied: {reveal(name)}")
        for name in report["written"]:
            click.echo(f"written: {reveal(name)}")
        _show_problems(report["problems"])
        if not any(report.values()):
            click.echo("files and records agree")
        _show_waiting(invocation)
    return EXIT_FAILED if report["problems"] else 0


def _show_dry_run(invocation: Invocation, edited: Edited) -> int:
    problems = [problem.to_dict() for problem in edited.problems]
    if invocation.json:
        changes = [edit.to_dict() for edit in edited.edits]
        output.show_json({"changes": changes, "problems": problems})
    else:
        _show_edits(edited.edits)
        _show_problems(problems)
        if not edited.edits and not problems:
            click.echo("no file was changed")
    return EXIT_FAILED if problems else 0


def _show_edits(edits: Sequence[FileEdit]) -> None:
    """Show each change in the files, line by line."""
    for edit in edits:
        click.secho(_sentence(edit), bold=True)
        difference = unified_diff(_lines(edit.before), _lines(edit.after), lineterm="")
        for line in islice(difference, 2, None):  # after the names of the two files
            click.secho(reveal(line), fg=COLOURS.get(line[:1]))


def _lines(definition: Mapping[str, Any] | None) -> list[str]:
    return [] if definition is None else pretty(definition).decode().splitlines()


def _sentence(edit: FileEdit) -> str:
    return f"{edit.kind} {edit.name} was {edit.what} in {edit.file}"


def _show_problems(problems: Sequence[Mapping[str, Any]]) -> None:
    for problem in problems:
        click.echo(click.style("problem: ", fg="red") + reveal(problem["message"]), err=True)


def _show_waiting(invocation: Invocation) -> None:
    """Show edits of the files that wait for a person."""
    for proposal in invocation.memory().proposals():
        record = proposal.record
        if record.layer is Layer.WORLD or proposal.by == FROM_FILES:
            name = world_entry(record) or record.content
            click.echo(f"waits for review: {reveal(name)}  {record.id}")


def _read(source: Path) -> Any:
    if str(source) == "-":
        return parsed(sys.stdin.buffer.read(), "standard input")
    try:
        return parsed(raw_file.read(source), str(source))
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


def _show_kept(invocation: Invocation, stored: list[Record]) -> None:
    if invocation.json:
        entries = [_as_dict(record) for record in stored]
        output.show_json(entries[0] if len(entries) == 1 else entries)
        return
    for record in stored:
        click.echo(f"stored {_kind(record)} {_name(record)}  {record.id}")
    _show_waiting(invocation)


def _as_dict(record: Record) -> dict[str, Any]:
    return {**record.metadata, "variables": _variables(record), "record": record.id}


def _kind(record: Record) -> str:
    return str(record.metadata["world"])


def _name(record: Record) -> str:
    return str(record.metadata["name"])


def _definition(record: Record) -> dict[str, Any]:
    return dict(record.metadata[HELD[_kind(record)]])


def _variables(record: Record) -> list[str]:
    return detection.references(_definition(record))


def _about(record: Record) -> str:
    """Return the first line of an entry, without its name."""
    first = record.content.split("\n", 1)[0]
    return first.partition(": ")[2] or record.content.partition("\n")[2]
