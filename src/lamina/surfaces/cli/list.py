"""Commands that show records as they are stored: list, inspect."""

from __future__ import annotations

from typing import Any

import click

from lamina.model.clock import is_id
from lamina.model.record import Layer, State
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command

FILTERS = ("layers", "kinds", "tags", "since", "until", "session", "project", "speaker")


@command("list", "lamina list --layer semantic --tag garmin --limit 20", needs_known_agent=True)
@options.layers
@options.states
@click.option(
    "--all", "every", is_flag=True, help="records in every state and layer, working memory too"
)
@options.kinds
@options.tags
@options.since
@options.until
@options.session
@options.project
@click.option("--speaker", help="only what this person said")
@options.limit
@options.shared_by
def list_(
    invocation: Invocation,
    states: tuple[str, ...],
    every: bool,
    shared_by: str | None,
    **filters: Any,
) -> None:
    """List memories, newest first."""
    is_filtered = any((every, states, shared_by, *(filters[name] for name in FILTERS)))
    if every and not filters["layers"]:
        filters["layers"] = tuple(Layer)
    chosen = None if every else states or (State.ACTIVE,)
    records = invocation.viewer(shared_by).list(states=chosen, **filters)
    if invocation.json:
        output.show_json([record.to_dict() for record in records])
    elif records:
        output.records(records, every_user=invocation.memory().user is None)
    elif is_filtered:
        click.echo("no memory matches")
    else:
        click.echo("no memories here" + invocation.other_agents())


@command("inspect", "lamina inspect 01k9zq5e7cxxxxxxxxxxxxxxxx", needs_known_agent=True)
@click.argument("record_id", metavar="ID")
@options.shared_by
def inspect(invocation: Invocation, record_id: str, shared_by: str | None) -> None:
    """Show everything about the record ID: its fields, its evidence and its history, which is
    not shared.
    """
    memory = invocation.memory()
    whole_id = invocation.full_id(record_id, shared_by)
    if shared_by is not None:
        record = memory.shared(shared_by).get(whole_id)
        output.show_json(record.to_dict()) if invocation.json else output.record(record)
        return
    record, history = memory.get(whole_id), memory.history(whole_id)
    lost = memory.lost_evidence(whole_id)
    if invocation.json:
        told = {"lost_evidence": lost, "history": [event.to_dict() for event in history]}
        output.show_json({**record.to_dict(), **told})
        return
    is_stored = record.stored_in == "store"
    grounds = [reference for reference in record.evidence if is_id(reference)]
    output.record(record, memory.contents(grounds) if grounds and is_stored else {})
    for name in lost:
        click.echo(f"the evidence {name} was forgotten, superseded or erased", err=True)
    click.echo("\nhistory")
    output.events(history)
