"""Commands that write or read files: export, import, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lamina.errors import Corrupt, InvalidInput, Refused
from lamina.formats import exporting, registry
from lamina.formats.importing import Policy
from lamina.store.upkeep.backup import backups
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import counted, reveal

PATH = click.Path(path_type=Path)
SHOWN = 20
KEPT = ("taken", "skipped", "grown", "replaced")  # what became of that which was not rejected

CONFLICTS = click.Choice([one.value for one in Policy])


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    export(group)
    import_(group)
    backup(group)
    restore(group)


def export(group: click.Group) -> None:
    @command(group, "export", "lamina export ~/memories.md --format markdown")
    @click.argument("path", type=PATH, required=False)
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
        help="only what may be shown to others: active, nothing about people",
    )
    @click.option("--force", is_flag=True, help="overwrite a file, or write into a git work tree")
    def run(session: Session, path: Path | None, format_: str, public: bool, force: bool) -> None:
        """Write all memories with their history as JSON, to PATH or into the private home.

        Other formats hold less: the report says which memories were left out, and which fields of the others are lost.
        """
        if format_ != "lamina":
            _export_as(session, format_, path, public, force)
            return
        with output.progress("exporting") as advance:
            target = session.operator("export").export(
                path, public=public, force=force, progress=advance
            )
        if session.json:
            output.show_json({"path": str(target), "bytes": target.stat().st_size})
        else:
            click.echo(f"exported to {target} ({output.size(target.stat().st_size)})")


def _export_as(session: Session, name: str, path: Path | None, public: bool, force: bool) -> None:
    if public:
        raise InvalidInput(
            "--public is for Lamina's own format; other formats hold all that they can"
        )
    if path is None:
        raise InvalidInput(f"say where to write: lamina export PATH --format {name}")
    with output.progress("exporting") as advance:
        report = session.operator("export").export_as(name, path, force=force, progress=advance)
    if session.json:
        output.show_json(report)
        return
    click.echo(
        f"exported {counted(report['records'], 'memory', 'memories')} to {report['path']} as {name}"
    )
    for why, number in report["left_out"].items():
        click.echo(f"left out {number}: {why}")
    if report["lost"]:
        lost = ", ".join(f"{field} ({number})" for field, number in report["lost"].items())
        click.echo(f"{name} cannot hold: {lost}")


def import_(group: click.Group) -> None:
    @command(group, "import", "lamina import ~/memories.json --dry-run")
    @click.argument("path", type=PATH)
    @click.option(
        "--trust", is_flag=True, help="believe the file: its trust, decisions and grants count"
    )
    @click.option(
        "--format",
        "format_",
        metavar="NAME",
        help=f"instead of looking: one of {', '.join(registry.NAMES)}",
    )
    @click.option(
        "--on-conflict", type=CONFLICTS, default="skip", help="what happens to what is here already"
    )
    @click.option("--dry-run", is_flag=True, help="change nothing, and report what would happen")
    def run(
        session: Session,
        path: Path,
        trust: bool,
        format_: str | None,
        on_conflict: str,
        dry_run: bool,
    ) -> int:
        """Take in an export of Lamina, or a file of Sky, Milton, Skylattice, Sentinel, mem0 or the MCP memory server.

        Without --trust nothing of a file has authority: its records are external, and what would be believed waits
        for review. With --trust an export of Lamina restores an empty store as it was. What is no memory is told with
        its line and kept in a .rejected file beside the source. What is here already is skipped; or it grows by what
        the file adds (merge), or what the file says takes its place (replace). Exits with 1 if everything was rejected.
        """
        operator = session.operator("import")
        with output.progress("importing") as advance:
            report = operator.import_(
                path, trust, advance, format=format_, on_conflict=on_conflict, dry_run=dry_run
            )
        in_vain = bool(report.get("rejected_count")) and not any(report.get(name) for name in KEPT)
        if session.json:
            output.show_json(report)
            return int(in_vain)
        click.echo(_summary(report))
        for sentence in _authority(report):
            click.echo(sentence)
        _show_rejected(report)
        if in_vain:
            known = (
                f"; perhaps it is none of the known forms ({', '.join(registry.NAMES)})"
                if report["mode"] == "lines"
                else ""
            )
            click.echo(f"nothing was taken: all of {path} was rejected{known}", err=True)
        if report["pending"]:
            click.echo(
                f"{report['pending']} {'waits' if report['pending'] == 1 else 'wait'} for review (state constrained)"
            )
        return int(in_vain)


def _summary(report: dict[str, Any]) -> str:
    """What became of a file, in a line."""
    mode = report["mode"] if report["mode"] != "lines" else report["format"]
    seldom = {
        "grown": "grown",
        "replaced": "replaced",
        "removed": "removed",
        "rejected_count": "rejected",
    }
    more = [f"{report[name]} {word}" for name, word in seldom.items() if report.get(name)]
    told = ", ".join([f"{report['taken']} taken", f"{report['skipped']} here already", *more])
    return f"{mode}: {told}" + (
        "; this was a dry run, nothing has changed" if report.get("dry_run") else ""
    )


def _authority(report: dict[str, Any]) -> list[str]:
    """What a file was believed, and what it was not."""
    told = []
    if number := report.get("external"):
        told.append(
            f"trust: {counted(number, 'record')} as external (--trust believes what the file says)"
        )
    if number := report.get("still_external"):
        told.append(
            f"trust: {counted(number, 'record')} came in as external before and stay so; see --on-conflict replace"
        )
    if left := report.get("left_out"):
        told.append(
            "left out: "
            + ", ".join(counted(number, name.removesuffix("s")) for name, number in left.items())
        )
    if report.get("restorable"):
        told.append(
            "to restore everything as it was instead, import the file with --trust into an empty store"
        )
    if number := report.get("grants"):
        told.append(
            f"trust: as the file says, with {counted(number, 'grant')} to other agents (`lamina grants`)"
        )
    return told


def _show_rejected(report: dict[str, Any]) -> None:
    """What was not taken: where it is, and what is wrong with it."""
    rejected = report.get("rejected", [])
    for one in rejected[:SHOWN]:
        place = f"{one['file']}:{one['line']}" if "file" in one else one["id"]
        click.echo(
            click.style("rejected ", fg="yellow") + f"{place}: {reveal(one['message'])}", err=True
        )
    more = report.get("rejected_count", 0) - len(rejected[:SHOWN])
    told = [
        *([f"and {more} more"] if more > 0 else []),
        *([f"kept in {kept}"] if (kept := report.get("rejected_file")) else []),
    ]
    if told:
        click.echo("; ".join(told), err=True)


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
    @click.option(
        "--empty",
        is_flag=True,
        help="without any backup: begin an empty store in the place of a damaged one",
    )
    @click.option("--yes", is_flag=True, help="do not ask")
    def run(session: Session, path: Path | None, empty: bool, yes: bool) -> None:
        """Replace the store by the backup in the folder PATH, also when the store is damaged; without PATH, list backups.

        What is there now is kept: as a backup if it is sound, under damaged/ if it is not.
        """
        session.check_operator("restore")
        found = backups(session.home.agent_folder(session.agent))
        if empty:
            _begin_anew(session, path, found, yes)
            return
        if path is None:
            _show_backups(session, found)
            return
        told = session.before_restore(path)
        if not session.json:
            for sentence in told.sentences:
                click.echo(sentence)
        if not yes and not output.confirmed(f"Replace the memory of {session.agent} by {path}?"):
            raise Refused("nothing was restored; --yes does not ask")
        with output.progress("checking") as advance:
            report = session.restore(path, advance)
        if session.json:
            output.show_json(report)
            return
        click.echo(f"restored {counted(report['records'], 'record')} from {path}")
        click.echo(f"what was there before is in {report['kept']}")


def _begin_anew(session: Session, path: Path | None, found: list[Path], yes: bool) -> None:
    """An empty store in the place of a damaged one, if a person wants that."""
    if path is not None:
        raise InvalidInput("--empty takes no backup: give a PATH or --empty, not both")
    damage = session.damage()
    if damage and found and not session.json:
        output.attention(
            f"there is a backup, which `lamina restore {found[0]}` puts in its place", err=True
        )
    if (
        damage
        and not yes
        and not output.confirmed(
            f"{damage}\nSet it aside, and begin an empty memory of {session.agent}?"
        )
    ):
        raise Refused("nothing was changed; --yes does not ask")
    report = session.begin_anew()
    if session.json:
        output.show_json(report)
        return
    waited = (
        f"; {counted(report['records'], 'memory', 'memories')} of the fail-safe came into it"
        if report["records"]
        else ""
    )
    click.echo(f"begun an empty store{waited}")
    click.echo(f"what was there before is in {report['kept']}")


def _show_backups(session: Session, found: list[Path]) -> None:
    if not found and session.damage():
        raise Corrupt(
            f"the store of {session.agent} is damaged, and there is no backup in the home; if there is none elsewhere"
            " (`lamina restore PATH`) either, `lamina restore --empty` sets the damaged files aside and begins an empty store"
        )
    if session.json:
        output.show_json([str(path) for path in found])
    elif found:
        click.secho("backups, newest first", bold=True)
        for path in found:  # each whole, however narrow the terminal is
            click.echo(path)
    else:
        click.echo("there is no backup in the home; `lamina backup` makes one")
