"""The command that runs the jobs, and the table of their state: run."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lamina.surfaces import signals
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import EXIT_FAILED, Invocation, command
from lamina.text.words import one_line

if TYPE_CHECKING:
    from lamina.memory.jobs import Orchestrator, Outlook, Ran

WIDTH = 200  # characters of a job's outcome


@command("run", "lamina run")
@click.option("--once", is_flag=True, help="run the due jobs, and exit")
def run(invocation: Invocation, once: bool) -> int:
    """Run the jobs of schedule.yaml until stopped: promotion, archiving, embedding and the others.

    One line is printed for each job. Ctrl-C and SIGTERM stop it after the current job
    (consolidation ends early); with --once the exit code is 1 when a job failed.
    """
    with invocation.scheduler() as memory:
        runner = once_through if once else keep_running
        return runner(memory.orchestrator(), invocation.json)


def once_through(orchestrator: Orchestrator, as_json: bool) -> int:
    """Run the due jobs once, and return the exit code."""
    with until_signal() as stop:
        done = orchestrator.tick(stop, lambda ran: _show(ran, as_json))
    if not done and not as_json:
        click.echo("nothing to run now")
    return 0 if all(ran.ok for ran in done) else EXIT_FAILED


def keep_running(orchestrator: Orchestrator, as_json: bool) -> int:
    """Run due jobs until a signal arrives, and return the exit code."""
    with until_signal() as stop:
        jobs = [
            f"{job.job} every {job.minutes} min" for job in orchestrator.outlook() if job.minutes
        ]
        # On standard error: other programs parse the output of each job.
        output.line(f"running {', '.join(jobs) or 'nothing: every job is off'}", err=True)
        if (note := orchestrator.timetable.current().note) is not None:
            click.echo(note, err=True)
        orchestrator.run(stop, stop.wait, lambda ran: _show(ran, as_json))
        click.echo("stopped", err=True)
    return 0


class Stop(threading.Event):
    """An event that signal handlers may set."""

    is_signalled = False

    def is_set(self) -> bool:
        return self.is_signalled or super().is_set()

    def signal(self) -> None:
        """Set the event from a signal handler."""
        self.is_signalled = True
        # In a separate thread: the one that the signal interrupts may hold the event's lock.
        _thread.start_new_thread(self.set, ())


@contextmanager
def until_signal() -> Iterator[Stop]:
    """Yield an event that the first SIGINT or SIGTERM sets; a second signal ends the program."""
    stop = Stop()
    before = {number: signal.getsignal(number) for number in signals.heard()}

    def handle(number: int, frame: object) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        stop.signal()

    with signals.handled(handle):
        yield stop


def _show(ran: Ran, as_json: bool) -> None:
    """Print one line about one run of a job."""
    if as_json:
        click.echo(msgspec.json.encode(ran.to_dict(), enc_hook=str).decode())
        return
    mark = click.style("ok    ", fg="green") if ran.ok else click.style("failed", fg="red")
    when = ran.started_at.strftime("%Y-%m-%d %H:%M:%S")
    outcome = one_line(_summary(ran.outcome), WIDTH)
    output.line(f"{when}  {ran.job:<20} {mark} {ran.seconds:8.2f} s  {outcome}".rstrip())


def _summary(outcome: Mapping[str, Any]) -> str:
    """Format the simple values of an outcome on one line, or why it failed."""
    if not outcome["ok"] and "message" in outcome:
        return str(outcome["message"])
    parts = []
    for name, value in outcome.items():
        if name != "ok" and not isinstance(value, (dict, list, tuple)):
            parts.append(f"{name} {str(value).lower() if isinstance(value, bool) else value}")
    return ", ".join(parts)


def jobs_table(jobs: Sequence[Outlook]) -> None:
    """Print the state of the jobs; one that should have run by now is marked."""
    rows = []
    for job in jobs:
        following = output.when(job.next_run) if job.next_run else ""
        rows.append(
            (
                job.job,
                f"{job.minutes} min" if job.minutes else "off",
                output.when(job.last_run) if job.last_run else "never",
                job.outcome if job.last_run else "",
                "overdue" if job.overdue else following,
                job.failures or "",
            )
        )
    columns = ("job", "every", "last run", "outcome", "next run", "failures")
    output.table(
        columns, rows, wide="outcome", right=("failures",), dispensable=("failures", "every")
    )
    if any(job.minutes and job.next_run is None for job in jobs):
        advice = "run `lamina run`, or set maintenance to auto"
        output.attention(f"nobody runs these jobs: {advice}")
