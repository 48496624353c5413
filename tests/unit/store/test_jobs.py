"""The lease and the last runs: one process may run jobs, each job begins once in a tick, and a
death is seen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from lamina.home.schedule import DEATHS
from lamina.model.clock import to_micros
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import jobs
from tests.conftest import START
from tests.unit.store.scratch import scratch

JOB = "memory_rotate_check"
SECONDS = 120.0
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
TICK = timedelta(minutes=10)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    with closing(scratch(tmp_path / "jobs.db")) as opened:
        yield opened


@pytest.fixture
def gone() -> str:
    """The name of a holder whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    machine, _, word = jobs.own_name().split("/")
    return f"{machine}/{process.pid}/{word}"


def held(database: SqliteDatabase) -> str | None:
    found = jobs.lease(database.reader())
    return found.holder if found else None


def test_a_lease_has_one_holder(database: SqliteDatabase) -> None:
    """L6: while one holds the lease no other gets it; released, it is free; whoever has it may take
    it again."""
    assert jobs.take_lease(database, "me", START, SECONDS)
    assert not jobs.take_lease(database, "you", START + MINUTE, SECONDS)
    assert jobs.take_lease(database, "me", START + MINUTE, SECONDS)
    jobs.release(database, "you")
    assert held(database) == "me"
    jobs.release(database, "me")
    assert held(database) is None
    assert jobs.take_lease(database, "you", START + MINUTE, SECONDS)


def test_a_lease_ends_by_itself_unless_it_is_renewed(database: SqliteDatabase) -> None:
    """L6: who neither renews nor releases it loses it with its time, and cannot renew
    what another has."""
    assert jobs.take_lease(database, "me", START, SECONDS)
    assert jobs.renew(database, "me", START + MINUTE, SECONDS)
    assert not jobs.take_lease(database, "you", START + 2 * MINUTE, SECONDS)
    assert jobs.take_lease(database, "you", START + 3 * MINUTE, SECONDS)
    assert not jobs.renew(database, "me", START + 3 * MINUTE, SECONDS)


def test_a_lease_of_the_future_is_void(database: SqliteDatabase) -> None:
    """L6: after the clock was set back an hour nobody waits for an hour; a moment's difference
    between clocks is no reason."""
    jobs.take_lease(database, "me", START + timedelta(hours=1), SECONDS)
    assert jobs.take_lease(database, "you", START, SECONDS)
    assert not jobs.take_lease(database, "me", START - SECOND, SECONDS)


@pytest.mark.skipif(os.name == "nt", reason="processes cannot be asked about there")
def test_the_lease_of_a_dead_process_is_free_at_once(database: SqliteDatabase, gone: str) -> None:
    """L6: a holder of this machine whose process has ended is not waited for; a living one, or one
    elsewhere, is."""
    assert jobs.take_lease(database, gone, START, SECONDS)
    assert jobs.take_lease(database, jobs.own_name(), START, SECONDS)
    assert not jobs.take_lease(database, jobs.own_name(), START, SECONDS)
    jobs.take_lease(database, "elsewhere/1/word", START + timedelta(hours=1), SECONDS)
    assert not jobs.take_lease(database, "me", START + timedelta(hours=1), SECONDS)


@pytest.mark.parametrize("holder", ["", "me", "/", "//", "a/b/c", "é/²/x"])
def test_a_strange_name_is_not_dead(holder: str) -> None:
    """L6: of a holder that is none of ours nothing is assumed, whatever it is called."""
    assert not jobs.is_dead(holder)
    own = jobs.own_name().split("/")[0]
    assert not jobs.is_dead(f"{own}/{holder}")
    assert jobs.is_dead(f"{own}/{'9' * 30}/x") == (os.name != "nt")
    assert not jobs.is_dead(f"{own}/{os.getpid()}/x")


def test_names_differ_within_a_process() -> None:
    """L6: two handles of one process are two holders."""
    assert jobs.own_name() != jobs.own_name()


def test_a_job_begins_once_in_a_tick(database: SqliteDatabase) -> None:
    """L6: the first to ask begins, and the job is his until it is finished; the next
    tick begins anew."""
    jobs.take_lease(database, "me", START, SECONDS)
    assert jobs.begin(database, JOB, START, "me", START, SECONDS)
    assert not jobs.begin(database, JOB, START, "me", START, SECONDS)
    assert jobs.finish(database, JOB, "me", START + SECOND, {"ok": True, "promoted": 3})
    assert not jobs.finish(database, JOB, "me", START + MINUTE, {"ok": False})
    assert not jobs.begin(database, JOB, START, "me", START + MINUTE, SECONDS)
    last = jobs.states(database.reader())[JOB]
    assert (last.tick, last.started_at, last.finished_at) == (START, START, START + SECOND)
    assert (last.holder, last.outcome, last.failures) == ("me", {"ok": True, "promoted": 3}, 0)
    jobs.take_lease(database, "me", START + TICK, SECONDS)
    assert jobs.begin(database, JOB, START + TICK, "me", START + TICK, SECONDS)


