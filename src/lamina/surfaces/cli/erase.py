"""Commands that make memories gone for good, and show what was certified about that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from lamina.errors import InvalidInput, Refused
from lamina.memory.erasure import Certificate
from lamina.memory.operator import Operator
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import counted, one_line

SHOWN = 20  # lines of a preview


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    erase(group)
    erasures(group)


def erase(group: click.Group) -> None:
    @command(group, "erase", "lamina erase --user ana --dry-run")
    @click.argument("record_ids", metavar="[ID]...", nargs=-1)
    @click.option("--session", "session_name", help="everything of a conversation")
    @click.option("--user", help="everything about a person")
    @click.option("--source", help="everything that came from there, as `lamina inspect` shows it")
    @click.option("--reason", help="why; without words of what goes")
    @click.option("--keep-backups", is_flag=True, help="leave the backups in the home as they are")
    @click.option("--dry-run", is_flag=True, help="only show what would go")
    @click.option("--resume", is_flag=True, help="finish an erasure that was interrupted")
    @click.option("--yes", is_flag=True, help="do not ask")
    def run(
        session: Session,
        record_ids: Sequence[str],
        session_name: str | None,
        user: str | None,
        source: str | None,
        reason: str | None,
        keep_backups: bool,
        dry_run: bool,
        resume: bool,
        yes: bool,
    ) -> int:
        """Erase memories for good, with what was made of them: no `undo` brings them back."""
        operator = session.operator("erase")
        if resume:
            return _shown(session, operator.resume_erasures())
        if not (record_ids or session_name or user or source):
            raise InvalidInput(
                "say what to erase: ids of records, or --session, --user or --source; one of these"
            )
        ids = [session.full_id(record_id) for record_id in record_ids]
        which: dict[str, Any] = {"session": session_name, "user": user, "source": source}
        found = operator.erasable(*ids, **which)
        if dry_run or not (yes or session.json):
            _show_preview(session, operator, found)
        if dry_run:
            return 0
        number = len(found["records"]) + len(found["derived"])
        if not yes and not output.confirmed(
            f"erase {counted(number, 'memory', 'memories')} for good?"
        ):
            raise Refused("nothing was erased; --yes does not ask")
        return _shown(
            session, [operator.erase(*ids, **which, reason=reason, keep_backups=keep_backups)]
        )


def erasures(group: click.Group) -> None:
    @command(group, "erasures", "lamina erasures")
    @click.argument("number", type=int, required=False)
    def run(session: Session, number: int | None) -> int:
        """What was erased, or the certificate of erasure NUMBER."""
        found = session.operator("erasures").erasures(number)
        if number is not None:
            return _shown(session, found)
        if session.json:
            output.show_json([one.to_dict() for one in found])
        else:
            rows = [
                (
                    one.number,
                    output.when(one.at),
                    one.what,
                    len(one.records),
                    one.by,
                    len(one.unreached) or "",
                )
                for one in found
            ]
            columns = ("erasure", "at", "what", "records", "by", "not reached")
            output.table(columns, rows, wide="what", right=("records", "not reached"))
        return 0


def _show_preview(session: Session, operator: Operator, found: Mapping[str, Any]) -> None:
    if session.json:
        output.show_json({**found, "dry_run": True})
        return
    why = {
        **dict.fromkeys(found["records"], ""),
        **{one["id"]: one["why"] for one in found["derived"]},
    }
    said = operator.contents([*why][:SHOWN])
    output.table(
        ("id", "goes", "why"),
        [(one, one_line(said[one], 80), why[one]) for one in said],
        wide="goes",
        wraps=("why",),
    )
    if len(why) > SHOWN:
        click.echo(f"and {len(why) - SHOWN} more")
    for one in found["kept"][:SHOWN]:
        click.echo(f"stays: {one['id']}: {one['why']}")
    if len(found["kept"]) > SHOWN:
        click.echo(f"and {len(found['kept']) - SHOWN} more stay")
    if found["mentions"]:
        others = counted(
            found["mentions"], "memory of others that mentions", "memories of others that mention"
        )
        click.echo(f"stays: {others} the name")
    for name in ("exports", "backups"):
        for path in found[name]:
            click.echo(f"goes too: {path}")


def _shown(session: Session, done: Sequence[Certificate]) -> int:
    """Certificates as people read them; 1 when something could not be reached."""
    if session.json:
        output.show_json([one.to_dict() for one in done] if len(done) != 1 else done[0].to_dict())
    elif not done:
        click.echo("no erasure was interrupted")
    for one in () if session.json else done:
        _show(one)
    return int(not all(one.is_complete for one in done))


def _show(one: Certificate) -> None:
    told = [
        ("erasure", f"{one.number}, {output.when(one.at)}, by {one.by}"),
        (
            "erased",
            f"{counted(len(one.records), 'record')}: {one.asked_for} asked for, {one.derived} made of these",
        ),
        ("kept", _kept(one)),
        (
            "read again",
            f"{counted(one.read_again, 'turn')}, by the next sleep" if one.read_again else "",
        ),
        (
            "mentioned",
            f"in {counted(one.mentions, 'other memory', 'other memories')}" if one.mentions else "",
        ),
        ("notes", f"{one.notes} of changes, {one.reads} of reads"),
        ("removed", ", ".join(one.removed)),
        ("mirrors", ", ".join(f"{name} {told}" for name, told in one.mirrors.items())),
    ]
    output.pairs([(name, value) for name, value in told if value])
    if not one.looked_for:
        click.echo(
            "its words are everybody's: nothing could be looked for afterwards, only its ids"
        )
    elif one.is_complete:
        beside = " beside what is kept" if one.kept else ""
        click.echo(f"nothing of it was found in this home afterwards{beside}")
    for place in one.unreached:
        click.echo(click.style("not reached: ", fg="yellow") + f"{place['place']}: {place['why']}")


def _kept(one: Certificate) -> str:
    told = [f"{kept['id']} ({kept['why']})" for kept in one.kept[:SHOWN]]
    more = len(one.kept) - SHOWN
    return ", ".join(
        [*told, f"and {more} more: `lamina --json erasures {one.number}`"] if more > 0 else told
    )
