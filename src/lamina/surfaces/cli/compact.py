"""Commands that find records to merge: semantic compact, procedural dedup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from lamina.engines import review
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Invocation, command


@click.group()
def semantic() -> None:
    """What is known."""


@command("compact", "lamina semantic compact --create-proposals", under=semantic)
@click.option(
    "--create-proposals",
    is_flag=True,
    help="propose a summary for each group, to be confirmed in review",
)
def semantic_compact(invocation: Invocation, create_proposals: bool) -> None:
    """Show facts that say the same or share a topic, and what could replace them."""
    _show(invocation, invocation.memory().compact(create_proposals))


@click.group()
def procedural() -> None:
    """How things are done."""


@command("dedup", "lamina procedural dedup --create-proposals", under=procedural)
@click.option(
    "--create-proposals",
    is_flag=True,
    help="propose one record for each group, to be confirmed in review",
)
def procedural_dedup(invocation: Invocation, create_proposals: bool) -> None:
    """Show the procedures of each workflow, where they differ, and which one would stay."""
    _show(invocation, invocation.memory().dedup(create_proposals))


def _show(invocation: Invocation, groups: Sequence[dict[str, Any]]) -> None:
    if invocation.json:
        output.show_json(groups)
        return
    if not groups:
        click.echo("nothing to merge")
        return
    rows = [
        (group["why"], len(group["sources"]), group["outcome"], group["content"])
        for group in groups
    ]
    columns = ("group", "records", "outcome", "would say")
    output.table(columns, rows, wide="would say", right=("records",))
    for group in groups:
        for step in review.differences({**group, "duplicates": group["sources"]}):
            click.echo(f"  {group['why'].partition(' differ')[0]}, {step}")
    outcomes = {group["outcome"] for group in groups}
    if "possible" in outcomes:
        click.echo("nothing was changed; --create-proposals adds these to the review queue")
    if "proposed" in outcomes:
        click.echo("see `lamina review`")
