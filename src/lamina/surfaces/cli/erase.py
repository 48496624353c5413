"""Commands that erase memories permanently, and show the certificates: erase, erasures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from lamina.errors import InvalidInput, Refused
from lamina.memory.erasure import Certificate
from lamina.memory.operator import Operator
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import counted, one_line

SHOWN = 20  # lines of a preview


@command("erase", "lamina erase --user ana --dry-run")
@click.argument("record_ids", metavar="[ID]...", nargs=-1)
@click.option("--session", help="everything of a conversation")
@click.option("--user", help="everything about a person")
@click.option("--source", help="everything from this source, as `lamina inspect` shows it")
@click.option("--project", help="everything of a project")
@click.option("--reason", help="why (do not quote what is being erased)")
@click.option("--keep-backups", is_flag=True, help="leave the backups in the home as they are")
@click.option("--dry-run", is_flag=True, help="only show what would go")
@click.option("--resume", is_flag=True, help="finish an erasure that was interrupted")
@options.yes
def erase(
    invocation: Invocation,
    record_ids: Sequence[str],
    reason: str | None,
    keep_backups: bool,
    dry_run: bool,
    resume: bool,
    yes: bool,
    **scope: str | None,
) -> int:
    """Erase memories permanently, with everything derived from them: no `undo` brings them back."""
    operator = invocation.operator("erase")
    if resume:
        return _show_certificates(invocation, operator.resume_erasures())
    if not record_ids and not any(scope.values()):
        raise InvalidInput(
            "say what to erase: ids of records, or --session, --user, --source or --project;"
            " one of these"
        )
    ids = [invocation.full_id(record_id) for record_id in record_ids]
    preview = operator.erasable(*ids, **scope)
    if dry_run or not (yes or invocation.json):
        _show_preview(invocation, operator, preview)
    if dry_run:
        return 0
    memories = counted(len(preview["records"]) + len(preview["derived"]), "memory", "memories")
    if not yes and not output.confirmed(f"erase {memories} for good?"):
        raise Refused("nothing was erased; use --yes to skip the question")
    certificate = operator.erase(*ids, **scope, reason=reason, keep_backups=keep_backups)
    return _show_certificates(invocation, [certificate])


@command("erasures", "lamina erasures", needs_known_agent=True)
@click.argument("number", type=int, required=False)
def erasures(invocation: Invocation, number: int | None) -> int:
    """Show what was erased, or the certificate of erasure NUMBER."""
    certificates = invocation.operator("erasures").erasures(number)
    if number is not None:
        return _show_certificates(invocation, certificates)
    if invocation.json:
        output.show_json([one.to_dict() for one in certificates])
        return 0
    rows = []
    for one in certificates:
        numbers = (len(one.records), one.by, len(one.unreached) or "")
        rows.append((one.number, output.when(one.at), one.what, *numbers))
    columns = ("erasure", "at", "what", "records", "by", "not reached")
    output.table(columns, rows, wide="what", right=("records", "not reached"))
    return 0


def _show_preview(invocation: Invocation, operator: Operator, preview: Mapping[str, Any]) -> None:
    """Show what would be erased, what would stay, and which files would be removed."""
    if invocation.json:
        output.show_json({**preview, "dry_run": True})
        return
    reasons = dict.fromkeys(preview["records"], "")
    reasons |= {derived["id"]: derived["why"] for derived in preview["derived"]}
    contents = operator.contents([*reasons][:SHOWN])
    rows = [(record, one_line(text, 80), reasons[record]) for record, text in contents.items()]
    output.table(("id", "goes", "why"), rows, wide="goes", wraps=("why",))
    if len(reasons) > SHOWN:
        click.echo(f"and {len(reasons) - SHOWN} more")
    for kept in preview["kept"][:SHOWN]:
        click.echo(f"stays: {kept['id']}: {kept['why']}")
    if len(preview["kept"]) > SHOWN:
        click.echo(f"and {len(preview['kept']) - SHOWN} more stay")
    if number := preview["mentions"]:
        one, many = "memory of others that mentions", "memories of others that mention"
        click.echo(f"stays: {counted(number, one, many)} the name")
    for path in (*preview["exports"], *preview["backups"]):
        click.echo(f"goes too: {path}")


def _show_certificates(invocation: Invocation, certificates: Sequence[Certificate]) -> int:
    """Print certificates, and return 1 if anything could not be reached."""
    if invocation.json:
        shown = [one.to_dict() for one in certificates]
        output.show_json(shown[0] if len(shown) == 1 else shown)
    elif certificates:
        for one in certificates:
            _show(one)
    else:
        click.echo("no erasure was interrupted")
    return 0 if all(one.is_complete for one in certificates) else EXIT_FAILED


def _show(one: Certificate) -> None:
    records, turns = counted(len(one.records), "record"), counted(one.read_again, "turn")
    others = counted(one.mentions, "other memory", "other memories")
    fields = {
        "erasure": f"{one.number}, {output.when(one.at)}, by {one.by}",
        "erased": f"{records}: {one.asked_for} asked for, {one.derived} made of these",
        "kept": _kept(one),
        "read again": f"{turns}, by the next sleep" if one.read_again else "",
        "mentioned": f"in {others}" if one.mentions else "",
        "notes": f"{one.notes} of changes, {one.reads} of reads",
        "removed": ", ".join(one.removed),
        "mirrors": ", ".join(f"{name} {outcome}" for name, outcome in one.mirrors.items()),
    }
    output.pairs([(name, value) for name, value in fields.items() if value])
    if not one.looked_for:
        click.echo("its words are too common to search for; only its ids were searched for")
    elif one.is_complete:
        beside = " beside what is kept" if one.kept else ""
        click.echo(f"nothing of it was found in this home afterwards{beside}")
    for place in one.unreached:
        click.echo(click.style("not reached: ", fg="yellow") + f"{place['place']}: {place['why']}")


def _kept(one: Certificate) -> str:
    shown = [f"{kept['id']} ({kept['why']})" for kept in one.kept[:SHOWN]]
    more = len(one.kept) - SHOWN
    if more > 0:
        shown.append(f"and {more} more: `lamina --json erasures {one.number}`")
    return ", ".join(shown)
