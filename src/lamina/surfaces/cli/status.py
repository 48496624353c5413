"""Commands about the installation: status, agents, doctor, config, completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from lamina.errors import InvalidInput
from lamina.failsafe.outage import untold
from lamina.home import settings as config
from lamina.home.folder import LATELY
from lamina.memory import doctor
from lamina.memory.agents import residents
from lamina.model.clock import system_clock
from lamina.model.record import State
from lamina.surfaces.cli import mirror, output
from lamina.surfaces.cli import run as running
from lamina.surfaces.cli.invocation import Session, command
from lamina.surfaces.hooks import problems
from lamina.text.words import one_line

KINDS = 5  # of violations, the most frequent ones


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    status(group)
    agents(group)
    diagnose(group)
    reindex(group)
    settings(group)
    completion(group)


def status(group: click.Group) -> None:
    @command(group, "status", "lamina status")
    @click.pass_context
    def run(context: click.Context, session: Session) -> None:
        """Show what is in the store, where its bytes are, and what needs attention. Exits with 1 if it cannot be read."""
        memory = session.memory()
        found = memory.status()
        session.tells_outage = True
        is_read = found["store"] is not None
        found["problems"] += untold(memory.outage, mirror.problems(memory)) if is_read else []
        found["problems"] += problems.recent(session.home, session.agent, system_clock())
        output.show_json(found) if session.json else _show_status(session, found)
        context.exit(0 if is_read else 1)


def _show_status(session: Session, found: dict[str, Any]) -> None:
    shown = ("home", "agent", "user", "store", "place", "events", "head")
    known = [(name, found[name]) for name in shown if found.get(name)]
    if found["store"] is None:
        output.pairs([*known, ("records", "unknown: the store could not be read")])
    else:
        output.pairs(known)
        _show_store(found)
    for label, number in (
        ("archived", found["archived"]),
        ("open runs", found["open_runs"]),
        (
            f"violations in the last {LATELY.days} days (`lamina audit violations`)",
            found.get("violations"),
        ),
    ):
        if number:
            click.echo(f"{label}: {number}")
    for attempt, number in [*found.get("violations_by_attempt", {}).items()][:KINDS]:
        click.echo(f"  {number:>5}  {one_line(attempt, 100)}")
    if found.get("jobs"):
        click.echo()
        running.jobs_table(session.memory().jobs())
    for problem in found["problems"]:
        output.attention(problem)


def _show_store(found: dict[str, Any]) -> None:
    click.echo()
    states = [state.value for state in State]
    rows = [
        (layer, *(number.get(state, 0) for state in states))
        for layer, number in found["records"].items()
    ]
    output.table(("records", *states), rows or [("none yet", *"    ")], right=states)
    click.echo()
    parts = found.get("bytes", {})
    most = max(parts.values(), default=1)
    shares = [
        (part, output.size(number), output.bar(number, most)) for part, number in parts.items()
    ]
    output.table(("part", "size", ""), shares, right=("size",))


def agents(group: click.Group) -> None:
    @command(group, "agents", "lamina agents")
    def run(session: Session) -> None:
        """List the agents of this home: how many active memories each has, its size on disk, and when it last changed."""
        session.check_operator("agents")
        found = [*residents(session.home)]
        if session.json:
            output.show_json([one.to_dict() for one in found])
            return
        if not found:
            click.echo(f"no agents in {session.home.path} yet; the first memory makes one")
            return
        rows = [
            (
                one.name,
                one.memories,
                output.size(one.bytes),
                output.when(one.changed_at) if one.changed_at else "",
            )
            for one in found
        ]
        output.table(
            ("agent", "memories", "size", "last change (UTC)"), rows, right=("memories", "size")
        )
        for one in found:
            if one.problem:
                output.attention(one.problem)


def diagnose(group: click.Group) -> None:
    @command(group, "doctor", "lamina doctor")
    @click.pass_context
    def run(context: click.Context, session: Session) -> None:
        """Check the installation, the home and the store. Exits with 1 when something is wrong."""
        session.check_operator("doctor")
        with output.progress("checking") as advance:
            findings = list(doctor.examine(session.home, session.agent, advance))
        if session.json:
            output.show_json([finding.to_dict() for finding in findings])
        else:
            marks = {
                "ok": click.style("ok  ", fg="green"),
                "warn": click.style("warn", fg="yellow"),
            }
            for finding in findings:
                mark = marks.get(finding.level, click.style("FAIL", fg="red"))
                click.echo(f"{mark}  {finding.check:<12} {finding.message}")
        context.exit(1 if any(finding.level == "fail" for finding in findings) else 0)


def reindex(group: click.Group) -> None:
    @command(group, "reindex", "lamina reindex")
    def run(session: Session) -> None:
        """Make the full-text index anew, when `doctor` asks for it."""
        session.operator("reindex").reindex()
        click.echo("the index is new") if not session.json else output.show_json(
            {"reindexed": True}
        )


def settings(group: click.Group) -> None:
    @command(group, "config", "lamina config")
    def run(session: Session) -> None:
        """Show every setting, its value, and where the value comes from."""
        values = config.load(session.home.path).values.values()
        if session.json:
            output.show_json(
                [
                    {
                        "name": v.setting.name,
                        "value": config.shown_value(v.value)
                        if isinstance(v.value, str)
                        else v.value,
                        "origin": v.origin,
                        "help": v.setting.help,
                    }
                    for v in values
                ]
            )
            return
        rows = [
            (v.setting.name, config.shown_value(v.value), v.origin, v.setting.help) for v in values
        ]
        output.table(
            ("setting", "value", "from", "meaning"),
            rows,
            wide="meaning",
            wraps=("value", "meaning"),
        )


def completion(group: click.Group) -> None:
    @command(group, "completion", 'eval "$(lamina completion bash)"')
    @click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
    def run(session: Session, shell: str) -> None:
        """Print the script that lets SHELL complete commands and options."""
        made = get_completion_class(shell)
        if made is None:
            raise InvalidInput(f"no completion for {shell}")
        script = made(group, {}, "lamina", "_LAMINA_COMPLETE").source()
        output.show_json({"script": script}) if session.json else click.echo(script)
