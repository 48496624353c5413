"""The orchestrator: each job once in its tick, whoever runs; failures told, deaths seen, and a
clean stop."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator, Refused
from lamina.errors import InvalidInput, NotFound
from lamina.home import schedule
from lamina.home.schedule import FILE_NAME, KNOWN, Job, Timetable
from lamina.memory import jobs as module
from lamina.memory.jobs import LEASE, LEAST, MOST, Orchestrator, Ran
from lamina.model.record import Role
from lamina.store.tables import jobs
from tests.conftest import START, Desk, Ticking
from tests.unit.memory.homes import ruled
from tests.unit.store.scratch import scratch

TICK = timedelta(minutes=10)
MINUTE = timedelta(minutes=1)
ONE = "every:\n" + "".join(
    f"  - {{name: {name}, minutes: 0}}\n" for name in KNOWN if name != "memory_rotate_check"
)
Report = list[tuple[str, Mapping[str, Any]]]


class House:
    """One store in a home, and orchestrators on it that each have a handle of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = Ticking(step=timedelta(0))
        self.ran: list[tuple[str, datetime]] = []
        self.reports: Report = []
        self._handles = ExitStack()

    def work(self, name: str) -> Callable[[], Mapping[str, Any]]:
        def run() -> Mapping[str, Any]:
            self.ran.append((name, self.clock()))
            return {"done": len(self.ran)}

        return run

    def open(self, *names: str, **more: Any) -> Orchestrator:
        database = scratch(self.home / "jobs.db")
        self._handles.callback(database.close)
        work = {name: self.work(name) for name in names or KNOWN} | more.pop("work", {})
        return Orchestrator(database, work, Timetable(self.home), self.clock, self.report, **more)

    def report(self, job: str, outcome: Mapping[str, Any]) -> str | None:
        self.reports.append((job, outcome))
        return None

    def write(self, body: str) -> None:
        (self.home / FILE_NAME).write_text(body, "utf-8")

    def close(self) -> None:
        self._handles.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = House(tmp_path)
    yield opened
    opened.close()


def names(done: list[Ran]) -> list[str]:
    return [ran.job for ran in done]


