"""The handle that agents hold: it reads, remembers, and keeps what it remembers in order."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from lamina.errors import EmbedderFailed, Interrupted, LaminaError, Refused, StoreUnavailable
from lamina.failsafe.outage import untold
from lamina.memory.writer import Writer
from lamina.model import clock, rules
from lamina.model.record import Draft, Entry, Layer, Record, State

if TYPE_CHECKING:
    from lamina.engines.facts import Fact
    from lamina.engines.profile import ProjectMemory, UserProfile
    from lamina.engines.promotion import Decision
    from lamina.home.retention import Rules
    from lamina.memory.jobs import Orchestrator, Outlook
    from lamina.memory.lifecycle import Lifecycle, Moved
    from lamina.memory.profiles import Profiles
    from lamina.memory.proposals import Proposals
    from lamina.memory.review_queue import Queue
    from lamina.memory.shared import Guest, Guests
    from lamina.memory.sleep.facts import Knowledge
    from lamina.memory.sleep.reading import Listener
    from lamina.memory.spooling import Progress
    from lamina.memory.viewer import Times
    from lamina.memory.world import WorldModel
    from lamina.mirrors.upkeep import Standing, Upkeep
    from lamina.mirrors.verify import Verified
    from lamina.store.tables.grants import Grant

ROTATE_CHECK = "memory_rotate_check"
NOTHING_DONE = {"ok": False, "promoted": 0, "rotated": False, "remaining": None, "threshold": None}


# The verbs of operators, which are not loaded for agents: whoever calls one of them here is told where they are.
OPERATOR_VERBS = frozenset(
    """
    archives audit_head audit_log audit_reads audit_verify audit_violations backup confirm correct end_grants_but
    erasable erase erasures export export_as forget grant grants import_ lift prunable prune reindex reject
    restore restore_archived resume_erasures revocable revoke revoke_grant rollback undo
    """.split()
)


class Memory(Writer):
    """An agent's handle: it remembers, reads and proposes within its own agent and user."""

    if not TYPE_CHECKING:  # for people alone: to a type checker these names do not exist

        def __getattr__(self, name: str) -> NoReturn:
            if name in OPERATOR_VERBS:
                raise AttributeError(
                    f"{name} is for operators; lamina.operator() opens a handle that has it",
                    name=name,
                    obj=self,
                )
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )

    moved: Moved | None = None  # what the last `run_once` of this handle did, in full
    _status_problem: str | None = None  # with the last file that was to be left in `status/`
    _deferred = False  # whether what follows from changes waits for the end of a batch
    _unsettled = False  # whether such a batch has changed anything

    def run_once(self) -> dict[str, Any]:
        """Promote what deserves it, expire what is past, rotate what is too much; and tell it in `status/`."""
        self.moved = self._lifecycle.run(self._retention.current())
        self._proposals.expire()
        done = self.moved.to_dict()
        self._tell_action(ROTATE_CHECK, done)
        self.sync_mirrors()
        return done

    def plan_promotion(self) -> builtins.list[Decision]:
        """What `run_once` would do now with each short-term memory, and the rule that decides. It changes nothing."""
        decided = self._lifecycle.plan(self._retention.current())
        self._audit("plan_promotion", ())
        return decided

    def contents(self, record_ids: Sequence[str]) -> dict[str, str]:
        """What some memories say, by their ids: to show them, which is no sign that anybody wanted them."""
        wanted = [
            one
            for one in rules.several(record_ids, "record_ids")
            if isinstance(one, str) and clock.is_id(one)
        ]
        found = [
            record
            for record_id in wanted
            if (record := self._store.get(record_id, self.user)) is not None
        ]
        seen = {record.id: record.content for record in found if self._in_scope(record)}
        self._audit("contents", tuple(seen))
        return seen

    def compress_short_to_long(
        self, cutoff_hours: float = 48, dry_run: bool = False
    ) -> dict[str, Any]:
        """Sum up what is older than some hours in the profile and in projects; what was summed up goes to the archive.

        On an operator's handle the profile changes at once, elsewhere the changes wait for one.
        """
        done = self._profiles.compress(cutoff_hours, dry_run)
        if not dry_run:
            self._settle()
        return done

    def upsert_user_profile(
        self, patch: Mapping[str, Any], evidence_ids: Sequence[str] = ()
    ) -> UserProfile:
        """Set keys of the profile, each with its evidence: at once on an operator's handle, elsewhere as proposals."""
        profile = self._profiles.upsert(patch, evidence_ids)
        self._settle()
        return profile

    def user_profile(self) -> UserProfile:
        """What is known about the user; without a user, about nobody in particular."""
        return self._profiles.user_profile()

    def projects(self) -> builtins.list[ProjectMemory]:
        """Where the projects stand, by name."""
        return self._profiles.projects()

    def propose_profile(
        self, key: str, value: Any, reason: str, evidence: Sequence[str] = ()
    ) -> Record:
        """Propose a value of the profile: it waits until an operator confirms or rejects it."""
        made = self._proposals.propose_profile(key, value, reason, evidence)
        self._tell(1)
        return made

    def request_forget(self, record_id: str, reason: str) -> Record:
        """Ask a person to have a record forgotten: the request waits with the proposals, and nothing is forgotten yet."""
        made = self._proposals.request_forget(self._visible("request_forget", record_id), reason)
        self._tell(1)
        return made

    def proposals(self, limit: int | None = None, after: str | None = None) -> Queue:
        """What waits for a decision, with what a person needs to make it; those with most effect first.

        With `limit` so many at most, and with `after` only those that come after this record of the queue. The answer is a
        list that says how many wait in all (`total`) and how many come after it (`left`).
        """
        found = self._proposals.waiting(None if limit is None else rules.limit(limit), after)
        self._audit("proposals", tuple(one.record.id for one in found))
        return found

    def compact(self, create_proposals: bool = False) -> builtins.list[dict[str, Any]]:
        """Which records of semantic memory say the same or share a topic; with `create_proposals` each group is proposed."""
        return self._grouped(self._proposals.compact(create_proposals))

    def dedup(self, create_proposals: bool = False) -> builtins.list[dict[str, Any]]:
        """Which procedures of a workflow are the same; with `create_proposals` each group is proposed."""
        return self._grouped(self._proposals.dedup(create_proposals))

    def _grouped(self, told: builtins.list[dict[str, Any]]) -> builtins.list[dict[str, Any]]:
        self._audit("proposals", tuple(one for group in told for one in group["sources"]))
        self._tell(sum("proposal" in group for group in told))
        return told

    def sleep(
        self,
        dry_run: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """Let what was said become what is known: facts, tastes, summaries, workflows. With `dry_run` only the plan.

        `stop` is asked between texts; once it says True, the night ends and the next one goes on from there.
        """
        self._check_all_users("sleep")
        rules.progress(progress)
        rules.stop(stop)
        from lamina.memory.sleep import reading
        from lamina.memory.sleep.night import Sleep

        def check() -> None:
            if stop is not None and not dry_run and stop():
                raise Interrupted

        listener = reading.listener(self.settings)
        knowledge = self._knowledge(listener, check)
        night = Sleep(
            self._store, self.actor, self._clock, self._draft, knowledge, self._experience, check
        )
        if dry_run:
            return {**night.plan(), "notes": listener.notes}
        done = {**night.run(progress), "notes": listener.notes}
        self._tell(done["turns"])
        if not done.get("stopped"):
            self._settle()
        return done

    def facts(
        self, subject: str | None = None, attribute: str | None = None, as_of: Times = None
    ) -> builtins.list[Fact]:
        """What is known about somebody, or about everybody; or what was true at a time."""
        from lamina.engines import facts

        at = None if as_of is None else clock.moment(as_of, "as_of")
        about = None if subject is None else rules.label(subject, "subject")
        states = (State.ACTIVE,) if at is None else (State.ACTIVE, State.SUPERSEDED)
        found = facts.chosen(self._store.night.facts(states, self.user), about, attribute)
        known = [fact for fact in found if at is None or fact.holds(at)]
        self._audit("facts", tuple(fact.record for fact in known))
        return known

    def timeline(self, subject: str) -> builtins.list[Fact]:
        """What holds and what held for somebody, in the order in which it began."""
        from lamina.engines import facts

        states = (State.ACTIVE, State.SUPERSEDED)
        found = facts.chosen(
            self._store.night.facts(states, self.user), rules.label(subject, "subject"), None
        )
        self._audit("timeline", tuple(fact.record for fact in found))
        return found

    def shared(self, agent: str) -> Guest:
        """What another agent shares with this one, to be read; it is closed with this handle. NotFound when it is nothing."""
        return self._guests.open(agent)

    def sharing(self) -> builtins.list[Grant]:
        """Which agents share what with this one now; one that cannot be asked is told in `status()`."""
        found, problems = self._guests.offers()
        for problem in problems:
            self._note_problem(problem)
        return found

    @cached_property
    def _guests(self) -> Guests:
        from lamina.memory.shared import Guests

        known = (self.home, self._store, self.user, self.actor, self._clock, self.settings)
        return Guests(*known, self._audit, self._violation)

    def _knowledge(self, listener: Listener, check: Callable[[], None]) -> Knowledge:
        from lamina.memory.sleep.facts import Knowledge

        sure = self.settings["sleep.sure"] / 100
        return Knowledge(self._store, self.actor, self._clock, self._draft, listener, sure, check)

    def _check_all_users(self, verb: str) -> None:
        if self.user is not None:
            raise Refused(
                f"{verb} concerns all users of {self.agent}; open the handle without a user"
            )

    @cached_property
    def _proposals(self) -> Proposals:
        from lamina.memory.proposals import Proposals

        return Proposals(
            self._store, self.actor, self.user, self._clock, self._draft, self._note_crossing
        )

    @cached_property
    def world(self) -> WorldModel:
        """Tools and integrations, as records and as files."""
        from lamina.memory.world import WorldModel

        folder = self._store.path_of("world_model")
        return WorldModel(
            self._store, folder, self._draft, self.actor, self._clock, self.user, self._tell
        )

    @cached_property
    def _whole_world(self) -> WorldModel:
        """The same, whomever this handle is for: the files are everybody's."""
        from lamina.memory.world import WorldModel

        drafter = rules.Drafter(
            self.actor, None, self._kinds, self.settings["content.max_bytes"], None
        )
        return WorldModel(
            self._store, self._store.path_of("world_model"), drafter.draft, self.actor, self._clock
        )

    def _follow(self, decided: Sequence[Record]) -> None:
        """Let the world files follow a decision about their entries; `status()` tells of a problem."""
        if any(one.layer is Layer.WORLD for one in decided):
            self._note_problem(self._whole_world.follow())

    def sync_mirrors(self, progress: Progress | None = None) -> dict[str, Any]:
        """Bring every mirror up to date now, instead of behind the next writes; what was done in each."""
        rules.progress(progress)
        return self._mirrors.sync(progress) if self._has_mirrors else {}

    def rebuild_mirrors(
        self, names: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Make some mirrors anew, or all that are on; what was done in each."""
        self._check_all_users("making mirrors anew")
        rules.progress(progress)
        return self._mirrors.rebuild(rules.several(names, "names"), progress)

    def verify_mirrors(
        self, names: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Verified]:
        """Compare every entry of some mirrors, or of all that are on, with the store; what is missing, outdated or unknown."""
        self._check_all_users("comparing mirrors")
        rules.progress(progress)
        return self._mirrors.verify(rules.several(names, "names"), progress)

    def mirrors(self) -> builtins.list[Standing]:
        """The mirrors that are on: where each is, and how many events it is behind."""
        self._check_all_users("looking at mirrors")
        return self._mirrors.standings()

    def orchestrator(self) -> Orchestrator:
        """What runs the jobs of `schedule.yaml`, with the authority of this handle."""
        from lamina.home.schedule import Timetable
        from lamina.memory.jobs import Orchestrator

        self._check_all_users("running jobs")
        work = {
            ROTATE_CHECK: self.run_once,
            "expiry": self._expire,
            "embedding": lambda: {"ok": True, "embedded": self.index()},
            "awareness": self._look_around,
            "mirror_sync": lambda: {"ok": True, **self.sync_mirrors()},
            "consolidation": lambda: self._consolidate(made.is_stopping),
        }
        made: Orchestrator = Orchestrator(
            self._store.database,
            work,
            Timetable(self.home.path),
            self._clock,
            self._report,
            is_idle=self._is_idle,
        )
        return made

    def _consolidate(self, stop: Callable[[], bool]) -> dict[str, Any]:
        """The job `consolidation`."""
        done = self.sleep(stop=stop)
        return (
            {"ok": True, **done}
            if done.get("stopped")
            else {"ok": True, **done, "learned": self.learn()}
        )

    def _expire(self) -> dict[str, Any]:
        """The job `expiry`: memories that are past, and proposals that nobody decides."""
        expired = self._lifecycle.expire(self._retention.current())
        return {"ok": True, "expired": expired, "lapsed": self._proposals.expire()}

    def jobs(self) -> builtins.list[Outlook]:
        """How the jobs stand: when each ran last, what came of it, and when it is due."""
        return self.orchestrator().outlook()

    def status(self) -> dict[str, Any]:
        """What is in the store for this handle, how its jobs stand, and what needs attention."""
        found = super().status()
        jobs, problems = self._outlook()
        found["problems"] += untold(self._outage, [self._status_problem, *problems])
        if self.user is None:
            found["jobs"] = [job.to_dict() for job in jobs]
            late = [job.job for job in jobs if job.overdue]
            found["problems"] += [f"overdue: {', '.join(late)}; see `lamina run`"] if late else []
        return found

    def _outlook(self) -> tuple[builtins.list[Outlook], builtins.list[str | None]]:
        """How the jobs stand, and what is wrong with the two files that rule them."""
        problems: builtins.list[str | None] = []
        jobs: builtins.list[Outlook] = []
        try:
            self._retention.current()
            problems.append(self._retention.problem)
        except LaminaError as error:
            problems.append(error.message)
        try:
            jobs = self.jobs() if self.user is None else []
        except LaminaError as error:
            problems.append(error.message)
        return jobs, problems

    def close(self) -> None:
        """Write what is buffered, index and mirror what has piled up, and let go of every file."""
        try:
            if "_mirrors" in self.__dict__ and not self._store.database.inherited:
                self._mirrors.close()
            if "_guests" in self.__dict__:
                self._guests.close()
        finally:
            super().close()

    @cached_property
    def _lifecycle(self) -> Lifecycle:
        from lamina.memory.lifecycle import Lifecycle

        episode = self._promotion_episode if self.settings["promotion.episodes"] else None
        return Lifecycle(self._store, self.actor, self.user, self._clock, self._twins, episode)

    @cached_property
    def _retention(self) -> Rules:
        from lamina.home.retention import Rules

        return Rules(self.home.path, self.settings["preset"])

    @cached_property
    def _profiles(self) -> Profiles:
        from lamina.memory.profiles import Profiles

        def archive(record_ids: Sequence[str], why: str) -> None:
            self._lifecycle.archive(record_ids, "compress", why)

        return Profiles(
            self._store,
            self.actor,
            self.user,
            self._clock,
            self._draft,
            archive,
            self._audit,
            self._note_crossing,
        )

    @cached_property
    def _has_mirrors(self) -> bool:
        from lamina.mirrors import configured

        return bool(configured.names(self.settings))

    @cached_property
    def _mirrors(self) -> Upkeep:
        from lamina.mirrors.upkeep import Upkeep

        return Upkeep(self._store, self._copies, self._note_problem)

    def _tell(self, number: int) -> None:
        super()._tell(number)
        if self._has_mirrors and number:
            try:
                self._mirrors.wake()
            except LaminaError as error:  # such as a key that is none; the memory itself is stored, so this is only told
                self._note_problem(error.message)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Change or decide many times within a block: the snapshot of the profile and the mirrors follow once, at its end.

        Each change is durable as soon as its call returns.
        """
        self._deferred, before = True, self._deferred
        try:
            yield
        finally:
            self._deferred = before
            if self._unsettled and not before:
                self._unsettled = False
                self._settle()

    def _settle(self) -> None:
        """What follows from a change of the profile or of many memories: its snapshot, and the mirrors."""
        if self._deferred:
            self._unsettled = True
            return
        self._note_problem(self._profiles.write_snapshot())
        self.sync_mirrors()

    def _is_idle(self) -> bool:
        """Whether long work would disturb nobody now."""
        from lamina.engines.idleness import is_idle

        return is_idle(self._clock(), *self._store.night.activity())

    def _look_around(self) -> dict[str, Any]:
        """The job `awareness`: what is pending, left where anybody may look."""
        found = self.pending()
        problem = self._leave_word(f"{self.agent}_pending.json", found)
        self._note_problem(self._profiles.write_snapshot())
        return {
            "ok": problem is None,
            "pending": len(found),
            **({"error": problem} if problem else {}),
        }

    def _promotion_episode(self, promoted: Sequence[Record]) -> Draft:
        """What a promotion leaves behind: one episodic record, with what was promoted as its evidence."""
        content = f"Promoted {len(promoted)} memories to long-term"
        return self._draft(
            {
                "content": content,
                "layer": Layer.EPISODIC,
                "kind": "action",
                "evidence": [record.id for record in promoted],
                "trust": rules.lowest_trust(record.trust for record in promoted),
            }
        )

    def _twins(self, entries: Sequence[Entry], least: float) -> Mapping[str, str]:
        """Which entries repeat a memory. Without an embedder that works none do, and `status()` says why."""
        try:
            return self._recall.twins(entries, least)
        except EmbedderFailed as error:
            self._note_problem(f"nothing was deduplicated: {error.message}")
            return {}

    def _report(self, job: str, outcome: Mapping[str, Any]) -> str | None:
        """Leave word of a rotation that failed; one that went well has tried itself, and `status()` has the others."""
        if job != ROTATE_CHECK:
            return None
        return (
            self._status_problem
            if outcome.get("ok")
            else self._tell_action(job, {**NOTHING_DONE, **outcome})
        )

    def _tell_action(self, action: str, detail: Mapping[str, Any]) -> str | None:
        """Leave word of what was done where anybody may look; a problem with that is told in `status()`."""
        told = {"ts": self._clock().timestamp(), "action": action, "detail": dict(detail)}
        return self._leave_word(f"{self.agent}_last_action.json", told)

    def _leave_word(self, name: str, value: Any) -> str | None:
        """Write a file in `status/`, one process after the other; the problem, if that is not possible."""
        from lamina.memory.lifecycle import write_status

        try:
            with self._store.database.atomic():
                self._status_problem = write_status(self.home.status / name, value)
        except StoreUnavailable as error:
            self._status_problem = error.message
        return self._status_problem
