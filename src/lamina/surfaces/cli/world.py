"""Commands about the world model: tools, integrations, and the files that hold them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import unified_diff
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
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.secrets import detection
from lamina.text.words import counted, reveal

COLOURS = {"+": "green", "-": "red"}
SOURCE = click.Path(path_type=Path, allow_dash=True)


def register(group: click.Group) -> None:
    """Hang these commands under the program."""

    @group.group("world")
    def world() -> None:
        """Tools and integrations that the agent knows."""

    listing(world)
    show(world)
    add_tool(world)
    set_integration(world)
    remove(world)
    sync(world)


def listing(group: click.Group) -> None:
    @command(group, "list", "lamina world list")
    def run(session: Session) -> None:
        """List tools and integrations, with the environment variables that they name.

        Below them is what was changed in the files and not taken in, and what waits for a decision.
        """
        memory = session.memory()
        found = memory.world.records()
        if session.json:
            output.show_json([_plain(record) for record in found])
            return
        if found:
            columns = ("what", "name", "variables", "about")
            rows = [
                (_kind(record), _name(record), " ".join(_variables(record)), _about(record))
                for record in found
            ]
            output.table(columns, rows, wide="about", dispensable=("what",), wraps=("variables",))
        else:
            click.echo("no tools or integrations")
        edits, problems = memory.world.edited()
        for edit in edits:
            click.echo(f"not taken in: {_told(edit)}; `lamina world sync` shows it")
        _show_problems([problem.to_dict() for problem in problems])
        _show_waiting(session)


def show(group: click.Group) -> None:
    @command(group, "show", "lamina world show search_flights")
    @click.argument("name")
    @click.option(
        "--integration", is_flag=True, help="the integration of this name, when there is a tool too"
    )
    def run(session: Session, name: str, integration: bool) -> None:
        """Show the tool or integration NAME as it was given."""
        wanted = (INTEGRATION,) if integration else (TOOL, INTEGRATION)
        found = {
            _kind(record): record
            for record in session.memory().world.records()
            if _name(record) == name
        }
        kind = next((kind for kind in wanted if kind in found), None)
        if kind is None:
            raise NotFound(
                f"there is no {' or '.join(wanted)} {name!r}; `lamina world list` shows all"
            )
        if session.json:
            output.show_json(_plain(found[kind]))
            return
        variables = ", ".join(_variables(found[kind])) or "none"
        output.pairs([("what", kind), ("record", found[kind].id), ("variables", variables)])
        click.echo(reveal(pretty(_held(found[kind])).decode()), nl=False)


def add_tool(group: click.Group) -> None:
    @group.group("tool")
    def tools() -> None:
        """What the agent can use."""

    @command(tools, "add", "lamina world tool add search_flights.json")
    @click.argument("source", metavar="FILE", type=SOURCE)
    def run(session: Session, source: Path) -> None:
        """Keep the tool definition in FILE, or each of a list; with - it is read from standard input.

        A tool of the same name is superseded. What was changed in the files meanwhile is proposed, not taken in.
        """
        world = session.operator("world tool add").world
        given = _read(source)
        _said(session, world.set_tools(given if isinstance(given, list) else [given]))


def set_integration(group: click.Group) -> None:
    @group.group("integration")
    def integrations() -> None:
        """What the agent is connected to."""

    @command(integrations, "set", "lamina world integration set github github.json")
    @click.argument("name")
    @click.argument("source", metavar="FILE", type=SOURCE)
    def run(session: Session, name: str, source: Path) -> None:
        """Keep the config in FILE for the integration NAME; with - it is read from standard input.

        Secrets are refused: write "${NAME}" with the name of an environment variable in their place.
        """
        world = session.operator("world integration set").world
        _said(session, [world.set_integration(name, _read(source))])


def remove(group: click.Group) -> None:
    @command(group, "remove", "lamina world remove github --integration")
    @click.argument("name")
    @click.option("--integration", is_flag=True, help="an integration instead of a tool")
    def run(session: Session, name: str, integration: bool) -> None:
        """Hide the tool NAME, and take it out of the files."""
        kind = INTEGRATION if integration else TOOL
        session.operator("world remove").world.remove(kind, name)
        if session.json:
            output.show_json({"removed": {"world": kind, "name": name}})
        else:
            click.echo(f"removed {kind} {name}")
            _show_waiting(session)


def sync(group: click.Group) -> None:
    @command(group, "sync", "lamina world sync --dry-run")
    @click.option("--dry-run", is_flag=True, help="only show what was changed in the files")
    @click.option("--yes", is_flag=True, help="do not ask")
    @click.pass_context
    def run(context: click.Context, session: Session, dry_run: bool, yes: bool) -> None:
        """Show what was changed in the files, take it in, then write the files anew.

        Exits with 1 when a file could not be taken in. A deleted file comes back.
        """
        world = session.operator("world sync").world
        found = world.edited()
        if dry_run:
            _rehearse(context, session, found)
            return
        edits = [edit for edit in found.edits if not edit.is_deleted_file]
        if edits and not session.json:
            _show_edits(edits)
        if edits and not yes and not output.confirmed(f"Take in {counted(len(edits), 'change')}?"):
            raise Refused("nothing was taken in; --yes does not ask")
        report = world.sync(found.edits)
        if session.json:
            output.show_json(report)
        else:
            for name in report["taken"]:
                click.echo(f"taken in: {reveal(name)}")
            for name in report["written"]:
                click.echo(f"written: {reveal(name)}")
            _show_problems(report["problems"])
            if not any(report.values()):
                click.echo("all in step")
            _show_waiting(session)
        context.exit(1 if report["problems"] else 0)


def _rehearse(context: click.Context, session: Session, found: Edited) -> None:
    problems = [problem.to_dict() for problem in found.problems]
    if session.json:
        output.show_json(
            {"changes": [edit.to_dict() for edit in found.edits], "problems": problems}
        )
    else:
        _show_edits(found.edits)
        _show_problems(problems)
        if not found.edits and not problems:
            click.echo("no file was changed")
    context.exit(1 if problems else 0)


def _show_edits(edits: Sequence[FileEdit]) -> None:
    """Each change, line by line, as the file has it."""
    for edit in edits:
        click.secho(_told(edit), bold=True)
        before, after = (_lines(one) for one in (edit.before, edit.after))
        for line in list(unified_diff(before, after, lineterm=""))[
            2:
        ]:  # after the names of the two files
            click.secho(reveal(line), fg=COLOURS.get(line[:1]))


def _lines(given: Mapping[str, Any] | None) -> list[str]:
    return [] if given is None else pretty(given).decode().splitlines()


def _told(edit: FileEdit) -> str:
    return f"{edit.kind} {edit.name} was {edit.what} in {edit.file}"


def _show_problems(problems: Sequence[Mapping[str, Any]]) -> None:
    for problem in problems:
        click.echo(click.style("problem: ", fg="red") + reveal(problem["message"]), err=True)


def _show_waiting(session: Session) -> None:
    """What was changed in the files and waits for a person."""
    for one in session.memory().proposals():
        if one.record.layer is Layer.WORLD or one.by == FROM_FILES:
            told = world_entry(one.record) or one.record.content
            click.echo(f"waits for review: {reveal(told)}  {one.record.id}")


def _read(source: Path) -> Any:
    if str(source) == "-":
        return parsed(sys.stdin.buffer.read(), "standard input")
    try:
        return parsed(raw_file.read(source), str(source))
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None


def _said(session: Session, stored: list[Record]) -> None:
    if session.json:
        found = [_plain(record) for record in stored]
        output.show_json(found[0] if len(found) == 1 else found)
    else:
        for record in stored:
            click.echo(f"kept {_kind(record)} {_name(record)}  {record.id}")
        _show_waiting(session)


def _plain(record: Record) -> dict[str, Any]:
    return {**record.metadata, "variables": _variables(record), "record": record.id}


def _kind(record: Record) -> str:
    return str(record.metadata["world"])


def _name(record: Record) -> str:
    return str(record.metadata["name"])


def _held(record: Record) -> dict[str, Any]:
    return dict(record.metadata[HELD[_kind(record)]])


def _variables(record: Record) -> list[str]:
    return detection.references(_held(record))


def _about(record: Record) -> str:
    """The first line of what is told about an entry, without its name."""
    first = record.content.split("\n", 1)[0]
    return first.partition(": ")[2] or record.content.partition("\n")[2]
