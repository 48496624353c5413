"""The command that turns conversations into knowledge: sleep."""

from __future__ import annotations

from typing import Any

import click

from lamina.engines.decision import Effect
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import Invocation, command
from lamina.text.words import counted, one_line, reveal

# What a night makes besides facts, with the words for one and for several of them.
NOUNS = {
    "preferences": ("preference", "preferences"),
    "summaries": ("summary", "summaries"),
    "workflows": ("workflow", "workflows"),
    "adjusted": ("adjusted importance", "adjusted importances"),
}
# What has become of facts, where an effect's own name does not say it.
BECOME = {
    Effect.CHANGE: "changed",
    Effect.REPEAT: "repeated",
    Effect.END: "ended",
    Effect.PROPOSE: "proposed",
}
PROPOSED = ("preferences", "workflows")  # those that a person decides about


@command("sleep", "lamina sleep --dry-run")
@click.option("--dry-run", is_flag=True, help="only show what would be done, and why")
@click.option(
    "--model",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    help="with --dry-run: compare what this language model finds with the rules",
)
@options.lines_of_dry_run
def sleep(invocation: Invocation, dry_run: bool, model: str | None, limit: int) -> None:
    """Turn conversations into facts, preferences, summaries and workflows.

    Each episode is read once. Short-term memories are read after they have been promoted; see
    `lamina promote`.
    """
    if model is not None and not dry_run:
        raise click.UsageError("--model needs --dry-run; the setting sleep.model is for real runs")
    memory = invocation.memory()
    if dry_run:
        plan = memory.sleep(dry_run=True, model=model)
        output.show_json(plan) if invocation.json else _show_plan(plan, limit)
        return
    with output.progress("reading") as advance:
        report = memory.sleep(progress=advance)
    if invocation.json:
        output.show_json(report)
        return
    facts = ", ".join(
        f"{number} {BECOME.get(name, name)}" for name, number in report["facts"].items()
    )
    found = f"facts: {facts}" if facts else "nothing new"
    click.echo(f"read {counted(report['turns'], 'turn')}; {found}")
    _show_others(report)
    _show_waiting(report["waiting"])
    _show_model(report)


def _show_others(report: dict[str, Any]) -> None:
    """Report what the night made besides facts, and whether any of it waits for a person."""
    others = [counted(report[name], *words) for name, words in NOUNS.items() if report.get(name)]
    told = [f"and {', '.join(others)}"] if others else []
    if report["facts"].get(Effect.PROPOSE) or any(report.get(name) for name in PROPOSED):
        told.append("proposals wait in `lamina review`")
    if told:
        click.echo("; ".join(told))


def _show_plan(plan: dict[str, Any], limit: int) -> None:
    compared = any("found_by" in fact for fact in plan["facts"])
    columns = [*(["found_by"] if compared else []), "effect", "fact", "why", "rule"]
    rows = [tuple(fact[name] for name in columns) for fact in plan["facts"]]
    if rows:
        titles = [name.replace("_", " ") for name in columns]
        output.table(titles, rows[:limit], wide="fact", dispensable=("rule",), wraps=("why",))
        if len(rows) > limit:
            click.echo(f"and {len(rows) - limit:,} more")
    for name in NOUNS:
        for item in plan.get(name, ()):
            what = _of_profile(item) if "key" in item else item["content"]
            why = f" ({reveal(item['why'])})" if "why" in item else ""
            click.echo(f"{name}: {one_line(str(what), 100)}{why}")
    if not any(plan.get(name) for name in ("facts", *NOUNS)):
        click.echo("nothing to do")
    _show_waiting(plan["waiting"])
    _show_model(plan)


def used(use: dict[str, Any]) -> str:
    """Describe how many tokens were used, and what they cost if prices are set."""
    cost = f", cost {use['cost']:,.4f}" if "cost" in use else ""
    return f"{use['tokens_in']:,} tokens in, {use['tokens_out']:,} out{cost}"


def _show_model(report: dict[str, Any]) -> None:
    """Report what the model has used, and where it could not be used."""
    if "model" in report:
        click.echo(f"model {one_line(report['model']['name'], 80)}: {used(report['model'])}")
    for note in report.get("notes", ()):
        output.attention(note, err=True)


def _of_profile(item: dict[str, Any]) -> str:
    """Describe a key of the profile with its new value, or its removal."""
    key, value = item["key"], item["value"]
    return f"{key}: nothing" if value is None else f"{key}: {value}"


def _show_waiting(number: int) -> None:
    """Report how much has not been read yet, and why."""
    if number:
        memories = counted(number, "memory waits", "memories wait")
        click.echo(
            f"{memories} in short-term memory, which sleep does not read: `lamina promote ID` moves"
            " one on; remember conversations with `--layer episodic`"
        )
