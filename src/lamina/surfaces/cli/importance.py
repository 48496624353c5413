"""Commands about importance: explaining a memory's importance, and learning from operators."""

from __future__ import annotations

from typing import Any

import click

from lamina.engines.importance import Scored
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command


@click.group()
def importance() -> None:
    """How the importance of a memory is rated when none is given."""


@command(
    "explain",
    'lamina importance explain "Garmin downloader failed again" --kind error',
    under=importance,
)
@click.argument("text")
@options.kind_of_new
@options.tags_of_new
@options.metadata_of_new
@click.option("--source", help="where it comes from")
@click.option("--speaker", help="who said it")
def importance_explain(
    invocation: Invocation, text: str, metadata: tuple[str, ...], **fields: Any
) -> None:
    """Show the importance that TEXT would get, and the reasons for it. Nothing is stored."""
    fields["metadata"] = options.metadata_from(metadata)
    scored = invocation.memory().explain_importance(text, **fields)
    if invocation.json:
        reasons = [{"name": reason.name, "amount": reason.amount} for reason in scored.reasons]
        output.show_json({"importance": scored.importance, "reasons": reasons})
    else:
        _show(scored)


def _show(scored: Scored) -> None:
    most = max(abs(reason.amount) for reason in scored.reasons)
    rows = []
    for reason in scored.reasons:
        draw = output.bar if reason.amount >= 0 else output.less
        rows.append((reason.name, f"{reason.amount:+.2f}", draw(reason.amount, most)))
    rows.append(("= importance", f"{scored.importance:.2f}", ""))
    output.table(("reason", "amount", ""), rows, right=("amount",))


@command("learn", "lamina importance learn", under=importance)
def importance_learn(invocation: Invocation) -> None:
    """Learn the importance of later memories from decisions, restores and reads."""
    report = invocation.memory().learn()
    if invocation.json:
        output.show_json(report)
    elif report["learned"]:
        gain = f"the tables alone lose {report['gain']:.3f} more on each"
        click.echo(f"learned from {report['examples']} examples; {gain}")
    else:
        nothing = "teach nothing that the tables do not know; the tables stand"
        click.echo(f"{report['examples']} examples {nothing}")
