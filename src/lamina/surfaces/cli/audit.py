"""Commands about the audit trail: audit log, verify, head and violations."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from lamina.errors import InvalidInput
from lamina.store.engine import raw_file
from lamina.store.upkeep.verify import Report
from lamina.surfaces.cli import options, output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import counted


@click.group()
def audit() -> None:
    """Who did what, when, and whether anyone tampered with it."""


@command("log", "lamina audit log --reads --limit 20", under=audit, needs_known_agent=True)
@click.option("--reads", is_flag=True, help="who looked at what, instead of who changed what")
@click.option("--refused", is_flag=True, help="calls that were refused for lack of authority")
@options.limit
def audit_log(invocation: Invocation, reads: bool, refused: bool, limit: int) -> None:
    """Show the trail, newest first. Repeated refusals of one kind are mostly only counted."""
    if reads and refused:
        raise click.UsageError("give --reads or --refused, not both")
    operator = invocation.operator("audit log")
    if refused:
        attempts = operator.audit_refusals(limit)
        if invocation.json:
            output.show_json([attempt.to_dict() for attempt in attempts])
        elif attempts:
            output.refusals(attempts)
        else:
            click.echo("nobody was refused")
        return
    if reads:
        looks = operator.audit_reads(limit)
        if invocation.json:
            output.show_json([look.to_dict() for look in looks])
        else:
            output.reads(looks)
        return
    events = operator.audit_log(limit)
    if invocation.json:
        output.show_json([event.to_dict() for event in events])
    else:
        output.events(events)


@command(
    "verify",
    "lamina audit verify --head head-of-monday.json",
    under=audit,
    needs_known_agent=True,
)
@click.option(
    "--head",
    "head_file",
    type=click.Path(path_type=Path),
    help="a head that `audit head` printed earlier",
)
def audit_verify(invocation: Invocation, head_file: Path | None) -> int:
    """Check every record against the trail.
    Exits with 1 and names the first bad place if anything differs.
    """
    operator = invocation.operator("audit verify")
    expected = _read_head(head_file) if head_file else None
    with output.progress("verifying") as advance:
        reports = operator.audit_verify(expected, advance)
    if invocation.json:
        output.show_json({name: report.to_dict() for name, report in reports.items()})
    else:
        for name, report in reports.items():
            _show(name, report)
    return 0 if all(report.ok for report in reports.values()) else EXIT_FAILED


def _show(name: str, report: Report) -> None:
    label = f"{name:<7}"
    if report.ok:
        links = (counted(report.events, "event"), counted(report.records, "record"))
        checked = ", ".join(links) if name == "events" else counted(report.events, "link")
        mark = click.style("ok   ", fg="green")
        click.echo(f"{mark}{label} {checked}, head {report.head[:16]}…")
    for part in report.uncovered:
        mark = click.style("?    ", fg="yellow")
        click.echo(f"{mark}{label} {part.place}: cannot be compared: {part.message}")
    for problem in report.problems:
        mark = click.style("BAD  ", fg="red")
        click.echo(f"{mark}{label} {problem.place}: {problem.message}")


def _read_head(path: Path) -> dict[str, object]:
    try:
        head = msgspec.json.decode(raw_file.read(path))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a head: {error}") from None
    if not isinstance(head, dict):
        raise InvalidInput(f"{path} is not a head as `lamina audit head` prints it")
    return head


@command("head", "lamina audit head > head-of-monday.json", under=audit, needs_known_agent=True)
def audit_head(invocation: Invocation) -> None:
    """Print a fingerprint of the whole history as it is now, as JSON. Keep it where nobody who can
    write to the store can change it.
    """
    output.show_json(invocation.operator("audit head").audit_head())


@command("violations", "lamina audit violations --limit 20", under=audit)
@options.limit
def audit_violations(invocation: Invocation, limit: int) -> None:
    """Show attempts to reach another's memory, in the whole home, newest first."""
    log = invocation.operator("audit violations").audit_violations(limit)
    if invocation.json:
        output.show_json(log)
        return
    rows = [
        (entry.at[:16].replace("T", " "), entry.actor, entry.surface, entry.attempt, entry.value)
        for entry in log.entries
    ]
    if rows:
        columns = ("when (UTC)", "actor", "surface", "attempt", "value")
        output.table(columns, rows, wide="attempt", dispensable=("surface",), wraps=("value",))
    else:
        click.echo("nobody tried to cross a boundary")
    if log.unreadable:
        output.notes([f"{counted(log.unreadable, 'line')} of the log cannot be read"])
