"""Commands about importance: why a memory would have which, and learning what the operator wants."""

from __future__ import annotations

from typing import Any

import click

from lamina.engines.importance import Scored
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.remember import kinds, metadata_of


def register(group: click.Group) -> None:
    """Hang these commands under the program."""

    @group.group("importance")
    def importance_group() -> None:
        """How important a memory is that does not say so itself."""

    explain(importance_group)
    learn(importance_group)


def explain(group: click.Group) -> None:
    @command(
        group, "explain", 'lamina importance explain "Garmin downloader failed again" --kind error'
    )
    @click.argument("text")
    @click.option("--kind", shell_complete=kinds, help="what sort of memory (default crumb)")
    @click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")
    @click.option(
        "--meta", "metadata", multiple=True, metavar="K=V", help="metadata; V may be JSON"
    )
    @click.option("--source", help="where it comes from")
    @click.option("--speaker", help="who said it")
    def run(session: Session, text: str, metadata: tuple[str, ...], **fields: Any) -> None:
        """Show the importance that TEXT would get, and the reasons for it. Nothing is stored."""
        found = session.memory().explain_importance(text, metadata=metadata_of(metadata), **fields)
        if session.json:
            reasons = [{"name": reason.name, "amount": reason.amount} for reason in found.reasons]
            output.show_json({"importance": found.importance, "reasons": reasons})
        else:
            _show(found)


def _show(found: Scored) -> None:
    most = max(abs(reason.amount) for reason in found.reasons)
    rows = [
        (
            reason.name,
            f"{reason.amount:+.2f}",
            output.bar(reason.amount, most)
            if reason.amount >= 0
            else output.less(reason.amount, most),
        )
        for reason in found.reasons
    ]
    output.table(
        ("reason", "amount", ""),
        [*rows, ("= importance", f"{found.importance:.2f}", "")],
        right=("amount",),
    )


def learn(group: click.Group) -> None:
    @command(group, "learn", "lamina importance learn")
    def run(session: Session) -> None:
        """Learn from what was confirmed, rejected, pruned, restored and read; later memories are judged by it."""
        done = session.memory().learn()
        if session.json:
            output.show_json(done)
        elif done["learned"]:
            click.echo(
                f"learned from {done['examples']} examples; the tables alone lose {done['gain']:.3f} more on each"
            )
        else:
            click.echo(
                f"{done['examples']} examples teach nothing that the tables do not know; the tables stand"
            )
