"""The status of a memory: its contents, the state of its jobs, and what needs attention."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.engines import bursts, feedback
from lamina.errors import LaminaError
from lamina.failsafe.outage import unreported
from lamina.failsafe.spool import OUTAGES
from lamina.home.folder import LATELY
from lamina.home.settings import shown_value
from lamina.memory.sleep import usage
from lamina.model.clock import to_micros
from lamina.model.record import Role, iso
from lamina.store.core.store import FILE_NAME
from lamina.store.index.cache import CACHE, place_of
from lamina.store.tables import archived, grounds, model_use, records, sources
from lamina.text.words import counted

if TYPE_CHECKING:
    from lamina.memory.jobs import Outlook
    from lamina.memory.scope import Scope


class Status:
    """Report on a memory. Only a handle without a user sees the whole store."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def report(self) -> dict[str, Any]:
        """Collect counts, jobs and problems; of the fail-safe alone if the store is unavailable."""
        scope, resilient = self._scope, self._scope.resilient
        report: dict[str, Any] = {
            "home": str(scope.home.path),
            "agent": scope.agent,
            "user": scope.user,
        }
        try:
            report |= self._stored()
            if not resilient.spool.is_waiting():
                resilient.outage = None
        except OUTAGES as error:
            resilient.note(error)
            report |= self._away()
        outage = resilient.outage
        report["problems"] = [
            *([str(outage)] if outage else []),
            *unreported(outage, report["problems"]),
            *resilient.problems(),
        ]
        jobs, others, problems = self._jobs()
        report["problems"] += unreported(outage, [scope.parts.status_files.problem, *problems])
        if scope.user is None:
            report["jobs"] = [job.to_dict() for job in jobs]
            report["other_jobs"] = others
            late = ", ".join(job.job for job in jobs if job.overdue)
            report["problems"] += [f"overdue: {late}; see `lamina run`"] if late else []
            if scope.actor.role is Role.OPERATOR:
                self._add_violations(report)
                self._add_refusals(report)
        return report

    def problems(self) -> list[str]:
        """List what this handle could not do, without failing a call."""
        problem = self._scope.resilient.reads.problem
        return [*self._scope.problems, *([problem] if problem else [])]

    def _stored(self) -> dict[str, Any]:
        scope, store, user = self._scope, self._scope.store, self._scope.user
        found = self._bursts()
        with store.read() as db:
            counts = records.counts(db, user)
            archived_count = archived.count(db, user)
            open_runs = len(records.open_runs(db, user))
            unfounded = grounds.count_groundless(store, db, user)
        conflicts = len(scope.parts.profiles.conflicts())
        report: dict[str, Any] = {
            "store": store.id,
            "place": store.database.address,
            "records": counts,
            "archived": archived_count,
            "open_runs": open_runs,
            "bursts": found,
            "problems": [
                *self.problems(),
                *store.witness.problems,
                *scope.parts.derived.search_problems(),
                *map(bursts.message, found),
                *([_of_groundless(unfounded)] if unfounded else []),
                *([_of_conflicts(conflicts)] if conflicts else []),
            ],
            "groundless": unfounded,
            "conflicts": conflicts,
            "waiting": self._waiting(),
            "given": self._given(),
        }
        if user is None:
            head = store.head()
            report |= {"events": head.seq, "head": head.hash.hex(), "bytes": store.sizes()}
            place = place_of(store.database.address, store.agent)
            report["cache"] = structs.asdict(CACHE.usage_of(place))
            if scope.settings["sleep.model"]:
                report["model"] = self._model_use()
        return report

    def _waiting(self) -> dict[str, Any]:
        """Count the facts, preferences and decisions waiting in short-term memory; explain why."""
        try:
            waiting = self._scope.parts.lifecycle.waiting()
        except LaminaError as error:  # the rules of retention and the trail are separate files
            return {"count": 0, "problem": error.message}
        oldest = None if waiting.oldest is None else iso(waiting.oldest)
        return {**structs.asdict(waiting), "oldest": oldest, "why": waiting.why}

    def _given(self) -> dict[str, Any]:
        """Count how often contexts gave memories recently, and how often these were used."""
        try:
            served = self._scope.parts.feedback.served(LATELY)
        except LaminaError as error:  # the trail is a separate file
            return {"given": 0, "used": 0, "rate": None, "problem": error.message}
        given, used = feedback.rate(served.values())
        return {"given": given, "used": used, "rate": round(used / given, 2) if given else None}

    def _model_use(self) -> dict[str, Any]:
        """Report what the language model used in the last night, and in the last 30 days."""
        with self._scope.store.read() as db:
            nights = model_use.nights(db, to_micros(self._scope.clock() - LATELY))
        return {
            "name": self._scope.settings["sleep.model"],
            "last_night": usage.summed(nights[:1]),
            "last_30_days": usage.summed(nights),
        }

    def _away(self) -> dict[str, Any]:
        url = shown_value(self._scope.settings["store.url"])
        return {
            "store": None,
            "place": url or str(self._scope.resilient.folder / FILE_NAME),
            "records": {},
            "archived": 0,
            "open_runs": 0,
            "bursts": [],
            "groundless": 0,
            "conflicts": 0,
            "waiting": {},
            "given": {},
            "problems": self.problems(),
        }

    def _bursts(self) -> list[dict[str, Any]]:
        """Find external sources that sent many records at once, or many with the same beginning."""
        since = to_micros(self._scope.clock() - bursts.LATELY)
        slot = bursts.SLOT // timedelta(microseconds=1)
        user = self._scope.user
        with self._scope.store.read() as db:
            arrived = sources.arrived(db, user, since, slot)
            if sum(number for _, _, number in arrived) < bursts.ALIKE:  # too few for a burst
                return []
            repeated = sources.repeated(db, user, since, bursts.BEGINNING, bursts.ALIKE)
        return bursts.find(arrived, repeated)

    def _jobs(self) -> tuple[list[Outlook], list[str], list[str | None]]:
        """Return how the jobs are, which are not ours, and what is wrong with the rules files."""
        problems: list[str | None] = []
        jobs: list[Outlook] = []
        others: list[str] = []
        retention = self._scope.parts.lifecycle.retention
        try:
            retention.current()
            problems.append(retention.problem)
        except LaminaError as error:
            problems.append(error.message)
        if self._scope.user is None:
            try:
                orchestrator = self._scope.parts.jobs.orchestrator()
                others = [*orchestrator.timetable.current().others]
                jobs = orchestrator.outlook()
            except LaminaError as error:
                problems.append(error.message)
        return jobs, others, problems

    def _add_refusals(self, report: dict[str, Any]) -> None:
        """Count recent attempts without permission, which only an operator sees."""
        try:
            since = self._scope.clock() - LATELY
            found = self._scope.resilient.reads.refused_since(since)
        except LaminaError as error:  # the trail is a separate file
            report["problems"].append(error.message)
            return
        last = None if found.last is None else found.last.to_dict()
        report["refused"] = {"attempts": found.attempts, "last": last}

    def _add_violations(self, report: dict[str, Any]) -> None:
        """Count attempts to cross a boundary of this home, which only an operator sees."""
        counts = self._scope.home.violations_by_attempt(self._scope.clock())
        report |= {"violations": sum(counts.values()), "violations_by_attempt": counts}
        if report["store"]:
            report["problems"] += self._scope.parts.erasures.problems()


def _of_groundless(number: int) -> str:
    told = counted(number, "fact rests", "facts rest")
    return (
        f"{told} only on what was forgotten, superseded or erased; `lamina facts` marks them,"
        " `lamina review reject ID --reason …` keeps one out"
    )


def _of_conflicts(number: int) -> str:
    told = counted(number, "value")
    return (
        f"the facts say otherwise about {told} of the profile; `lamina profile show` says which,"
        " `lamina sleep` proposes a change"
    )
