"""Decide which jobs are due, by `schedule.yaml`. Decisions are pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lamina.home.yaml_files import InvalidField, Watched, load
from lamina.model.clock import EPOCH
from lamina.text.words import shown

FILE_NAME = "schedule.yaml"
YEAR = 366 * 24 * 60  # minutes
# Two processes read the clock a moment apart, and a clock is corrected by seconds: so far ahead is
# still now.
WOBBLE = timedelta(minutes=1)
# A job that ended its process so often in a row waits for its next tick.
DEATHS = 3


class JobKind(NamedTuple):
    """A job of Lamina: how often it runs unless the file says otherwise, and what it does."""

    minutes: int
    help: str
    when_idle: bool = False


KNOWN: Mapping[str, JobKind] = {
    "memory_rotate_check": JobKind(
        10, "promote what matters, archive the oldest of what is too much"
    ),
    "expiry": JobKind(60, "archive what is very old and unimportant"),
    "embedding": JobKind(5, "make the vectors that are missing"),
    "awareness": JobKind(15, "list what is pending"),
    "mirror_sync": JobKind(5, "bring the mirrors up to date"),
    "consolidation": JobKind(60, "sleep: turn episodes into facts", when_idle=True),
}


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job and how often it runs; 0 minutes turn it off."""

    name: str
    minutes: int

    def __post_init__(self) -> None:
        if self.name not in KNOWN:
            known = ", ".join(KNOWN)
            raise InvalidField(f"unknown job {shown(self.name)}; known are {known}", key="name")
        if not 0 <= self.minutes <= YEAR:
            bounds = f"between 0 and {YEAR:,}"
            raise InvalidField(f"minutes = {shown(self.minutes)} is not {bounds}", key="minutes")

    @property
    def interval(self) -> timedelta:
        return timedelta(minutes=self.minutes)


class Schedule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs in the order in which they run when several are due."""

    every: tuple[Job, ...] = ()

    def __post_init__(self) -> None:
        names = [job.name for job in self.every]
        for index, name in enumerate(names):
            if name in names[:index]:
                problem = f"the job {name} is here a second time"
                raise InvalidField(problem, key="every", index=index)


DEFAULT = Schedule(tuple(Job(name, known.minutes) for name, known in KNOWN.items()))


class Timetable(Watched[Schedule]):
    """The schedule of a home: the defaults, and over them, job by job, `schedule.yaml`."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / FILE_NAME, read)


def read(path: Path) -> Schedule:
    """Read the jobs of a file over the defaults."""
    changed = {job.name: job for job in load(path, Schedule()).every}
    return Schedule(tuple(changed.get(job.name, job) for job in DEFAULT.every))


class LastRun(msgspec.Struct, frozen=True):
    """The last run of a job: its tick, its holder, its end, and how many failed in a row before."""

    tick: datetime
    started_at: datetime
    finished_at: datetime | None
    holder: str
    outcome: Mapping[str, Any] | None
    failures: int


def tick(job: Job, now: datetime) -> datetime:
    """Find the beginning of the current tick. Ticks count from 1970, so all processes agree."""
    return now - (now - EPOCH) % job.interval


def may_begin(last: LastRun | None, tick: datetime, now: datetime) -> bool:
    """Tell if a job with this last run may begin in this tick.

    It may when the tick is new, however many were missed. It may when the last run lies in the
    future: the clock was set back. And it may when the last run never finished; the lease tells if
    that one is still at work.
    """
    if last is None or last.tick < tick or last.started_at > now + WOBBLE:
        return True
    return last.finished_at is None and last.failures < DEATHS


def due(schedule: Schedule, states: Mapping[str, LastRun], now: datetime) -> list[Job]:
    """List the jobs that may begin now, in the order of the schedule."""
    on = (job for job in schedule.every if job.minutes)
    return [job for job in on if may_begin(states.get(job.name), tick(job, now), now)]


def next_run(job: Job, last: LastRun | None, now: datetime) -> datetime | None:
    """Find when a job may begin next: now, at its next tick, or never when it is off."""
    if not job.minutes:
        return None
    if last is None or may_begin(last, tick(job, now), now):
        return now
    return tick(job, max(now, last.tick)) + job.interval


def is_overdue(
    job: Job, last: LastRun | None, now: datetime, since: datetime | None = None
) -> bool:
    """Tell if a job has not run for two of its intervals; `since` is when it could have first."""
    seen = last.started_at if last is not None else since
    return bool(job.minutes) and seen is not None and now - seen > 2 * job.interval
