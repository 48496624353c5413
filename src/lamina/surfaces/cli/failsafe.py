"""Commands about the fail-safe: what waits in it, and bringing that into the store."""

from __future__ import annotations

from typing import Any

import click

from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import counted


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    failsafe = click.Group(
        "failsafe", help="Memories that were taken while the store could not be written."
    )
    group.add_command(failsafe)
    status(failsafe)
    replay(failsafe)


def status(group: click.Group) -> None:
    @command(group, "status", "lamina failsafe status")
    def run(session: Session) -> None:
        """Show what waits for the store, and what could not be used. Nothing is replayed."""
        found = session.spool().status()
        if session.json:
            output.show_json(found)
            return
        click.echo(f"{found['folder']}\n")
        rows = [
            (f"{name}.jsonl", f"{found[name]['lines']:,}", output.size(found[name]["bytes"]))
            for name in ("short_term", "long_term")
        ]
        output.table(("file", "waiting", "size"), rows, right=("waiting", "size"))
        if found["oldest"]:
            since = found["oldest"][:16].replace("T", " ")
            click.echo(
                f"\nthe oldest waits since {since} UTC; `lamina failsafe replay` stores all of them"
            )
        else:
            click.echo("\nnothing waits")
        _show_bad(found)


def _show_bad(found: dict[str, Any]) -> None:
    for one in found["broken"]:
        output.attention(f"{one['file']}, line {one['line']}: {one['why']}")
    if found["rejected"]:
        told = f"{counted(found['rejected'], 'line')} could not be used; see rejected.jsonl, which has the reason of each"
        output.attention(told)


def replay(group: click.Group) -> None:
    @command(group, "replay", "lamina failsafe replay")
    def run(session: Session) -> None:
        """Store what waits, each memory once and in its order. Every command that opens the store does the same."""
        with output.progress("replaying") as told:
            done = session.memory(replay=False).replay_failsafe(told)
        if session.json:
            output.show_json(done)
            return
        parts = [f"{done['stored']:,} stored"]
        parts += [f"{done[name]:,} {words}" for name, words in WORDS.items() if done[name]]
        click.echo(", ".join(parts) if done["archived"] else "nothing waits")
        for path in done["archived"]:
            click.echo(f"the lines are in {path} now")


WORDS = {
    "constrained": "of them constrained, see `lamina review list`",
    "known": "known already",
    "rejected": "that could not be used, see rejected.jsonl",
}
