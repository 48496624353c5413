"""Commands about copies of the whole store: backup, restore."""

from __future__ import annotations

from pathlib import Path

import click

from lamina.errors import Corrupt, InvalidInput, Refused
from lamina.store.upkeep.backup import backups
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted

PATH = click.Path(path_type=Path)


@command("backup", "lamina backup /media/usb/lamina-monday", needs_known_agent=True)
@click.argument("path", type=PATH, required=False)
def backup(invocation: Invocation, path: Path | None) -> None:
    """Copy the store as it is now, to the new folder PATH or into the home. Other processes may
    continue to write.
    """
    target = invocation.operator("backup").backup(path)
    if invocation.json:
        output.show_json({"path": str(target)})
    else:
        click.echo(f"backed up to {target}")


@command("restore", "lamina restore /media/usb/lamina-monday --yes")
@click.argument("path", type=PATH, required=False)
@click.option(
    "--empty",
    is_flag=True,
    help="without a backup: start an empty store in place of a damaged one",
)
@options.yes
def restore(invocation: Invocation, path: Path | None, empty: bool, yes: bool) -> None:
    """Replace the store with the backup in the folder PATH, even if the store is damaged;
    without PATH, list backups.

    The current store is kept: as a backup if it is sound, otherwise under damaged/.
    """
    invocation.check_operator("restore")
    known = backups(invocation.home.agent_folder(invocation.agent))
    if empty:
        _begin_anew(invocation, path, known, yes)
        return
    if path is None:
        _show_backups(invocation, known)
        return
    outlook = invocation.before_restore(path)
    if not invocation.json:
        for sentence in outlook.sentences:
            click.echo(sentence)
    if not yes and not output.confirmed(f"Replace the memory of {invocation.agent} with {path}?"):
        raise Refused("nothing was restored; use --yes to skip the question")
    with output.progress("checking") as advance:
        report = invocation.restore(path, advance)
    if invocation.json:
        output.show_json(report)
        return
    click.echo(f"restored {counted(report['records'], 'record')} from {path}")
    click.echo(f"what was there before is in {report['kept']}")


def _begin_anew(invocation: Invocation, path: Path | None, known: list[Path], yes: bool) -> None:
    """Begin an empty store in place of a damaged one, if a person agrees."""
    if path is not None:
        raise InvalidInput("--empty takes no backup: give a PATH or --empty, not both")
    damage = invocation.damage()
    if damage and known and not invocation.json:
        advice = f"there is a backup, which `lamina restore {known[0]}` puts in its place"
        output.attention(advice, err=True)
    question = f"{damage}\nSet it aside, and begin an empty memory of {invocation.agent}?"
    if damage and not yes and not output.confirmed(question):
        raise Refused("nothing was changed; use --yes to skip the question")
    report = invocation.begin_anew()
    if invocation.json:
        output.show_json(report)
        return
    number = report["records"]
    memories = counted(number, "memory", "memories")
    click.echo(
        "started an empty store" + (f"; {memories} of the fail-safe came into it" if number else "")
    )
    click.echo(f"what was there before is in {report['kept']}")


def _show_backups(invocation: Invocation, known: list[Path]) -> None:
    if not known and invocation.damage():
        raise Corrupt(
            f"the store of {invocation.agent} is damaged, and there is no backup in the home;"
            " if there is none elsewhere (`lamina restore PATH`) either, `lamina restore --empty`"
            " sets the damaged files aside and begins an empty store"
        )
    if invocation.json:
        output.show_json([str(path) for path in known])
    elif known:
        click.secho("backups, newest first", bold=True)
        for path in known:  # unabbreviated, even in a narrow terminal
            click.echo(path)
    else:
        click.echo("there is no backup in the home; `lamina backup` makes one")
