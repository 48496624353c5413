"""Commands by which a person changes what is believed: correct, forget, rollback, undo."""

from __future__ import annotations

import click

from lamina.model.record import Record
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import one_line


@command("rollback", "lamina rollback 01k9zq5e7cxxxxxxxxxxxxxxxx")
@click.argument("record_id", metavar="ID")
@options.reason
def rollback(invocation: Invocation, record_id: str, reason: str | None) -> None:
    """Withdraw the active record ID, and restore the records that it had superseded."""
    operator = invocation.operator("rollback")
    changed = operator.rollback(invocation.full_id(record_id), reason)
    show_changed(invocation, "rolled back", changed)


@command(
    "correct", 'lamina correct 01k9zq5e7cxxxxxxxxxxxxxxxx "Ana drinks espresso" --reason "misheard"'
)
@click.argument("record_id", metavar="ID")
@click.argument("text")
@click.option("--reason", required=True, help="why")
def correct(invocation: Invocation, record_id: str, text: str, reason: str) -> None:
    """Replace the record ID with one that says TEXT; for a fact, a sentence or the bare value."""
    operator = invocation.operator("correct")
    changed = operator.correct(invocation.full_id(record_id), text, reason)
    show_changed(invocation, "corrected, now", changed)


@command("forget", "lamina forget 01k9zq5e7cxxxxxxxxxxxxxxxx")
@click.argument("record_id", metavar="ID")
@options.reason
def forget(invocation: Invocation, record_id: str, reason: str | None) -> None:
    """Hide the record ID. `lamina undo` brings it back."""
    operator = invocation.operator("forget")
    show_changed(invocation, "forgotten", operator.forget(invocation.full_id(record_id), reason))


@command("undo", "lamina undo 17")
@click.argument("event", type=int)
@options.reason
def undo(invocation: Invocation, event: int, reason: str | None) -> None:
    """Undo EVENT of `lamina audit log`: a confirmation, rejection, rollback, revocation, forgetting
    or correction.
    """
    records = invocation.operator("undo").undo(event, reason)
    if invocation.json:
        output.show_json([record.to_dict() for record in records])
        return
    for record in records:
        show_changed(invocation, f"undid event {event}:", record)


def show_changed(invocation: Invocation, verb: str, record: Record) -> None:
    """Print what was done with a record, and its current state."""
    if invocation.json:
        output.show_json(record.to_dict())
        return
    state = f"{record.id}  {record.layer.value}  {record.state.value}"
    click.echo(f"{verb} {state}  {one_line(record.content, 80)}")
