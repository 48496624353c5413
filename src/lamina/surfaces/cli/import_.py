"""The command that imports memories from a file: import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lamina.formats import registry
from lamina.formats.importing import Policy
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import counted, reveal

SHOWN = 20  # lines of rejected input to show
ACCEPTED = ("taken", "skipped", "grown", "replaced")  # counts of what was not rejected
SELDOM = {
    "grown": "grown",
    "replaced": "replaced",
    "removed": "removed",
    "rejected_count": "rejected",
}


@command("import", "lamina import ~/memories.json --dry-run")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--trust", is_flag=True, help="believe the file: its trust, decisions and grants count"
)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help=f"instead of detecting it: one of {', '.join(registry.NAMES)}",
)
@click.option(
    "--on-conflict",
    type=click.Choice([policy.value for policy in Policy]),
    default="skip",
    help="what happens to memories that are here already",
)
@click.option("--dry-run", is_flag=True, help="change nothing, and report what would happen")
def import_(
    invocation: Invocation,
    path: Path,
    trust: bool,
    format_: str | None,
    on_conflict: str,
    dry_run: bool,
) -> int:
    """Import an export of Lamina, or a file of Sky, Milton, Skylattice, Sentinel, mem0 or the
    MCP memory server.

    Without --trust a file has no authority: its records are external, and those that would become
    facts wait for review. With --trust an export of Lamina restores an empty store as it was.
    Lines that are not memories are reported and kept in a .rejected file beside the source.
    Memories that are here already are skipped, extended with data of the file (merge), or replaced
    by those of the file (replace). Exits with 1 if everything was rejected.
    """
    operator = invocation.operator("import")
    with output.progress("importing") as advance:
        report = operator.import_(
            path, trust, advance, format=format_, on_conflict=on_conflict, dry_run=dry_run
        )
    in_vain = bool(report.get("rejected_count")) and not any(report.get(name) for name in ACCEPTED)
    if invocation.json:
        output.show_json(report)
    else:
        _show(report)
        if in_vain:
            known = f"; perhaps it is none of the known forms ({', '.join(registry.NAMES)})"
            hint = known if report["mode"] == "lines" else ""
            click.echo(f"nothing was imported: all of {path} was rejected{hint}", err=True)
        if waiting := report["pending"]:
            verb = "waits" if waiting == 1 else "wait"
            click.echo(f"{waiting} {verb} for review (state constrained)")
    return EXIT_FAILED if in_vain else 0


def _show(report: dict[str, Any]) -> None:
    """Print what happened to a file, then what was believed and what was rejected."""
    mode = report["mode"] if report["mode"] != "lines" else report["format"]
    counts = [f"{report['taken']} taken", f"{report['skipped']} here already"]
    counts += [f"{report[name]} {word}" for name, word in SELDOM.items() if report.get(name)]
    hint = "; this was a dry run, nothing has changed" if report.get("dry_run") else ""
    click.echo(f"{mode}: {', '.join(counts)}{hint}")
    for sentence in _authority(report):
        click.echo(sentence)
    if lost := report.get("lost"):
        named = ", ".join(f"{reveal(name)} ({number})" for name, number in lost.items())
        click.echo(f"lost, as there is no place for it: {named}")
    _show_rejected(report)


def _authority(report: dict[str, Any]) -> Iterator[str]:
    """Describe how much of a file was believed, and what was not."""
    if number := report.get("external"):
        records = counted(number, "record")
        yield f"trust: {records} as external (--trust believes what the file says)"
    if number := report.get("still_external"):
        records = counted(number, "record")
        yield f"trust: {records} came in as external before and stay so; see --on-conflict replace"
    if left := report.get("left_out"):
        parts = [counted(number, name.removesuffix("s")) for name, number in left.items()]
        yield f"left out: {', '.join(parts)}"
    if report.get("restorable"):
        yield (
            "to restore everything as it was instead,"
            " import the file with --trust into an empty store"
        )
    if number := report.get("grants"):
        grants = counted(number, "grant")
        yield f"trust: as the file says, with {grants} to other agents (`lamina grants`)"


def _show_rejected(report: dict[str, Any]) -> None:
    """Print what was not imported: its place, and what is wrong with it."""
    shown = report.get("rejected", [])[:SHOWN]
    for item in shown:
        source = f"{item['file']}:{item['line']}" if "file" in item else item["id"]
        mark = click.style("rejected ", fg="yellow")
        click.echo(f"{mark}{source}: {reveal(item['message'])}", err=True)
    more = report.get("rejected_count", 0) - len(shown)
    rest = [f"and {more} more"] if more > 0 else []
    rest += [f"kept in {path}"] if (path := report.get("rejected_file")) else []
    if rest:
        click.echo("; ".join(rest), err=True)
