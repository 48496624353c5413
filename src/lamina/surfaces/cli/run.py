"""The command that runs the jobs, the table of how they stand, and how they are started when nobody runs them."""

from __future__ import annotations

import _thread
import logging
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lamina.surfaces import signals
from lamina.surfaces.cli import output
from lamina.surfaces.cli.invocation import Session, command
from lamina.text.words import one_line

if TYPE_CHECKING:
    from lamina.memory.jobs import Orchestrator, Outlook, Ran

log = logging.getLogger("lamina")

WIDTH = 200


def register(group: click.Group) -> None:
    """Hang these commands under the program."""
    run(group)


def run(group: click.Group) -> None:
    @command(group, "run", "lamina run")
    @click.option("--once", is_flag=True, help="run what is due now, and end")
    @click.pass_context
    def run(context: click.Context, session: Session, once: bool) -> None:
        """Run the jobs of schedule.yaml until stopped: promotion, archiving, embedding and the others.

        One line is printed for each job. Ctrl-C and SIGTERM stop after the job at hand, which consolidation ends early; with
        --once the exit code is 1 when a job failed.
        """
        with session.scheduler() as memory:
            runner = once_through if once else keep_running
            code = runner(memory.orchestrator(), session.json)
        context.exit(code)


def once_through(orchestrator: Orchestrator, as_json: bool) -> int:
    """Run what is due; the exit code."""
    with until_signal() as stop:
        done = orchestrator.tick(stop, lambda ran: show(ran, as_json))
    if not done and not as_json:
        click.echo("nothing to run now")
    return 0 if all(ran.ok for ran in done) else 1


def keep_running(orchestrator: Orchestrator, as_json: bool) -> int:
    """Run what is due until a signal comes; the exit code."""
    with until_signal() as stop:
        on = [job for job in orchestrator.outlook() if job.minutes]
        announce(
            "running "
            + (
                ", ".join(f"{job.job} every {job.minutes} min" for job in on)
                or "nothing: every job is off"
            )
        )
        orchestrator.run(stop, stop.wait, lambda ran: show(ran, as_json))
        announce("stopped")
    return 0


class Stop(threading.Event):
    """Whether to stop, as a handler of signals may say it."""

    told = False

    def is_set(self) -> bool:
        return self.told or super().is_set()

    def tell(self) -> None:
        self.told = True
        # In a thread of its own: the one that the signal interrupts may hold the lock of the event.
        _thread.start_new_thread(self.set, ())


@contextmanager
def until_signal() -> Iterator[Stop]:
    """What the first SIGINT or SIGTERM sets. The second one ends the program as it always would."""
    stop = Stop()
    before = {number: signal.getsignal(number) for number in signals.heard()}

    def handle(number: int, frame: object) -> None:
        for each, handler in before.items():
            signal.signal(each, handler)
        stop.tell()

    with signals.handled(handle):
        yield stop


def announce(message: str) -> None:
    """A word about the program itself, beside what it prints for others to read."""
    click.echo(message, err=True)


def show(ran: Ran, as_json: bool) -> None:
    """One line about one run."""
    if as_json:
        click.echo(msgspec.json.encode(ran.to_dict(), enc_hook=str).decode())
        return
    mark = click.style("ok    ", fg="green") if ran.ok else click.style("failed", fg="red")
    when = ran.started_at.strftime("%Y-%m-%d %H:%M:%S")
    click.echo(
        f"{when}  {ran.job:<20} {mark} {ran.seconds:8.2f} s  {one_line(_summary(ran.outcome), WIDTH)}".rstrip()
    )


def _summary(outcome: Mapping[str, Any]) -> str:
    if not outcome["ok"] and "message" in outcome:
        return str(outcome["message"])
    plain = {
        name: value
        for name, value in outcome.items()
        if name != "ok" and not isinstance(value, (dict, list, tuple))
    }
    return ", ".join(
        f"{name} {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in plain.items()
    )


def jobs_table(found: Sequence[Outlook]) -> None:
    """How the jobs stand; one that nobody runs is marked."""
    rows = [
        (
            job.job,
            f"{job.minutes} min" if job.minutes else "off",
            output.when(job.last_run) if job.last_run else "never",
            job.outcome if job.last_run else "",
            "overdue" if job.overdue else output.when(job.next_run) if job.next_run else "",
            job.failures or "",
        )
        for job in found
    ]
    columns = ("job", "every", "last run", "outcome", "next run", "failures")
    output.table(
        columns, rows, wide="outcome", right=("failures",), dispensable=("failures", "every")
    )
