"""Commands about memories that move: promote, prune, and the archive."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from lamina.engines.promotion import Action, Decision
from lamina.errors import Refused
from lamina.model.record import Record, plain
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.cli.remember import LAYERS, STATES
from lamina.surfaces.cli.times import past

EXIT_NOTHING = 4
ARCHIVED = ("joined", "expired", "rotated")
SHOWN = 20  # lines of a preview
STYLES = {
    Action.PROMOTE: "green",
    Action.JOIN: "cyan",
    Action.EXPIRE: "yellow",
    Action.ROTATE: "yellow",
    Action.KEEP: "dim",
}


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    promote(group)
    prune(group)
    archive(group)


def promote(group: click.Group) -> None:
    @command(group, "promote", "lamina promote --dry-run")
    @click.option(
        "--dry-run", is_flag=True, help="only show what would be done with each memory, and why"
    )
    @click.option(
        "--limit",
        type=click.IntRange(1),
        default=50,
        show_default=True,
        help="lines of a dry run at most",
    )
    def run(session: Session, dry_run: bool, limit: int) -> None:
        """Promote short-term memories that deserve it; archive what has expired or is too much."""
        if dry_run:
            _show_plan(session, session.memory().plan_promotion(), limit)
            return
        memory = session.memory()
        done = memory.run_once()
        if session.json:
            output.show_json(done)
            return
        moved = memory.moved
        assert moved is not None, "it was just run"
        others = [
            f"{number} {name}"
            for name, number in moved._asdict().items()
            if name in ARCHIVED and number
        ]
        archived = f"archived {' and '.join(others)}" if others else "nothing was rotated"
        click.echo(
            f"promoted {moved.promoted} at {moved.threshold:.2f}, {archived}, {moved.remaining} remain"
        )
        for problem in memory.status()["problems"]:
            output.attention(problem, err=True)


def _show_plan(session: Session, decided: list[Decision], limit: int) -> None:
    if session.json:
        output.show_json([_plain(decision) for decision in decided])
        return
    if not decided:
        click.echo("short-term memory is empty")
        return
    from rich.text import Text

    ordered = sorted(
        decided, key=lambda decision: (decision.action is Action.KEEP, decision.entry.seq)
    )
    rows = []
    contents = session.memory().contents([one.entry.id for one in ordered[:limit]])
    for one in ordered[:limit]:
        to = (
            one.layer.value
            if one.action is Action.PROMOTE
            else ("archive" if one.action is not Action.KEEP else "")
        )
        action = Text(one.action.value, style=STYLES[one.action])
        rows.append((one.entry.id, action, to, one.rule, contents.get(one.entry.id, "")))
    output.table(
        ("id", "action", "to", "rule", "content"),
        rows,
        wide="content",
        dispensable=("rule",),
        reluctantly=("action",),
        wraps=("rule",),
    )
    numbers = Counter(decision.action for decision in decided)
    counted = {action: numbers[action] for action in Action if numbers[action]}
    more = (
        f"; the first {limit} of {len(decided)} are shown, see --limit"
        if len(decided) > limit
        else ""
    )
    click.echo(
        ", ".join(f"{number} to {action.value}" for action, number in counted.items()) + more
    )


def _plain(decision: Decision) -> dict[str, Any]:
    layer = decision.layer if decision.action is Action.PROMOTE else None
    return {
        "id": decision.entry.id,
        "action": decision.action.value,
        "layer": plain(layer),
        "rule": decision.rule,
        "importance": decision.entry.importance,
        "threshold": decision.threshold,
        "twin": decision.twin,
    }


def prune(group: click.Group) -> None:
    @command(group, "prune", "lamina prune --layer episodic --older-than 365 --below 0.3 --dry-run")
    @click.option(
        "--layer", "layers", type=LAYERS, multiple=True, help="only this layer; may be repeated"
    )
    @click.option(
        "--older-than",
        type=float,
        metavar="DAYS",
        help="only what happened so many days ago or earlier",
    )
    @click.option(
        "--below", type=float, metavar="IMPORTANCE", help="only what is less important, 0 to 1"
    )
    @click.option("--tag", "tags", multiple=True, help="with any of these tags")
    @click.option(
        "--state", "states", type=STATES, multiple=True, help="only this state (default active)"
    )
    @click.option("--dry-run", is_flag=True, help="only show what would go")
    @click.option("--yes", is_flag=True, help="do not ask")
    def run(
        session: Session,
        older_than: float | None,
        below: float | None,
        dry_run: bool,
        yes: bool,
        **chosen: Any,
    ) -> None:
        """Move memories of any layer to the archive. They are shown first; `archive restore` brings them back."""
        operator = session.operator("prune")
        bounds = {
            "older_than_days": older_than,
            "importance_below": below,
            **chosen,
            "states": chosen["states"] or ("active",),
        }
        preview = operator.prunable(SHOWN, **bounds)
        if not session.json and preview["records"]:
            output.records(preview["records"])
        number = preview["pruned"]
        if dry_run or not number:
            _tell_pruned(session, {"pruned": number, "dry_run": dry_run})
            return
        if not yes and (session.json or not output.confirmed(f"move {number} to the archive?")):
            raise Refused(
                f"nothing was moved; add --yes to move {number} to the archive, or --dry-run"
            )
        _tell_pruned(session, operator.prune(**bounds))


def _tell_pruned(session: Session, done: dict[str, Any]) -> None:
    if session.json:
        output.show_json(done)
    elif done["dry_run"]:
        click.echo(f"{done['pruned']} would go to the archive")
    else:
        click.echo(f"{done['pruned']} moved to the archive")


def archive(group: click.Group) -> None:
    @group.group("archive")
    def archive_group() -> None:
        """What has left for the archive: found, shown, and brought back."""

    archive_search(archive_group)
    archive_list(archive_group)
    archive_restore(archive_group)


def archive_search(group: click.Group) -> None:
    @command(group, "search", "lamina archive search garmin --since 2026-01-01")
    @click.argument("text", default="")
    @click.option(
        "--since", callback=past, help="not before: a day, a time, or how long ago, such as 7d"
    )
    @click.option("--until", callback=past, help="before: a day, a time, or how long ago")
    @click.option(
        "--limit",
        type=int,
        default=100,
        show_default=True,
        help="at most so many, what was archived last first",
    )
    @click.pass_context
    def run(
        context: click.Context, /, session: Session, text: str, limit: int, **span: Any
    ) -> None:
        """Find TEXT in what was archived, in any case: in contents, tags and metadata, as `grep -i` would."""
        found = session.memory().search_archive(text, limit, **span)
        if session.json:
            output.show_json([record.to_dict() for record in found])
        elif found:
            _show_archived(found)
            if len(found) == limit:
                click.echo(
                    f"the {limit} that were archived last; there may be more, see --limit", err=True
                )
        else:
            click.echo("nothing in the archive holds this")
        if not found:
            context.exit(EXIT_NOTHING)


def _show_archived(found: list[Record]) -> None:
    rows = [
        (record.id, output.when(record.occurred_at), record.content, record.archived)
        for record in found
    ]
    columns = ("id", "when (UTC)", "content", "file and line")
    output.table(
        columns, rows, wide="content", dispensable=("when (UTC)",), wraps=("file and line",)
    )


def archive_list(group: click.Group) -> None:
    @command(group, "list", "lamina archive list")
    def run(session: Session) -> None:
        """List the files of the archive, with what brought their lines there."""
        files = session.operator("archive list").archives()
        if session.json:
            shown = ("number", "file", "why", "lines", "made_at")
            output.show_json(
                [
                    {name: plain(getattr(file, name)) for name in shown}
                    | {"sha256": file.sha256.hex()}
                    for file in files
                ]
            )
        elif files:
            most = max(file.lines for file in files)
            rows = [
                (f.file, f.why, output.when(f.made_at), f.lines, output.bar(f.lines, most))
                for f in files
            ]
            columns = ("file", "why", "when (UTC)", "lines", "")
            output.table(columns, rows, right=("lines",), dispensable=("", "when (UTC)"))
        else:
            click.echo("nothing is archived")


def archive_restore(group: click.Group) -> None:
    @command(group, "restore", "lamina archive restore 01k9zq5e7cxxxxxxxxxxxxxxxx")
    @click.argument("record_ids", metavar="ID...", nargs=-1, required=True)
    def run(session: Session, record_ids: tuple[str, ...]) -> None:
        """Bring the records ID... back into the store, with their ids and their histories."""
        operator = session.operator("archive restore")
        restored = operator.restore_archived(*map(session.full_id, record_ids))
        if session.json:
            output.show_json([record.to_dict() for record in restored])
        else:
            output.records(restored)
