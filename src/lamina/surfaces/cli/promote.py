"""The command that moves short-term memories to where they belong: promote."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from lamina.engines.promotion import Action, Decision
from lamina.model.record import plain
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.correct import show_changed
from lamina.surfaces.cli.invocation import Invocation, command

ARCHIVED = ("joined", "expired", "rotated")
STYLES = {
    Action.PROMOTE: "green",
    Action.JOIN: "cyan",
    Action.EXPIRE: "yellow",
    Action.ROTATE: "yellow",
    Action.KEEP: "dim",
}


@command("promote", "lamina promote --dry-run")
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--dry-run", is_flag=True, help="only show what would happen to each memory, and why")
@options.lines_of_dry_run
def promote(invocation: Invocation, record_id: str | None, dry_run: bool, limit: int) -> None:
    """Promote important short-term memories; archive expired ones and the surplus.

    With ID, promote that memory, whatever its importance.
    """
    if record_id is not None:
        _promote_one(invocation, record_id, dry_run)
        return
    memory = invocation.memory()
    if dry_run:
        _show_plan(invocation, memory.plan_promotion(), limit)
        return
    report = memory.run_once()
    if invocation.json:
        output.show_json(report)
        return
    moved = memory.moved
    assert moved is not None, "it was just run"
    counts = moved._asdict()
    gone = [f"{counts[name]} {name}" for name in ARCHIVED if counts[name]]
    archived = f"archived {' and '.join(gone)}" if gone else "nothing was rotated"
    promoted = f"promoted {moved.promoted} at {moved.threshold:.2f}"
    click.echo(f"{promoted}, {archived}, {moved.remaining} remain")
    for problem in memory.status()["problems"]:
        output.attention(problem, err=True)


def _promote_one(invocation: Invocation, record_id: str, dry_run: bool) -> None:
    if dry_run:
        raise click.UsageError("a dry run shows what is due; it takes no ID")
    operator = invocation.operator("promote ID")
    show_changed(invocation, "promoted", operator.promote(invocation.full_id(record_id)))


def _show_plan(invocation: Invocation, decisions: list[Decision], limit: int) -> None:
    if invocation.json:
        output.show_json([_as_dict(decision) for decision in decisions])
        return
    if not decisions:
        click.echo("short-term memory is empty")
        return
    from rich.text import Text

    ordered = sorted(decisions, key=lambda one: (one.action is Action.KEEP, one.entry.seq))
    contents = invocation.memory().contents([one.entry.id for one in ordered[:limit]])
    rows = []
    for one in ordered[:limit]:
        action = Text(one.action.value, style=STYLES[one.action])
        content = contents.get(one.entry.id, "")
        rows.append((one.entry.id, action, _target(one), one.rule, content))
    output.table(
        ("id", "action", "to", "rule", "content"),
        rows,
        wide="content",
        dispensable=("rule", "action"),
        wraps=("rule",),
    )
    numbers = Counter(decision.action for decision in decisions)
    summary = ", ".join(f"{numbers[one]} to {one.value}" for one in Action if numbers[one])
    if len(decisions) > limit:
        summary += f"; the first {limit} of {len(decisions)} are shown, see --limit"
    click.echo(summary)
    if numbers[Action.KEEP]:
        click.echo("`lamina promote ID` promotes one that is kept, whatever its importance")


def _target(decision: Decision) -> str:
    """Name the place that a memory moves to, if it does."""
    if decision.action is Action.PROMOTE:
        return decision.layer.value
    return "" if decision.action is Action.KEEP else "archive"


def _as_dict(decision: Decision) -> dict[str, Any]:
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
