"""Orchestrators in processes of their own: each job once in its tick, a death seen and made good, a
clean end."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lamina.home import schedule
from lamina.home.schedule import KNOWN, Job
from lamina.model.record import iso
from lamina.store.tables import jobs
from tests.conftest import START
from tests.unit.store.scratch import scratch

from .harness import Child, size

STEP = timedelta(minutes=5)
FIRST, SECOND, *_ = KNOWN


class Conductor(Child):
    """A child with an orchestrator."""

    def __init__(self, home: Path, manner: str) -> None:
        super().__init__("conductor", home, manner)
        self.hear()

    def look(self, at: datetime) -> None:
        """Have it look at the clock and run what is due."""
        self._ear.write(json.dumps(iso(at)) + "\n")
        self._ear.flush()

    def go_on(self) -> None:
        """Let the job at hand end."""
        self._ear.write("\n")
        self._ear.flush()


def last(home: Path, job: str) -> schedule.LastRun:
    with closing(scratch(home / "jobs.db")) as database:
        return jobs.states(database.reader())[job]


def lease(home: Path) -> jobs.Lease | None:
    with closing(scratch(home / "jobs.db")) as database:
        return jobs.lease(database.reader())


def test_two_processes_run_each_job_once_in_a_tick(tmp_path: Path) -> None:
    """L6: two processes that look at the same 1,000 ticks at the same moment run every job exactly
    once in each tick.

    The one that finds the other at work looks again when both are done: nothing is left for it then
    but what is due.
    """
    scratch(tmp_path / "jobs.db").close()
    ticks = size(quick=1000, full=3000)
    ran: Counter[tuple[str, datetime]] = Counter()
    with Conductor(tmp_path, "ticks") as one, Conductor(tmp_path, "ticks") as two:
        for number in range(ticks):
            at = START + number * STEP
            for child in (one, two):
                child.look(at)
            for child in (one, two):
                for name in child.hear()["ran"]:
                    ran[name, schedule.tick(Job(name, KNOWN[name].minutes), at)] += 1
    assert set(ran.values()) == {1}
    expected = {
        name: -(-ticks * STEP // timedelta(minutes=known.minutes)) for name, known in KNOWN.items()
    }
    assert Counter(name for name, _ in ran) == expected


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be asked about there")
def test_a_leader_that_dies_in_a_job_is_seen_and_followed(tmp_path: Path) -> None:
    """L6: while a process works, another runs nothing; killed with -9 in the job, the other runs
    that job again at once."""
    scratch(tmp_path / "jobs.db").close()
    with Conductor(tmp_path, "works") as leader, Conductor(tmp_path, "ticks") as other:
        leader.look(START)
        assert leader.hear() == {"begun": FIRST}
        other.look(START)
        assert other.hear()["ran"] == []
        leader.kill()
        assert last(tmp_path, FIRST).finished_at is None
        other.look(START + timedelta(seconds=1))
        assert other.hear()["ran"] == list(KNOWN)
        assert last(tmp_path, FIRST).outcome == {"ok": True}
        other.look(START + timedelta(seconds=2))
        assert other.hear()["ran"] == []


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind do not exist there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_after_the_job_at_hand(
    tmp_path: Path, number: signal.Signals
) -> None:
    """L6: told to stop in a job, the program finishes it, begins no other, lets the lease go, and
    exits with 0."""
    scratch(tmp_path / "jobs.db").close()
    with Conductor(tmp_path, "runs") as child:
        assert child.hear() == {"begun": FIRST}
        assert lease(tmp_path) is not None
        child.process.send_signal(number)
        child.go_on()
        (line,) = child.finish()
        assert (line["job"], line["outcome"]) == (FIRST, {"ok": True})
    assert last(tmp_path, FIRST).outcome == {"ok": True}
    assert lease(tmp_path) is None
    with closing(scratch(tmp_path / "jobs.db")) as database:
        assert list(jobs.states(database.reader())) == [FIRST]


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind do not exist there")
def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    """L6: who cannot wait for the job at hand ends the program by a second signal; the job is then
    run again by others."""
    scratch(tmp_path / "jobs.db").close()
    with Conductor(tmp_path, "runs") as child, Conductor(tmp_path, "ticks") as other:
        assert child.hear() == {"begun": FIRST}
        child.process.send_signal(signal.SIGTERM)
        while child.process.poll() is None:
            child.process.send_signal(signal.SIGTERM)
        assert child.process.returncode == -signal.SIGTERM
        other.look(datetime.now(START.tzinfo))
        assert other.hear()["ran"] == list(KNOWN)
    assert last(tmp_path, SECOND).outcome == {"ok": True}
