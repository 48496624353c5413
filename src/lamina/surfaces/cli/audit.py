"""Commands about the audit trail: log, verify, head, violations."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from lamina.errors import InvalidInput
from lamina.store.engine import raw_file
from lamina.store.upkeep.verify import Report
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import counted


def register(group: click.Group) -> None:
    """Hang these commands under the program."""

    @group.group("audit")
    def audit() -> None:
        """Who did what, when, and whether anyone tampered with it."""

    log(audit)
    verify(audit)
    head(audit)
    violations(audit)


def log(group: click.Group) -> None:
    @command(group, "log", "lamina audit log --reads --limit 20")
    @click.option("--reads", is_flag=True, help="who looked at what, instead of who changed what")
    @click.option("--limit", type=int, default=50, show_default=True, help="at most so many")
    def run(session: Session, reads: bool, limit: int) -> None:
        """Show the trail, newest first."""
        operator = session.operator("audit log")
        if reads:
            looked = operator.audit_reads(limit)
            output.show_json([read.to_dict() for read in looked]) if session.json else output.reads(
                looked
            )
        else:
            changed = operator.audit_log(limit)
            output.show_json(
                [event.to_dict() for event in changed]
            ) if session.json else output.events(changed)


def verify(group: click.Group) -> None:
    @command(group, "verify", "lamina audit verify --head head-of-monday.json")
    @click.option(
        "--head",
        "head_file",
        type=click.Path(path_type=Path),
        help="a head that `audit head` printed earlier",
    )
    @click.pass_context
    def run(context: click.Context, session: Session, head_file: Path | None) -> None:
        """Check every record against the trail. Exits with 1 and names the first bad place if anything differs."""
        operator = session.operator("audit verify")
        expected = _read_head(head_file) if head_file else None
        with output.progress("verifying") as advance:
            reports = operator.audit_verify(expected, advance)
        if session.json:
            output.show_json({name: report.to_dict() for name, report in reports.items()})
        else:
            for name, report in reports.items():
                _show(name, report)
        context.exit(0 if all(report.ok for report in reports.values()) else 1)


def _show(name: str, report: Report) -> None:
    if report.ok:
        links = (counted(report.events, "event"), counted(report.records, "record"))
        what = ", ".join(links) if name == "events" else counted(report.events, "link")
        click.echo(click.style("ok   ", fg="green") + f"{name:<7} {what}, head {report.head[:16]}…")
    for part in report.uncovered:
        click.echo(
            click.style("?    ", fg="yellow")
            + f"{name:<7} {part.place}: cannot be compared: {part.message}"
        )
    for problem in report.problems:
        click.echo(click.style("BAD  ", fg="red") + f"{name:<7} {problem.place}: {problem.message}")


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


def head(group: click.Group) -> None:
    @command(group, "head", "lamina audit head > head-of-monday.json")
    def run(session: Session) -> None:
        """Print what fixes the whole history as it is now, as JSON. Keep it where the store's writer cannot reach."""
        output.show_json(session.operator("audit head").audit_head())


def violations(group: click.Group) -> None:
    @command(group, "violations", "lamina audit violations --limit 20")
    @click.option("--limit", type=int, default=50, show_default=True, help="at most so many")
    def run(session: Session, limit: int) -> None:
        """Show who tried to reach what is not theirs, in the whole home, newest first."""
        found = session.operator("audit violations").audit_violations(limit)
        if session.json:
            output.show_json(found)
            return
        rows = [
            (one.at[:16].replace("T", " "), one.actor, one.surface, one.attempt, one.value)
            for one in found.entries
        ]
        if rows:
            columns = ("when (UTC)", "actor", "surface", "attempt", "value")
            output.table(columns, rows, wide="attempt", dispensable=("surface",), wraps=("value",))
        else:
            click.echo("nobody tried to cross a boundary")
        if found.unreadable:
            output.notes([f"{counted(found.unreadable, 'line')} of the log cannot be read"])
