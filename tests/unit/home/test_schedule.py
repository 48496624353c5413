"""The schedule: the document's file, which jobs are due, and what a jumping clock does to them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lamina.errors import InvalidInput
from lamina.home import schedule
from lamina.home.schedule import FILE_NAME, KNOWN, Job, LastRun, Schedule, Timetable
from tests.cases import every
from tests.conftest import START

# The file of the promotion document, as it stands there.
DOCUMENT = """\
every:
  - name: "memory_rotate_check"
    minutes: 10
"""
CHECK = Job("memory_rotate_check", 10)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def write(home: Path, body: str) -> Path:
    path = home / FILE_NAME
    path.write_text(body, "utf-8")
    return path


def ran(job: Job, at: datetime, failures: int = 0) -> LastRun:
    """A run that ended well."""
    return LastRun(schedule.tick(job, at), at, at, "me", {"ok": True}, failures)


def is_due(job: Job, last: LastRun | None, now: datetime) -> bool:
    return bool(schedule.due(Schedule((job,)), {} if last is None else {job.name: last}, now))


def test_without_a_file_the_jobs_run_as_documented(tmp_path: Path) -> None:
    """L6, L12: the check every 10 minutes, and the others as often as the documentation says."""
    expected = {
        "memory_rotate_check": 10,
        "expiry": 60,
        "embedding": 5,
        "awareness": 15,
        "mirror_sync": 5,
        "consolidation": 60,
    }
    assert {job.name: job.minutes for job in Timetable(tmp_path).current().every} == expected
    assert [name for name, known in KNOWN.items() if known.when_idle] == ["consolidation"]


def test_the_documents_file_is_read(tmp_path: Path) -> None:
    """L6: the file in the form of the document says how often; jobs that it does not name
    run as ever."""
    write(tmp_path, DOCUMENT)
    assert Timetable(tmp_path).current() == schedule.DEFAULT
    write(tmp_path, DOCUMENT.replace("10", "3") + "  - {name: expiry, minutes: 0}\n")
    found = {job.name: job.minutes for job in Timetable(tmp_path).current().every}
    assert found == {job.name: job.minutes for job in schedule.DEFAULT.every} | {
        "memory_rotate_check": 3,
        "expiry": 0,
    }


@every(
    ("body", "line", "message"),
    [
        (
            "daily: [tea]\nevery:\n  - {name: tea}\n  - name: expiry\n    minutes: soon\n",
            5,
            "minutes = soon is not a whole number",
        ),
        (
            "every:\n  - name: expiry\n    minutes: -5\n",
            3,
            "minutes = -5 is not between 0 and 527,040",
        ),
        (
            "every:\n  - name: expiry\n    minutes: 99999999\n",
            3,
            "minutes = 99999999 is not between",
        ),
        ("every:\n  - name: expiry\n    minutes: 1.5\n", 3, "minutes = 1.5 is not a whole number"),
        (
            "every:\n  - name: expiry\n    minutes: soon\n",
            3,
            "minutes = soon is not a whole number",
        ),
        ("every:\n  - name: expiry\n", 2, "minutes is missing"),
        ("every:\n  - minutes: 5\n", 2, "name is missing"),
        (
            "every:\n  - name: expiry\n    hours: 5\n",
            3,
            "unknown key hours; known are name, minutes",
        ),
        (
            "every:\n  - {name: expiry, minutes: 1}\n  - {name: expiry, minutes: 2}\n",
            3,
            "expiry is here a second time",
        ),
        ("\nevry: []\n", 2, "unknown key evry; did you mean every?"),
        ("every: 10\n", 1, "every = 10 is not a list"),
        ("every:\n - expiry\n", 2, "expiry is not a mapping of name, minutes"),
        ("every: [\n", 2, "not valid YAML"),
    ],
)
def test_a_wrong_schedule_is_told_with_file_line_and_value(
    tmp_path: Path, body: str, line: int, message: str
) -> None:
    """L6: wrong entries of jobs that are ours, repeated ones and absurd times are errors that name
    the place, also beside foreign ones."""
    path = write(tmp_path, body)
    with pytest.raises(InvalidInput) as caught:
        Timetable(tmp_path).current()
    assert caught.value.message.startswith(f"{path}, line {line}: ")
    assert message in caught.value.message


SKY = """
heartbeat: {seconds: 30}
every:
  - name: "memory_rotate_check"
    minutes: 7
  - name: heartbeat
    seconds: 30
  - {name: garmin_sync, minutes: 60, only-on: [Mon, Tue]}
  - expirry
