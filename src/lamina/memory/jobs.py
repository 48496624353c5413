"""Jobs: run what is due, each job once per tick, whatever other processes do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.engines.idleness import is_idle
from lamina.errors import LaminaError, StoreUnavailable
from lamina.home import schedule
from lamina.home.schedule import KNOWN, Job, LastRun, Schedule, Timetable
from lamina.memory.lease import Lease
from lamina.memory.lifecycle import ROTATE_CHECK
from lamina.model.clock import Clock
from lamina.model.record import Actor, Role, iso
from lamina.store.tables import jobs
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.home.yaml_files import Watched
    from lamina.memory.scope import Scope
    from lamina.store.engine.sql import Database

log = logging.getLogger("lamina")

# It may promote, rotate, expire and consolidate; it never confirms.
ACTOR = Actor(Role.SYSTEM, "scheduler", "scheduler")
LEASE = 120.0  # seconds; longer than any transaction, since it cannot be renewed meanwhile
# The shortest and the longest wait between two checks for due jobs, in seconds.
LEAST, MOST = 5.0, 60.0
NOTHING_DONE = {"ok": False, "promoted": 0, "rotated": False, "remaining": None, "threshold": None}

Work = Callable[[], Mapping[str, Any]]
Report = Callable[[str, Mapping[str, Any]], str | None]


class Ran(msgspec.Struct, frozen=True):
    """One run of a job: when, for how long, and with which outcome."""

    job: str
    started_at: datetime
    seconds: float
    outcome: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return bool(self.outcome["ok"])

    def to_dict(self) -> dict[str, Any]:
        return {**msgspec.structs.asdict(self), "started_at": iso(self.started_at)}


class Outlook(msgspec.Struct, frozen=True):
    """The state of a job: its last run, its next one, and whether it is overdue."""

    job: str
    minutes: int
    last_run: datetime | None
    outcome: str
    next_run: datetime | None
    failures: int
    overdue: bool

    def to_dict(self) -> dict[str, Any]:
        fields = msgspec.structs.asdict(self)
        return {
            name: iso(value) if isinstance(value, datetime) else value
            for name, value in fields.items()
        }


class Orchestrator:
    """Run jobs on a schedule; a lease and ticks coordinate several orchestrators."""

    def __init__(
        self,
        database: Database,
        work: Mapping[str, Work],
        timetable: Watched[Schedule],
        clock: Clock,
        report: Report,
        *,
        holder: str | None = None,
        is_idle: Callable[[], bool] = lambda: True,
        is_automatic: bool = True,
    ) -> None:
        """`work` maps jobs to functions; `report` takes outcomes, and returns a problem of its own.

        `is_automatic` says whether the surfaces start due jobs by themselves.
        """
        self.holder = holder or jobs.own_name()
        self.timetable = timetable
        self._database = database
        self._work = work
        self._clock = clock
        self._report = report
        self._is_idle = is_idle
        self._is_automatic = is_automatic
        self._busy = threading.Lock()
        self._held: Lease | None = None  # while jobs run
        self._stop: threading.Event | None = None

    def run(
        self,
        stop: threading.Event,
        wait: Callable[[float], object] | None = None,
        tell: Callable[[Ran], None] = lambda ran: None,
    ) -> None:
        """Run due jobs until told to stop; finish a short job first, end a long one early."""
        while not stop.is_set():
            try:
                self.tick(stop, tell)
                pause = self.pause()
            except StoreUnavailable as error:  # such as a full disk: it may be temporary
                log.warning("jobs cannot be run now: %s", error.message)
                pause = MOST
            if not stop.is_set():
                (wait or stop.wait)(pause)

    def tick(
        self, stop: threading.Event | None = None, tell: Callable[[Ran], None] = lambda ran: None
    ) -> list[Ran]:
        """Run the jobs that are due now, unless another process does."""
        done: list[Ran] = []
        if not self._busy.acquire(blocking=False):  # another thread uses this orchestrator
            return done
        try:
            if not self._due():
                return done
            self._stop = stop
            with self._lease() as held:
                for job in self._due() if held else ():
                    if self.is_stopping():
                        break
                    if (ran := self._run(job)) is not None:
                        done.append(ran)
                        tell(ran)
        finally:
            self._busy.release()
        return done

    def is_stopping(self) -> bool:
        """Return whether the current job should end: it was told to, or lost its lease."""
        return (self._stop is not None and self._stop.is_set()) or (
            self._held is not None and self._held.is_lost()
        )

    def is_waiting(self) -> bool:
        """Return whether a job is due that no process is running."""
        with self._database.moment() as connection:
            lease = jobs.lease(connection)
        return (lease is None or lease.is_free(self._clock(), LEASE)) and bool(self._due())

    def pause(self) -> float:
        """Return how many seconds to wait: few enough to notice a changed file or clock soon."""
        now, states = self._clock(), self._states()
        runs = [schedule.next_run(job, states.get(job.name), now) for job in self._jobs()]
        seconds = min(
            ((run - now).total_seconds() for run in runs if run is not None), default=MOST
        )
        return min(max(seconds, LEAST), MOST)

    def outlook(self, since: datetime | None = None) -> list[Outlook]:
        """Describe every job. `since` is when jobs that never ran could have run first."""
        now = self._clock()
        with self._database.moment() as connection:
            states, lease = jobs.states(connection), jobs.lease(connection)
        running = "" if lease is None or lease.is_free(now, LEASE) else lease.holder
        found = (_outlook(job, states.get(job.name), running, now, since) for job in self._jobs())
        return [one if self._is_automatic else _unless_run(one) for one in found]

    def _jobs(self) -> list[Job]:
        """List the scheduled jobs that have work."""
        return [job for job in self.timetable.current().every if job.name in self._work]

    def _states(self) -> dict[str, LastRun]:
        with self._database.moment() as connection:
            return jobs.states(connection)

    def _due(self) -> list[Job]:
        found = schedule.due(Schedule(tuple(self._jobs())), self._states(), self._clock())
        return [job for job in found if not KNOWN[job.name].when_idle or self._is_idle()]

    @contextmanager
    def _lease(self) -> Iterator[bool]:
        """Hold the lease for a block, however long a job takes; False if another process has it."""
        if not jobs.take_lease(self._database, self.holder, self._clock(), LEASE):
            yield False
            return
        seconds = LEASE
        try:
            with Lease(
                lambda now: jobs.renew(self._database, self.holder, now, seconds),
                lambda: self._clock(),
                seconds,
            ) as self._held:
                yield True
        finally:
            self._held = None
            if not self._database.inherited:  # a child must not release its parent's lease
                jobs.release(self._database, self.holder)

    def _run(self, job: Job) -> Ran | None:
        """Run one job, unless another process has run it meanwhile."""
        before, now = self._states().get(job.name), self._clock()
        if not jobs.begin(
            self._database, job.name, schedule.tick(job, now), self.holder, now, LEASE
        ):
            return None
        if before is not None and before.finished_at is None:
            log.warning(
                "%s, begun at %s by %s, never finished; it is run again",
                job.name,
                iso(before.started_at),
                before.holder,
            )
        outcome = self._told(job, self._outcome(job))
        ended = self._clock()
        if not jobs.finish(self._database, job.name, self.holder, ended, outcome):
            log.warning("%s took so long that another process began it again", job.name)
        return Ran(job.name, now, max(0.0, (ended - now).total_seconds()), outcome)

    def _outcome(self, job: Job) -> dict[str, Any]:
        try:
            return {"ok": True, **self._work[job.name]()}
        except LaminaError as error:
            log.info("%s failed: %s", job.name, error.message)
            return {"ok": False, "error": error.code, "message": error.message}
        except Exception as error:  # whatever a job raises is recorded, and the other jobs go on
            log.exception("%s failed", job.name)
            return {"ok": False, "error": type(error).__name__, "message": shown(error)}

    def _told(self, job: Job, outcome: dict[str, Any]) -> dict[str, Any]:
        """Report an outcome; if the report fails, note it and do not repeat the job."""
        problem = self._report(job.name, outcome)
        if problem is None:
            return outcome
        log.warning("the outcome of %s could not be reported: %s", job.name, problem)
        return {**outcome, "unreported": problem}


def _outlook(
    job: Job, last: LastRun | None, running: str, now: datetime, since: datetime | None
) -> Outlook:
    return Outlook(
        job.name,
        job.minutes,
        None if last is None else last.started_at,
        _words(last, running),
        schedule.next_run(job, last, now),
        0 if last is None else last.failures,
        schedule.is_overdue(job, last, now, since),
    )


def _unless_run(job: Outlook) -> Outlook:
    """Remove a next run that nobody will start: no program has run the job recently."""
    is_run = job.last_run is not None and not job.overdue
    return job if is_run else msgspec.structs.replace(job, next_run=None)


def _words(last: LastRun | None, running: str) -> str:
    """Describe how the last run ended."""
    if last is None:
        return "never ran"
    if last.outcome is None:
        return "running" if last.holder == running else "died"
    return (
        "ok"
        if last.outcome.get("ok")
        else f"failed: {last.outcome.get('message', 'without a word')}"
    )


class Jobs:
    """The work of each job, with the permissions of a handle."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def orchestrator(self) -> Orchestrator:
        """Make an orchestrator for the jobs of `schedule.yaml`."""
        self._scope.check_whole("running jobs")
        parts = self._scope.parts
        work: dict[str, Work] = {
            ROTATE_CHECK: parts.lifecycle.run_once,
            "expiry": self._expire,
            "embedding": lambda: {"ok": True, "embedded": parts.derived.index()},
            "awareness": self._look_around,
            "mirror_sync": lambda: {"ok": True, **parts.derived.sync_mirrors()},
            "consolidation": lambda: self._consolidate(orchestrator.is_stopping),
        }
        orchestrator = Orchestrator(
            self._scope.store.database,
            work,
            Timetable(self._scope.home.path),
            self._scope.clock,
            self._report,
            is_idle=self._is_idle,
            is_automatic=self._scope.settings["maintenance"] == "auto",
        )
        return orchestrator

    def outlook(self) -> list[Outlook]:
        """List when each job last ran, its outcome, and when it is due."""
        return self.orchestrator().outlook()

    def _consolidate(self, stop: Callable[[], bool]) -> dict[str, Any]:
        report = self._scope.parts.sleep.run(stop=stop)
        if report.get("stopped"):
            return {"ok": True, **report}
        return {"ok": True, **report, "learned": self._scope.parts.importance.learn()}

    def _expire(self) -> dict[str, Any]:
        """Archive memories that are past, and end proposals that have waited too long."""
        lifecycle = self._scope.parts.lifecycle
        expired = lifecycle.expire(lifecycle.retention.current())
        return {"ok": True, "expired": expired, "lapsed": self._scope.parts.proposals.expire()}

    def _look_around(self) -> dict[str, Any]:
        """Write what is pending to where other programs may read it."""
        pending = self._scope.parts.inspect.pending()
        problem = self._scope.parts.status_files.write("pending", pending)
        self._scope.note_problem(self._scope.parts.profiles.write_snapshot())
        error = {"error": problem} if problem else {}
        return {"ok": problem is None, "pending": len(pending), **error}

    def _is_idle(self) -> bool:
        return is_idle(self._scope.clock(), *self._scope.store.night.activity())

    def _report(self, job: str, outcome: Mapping[str, Any]) -> str | None:
        """Write a failed rotation to `status/`; a successful one has done so itself."""
        files = self._scope.parts.status_files
        if job != ROTATE_CHECK:
            return None
        if outcome.get("ok"):
            return files.problem
        return files.write_action(job, {**NOTHING_DONE, **outcome})
