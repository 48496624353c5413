"""Commands about mirrors: status, sync, rebuild, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lamina.errors import LaminaError
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina.memory.agent import Memory
    from lamina.mirrors.verify import Verified

NONE = "no mirror is on; see the settings mirrors.jsonl, mirrors.chroma and mirrors.weaviate"


def register(group: click.Group) -> None:
    """Hang these commands under the program."""

    @group.group("mirror")
    def mirror() -> None:
        """Copies for other programs: JSONL files, ChromaDB, Weaviate."""

    status(mirror)
    sync(mirror)
    rebuild(mirror)
    verify(mirror)


def status(group: click.Group) -> None:
    @command(group, "status", "lamina mirror status")
    def run(session: Session) -> None:
        """Show which mirrors are on, where they are, and how far behind."""
        found = session.memory().mirrors()
        if session.json:
            output.show_json([one.to_dict() for one in found])
            return
        rows = [(one.name, one.place, one.told) for one in found]
        output.table(
            ("mirror", "place", "standing"), rows, wide="standing", wraps=("standing",)
        ) if rows else click.echo(NONE)
        for problem in _unset(session.memory()):
            output.attention(problem)


def problems(memory: Memory) -> list[str]:
    """What `lamina status` has to say about the mirrors, each of which is asked. Only who sees all users may know."""
    from lamina.mirrors import configured

    if memory.user is not None:
        return []
    found = [*configured.contradictions(memory.settings), *_unset(memory)]
    try:
        standings = memory.mirrors() if configured.names(memory.settings) else []
    except LaminaError as error:  # such as a key that is none
        return [*found, error.message]
    return found + [f"the mirror {one.name} {one.told}" for one in standings if not one.ok]


def _unset(memory: Memory) -> list[str]:
    from lamina.mirrors import configured

    return [problem] if (problem := configured.missing_key(memory.settings)) else []


def sync(group: click.Group) -> None:
    @command(group, "sync", "lamina mirror sync")
    @click.pass_context
    def run(context: click.Context, session: Session) -> None:
        """Bring every mirror up to date now. Exits with 1 when one cannot be reached."""
        with output.progress("mirroring") as advance:
            done = session.memory().sync_mirrors(advance)
        _show_done(context, session, done)


def rebuild(group: click.Group) -> None:
    @command(group, "rebuild", "lamina mirror rebuild chroma")
    @click.argument("names", nargs=-1, metavar="[MIRROR]...")
    @click.pass_context
    def run(context: click.Context, session: Session, names: tuple[str, ...]) -> None:
        """Make mirrors anew from the store: those that are named, or all that are on."""
        with output.progress("mirroring") as advance:
            done = session.memory().rebuild_mirrors(names, advance)
        _show_done(context, session, done)


def _show_done(context: click.Context, session: Session, done: Mapping[str, Any]) -> None:
    if session.json:
        output.show_json(done)
    else:
        for name, what in done.items():
            click.echo(
                f"{name}: " + (what.get("error") or f"{what['put']} put, {what['dropped']} dropped")
            )
        if not done:
            click.echo(NONE)
    context.exit(1 if any("error" in what for what in done.values()) else 0)


def verify(group: click.Group) -> None:
    @command(group, "verify", "lamina mirror verify")
    @click.argument("names", nargs=-1, metavar="[MIRROR]...")
    @click.pass_context
    def run(context: click.Context, session: Session, names: tuple[str, ...]) -> None:
        """Compare everything that mirrors hold with the store. Exits with 1 if anything differs."""
        with output.progress("comparing") as advance:
            found = session.memory().verify_mirrors(names, advance)
        if session.json:
            output.show_json({name: one.to_dict() for name, one in found.items()})
        else:
            for name, one in found.items():
                _show_verified(name, one)
            if not found:
                click.echo(NONE)
        context.exit(0 if all(one.ok for one in found.values()) else 1)


def _show_verified(name: str, found: Verified) -> None:
    waiting = (
        f"; {counted(found.waiting, 'change waits', 'changes wait')} for the next sync"
        if found.waiting
        else ""
    )
    if found.ok:
        click.echo(
            click.style("ok   ", fg="green")
            + f"{name:<9} {counted(found.held, 'memory', 'memories')}{waiting}"
        )
        return
    if not found.is_compared:
        again = f"once that is mended, `lamina mirror verify {name}` compares it"
        click.echo(
            click.style("BAD  ", fg="red") + f"{name:<9} not compared: {found.problem}; {again}"
        )
        return
    counts = (
        f"{getattr(found, kind):,} {kind}"
        for kind in ("missing", "outdated", "unknown")
        if getattr(found, kind)
    )
    what = found.problem or f"{', '.join(counts)} of {found.held:,} held{waiting}"
    click.echo(
        click.style("BAD  ", fg="red")
        + f"{name:<9} {what}; `lamina mirror rebuild {name}` makes it anew"
    )
    for kind, ids in found.ids.items():
        click.echo(f"     {kind}: {', '.join(ids)}")
