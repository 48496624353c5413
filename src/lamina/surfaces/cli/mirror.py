"""Commands about mirrors: mirror status, sync, rebuild and verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lamina.errors import LaminaError
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina.memory.agent import Memory
    from lamina.mirrors.verify import Verified

NONE = "no mirror is on; see the settings mirrors.jsonl, mirrors.chroma and mirrors.weaviate"
DIFFERENCES = ("missing", "outdated", "unknown")


@click.group()
def mirror() -> None:
    """Copies for other programs: JSONL files, ChromaDB, Weaviate."""


@command("status", "lamina mirror status", under=mirror, needs_known_agent=True)
def mirror_status(invocation: Invocation) -> None:
    """Show which mirrors are on, where they are, and how far behind."""
    mirrors = invocation.memory().mirrors()
    if invocation.json:
        output.show_json([one.to_dict() for one in mirrors])
        return
    if mirrors:
        rows = [(one.name, one.place, one.told) for one in mirrors]
        columns = ("mirror", "place", "standing")
        output.table(columns, rows, wide="standing", wraps=("standing",))
    else:
        click.echo(NONE)
    for problem in _missing_key(invocation.memory()):
        output.attention(problem)


def problems_of_mirrors(memory: Memory) -> list[str]:
    """List what `lamina status` reports about the mirrors, each of which is queried.

    Only a caller that sees all users may know.
    """
    from lamina.mirrors import configured

    if memory.user is not None:
        return []
    problems = [*configured.contradictions(memory.settings), *_missing_key(memory)]
    try:
        mirrors = memory.mirrors() if configured.names(memory.settings) else []
    except LaminaError as error:  # such as a key that is not set
        return [*problems, error.message]
    return problems + [f"the mirror {one.name} {one.told}" for one in mirrors if not one.ok]


def _missing_key(memory: Memory) -> list[str]:
    from lamina.mirrors import configured

    return [problem] if (problem := configured.missing_key(memory.settings)) else []


@command("sync", "lamina mirror sync", under=mirror)
def mirror_sync(invocation: Invocation) -> int:
    """Bring every mirror up to date now. Exits with 1 when one cannot be reached."""
    with output.progress("mirroring") as advance:
        outcomes = invocation.memory().sync_mirrors(advance)
    return _show_outcomes(invocation, outcomes)


@command("rebuild", "lamina mirror rebuild chroma", under=mirror)
@click.argument("names", nargs=-1, metavar="[MIRROR]...")
def mirror_rebuild(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Rebuild mirrors from the store: those that are named, or all that are on."""
    with output.progress("mirroring") as advance:
        outcomes = invocation.memory().rebuild_mirrors(names, advance)
    return _show_outcomes(invocation, outcomes)


def _show_outcomes(invocation: Invocation, outcomes: Mapping[str, Any]) -> int:
    """Print the outcome for each mirror, and return 1 if any failed."""
    if invocation.json:
        output.show_json(outcomes)
    elif not outcomes:
        click.echo(NONE)
    else:
        for name, outcome in outcomes.items():
            done = outcome.get("error") or f"{outcome['put']} put, {outcome['dropped']} dropped"
            click.echo(f"{name}: {done}")
    return EXIT_FAILED if any("error" in outcome for outcome in outcomes.values()) else 0


@command("verify", "lamina mirror verify", under=mirror, needs_known_agent=True)
@click.argument("names", nargs=-1, metavar="[MIRROR]...")
def mirror_verify(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Compare everything that mirrors hold with the store. Exits with 1 if anything differs."""
    with output.progress("comparing") as advance:
        comparisons = invocation.memory().verify_mirrors(names, advance)
    if invocation.json:
        output.show_json({name: one.to_dict() for name, one in comparisons.items()})
    elif not comparisons:
        click.echo(NONE)
    else:
        for name, one in comparisons.items():
            _show_verified(name, one)
    return 0 if all(one.ok for one in comparisons.values()) else EXIT_FAILED


def _show_verified(name: str, compared: Verified) -> None:
    waiting = counted(compared.waiting, "change waits", "changes wait")
    later = f"; {waiting} for the next sync" if compared.waiting else ""
    if compared.ok:
        memories = counted(compared.held, "memory", "memories")
        click.echo(f"{click.style('ok   ', fg='green')}{name:<9} {memories}{later}")
        return
    mark = f"{click.style('BAD  ', fg='red')}{name:<9}"
    if not compared.is_compared:
        again = f"once that is fixed, `lamina mirror verify {name}` compares it"
        click.echo(f"{mark} not compared: {compared.problem}; {again}")
        return
    counts = {kind: getattr(compared, kind) for kind in DIFFERENCES}
    different = ", ".join(f"{number:,} {kind}" for kind, number in counts.items() if number)
    what = compared.problem or f"{different} of {compared.held:,} held{later}"
    click.echo(f"{mark} {what}; `lamina mirror rebuild {name}` rebuilds it")
    for kind, ids in compared.ids.items():
        click.echo(f"     {kind}: {', '.join(ids)}")