def test_each_job_holds_the_lease_for_longer(database: SqliteDatabase) -> None:
    """L6: the time of the lease counts from the last job that began, so that many jobs in a row
    keep it."""
    jobs.take_lease(database, "me", START, SECONDS)
    assert jobs.begin(database, JOB, START, "me", START + MINUTE, SECONDS)
    found = jobs.lease(database.reader())
    assert found == jobs.Lease("me", START + MINUTE + timedelta(seconds=SECONDS))


def test_nobody_begins_without_the_lease(database: SqliteDatabase) -> None:
    """L6: without a lease, with another's, or with one that has run out, no job begins."""
    assert not jobs.begin(database, JOB, START, "me", START, SECONDS)
    jobs.take_lease(database, "me", START, SECONDS)
    assert not jobs.begin(database, JOB, START, "you", START, SECONDS)
    assert not jobs.begin(database, JOB, START, "me", START + timedelta(seconds=SECONDS), SECONDS)
    assert jobs.states(database.reader()) == {}


def test_a_clock_that_is_set_back_begins_anew(database: SqliteDatabase) -> None:
    """L6: a tick that ran in the future counts for nothing now, and runs once again."""
    later = START + timedelta(hours=1)
    jobs.take_lease(database, "me", later, SECONDS)
    assert jobs.begin(database, JOB, later, "me", later, SECONDS)
    assert jobs.finish(database, JOB, "me", later, {"ok": True})
    assert jobs.begin(database, JOB, START, "me", START, SECONDS)
    assert jobs.finish(database, JOB, "me", START, {"ok": True})
    assert not jobs.begin(database, JOB, START, "me", START, SECONDS)


def test_a_job_that_died_is_begun_again_and_counted(database: SqliteDatabase, gone: str) -> None:
    """L6: who gets the lease after a death begins the job again in the same tick, and what the dead
    would say is void."""
    jobs.take_lease(database, gone, START, SECONDS)
    assert jobs.begin(database, JOB, START, gone, START, SECONDS)
    jobs.take_lease(database, "me", START + 2 * MINUTE, SECONDS)
    assert jobs.begin(database, JOB, START, "me", START + 2 * MINUTE, SECONDS)
    assert jobs.states(database.reader())[JOB].failures == 1
    assert not jobs.finish(database, JOB, gone, START + 2 * MINUTE, {"ok": True})
    assert jobs.finish(database, JOB, "me", START + 2 * MINUTE, {"ok": True})
    assert jobs.states(database.reader())[JOB].failures == 0


def test_a_job_that_kills_its_process_does_not_begin_for_ever(database: SqliteDatabase) -> None:
    """L6: after some deaths in one tick the job waits for the next one, and its
    deaths are counted."""
    begun = 0
    for number in range(10):
        jobs.release(database, f"holder {number - 1}")
        jobs.take_lease(database, f"holder {number}", START, SECONDS)
        begun += jobs.begin(database, JOB, START, f"holder {number}", START, SECONDS)
    assert begun == DEATHS + 1
    assert jobs.states(database.reader())[JOB].failures == DEATHS
    assert jobs.begin(database, JOB, START + TICK, "holder 9", START + MINUTE, SECONDS)


def test_failures_are_counted_in_a_row(database: SqliteDatabase) -> None:
    """L6: each failure counts one more, and a success begins at nothing."""
    for number, ok in enumerate([False, False, True, False]):
        now = START + number * TICK
        jobs.take_lease(database, "me", now, SECONDS)
        assert jobs.begin(database, JOB, now, "me", now, SECONDS)
        jobs.finish(database, JOB, "me", now, {"ok": ok, "message": "no"})
    assert jobs.states(database.reader())[JOB].failures == 1


def test_an_outcome_of_any_kind_is_kept(database: SqliteDatabase) -> None:
    """L6: what a job returns is stored as JSON, whatever is in it."""
    jobs.take_lease(database, "me", START, SECONDS)
    jobs.begin(database, JOB, START, "me", START, SECONDS)
    jobs.finish(
        database, JOB, "me", START, {"ok": True, "path": Path("a"), "at": START, "none": None}
    )
    outcome = jobs.states(database.reader())[JOB].outcome
    assert outcome == {
        "ok": True,
        "path": "a",
        "at": START.isoformat().replace("+00:00", "Z"),
        "none": None,
    }


def test_the_lease_is_one_row(database: SqliteDatabase) -> None:
    """L6: the table itself holds one lease at most, and times as whole microseconds."""
    jobs.take_lease(database, "me", START, SECONDS)
    jobs.take_lease(database, "you", START + TICK, SECONDS)
    (row,) = database.reader().execute("SELECT one, holder, until FROM lease").fetchall()
    assert row == (1, "you", to_micros(START + TICK + timedelta(seconds=SECONDS)))
