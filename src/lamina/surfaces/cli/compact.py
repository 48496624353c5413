"""Commands that find records which could be one: compact, dedup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    semantic = click.Group("semantic", help="What is known.")
    procedural = click.Group("procedural", help="How things are done.")
    group.add_command(semantic)
    group.add_command(procedural)
    compact(semantic)
    dedup(procedural)


def compact(group: click.Group) -> None:
    @command(group, "compact", "lamina semantic compact --create-proposals")
    @click.option(
        "--create-proposals",
        is_flag=True,
        help="propose a summary for each group, to be confirmed in review",
    )
    def run(session: Session, create_proposals: bool) -> None:
        """Show which facts say the same or share a topic, and what could stand for them."""
        _show(session, session.memory().compact(create_proposals))


def dedup(group: click.Group) -> None:
    @command(group, "dedup", "lamina procedural dedup --create-proposals")
    @click.option(
        "--create-proposals",
        is_flag=True,
        help="propose one record for each group, to be confirmed in review",
    )
    def run(session: Session, create_proposals: bool) -> None:
        """Show which procedures of a workflow are the same, and what could stand for them."""
        _show(session, session.memory().dedup(create_proposals))


def _show(session: Session, found: Sequence[dict[str, Any]]) -> None:
    if session.json:
        output.show_json(found)
        return
    if not found:
        click.echo("nothing to put together")
        return
    rows = [
        (group["why"], len(group["sources"]), group["outcome"], group["content"]) for group in found
    ]
    output.table(
        ("group", "records", "outcome", "would say"), rows, wide="would say", right=("records",)
    )
    if any(group["outcome"] == "possible" for group in found):
        click.echo("--create-proposals puts these before a person; nothing was changed")
    if any(group["outcome"] == "proposed" for group in found):
        click.echo("see `lamina review`")
