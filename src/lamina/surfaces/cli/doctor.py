"""Commands that check and repair: doctor, reindex."""

from __future__ import annotations

import click

from lamina.memory.doctor import examine
from lamina.model.clock import system_clock
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.surfaces.install.check import connections


@command("doctor", "lamina doctor")
def doctor(invocation: Invocation) -> int:
    """Check the installation, the home, the store and the connected agents.
    Exits with 1 when something is wrong.
    """
    invocation.check_operator("doctor")
    with output.progress("checking") as advance:
        findings = [
            *examine(invocation.home, invocation.agent, advance),
            *connections(invocation.home, invocation.agent, system_clock()),
        ]
    if invocation.json:
        output.show_json([finding.to_dict() for finding in findings])
    else:
        marks = {"ok": click.style("ok  ", fg="green"), "warn": click.style("warn", fg="yellow")}
        for finding in findings:
            mark = marks.get(finding.level, click.style("FAIL", fg="red"))
            click.echo(f"{mark}  {finding.check:<12} {finding.message}")
    return EXIT_FAILED if any(finding.level == "fail" for finding in findings) else 0


@command("reindex", "lamina reindex", needs_known_agent=True)
def reindex(invocation: Invocation) -> None:
    """Rebuild the full-text index, when `doctor` asks for it."""
    invocation.operator("reindex").reindex()
    output.show_json({"reindexed": True}) if invocation.json else click.echo(
        "the index was rebuilt"
    )