daily:
  - {name: morning_brief, at: "07:00"}
  - name: "night_report"
    time: 22:15
  - 5.5
weekly: {1: review, "<<": {}}
"""


def test_the_file_of_another_program(tmp_path: Path) -> None:
    """L6, H7: a file with sections and jobs of another program does not stop ours, and what is not
    ours is named once, whatever it holds."""
    write(tmp_path, SKY)
    found = Timetable(tmp_path).current()
    assert {job.name: job.minutes for job in found.every}["memory_rotate_check"] == 7
    assert {job.name for job in found.every} == set(KNOWN)
    assert found.others == (
        "heartbeat",
        "garmin_sync",
        "expirry (did you mean expiry?)",
        "daily: morning_brief",
        "daily: night_report",
        "daily: 5.5",
        "weekly",
    )
    assert found.note is not None
    assert "garmin_sync" in found.note
    assert schedule.DEFAULT.note is None


def test_many_foreign_jobs(tmp_path: Path) -> None:
    """L6: however many entries are not ours, the note stays short and reading it is quick."""
    write(tmp_path, "every:\n" + "".join(f" - job{n}\n" for n in range(5_000)))
    found = Timetable(tmp_path).current()
    assert found.every == schedule.DEFAULT.every
    assert found.others[-2:] == ("job19", "and 4,980 more")


@every("body", ["daily: &d [*d, tea]\n", "other: {<<: {every: []}}\n", "daily: {? [1]: 2}\n"])
def test_strange_foreign_yaml(tmp_path: Path, body: str) -> None:
    """L6: what is not ours may be anything that YAML can say."""
    write(tmp_path, body)
    assert Timetable(tmp_path).current().every == schedule.DEFAULT.every


@every("body", ["<<: {every: []}\n", "every: &e [*e]\n", "daily: [\n", "1: 2\n", "- daily\n"])
def test_strange_yaml(tmp_path: Path, body: str) -> None:
    """L6: a file that cannot be read is refused with its line."""
    write(tmp_path, body)
    with pytest.raises(InvalidInput, match=", line "):
        Timetable(tmp_path).current()


def test_a_bad_schedule_keeps_the_old_one_running(tmp_path: Path) -> None:
    """L6: jobs go on as before a mistake in the file, and the mistake is there to be told."""
    timetable = Timetable(tmp_path)
    path = write(tmp_path, DOCUMENT.replace("10", "3"))
    good = timetable.current()
    write(tmp_path, DOCUMENT.replace("10", "never"))
    assert timetable.current() is good
    assert timetable.problem == f"{path}, line 3: minutes = never is not a whole number"


def test_a_job_that_never_ran_is_due_unless_it_is_off() -> None:
    """L6: the first look runs every job once; 0 minutes turn a job off."""
    assert schedule.due(schedule.DEFAULT, {}, START) == list(schedule.DEFAULT.every)
    assert not is_due(Job("expiry", 0), None, START)
    assert schedule.next_run(Job("expiry", 0), None, START) is None


def test_ticks_are_the_same_for_everybody() -> None:
    """L6: a moment belongs to one tick, whoever asks: they begin at full ten minutes, not when a
    process started."""
    assert schedule.tick(CHECK, START + 7 * MINUTE) == START
    assert schedule.tick(CHECK, START + 10 * MINUTE) == START + 10 * MINUTE
    assert schedule.tick(CHECK, datetime(1960, 1, 1, 0, 13, tzinfo=START.tzinfo)).minute == 10


def test_a_job_runs_once_in_its_tick() -> None:
    """L6: after a run the job waits for the next tick, and no longer."""
    last = ran(CHECK, START + 3 * MINUTE)
    assert not is_due(CHECK, last, START + 3 * MINUTE)
    assert not is_due(CHECK, last, START + 9.9 * MINUTE)
    assert is_due(CHECK, last, START + 10 * MINUTE)
    assert schedule.next_run(CHECK, last, START + 4 * MINUTE) == START + 10 * MINUTE


def test_after_a_long_pause_a_job_runs_once() -> None:
    """L6: missed ticks are not made up for; ten years later each job runs one time."""
    later = START + timedelta(days=3653)
    assert is_due(CHECK, ran(CHECK, START), later)
    assert not is_due(CHECK, ran(CHECK, later), later + MINUTE)


@pytest.mark.parametrize("minutes", [1, 10, 60, 1440, schedule.YEAR])
def test_a_clock_that_is_set_back_stops_nothing(minutes: int) -> None:
    """L6: a last run in the future is no reason to wait; a correction by seconds is no reason to
    run again."""
    job = Job("expiry", minutes)
    last = ran(job, START + HOUR)
    assert is_due(job, last, START)
    assert not is_due(job, ran(job, START), START)
    assert not is_due(job, ran(job, START + timedelta(seconds=30)), START)


def test_a_changed_interval_takes_effect() -> None:
    """L6: a job that is to run more often or less often does so from its next tick on, whatever it
    did before."""
    last = ran(CHECK, START + 50 * MINUTE)
    assert is_due(Job(CHECK.name, 1), last, START + 51 * MINUTE)
    hourly = Job(CHECK.name, 60)
    assert not is_due(hourly, last, START + 59 * MINUTE)
    assert schedule.next_run(hourly, last, START + 51 * MINUTE) == START + HOUR
    assert is_due(hourly, last, START + HOUR)


def test_a_job_that_died_is_due_at_once_a_few_times() -> None:
    """L6: a run that never ended is tried again in the same tick, but not for ever: then the next
    tick has to come."""
    died = structs.replace(ran(CHECK, START), finished_at=None)
    assert is_due(CHECK, died, START + MINUTE)
    often = structs.replace(died, failures=schedule.DEATHS)
    assert not is_due(CHECK, often, START + MINUTE)
    assert is_due(CHECK, often, START + 10 * MINUTE)


def test_a_job_is_overdue_when_nobody_runs_it() -> None:
    """L6: after more than two intervals without a run; one that never ran counts from when
    it could have."""
    last = ran(CHECK, START)
    assert not schedule.is_overdue(CHECK, last, START + 20 * MINUTE)
    assert schedule.is_overdue(CHECK, last, START + 21 * MINUTE)
    assert not schedule.is_overdue(CHECK, None, START + 21 * MINUTE)
    assert schedule.is_overdue(CHECK, None, START + 21 * MINUTE, START)
    assert not schedule.is_overdue(Job("expiry", 0), None, START + HOUR, START)


STEPS = st.one_of(
    st.integers(0, 1200),  # seconds
    st.sampled_from([-3600, -86_400, 10 * 365 * 86_400, -10 * 365 * 86_400, -1, 59]),
)


@given(minutes=st.sampled_from([1, 5, 10, 60, 1440]), steps=st.lists(STEPS, max_size=60))
def test_jobs_keep_running_whatever_the_clock_does(minutes: int, steps: list[int]) -> None:
    """L6: over any history of a clock, a job runs at most once in a tick while time goes on, and
    never waits for longer than its interval and a minute after the clock was set back."""
    job, now, last = Job("expiry", minutes), START, None
    for step in steps:
        now += timedelta(seconds=step)
        if is_due(job, last, now):
            anew = last is not None and last.started_at > now + schedule.WOBBLE
            assert last is None or anew or schedule.tick(job, now) > last.tick
            last = ran(job, now)
        assert last is not None
        following = schedule.next_run(job, last, now)
        assert following is not None
        assert timedelta(0) < following - now <= job.interval + schedule.WOBBLE
        assert is_due(job, last, following)