def test_two_orchestrators_run_each_job_once_in_a_tick(house: House) -> None:
    """L6: over 1,000 ticks of one clock, two orchestrators on one store run every job exactly once
    in each of its ticks."""
    pair = [house.open(), house.open()]
    for number in range(1000):
        house.clock.set(START + number * timedelta(minutes=5))
        for each in pair if number % 3 else reversed(pair):
            each.tick()
    counted = Counter(
        (name, schedule.tick(Job(name, KNOWN[name].minutes), at)) for name, at in house.ran
    )
    assert set(counted.values()) == {1}
    whole = timedelta(minutes=5) * 1000
    expected = {
        name: -(-whole // timedelta(minutes=known.minutes)) for name, known in KNOWN.items()
    }
    assert Counter(name for name, _ in house.ran) == expected


def test_threads_share_the_work(house: House) -> None:
    """L6: orchestrators in threads that tick at the same moment run each job once between them."""
    several = [house.open() for _ in range(4)]
    for number in range(30):
        house.clock.set(START + number * TICK)
        threads = [threading.Thread(target=each.tick) for each in (*several, several[0])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in several:  # whoever found the lease taken meanwhile has nothing left to do
            each.tick()
    counted = Counter(
        (name, schedule.tick(Job(name, KNOWN[name].minutes), at)) for name, at in house.ran
    )
    assert set(counted.values()) == {1}
    assert Counter(name for name, _ in house.ran)["memory_rotate_check"] == 30


def test_a_run_is_recorded_reported_and_told(house: House) -> None:
    """L5, L6: the outcome is in the store, in the report, and in what `tick` returns; the lease is
    free afterwards."""
    one = house.open("memory_rotate_check")
    told: list[Ran] = []
    (ran,) = one.tick(tell=told.append)
    assert told == [ran]
    assert (ran.job, ran.started_at, ran.outcome, ran.ok) == (
        "memory_rotate_check",
        START,
        {"ok": True, "done": 1},
        True,
    )
    assert ran.to_dict()["started_at"] == "2026-05-01T08:00:00.000000Z"
    assert house.reports == [("memory_rotate_check", ran.outcome)]
    (stood,) = one.outlook()
    assert (stood.job, stood.minutes, stood.last_run, stood.outcome) == (
        "memory_rotate_check",
        10,
        START,
        "ok",
    )
    assert (stood.next_run, stood.failures, stood.overdue) == (START + TICK, 0, False)
    assert jobs.lease(one._database.reader()) is None


def test_the_scheduler_is_the_system() -> None:
    """V7: what the orchestrator does, it does as actor `system`, which may not confirm."""
    assert (module.ACTOR.role, module.ACTOR.name) == (Role.SYSTEM, "scheduler")


@pytest.mark.parametrize(
    "error", [NotFound("no such thing"), ValueError("not that"), ZeroDivisionError()], ids=repr
)
def test_a_failing_job_stops_no_other(
    house: House, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: a failure, expected or not, is recorded with its message and logged; the others run; the
    next tick tries again."""

    def fail() -> Mapping[str, Any]:
        house.ran.append(("expiry", house.clock()))
        raise error

    one = house.open(work={"expiry": fail})
    with caplog.at_level(logging.INFO, "lamina"):
        done = one.tick()
    assert names(done) == list(KNOWN)
    failed = next(ran for ran in done if ran.job == "expiry")
    assert not failed.ok
    assert str(error) in failed.outcome["message"]
    assert "expiry failed" in caplog.text
    assert ("expiry", failed.outcome) in house.reports
    assert one.tick() == []
    house.clock.jump(timedelta(hours=1))
    assert "expiry" in names(one.tick())
    stood = next(job for job in one.outlook() if job.job == "expiry")
    assert stood.failures == 2
    assert stood.outcome.startswith("failed: ")


def test_a_job_that_says_that_it_failed_has_failed(house: House) -> None:
    """L6: `ok: false` in an outcome counts like an error."""
    one = house.open(
        "embedding", work={"embedding": lambda: {"ok": False, "message": "the model is away"}}
    )
    assert [ran.ok for ran in one.tick()] == [False]
    assert [(job.outcome, job.failures) for job in one.outlook()] == [
        ("failed: the model is away", 1)
    ]


def test_an_interrupted_job_is_seen_and_run_again(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: what ends a process in the middle of a job leaves it unfinished; another orchestrator
    runs it, and says so."""

    def interrupt() -> Mapping[str, Any]:
        raise KeyboardInterrupt

    dying = house.open("embedding", work={"embedding": interrupt})
    with pytest.raises(KeyboardInterrupt):
        dying.tick()
    other = house.open("embedding")
    assert [(job.outcome, job.failures) for job in other.outlook()] == [("died", 0)]
    assert names(other.tick()) == ["embedding"]
    assert "never finished; it is run again" in caplog.text
    assert [(job.outcome, job.failures) for job in other.outlook()] == [("ok", 0)]


def test_a_job_at_work_elsewhere_is_left_alone(house: House) -> None:
    """L6: while one works, another runs nothing and nothing waits for it; the table says that
    it is running."""
    other = house.open("expiry", "embedding")
    seen: list[Any] = []

    def slow() -> Mapping[str, Any]:
        seen.append((other.tick(), other.is_waiting(), [job.outcome for job in other.outlook()]))
        return {}

    one = house.open("expiry", "embedding", work={"expiry": slow})
    assert other.is_waiting()
    assert names(one.tick()) == ["expiry", "embedding"]
    assert seen == [([], False, ["running", "never ran"])]
    assert not other.is_waiting()


def test_a_long_job_keeps_its_lease(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """L6: while a job works, however long, the lease is renewed, so that nobody takes its process
    for dead."""
    monkeypatch.setattr(module, "LEASE", 0.04)
    renewed, looks = threading.Event(), []

    def clock() -> datetime:
        if threading.current_thread().name == "lamina-lease":
            looks.append(house.clock.now)
            house.clock.jump(MINUTE)
            if len(looks) == 3:
                renewed.set()
        return house.clock.now

    def long() -> Mapping[str, Any]:
        assert renewed.wait(60)
        lease = jobs.lease(one._database.reader())
        assert lease is not None
        assert lease.until > START + MINUTE
        return {}

    one = house.open("embedding", work={"embedding": long})
    one._clock = clock
    assert [ran.ok for ran in one.tick()] == [True]


def test_a_job_that_outlives_its_lease_does_not_overwrite(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: when another has taken a sleeping process for dead, what that one says later is not
    recorded, but logged."""
    other = house.open("embedding")

    def sleep() -> Mapping[str, Any]:
        house.clock.jump(timedelta(seconds=LEASE + 1))
        assert names(other.tick()) == ["embedding"]
        return {"late": True}

    one = house.open("embedding", work={"embedding": sleep})
    one.tick()
    assert "another process began it again" in caplog.text
    assert jobs.states(one._database.reader())["embedding"].outcome == {"ok": True, "done": 1}


def test_a_report_that_cannot_be_written_is_not_hidden(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """L5: a status folder that cannot be written stops no job, and is in the outcome and
    in the log."""

    house.report = lambda job, outcome: "status cannot be written: Permission denied"  # type: ignore[method-assign]
    (ran,) = house.open("embedding").tick()
    assert ran.ok
    assert ran.outcome["unreported"] == "status cannot be written: Permission denied"
    assert "could not be reported" in caplog.text


def test_jobs_without_work_and_jobs_that_are_off_do_not_run(house: House) -> None:
    """L6: what there is nothing to run for is not in the table; what the file turns off
    does not run."""
    house.write(ONE)
    one = house.open("memory_rotate_check", "expiry")
    assert names(one.tick()) == ["memory_rotate_check"]
    assert [(job.job, job.next_run) for job in one.outlook()] == [
        ("memory_rotate_check", START + TICK),
        ("expiry", None),
    ]


def test_consolidation_waits_for_idle_hours(house: House) -> None:
    """L6: the job that runs when idle is not begun before; the others do not ask."""
    idle = False
    one = house.open("consolidation", "embedding", is_idle=lambda: idle)
    assert names(one.tick()) == ["embedding"]
    idle = True
    assert names(one.tick()) == ["consolidation"]


def test_a_changed_schedule_takes_effect_while_it_runs(house: House) -> None:
    """L6: a new interval holds from the next look on; a bad file changes nothing."""
    one = house.open("memory_rotate_check")
    one.tick()
    house.write(ONE + "  - {name: memory_rotate_check, minutes: 1}\n")
    house.clock.jump(MINUTE)
    assert len(one.tick()) == 1
    house.write("every: [")
    house.clock.jump(MINUTE)
    assert len(one.tick()) == 1
    assert one.timetable.problem is not None


def test_a_clock_that_jumps_stops_nothing(house: House) -> None:
    """L6: an hour back, ten years on, ten years back: every job runs once at each, and
    then as ever."""
    one = house.open()
    assert names(one.tick()) == list(KNOWN)
    for jump in (timedelta(hours=-1), timedelta(days=3653), timedelta(days=-3653)):
        house.clock.jump(jump)
        assert names(one.tick()) == list(KNOWN)
        assert one.tick() == []
    house.clock.jump(TICK)
    assert {"memory_rotate_check", "embedding"} <= set(names(one.tick()))


def test_the_loop_runs_until_it_is_stopped(house: House) -> None:
    """L6: the loop waits for the next tick, runs what is due, and ends when it is told to."""
    house.write(ONE)
    one, stop, waits = house.open("memory_rotate_check"), threading.Event(), []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        house.clock.jump(timedelta(seconds=seconds))
        if len(house.ran) == 4:
            stop.set()

    one.run(stop, wait)
    assert [at for _, at in house.ran] == [START + number * TICK for number in range(4)]
    assert set(waits) == {MOST}
    one.run(stop, wait)
    assert len(house.ran) == 4


def test_a_stop_finishes_the_job_at_hand_and_begins_no_other(house: House) -> None:
    """L6: told to stop in the middle of a job, it finishes and records that one, and leaves the
    rest for later."""
    stop = threading.Event()

    def told() -> Mapping[str, Any]:
        stop.set()
        return {}

    one = house.open("expiry", "embedding", work={"expiry": told})
    done: list[Ran] = []
    one.run(stop, lambda seconds: pytest.fail("it waits instead of ending"), done.append)
    assert names(done) == ["expiry"]
    assert [job.outcome for job in one.outlook()] == ["ok", "never ran"]
    assert jobs.lease(one._database.reader()) is None


def test_a_store_that_is_away_for_a_while_is_waited_for(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    """L6, B4: when the store cannot be written the loop says so and tries again later,
    instead of ending."""
    one, stop = house.open("embedding"), threading.Event()
    one._database.close()
    one.run(stop, lambda seconds: stop.set() if seconds == MOST else None)
    assert "jobs cannot be run now" in caplog.text


def test_a_schedule_that_was_never_good_ends_the_loop(house: House) -> None:
    """L6: there is nothing to run by, so this is an error with file and line."""
    house.write("every: 5")
    with pytest.raises(InvalidInput, match=r"schedule\.yaml, line 1"):
        house.open().run(threading.Event())


def test_the_wait_is_neither_too_short_nor_too_long(house: House) -> None:
    """L6: it wakes for the next tick, looks at files and clocks once a minute, and never spins."""
    house.write(ONE)
    one = house.open("memory_rotate_check")
    assert one.pause() == LEAST
    one.tick()
    assert one.pause() == MOST
    house.clock.jump(TICK - timedelta(seconds=20))
    assert one.pause() == 20
    assert house.open("expiry").pause() == MOST


def test_jobs_that_nobody_runs_are_overdue(house: House) -> None:
    """L6: after two intervals without a run a job is overdue, and one that never ran
    since then too."""
    one = house.open("memory_rotate_check", "consolidation", is_idle=lambda: False)
    one.tick()
    house.clock.jump(timedelta(hours=3))
    assert [job.overdue for job in one.outlook()] == [True, False]
    assert [job.overdue for job in one.outlook(since=START)] == [True, True]
    plain = one.outlook(since=START)[1].to_dict()
    assert (plain["last_run"], plain["outcome"], plain["overdue"]) == (None, "never ran", True)


def test_a_job_learns_that_it_should_stop(house: House) -> None:
    """L6: a job at work is told when the process should end, and when another process may have
    begun it again."""
    stop, seen = threading.Event(), []

    def told() -> Mapping[str, Any]:
        seen.append(one.is_stopping())
        stop.set()
        seen.append(one.is_stopping())
        return {}

    one = house.open("expiry", "embedding", work={"expiry": told})
    assert names(one.tick(stop)) == ["expiry"]
    assert seen == [False, True]

    def late() -> Mapping[str, Any]:
        seen.append(two.is_stopping())
        house.clock.jump(timedelta(seconds=LEASE))
        seen.append(two.is_stopping())
        return {}

    two = house.open("embedding", work={"embedding": late})
    two.tick()
    assert seen[2:] == [False, True]
    assert not two.is_stopping()


def test_a_child_does_not_give_away_the_lease_of_its_parent(house: House) -> None:
    """L6: a process that was forked within a job and leaves it has neither released
    nor renewed anything."""
    held = []

    def fork() -> Mapping[str, Any]:
        child = os.fork()
        if not child:
            raise SystemExit
        os.waitpid(child, 0)
        held.append(jobs.lease(one._database.reader()))
        return {}

    one = house.open("embedding", work={"embedding": fork})
    parent = os.getpid()
    try:
        assert names(one.tick()) == ["embedding"]
    finally:
        if os.getpid() != parent:
            os._exit(0)
    assert [lease.holder for lease in held if lease is not None] == [one.holder]


def test_jobs_run_and_are_told(desk: Desk, clock: Ticking) -> None:
    """L6, L12: every job runs once, says what came of it, leaves its files, and `status`
    has the table."""
    op = desk.operator()
    op.remember("Book a table", kind="request", importance=0.9)
    ran = op.orchestrator().tick()
    assert {one.job: one.ok for one in ran} == dict.fromkeys(
        ("memory_rotate_check", "expiry", "embedding", "awareness", "mirror_sync"), True
    )
    assert op.orchestrator().tick() == []
    assert len(json.loads((desk.home / "status" / "sky_pending.json").read_text())) == 1
    assert {job["job"] for job in op.status()["jobs"] if job["last_run"]} == {
        one.job for one in ran
    }
    clock.jump(timedelta(hours=2))
    assert "consolidation" in [one.job for one in op.orchestrator().tick()]


def test_jobs_concern_all_users(desk: Desk) -> None:
    """R12: a handle for one user does not run them."""
    with pytest.raises(Refused, match="all users"):
        desk.agent(user="ana").orchestrator()


def test_a_job_that_fails_leaves_word(desk: Desk, op: Operator) -> None:
    """L5, L6: all five fields and the error; the next tick tries again."""
    ruled(desk, "promote_threshold: 7\n")
    (failed,) = [one for one in op.orchestrator().tick() if one.job == "memory_rotate_check"]
    assert not failed.ok
    told = json.loads((desk.home / "status" / "sky_last_action.json").read_text())
    assert {"ok", "promoted", "rotated", "remaining", "threshold"} <= told["detail"].keys()
    assert not told["detail"]["ok"]


def test_word_that_could_not_be_left_of_a_good_job_is_told(desk: Desk, op: Operator) -> None:
    """L5: where `status/` cannot be written, a rotation that went well says so in its outcome, for
    whoever looks later."""
    (desk.home / "status").write_text("a file in the place of a folder")
    (told,) = [one for one in op.orchestrator().tick() if one.job == "memory_rotate_check"]
    assert told.ok
    assert "status" in told.outcome["unreported"]
