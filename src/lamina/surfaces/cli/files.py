"""Commands that write or read files: export, import, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lamina.errors import Refused
from lamina.home import given_path
from lamina.store.backup import backups, check
from lamina.surfaces.cli import output
from lamina.surfaces.cli.session import Session, command
from lamina.text import reveal

PATH = click.Path(path_type=Path)
SHOWN = 20


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    export(group)
    import_(group)
    backup(group)
    restore(group)


def export(group: click.Group) -> None:
    @command(group, "export", "lamina export ~/memories.json")
    @click.argument("path", type=PATH, required=False)
    @click.option("--public", is_flag=True, help="only what may be shown to others: active, nothing about people")
    @click.option("--force", is_flag=True, help="overwrite a file, or write into a git work tree")
    def run(session: Session, path: Path | None, public: bool, force: bool) -> None:
        """Write all memories with their history as JSON, to PATH or into the private home."""
        with output.progress("exporting") as advance:
            target = session.operator("export").export(path, public=public, force=force, progress=advance)
        if session.json:
            output.show_json({"path": str(target), "bytes": target.stat().st_size})
        else:
            click.echo(f"exported to {target} ({output.size(target.stat().st_size)})")


def import_(group: click.Group) -> None:
    @command(group, "import", "lamina import ~/memories.json")
    @click.argument("path", type=PATH)
    @click.option("--trust", is_flag=True, help="believe the file: its trust and its active long-term memories count")
    def run(session: Session, path: Path, trust: bool) -> None:
        """Take in an export, or a JSONL file in the form of Sky, Milton or Lamina.

        An empty store becomes what was exported; another takes the records as external. Lines that are no memories are
        told with their numbers and kept in a .rejected file beside the source.
        """
        with output.progress("importing") as advance:
            report = session.operator("import").import_(path, trust, advance)
        if session.json:
            output.show_json(report)
            return
        rejected = report.get("rejected_count", 0)
        told = f"{report['mode']}: {report['taken']} taken, {report['skipped']} here already"
        click.echo(told + (f", {rejected} rejected" if rejected else ""))
        _show_rejected(report)
        if report["pending"]:
            click.echo(f"{report['pending']} wait for review (state constrained)")


def _show_rejected(report: dict[str, Any]) -> None:
    """The lines that were not taken: where they are, and what is wrong with them."""
    rejected = report.get("rejected", [])
    for line in rejected[:SHOWN]:
        told = f"{line['file']}:{line['line']}: {reveal(line['message'])}"
        click.echo(click.style("rejected ", fg="yellow") + told, err=True)
    if rejected:
        more = report["rejected_count"] - len(rejected[:SHOWN])
        rest = f"and {more} more; " if more else ""
        click.echo(f"{rest}kept in {report['rejected_file']}", err=True)


def backup(group: click.Group) -> None:
    @command(group, "backup", "lamina backup /media/usb/lamina-monday")
    @click.argument("path", type=PATH, required=False)
    def run(session: Session, path: Path | None) -> None:
        """Copy the store as it is now, to the new folder PATH or into the home. Others may go on writing."""
        target = session.operator("backup").backup(path)
        if session.json:
            output.show_json({"path": str(target)})
        else:
            click.echo(f"backed up to {target}")


def restore(group: click.Group) -> None:
    @command(group, "restore", "lamina restore /media/usb/lamina-monday --yes")
    @click.argument("path", type=PATH, required=False)
    @click.option("--yes", is_flag=True, help="do not ask")
    def run(session: Session, path: Path | None, yes: bool) -> None:
        """Replace the store by the backup in the folder PATH, also when the store is damaged; without PATH, list backups.

        What is there now is kept: as a backup if it is sound, under damaged/ if it is not.
        """
        session.check_operator("restore")
        found = backups(session.home.agent_folder(session.agent))
        if path is None:
            _show_backups(session, found)
            return
        check(given_path(path))
        if not yes and not output.confirmed(f"Replace the memory of {session.agent} by {path}?"):
            raise Refused("nothing was restored")
        with output.progress("checking") as advance:
            report = session.restore(path, advance)
        if session.json:
            output.show_json(report)
            return
        click.echo(f"restored {report['records']} records from {path}")
        click.echo(f"what was there before is in {report['kept']}")


def _show_backups(session: Session, found: list[Path]) -> None:
    if session.json:
        output.show_json([str(path) for path in found])
    elif found:
        output.table(("backups, newest first",), [(path,) for path in found])
    else:
        click.echo("there is no backup in the home; `lamina backup` makes one")
