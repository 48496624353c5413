"""Commands that decide: propose, confirm, reject, roll back, correct, forget, undo."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from lamina.clock import system_clock
from lamina.model import Record
from lamina.surfaces.cli import output
from lamina.surfaces.cli.memories import value_of
from lamina.surfaces.cli.profiles import subgroup
from lamina.surfaces.cli.session import Session, command
from lamina.text import one_line

AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    propose(subgroup(group, "profile", "What is known about the user."))
    queue = subgroup(group, "review", "Proposals that wait for a person.")
    waiting(queue)
    confirm(queue)
    reject(queue)
    rollback(group)
    correct(group)
    forget(group)
    undo(group)


def propose(group: click.Group) -> None:
    @command(group, "propose", 'lamina profile propose wake_up 06:30 --reason "said so on Monday"')
    @click.argument("key")
    @click.argument("value")
    @click.option("--reason", required=True, help="why this is believed")
    @click.option("--evidence", multiple=True, metavar="ID", help="a record that it rests on; agents need one")
    def run(session: Session, key: str, value: str, reason: str, evidence: tuple[str, ...]) -> None:
        """Propose VALUE for KEY of the profile; VALUE may be JSON. It waits for `review confirm`."""
        _show(session, "proposed", session.memory().propose_profile(key, value_of(value), reason, evidence))


def waiting(group: click.Group) -> None:
    @command(group, "list", "lamina review list")
    def run(session: Session) -> None:
        """List what waits for a decision: what it says, how old it is, who vouches for it, and what it would replace."""
        found = session.memory().proposals()
        if session.json:
            output.show_json([{"record": record.to_dict(), "replaces": ids} for record, ids in found])
        elif found:
            now = system_clock()
            rows = [
                (r.id, _age(now, r.created_at), r.layer.value, r.trust.value, r.content, len(ids) or "") for r, ids in found
            ]
            columns = ("id", "age", "layer", "trust", "content", "replaces")
            output.table(columns, rows, wide="content", right=("age", "replaces"), dispensable=("layer", "trust"))
        else:
            click.echo("nothing waits for review")


def _age(now: datetime, then: datetime) -> str:
    seconds = max(0.0, (now - then).total_seconds())
    return next((f"{seconds / size:.0f} {unit}" for size, unit in AGES if seconds >= size), "now")


def confirm(group: click.Group) -> None:
    @command(group, "confirm", "lamina review confirm 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", help="why")
    def run(session: Session, record_id: str, reason: str | None) -> None:
        """Activate the proposal ID and supersede what it replaces, unless that has changed meanwhile."""
        done = session.operator("review confirm").confirm(record_id.lower(), reason)
        _show(session, "confirmed", done)


def reject(group: click.Group) -> None:
    @command(group, "reject", 'lamina review reject 01k9zq5e7cxxxxxxxxxxxxxxxx --reason "not so"')
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", required=True, help="why")
    def run(session: Session, record_id: str, reason: str) -> None:
        """Put the proposal ID aside."""
        _show(session, "rejected", session.operator("review reject").reject(record_id.lower(), reason))


def rollback(group: click.Group) -> None:
    @command(group, "rollback", "lamina rollback 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", help="why")
    def run(session: Session, record_id: str, reason: str | None) -> None:
        """Take the active record ID back, and restore what it had superseded."""
        _show(session, "rolled back", session.operator("rollback").rollback(record_id.lower(), reason))


def correct(group: click.Group) -> None:
    @command(group, "correct", 'lamina correct 01k9zq5e7cxxxxxxxxxxxxxxxx "Ana drinks espresso" --reason "misheard"')
    @click.argument("record_id", metavar="ID")
    @click.argument("text")
    @click.option("--reason", required=True, help="why")
    def run(session: Session, record_id: str, text: str, reason: str) -> None:
        """Supersede the record ID by one that says TEXT."""
        _show(session, "corrected, now", session.operator("correct").correct(record_id.lower(), text, reason))


def forget(group: click.Group) -> None:
    @command(group, "forget", "lamina forget 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", help="why")
    def run(session: Session, record_id: str, reason: str | None) -> None:
        """Hide the record ID. `lamina undo` brings it back."""
        _show(session, "forgotten", session.operator("forget").forget(record_id.lower(), reason))


def undo(group: click.Group) -> None:
    @command(group, "undo", "lamina undo 17")
    @click.argument("event", type=int)
    @click.option("--reason", help="why")
    def run(session: Session, event: int, reason: str | None) -> None:
        """Take back what EVENT of `lamina audit log` did: a confirmation, rollback, forgetting or correction."""
        done = session.operator("undo").undo(event, reason)
        if session.json:
            output.show_json([record.to_dict() for record in done])
        else:
            output.records(done)


def _show(session: Session, what: str, record: Record) -> None:
    if session.json:
        output.show_json(record.to_dict())
        return
    shown: list[Any] = [record.id, record.layer.value, record.state.value]
    click.echo(f"{what} {'  '.join(shown)}  {one_line(record.content, 80)}")
