"""Decide which jobs are due, by `schedule.yaml`. Decisions are pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lamina.home.yaml_files import InvalidField, Place, Watched, load_shared
from lamina.model.clock import EPOCH
from lamina.text.words import meant, one_line, shown

FILE_NAME = "schedule.yaml"
YEAR = 366 * 24 * 60  # minutes
# Two processes read the clock a moment apart, and clocks are corrected by seconds: a time this
# little in the future counts as now.
WOBBLE = timedelta(minutes=1)
# A job that ended its process this often in a row waits for its next tick.
DEATHS = 3
# How many entries of other programs are named, and how much of each name.
NAMED, WIDTH = 20, 60
MISSPELT = 0.8  # how similar a name must be to ours to count as misspelt


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
        if not 0 <= self.minutes <= YEAR:
            bounds = f"between 0 and {YEAR:,}"
            raise InvalidField(f"minutes = {shown(self.minutes)} is not {bounds}", key="minutes")

    @property
    def interval(self) -> timedelta:
        return timedelta(minutes=self.minutes)


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of `schedule.yaml` that is ours."""

    every: tuple[Job, ...] = ()

    def __post_init__(self) -> None:
        names = [job.name for job in self.every]
        for index, name in enumerate(names):
            if name in names[:index]:
                problem = f"the job {name} is here a second time"
                raise InvalidField(problem, key="every", index=index)


class Schedule(msgspec.Struct, frozen=True):
    """Jobs in the order in which they run if several are due, and the names of foreign ones."""

    every: tuple[Job, ...] = ()
    others: tuple[str, ...] = ()  # what other programs run from the same file

    @property
    def note(self) -> str | None:
        """Say what the file contains that is not ours."""
        if not self.others:
            return None
        return (
            f"{FILE_NAME} also has entries of others, which are ignored: {', '.join(self.others)}"
        )


DEFAULT = Schedule(tuple(Job(name, known.minutes) for name, known in KNOWN.items()))


class Timetable(Watched[Schedule]):
    """The schedule of a home: the defaults, overridden job by job in `schedule.yaml`."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / FILE_NAME, read)


def read(path: Path) -> Schedule:
    """Read the jobs of a file over the defaults. What is not ours is only named."""
    file, places = load_shared(path, File(), _is_ours)
    changed = {job.name: job for job in file.every}
    jobs = tuple(changed.get(job.name, job) for job in DEFAULT.every)
    others = list(dict.fromkeys(map(_written, places)))
    more = [f"and {len(others) - NAMED:,} more"] if len(others) > NAMED else []
    return Schedule(jobs, (*others[:NAMED], *more))


def _is_ours(place: Place) -> bool:
    """Tell if a place is ours: a job of ours, in a section that is `every` or meant to be."""
    if place.name:
        return place.name in KNOWN
    return place.key in File.__struct_fields__ or bool(
        meant(place.key[:WIDTH], File.__struct_fields__, MISSPELT)
    )


def _written(place: Place) -> str:
    """Name a foreign entry; one in `every` may be a misspelt job of ours."""
    name, section = one_line(place.name, WIDTH), one_line(place.key, WIDTH)
    if place.key not in File.__struct_fields__:
        return f"{section}: {name}" if name else section
    hint = meant(place.name[:WIDTH], KNOWN, MISSPELT).removeprefix("; ")
    return f"{name} ({hint})" if hint else name


class LastRun(msgspec.Struct, frozen=True):
    """The last run of a job: its tick, holder and end, and how many failed in a row before it."""

    tick: datetime
    started_at: datetime
    finished_at: datetime | None
    holder: str
    outcome: Mapping[str, Any] | None
    failures: int


def tick(job: Job, now: datetime) -> datetime:
    """Return the beginning of the current tick. Ticks count from 1970, so all processes agree."""
    return now - (now - EPOCH) % job.interval


def may_begin(last: LastRun | None, tick: datetime, now: datetime) -> bool:
    """Tell if a job with this last run may begin in this tick.

    It may if the tick is new, however many were missed; if the last run lies in the future, because
    the clock was set back; and if the last run never finished, where the lease tells if it is still
    running.
    """
    if last is None or last.tick < tick or last.started_at > now + WOBBLE:
        return True
    return last.finished_at is None and last.failures < DEATHS


def due(schedule: Schedule, states: Mapping[str, LastRun], now: datetime) -> list[Job]:
    """List the jobs that may begin now, in the order of the schedule."""
    on = (job for job in schedule.every if job.minutes)
    return [job for job in on if may_begin(states.get(job.name), tick(job, now), now)]


def next_run(job: Job, last: LastRun | None, now: datetime) -> datetime | None:
    """Return when a job may begin next: now, at its next tick, or never if it is off."""
    if not job.minutes:
        return None
    if last is None or may_begin(last, tick(job, now), now):
        return now
    return tick(job, max(now, last.tick)) + job.interval


def is_overdue(
    job: Job, last: LastRun | None, now: datetime, since: datetime | None = None
) -> bool:
    """Tell if a job has not run for two intervals; `since` is when it could first have run."""
    seen = last.started_at if last is not None else since
    return bool(job.minutes) and seen is not None and now - seen > 2 * job.interval
