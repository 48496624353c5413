"""Commands that decide: propose, confirm, reject, lift, revoke, roll back, correct, forget, undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from lamina.engines.review import Proposal
from lamina.errors import LaminaError, NotFound, Refused
from lamina.memory.operator import Operator
from lamina.memory.reviews import staying
from lamina.model.clock import is_id, system_clock
from lamina.model.record import Record
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.profile import subgroup
from lamina.surfaces.cli.remember import value_of
from lamina.text.words import counted, one_line, reveal

DONE = {"confirm": "confirmed", "reject": "rejected"}
SHOWN = 20  # lines of a preview
LISTED = 50  # proposals of a list
AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    propose(subgroup(group, "profile", "What is known about a person."))
    queue = review(group)
    waiting(queue)
    confirm(queue)
    reject(queue)
    lift(queue)
    revoke(group)
    rollback(group)
    correct(group)
    forget(group)
    undo(group)


def review(group: click.Group) -> click.Group:
    """The group of the queue; called alone in a terminal, it lets a person go through it."""

    @group.group("review", invoke_without_command=True, epilog="Example:  lamina review")
    @click.pass_context
    def run(context: click.Context) -> None:
        """Proposals that wait for a person; without a command, go through them one by one."""
        if context.invoked_subcommand is None:
            from lamina.surfaces.cli.reviewer import start

            start(context.obj)

    return run


def propose(group: click.Group) -> None:
    @command(group, "propose", 'lamina profile propose wake_up 06:30 --reason "said so on Monday"')
    @click.argument("key")
    @click.argument("value")
    @click.option("--reason", required=True, help="why this is believed")
    @click.option(
        "--evidence", multiple=True, metavar="ID", help="a record that it rests on; agents need one"
    )
    def run(session: Session, key: str, value: str, reason: str, evidence: tuple[str, ...]) -> None:
        """Propose VALUE for KEY of the profile; VALUE may be JSON. It waits for `review confirm`."""
        _show(
            session,
            "proposed",
            session.memory().propose_profile(
                key, value_of(value), reason, session.evidence(evidence)
            ),
        )


def waiting(group: click.Group) -> None:
    @command(group, "list", "lamina review list --limit 20")
    @click.option(
        "--limit",
        type=click.IntRange(1),
        help=f"at most so many; without it {LISTED}, and with --json all",
    )
    @click.option(
        "--after",
        metavar="ID",
        help="only what comes after this one, such as the last one of the list before",
    )
    def run(session: Session, limit: int | None, after: str | None) -> None:
        """List what waits for a decision: what it says, how old it is, who vouches for it, and what it would replace."""
        most = limit if limit or session.json else LISTED
        found = session.memory().proposals(most, None if after is None else session.full_id(after))
        if session.json:
            output.show_json([one.to_dict() for one in found])
        elif found:
            table(found)
            if found.left:
                click.echo(
                    f"{found.left:,} more: `lamina review list --after {found[-1].record.id}`"
                )
        else:
            click.echo("nothing waits for review" if after is None else "nothing comes after that")


def table(found: Sequence[Proposal]) -> None:
    """Proposals as a table, and below it what keeps some from being confirmed."""
    now = system_clock()
    rows = []
    for one in found:
        record, source = one.record, one.record.source or one.by
        replaced = ", ".join(f"…{other.id[-6:]}" for other in one.replaces[:3]) + (
            "…" if len(one.replaces) > 3 else ""
        )
        rows.append(
            (record.id, age(now, one.since), source, record.trust.value, record.content, replaced)
        )
    columns = ("id", "age", "source", "trust", "content", "replaces")
    output.table(columns, rows, wide="content", right=("age",), dispensable=("source", "replaces"))
    for one in found:
        if one.problem is not None:
            click.echo(f"{one.record.id} cannot be confirmed: {reveal(one.problem)}")
        for other in one.similar:
            click.echo(
                f"{one.record.id} is similar to {other.id}, which was rejected: {one_line(other.content, 80)}"
            )


def age(now: datetime, then: datetime) -> str:
    """How long ago, in one unit."""
    seconds = max(0.0, (now - then).total_seconds())
    return next((f"{seconds / size:.0f} {unit}" for size, unit in AGES if seconds >= size), "now")


def confirm(group: click.Group) -> None:
    @command(group, "confirm", "lamina review confirm 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_ids", metavar="ID...", nargs=-1)
    @click.option("--all", "everything", is_flag=True, help="all that can be confirmed")
    @click.option("--reason", help="why")
    @click.option("--yes", is_flag=True, help="do not ask when there are several")
    def run(
        session: Session,
        record_ids: tuple[str, ...],
        everything: bool,
        reason: str | None,
        yes: bool,
    ) -> int:
        """Activate the proposal ID and supersede what it replaces, unless that has changed meanwhile."""
        operator = session.operator("review confirm")
        chosen = _chosen(session, record_ids, everything, lambda one: one.problem is None)
        return _decide(session, "confirm", chosen, lambda one: operator.confirm(one, reason), yes)


def reject(group: click.Group) -> None:
    @command(group, "reject", 'lamina review reject 01k9zq5e7cxxxxxxxxxxxxxxxx --reason "not so"')
    @click.argument("record_ids", metavar="ID...", nargs=-1)
    @click.option("--all", "everything", is_flag=True, help="everything that waits")
    @click.option("--reason", required=True, help="why")
    @click.option("--yes", is_flag=True, help="do not ask when there are several")
    def run(
        session: Session, record_ids: tuple[str, ...], everything: bool, reason: str, yes: bool
    ) -> int:
        """Put the proposal ID aside, and keep what it says out, whoever brings it back."""
        operator = session.operator("review reject")
        chosen = _chosen(session, record_ids, everything, lambda one: True)
        rejected: list[Record] = []

        def decide(record_id: str) -> Record:
            rejected.append(operator.reject(record_id, reason))
            return rejected[-1]

        code = _decide(session, "reject", chosen, decide, yes)
        if not session.json:
            for told in (
                line
                for record in rejected
                for line in staying(record, evidence_of(operator), operator.resting_on)
            ):
                click.echo(told)
        return code


def evidence_of(operator: Operator) -> Callable[[str], Record | None]:
    """What finds the record that a piece of evidence names; nothing when that is something else, or was erased."""

    def found(reference: str) -> Record | None:
        try:
            return operator.get(reference) if is_id(reference) else None
        except NotFound:
            return None

    return found


def _chosen(
    session: Session,
    record_ids: Sequence[str],
    everything: bool,
    wanted: Callable[[Proposal], bool],
) -> Sequence[str]:
    if everything == bool(record_ids):
        raise click.UsageError("give the ids of proposals, or --all")
    if everything:
        return [one.record.id for one in session.memory().proposals() if wanted(one)]
    return [session.full_id(record_id) for record_id in record_ids]


def _decide(
    session: Session, verb: str, chosen: Sequence[str], decide: Callable[[str], Record], yes: bool
) -> int:
    """Decide about one, or about several after a look at them; each is a decision of its own."""
    if len(chosen) == 1:
        _show(session, DONE[verb], decide(chosen[0]))
        return 0
    if not yes:
        waiting = {one.record.id: one for one in session.memory().proposals()}
        if not session.json:
            table([waiting[one] for one in chosen if one in waiting])
        if not chosen or not output.confirmed(f"{verb} {len(chosen)} proposals?"):
            raise Refused(
                f"nothing was done; --yes does not ask, to {verb} {len(chosen)} proposals"
            )
    with session.operator(f"review {verb}").batch():
        told = [_tried(verb, record_id, decide) for record_id in chosen]
    if session.json:
        output.show_json(told)
    else:
        rows = [
            (one["id"], one["outcome"], one.get("error", {}).get("message", "")) for one in told
        ]
        output.table(("id", "outcome", "why"), rows, wide="why", wraps=("why",))
    return int(any(one["outcome"] == "failed" for one in told))


def _tried(verb: str, record_id: str, decide: Callable[[str], Record]) -> dict[str, Any]:
    """What came of a decision; one that fails does not keep the others from being made."""
    try:
        return {"id": record_id, "outcome": DONE[verb], "state": decide(record_id).state.value}
    except LaminaError as error:
        return {"id": record_id, "outcome": "failed", **error.to_dict()}


def lift(group: click.Group) -> None:
    @command(
        group, "lift", 'lamina review lift 01k9zq5e7cxxxxxxxxxxxxxxxx --reason "it is so after all"'
    )
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", required=True, help="why")
    def run(session: Session, record_id: str, reason: str) -> None:
        """Let in again what the rejected proposal ID says; it can be proposed anew."""
        _show(
            session,
            "lifted",
            session.operator("review lift").lift(session.full_id(record_id), reason),
        )


def revoke(group: click.Group) -> None:
    @command(group, "revoke", 'lamina revoke --source web:example.com --reason "it was hacked"')
    @click.option(
        "--source", required=True, help="where it came from, as `lamina inspect` shows it"
    )
    @click.option("--reason", help="why; needed unless it is a dry run")
    @click.option("--dry-run", is_flag=True, help="only show what would wait for review")
    @click.option("--yes", is_flag=True, help="do not ask")
    def run(session: Session, source: str, reason: str | None, dry_run: bool, yes: bool) -> None:
        """Put all that came from a source, or was derived from that, before a person again. `lamina undo` takes it back."""
        operator = session.operator("revoke")
        found, archived = operator.revocable(source)
        if dry_run or not (yes or session.json):
            _show_tainted(session, found, archived)
        if dry_run:
            return
        if reason is None:
            raise click.UsageError("say why with --reason")
        if (
            found
            and not yes
            and not output.confirmed(
                f"put {counted(len(found), 'memory', 'memories')} under review?"
            )
        ):
            raise Refused("nothing was done; --yes does not ask")
        moved = operator.revoke(source, reason)
        if session.json:
            output.show_json({"moved": [record.id for record in moved], "archived": archived})
        else:
            click.echo(
                f"{counted(len(moved), 'memory waits', 'memories wait')} for review now; `lamina undo` takes it back"
            )


def _show_tainted(session: Session, found: Sequence[Record], archived: int) -> None:
    if session.json:
        output.show_json(
            {"moved": [record.id for record in found], "archived": archived, "dry_run": True}
        )
        return
    if found:
        output.records(found[:SHOWN])
    if len(found) > SHOWN:
        click.echo(f"and {len(found) - SHOWN} more")
    click.echo(
        f"{counted(len(found), 'active memory goes', 'active memories go')} back to this source"
    )
    if archived:
        click.echo(
            f"of the archive, {counted(archived, 'memory does', 'memories do')} too; nothing of that moves"
        )


def rollback(group: click.Group) -> None:
    @command(group, "rollback", "lamina rollback 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", help="why")
    def run(session: Session, record_id: str, reason: str | None) -> None:
        """Take the active record ID back, and restore what it had superseded."""
        _show(
            session,
            "rolled back",
            session.operator("rollback").rollback(session.full_id(record_id), reason),
        )


def correct(group: click.Group) -> None:
    @command(
        group,
        "correct",
        'lamina correct 01k9zq5e7cxxxxxxxxxxxxxxxx "Ana drinks espresso" --reason "misheard"',
    )
    @click.argument("record_id", metavar="ID")
    @click.argument("text")
    @click.option("--reason", required=True, help="why")
    def run(session: Session, record_id: str, text: str, reason: str) -> None:
        """Supersede the record ID by one that says TEXT."""
        _show(
            session,
            "corrected, now",
            session.operator("correct").correct(session.full_id(record_id), text, reason),
        )


def forget(group: click.Group) -> None:
    @command(group, "forget", "lamina forget 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_id", metavar="ID")
    @click.option("--reason", help="why")
    def run(session: Session, record_id: str, reason: str | None) -> None:
        """Hide the record ID. `lamina undo` brings it back."""
        _show(
            session,
            "forgotten",
            session.operator("forget").forget(session.full_id(record_id), reason),
        )


def undo(group: click.Group) -> None:
    @command(group, "undo", "lamina undo 17")
    @click.argument("event", type=int)
    @click.option("--reason", help="why")
    def run(session: Session, event: int, reason: str | None) -> None:
        """Take back what EVENT of `lamina audit log` did: a confirmation, rollback, revocation, forgetting or correction."""
        done = session.operator("undo").undo(event, reason)
        if session.json:
            output.show_json([record.to_dict() for record in done])
        else:
            for record in done:
                _show(session, f"undid event {event}:", record)


def _show(session: Session, what: str, record: Record) -> None:
    if session.json:
        output.show_json(record.to_dict())
        return
    shown: list[Any] = [record.id, record.layer.value, record.state.value]
    click.echo(f"{what} {'  '.join(shown)}  {one_line(record.content, 80)}")
