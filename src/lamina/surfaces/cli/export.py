"""The command that writes memories to a file: export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lamina.errors import InvalidInput
from lamina.formats import exporting
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted


@command("export", "lamina export ~/memories.md --format markdown", needs_known_agent=True)
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    default="lamina",
    help=f"one of {', '.join(exporting.NAMES)}",
)
@click.option(
    "--public",
    is_flag=True,
    help="only memories that may be shown to others: active, nothing about people",
)
@options.state_option("only this state; may be repeated")
@options.session
@click.option("--force", is_flag=True, help="overwrite a file, or write into a git work tree")
def export(
    invocation: Invocation, path: Path | None, format_: str, public: bool, **chosen: Any
) -> None:
    """Write all memories with their history as JSON, to PATH or into the private home.

    With --state or --session only the memories that match are written, without their history.
    Other formats hold less: the report says which memories were left out, and which fields of
    the others are lost.
    """
    if path == Path("-"):
        raise InvalidInput("export writes a file, not standard output; give a path")
    if format_ != "lamina":
        _export_as(invocation, format_, path, public, **chosen)
        return
    operator = invocation.operator("export")
    with output.progress("exporting") as advance:
        target = operator.export(path, public=public, progress=advance, **chosen)
    size = target.stat().st_size
    if invocation.json:
        output.show_json({"path": str(target), "bytes": size})
    else:
        click.echo(f"exported to {target} ({output.size(size)})")


def _export_as(
    invocation: Invocation, name: str, path: Path | None, public: bool, **chosen: Any
) -> None:
    """Export to the format of another program, and report what that cannot hold."""
    if public:
        raise InvalidInput(
            "--public is for Lamina's own format; other formats hold all that they can"
        )
    if path is None:
        raise InvalidInput(f"say where to write: lamina export PATH --format {name}")
    operator = invocation.operator("export")
    with output.progress("exporting") as advance:
        report = operator.export_as(name, path, progress=advance, **chosen)
    if invocation.json:
        output.show_json(report)
        return
    memories = counted(report["records"], "memory", "memories")
    click.echo(f"exported {memories} to {report['path']} as {name}")
    for why, number in report["left_out"].items():
        click.echo(f"left out {number}: {why}")
    if report["lost"]:
        lost = ", ".join(f"{field} ({number})" for field, number in report["lost"].items())
        click.echo(f"{name} cannot hold: {lost}")
