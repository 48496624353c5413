"""Commands about the world model: tools, integrations, and the files that hold them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from lamina.errors import InvalidInput, NotFound
from lamina.formats.world import HELD, INTEGRATION, TOOL, parsed, pretty
from lamina.model import Record
from lamina.secrets import credentials
from lamina.store import rawfile
from lamina.surfaces.cli import output
from lamina.surfaces.cli.session import Session, command
from lamina.text import reveal

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
        """List tools and integrations, with the environment variables that they name."""
        found = session.memory().world.records()
        if session.json:
            output.show_json([_plain(record) for record in found])
        elif found:
            columns = ("what", "name", "variables", "about")
            rows = [(_kind(record), _name(record), " ".join(_variables(record)), _about(record)) for record in found]
            output.table(columns, rows, wide="about", dispensable=("what",), wraps=("variables",))
        else:
            click.echo("no tools or integrations")


def show(group: click.Group) -> None:
    @command(group, "show", "lamina world show search_flights")
    @click.argument("name")
    @click.option("--integration", is_flag=True, help="the integration of this name, when there is a tool too")
    def run(session: Session, name: str, integration: bool) -> None:
        """Show the tool or integration NAME as it was given."""
        wanted = (INTEGRATION,) if integration else (TOOL, INTEGRATION)
        found = {_kind(record): record for record in session.memory().world.records() if _name(record) == name}
        kind = next((kind for kind in wanted if kind in found), None)
        if kind is None:
            raise NotFound(f"there is no {' or '.join(wanted)} {name!r}; `lamina world list` shows all")
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

        A tool of the same name is superseded.
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


def sync(group: click.Group) -> None:
    @command(group, "sync", "lamina world sync")
    @click.pass_context
    def run(context: click.Context, session: Session) -> None:
        """Take in edited files, then write the files anew. Exits with 1 when a file could not be taken in."""
        report = session.operator("world sync").world.sync()
        if session.json:
            output.show_json(report)
        else:
            for name in report["taken"]:
                click.echo(f"taken in: {reveal(name)}")
            for name in report["written"]:
                click.echo(f"written: {reveal(name)}")
            for problem in report["problems"]:
                click.echo(click.style("problem: ", fg="red") + reveal(problem["message"]), err=True)
            if not any(report.values()):
                click.echo("all in step")
        context.exit(1 if report["problems"] else 0)


def _read(source: Path) -> Any:
    if str(source) == "-":
        return parsed(sys.stdin.buffer.read(), "standard input")
    try:
        return parsed(rawfile.read(source), str(source))
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


def _plain(record: Record) -> dict[str, Any]:
    return {**record.metadata, "variables": _variables(record), "record": record.id}


def _kind(record: Record) -> str:
    return str(record.metadata["world"])


def _name(record: Record) -> str:
    return str(record.metadata["name"])


def _held(record: Record) -> dict[str, Any]:
    return dict(record.metadata[HELD[_kind(record)]])


def _variables(record: Record) -> list[str]:
    return credentials.references(_held(record))


def _about(record: Record) -> str:
    """The first line of what is told about an entry, without its name."""
    first = record.content.split("\n", 1)[0]
    return first.partition(": ")[2] or record.content.partition("\n")[2]
