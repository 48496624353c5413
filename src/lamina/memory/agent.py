"""The handle for agents: each verb calls the part that implements it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.memory.handle import Handle
from lamina.memory.refusals import recorded
from lamina.memory.scope import Times
from lamina.model import rules
from lamina.model.record import Event, Hits, Layer, Record, State

if TYPE_CHECKING:
    from lamina.engines.facts import Fact
    from lamina.engines.importance import Scored
    from lamina.engines.profile import ProjectMemory, UserProfile
    from lamina.engines.promotion import Decision
    from lamina.engines.recap import Recap
    from lamina.failsafe.outage import Outage
    from lamina.memory.browsing import Browsing
    from lamina.memory.conversations import Conversation
    from lamina.memory.failsafe import Progress
    from lamina.memory.jobs import Orchestrator, Outlook
    from lamina.memory.lifecycle import Moved
    from lamina.memory.review_queue import Queue
    from lamina.memory.runs import Run
    from lamina.memory.shared import Guest
    from lamina.memory.world import WorldModel
    from lamina.mirrors.upkeep import MirrorStatus
    from lamina.mirrors.verify import Verified
    from lamina.search.context import Context
    from lamina.store.tables.grants import Grant


@recorded
class Memory(Handle):
    """An agent's handle: it remembers, reads and proposes within its own agent and user."""

    # Remember

    def remember(
        self,
        content: str,
        kind: str | None = None,
        layer: str | None = None,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        evidence: Sequence[str] | None = None,
        source: str | None = None,
        speaker: str | None = None,
        session: str | None = None,
        at: Times = None,
        key: str | None = None,
        project: str | None = None,
        **more: Any,
    ) -> Record:
        """Store one memory; it is durable when this returns.

        The same key again returns the same record. While the store cannot be written, the memory
        goes to the fail-safe, and `stored_in` of the record says so.
        """
        item: dict[str, Any] = {
            "content": content,
            **more,
            "kind": kind,
            "layer": layer,
            "tags": tags,
            "importance": importance,
            "metadata": metadata,
            "evidence": evidence,
            "source": source,
            "speaker": speaker,
            "session": session,
            "at": at,
            "key": key,
            "project": project,
        }
        return self._parts.remember.one(item)

    def remember_short(
        self,
        content: str,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        **more: Any,
    ) -> Record:
        """Store one short-term memory."""
        return self.remember(
            content, layer=Layer.SHORT_TERM, tags=tags, importance=importance, **more
        )

    def remember_many(self, items: Iterable[Mapping[str, Any]]) -> builtins.list[Record]:
        """Store many memories in one transaction: all, or none and an error that names the item."""
        return self._parts.remember.many(items)

    def remember_conversation(
        self,
        turns: Iterable[Mapping[str, Any]],
        session: str,
        participants: Sequence[str] | None = None,
        key: str | None = None,
        keep_raw: bool = False,
        project: str | None = None,
    ) -> Conversation:
        """Store the turns of a conversation in order, and the episode they make, in one step.

        A turn has `text` and may have `speaker`, `at`, `kind`, `tags`, `importance`, `metadata`,
        `source`; messages with `role` and `content` are taken as they are. With `keep_raw` the
        whole conversation is also kept as a file under `episodes/`.
        """
        return self._parts.remember.conversation(
            turns, session, participants, key, keep_raw, project
        )

    def remember_tool_use(
        self, use: Mapping[str, Any], session: str | None = None, project: str | None = None
    ) -> builtins.list[Record]:
        """Store what matters later about one use of a tool, which is mostly nothing.

        `use` may have `tool`, `command`, `path`, `before` and `after` (the texts of an edit),
        `output`, `failed` and `is_new`. It stores failed commands and their fixes, commits, results
        of tests and new files, without secrets. Quoted output is `external`.
        """
        return self._parts.sessions.note(use, session, project)

    def explain_importance(self, content: str, **fields: Any) -> Scored:
        """Say how important a memory without importance would be, and why. Nothing is stored."""
        draft = self._scope.draft({"content": content, **fields, "importance": None})
        return self._parts.importance.explain(structs.asdict(draft))

    def learn(self) -> dict[str, Any]:
        """Learn from decisions and reads how important later memories are."""
        return self._parts.importance.learn()

    def run(self, task: str, project: str | None = None) -> Run:
        """Begin a run: a place for working memory that ends with the task."""
        return self._parts.runs.open(task, project)

    def runs(self) -> builtins.list[Run]:
        """List runs that were not closed, such as those of a process that died."""
        return self._parts.runs.unfinished()

    # Read

    def get(self, record_id: str) -> Record:
        """Return the record with this id, whatever its state."""
        return self._parts.read.get(record_id)

    def full_id(self, record_id: str) -> str:
        """Return the id of the one visible record that begins or ends with these characters.

        At least six are needed. A whole id comes back as it is, whether it exists or not.
        """
        return self._parts.read.full_id(record_id)

    def list(
        self,
        layers: Collection[str] | None = None,
        states: Collection[str] | None = (State.ACTIVE,),
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        limit: int = 50,
        session: str | None = None,
        project: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
    ) -> builtins.list[Record]:
        """List records, newest first; in all states when `states` is None.

        Working memory is listed only if its layer is named. `session` selects one conversation,
        `project` one project, `speaker` one person.
        """
        return self._parts.read.list(
            layers, states, kinds, tags, since, until, limit, session, project, speaker, source
        )

    def search(
        self,
        query: str,
        limit: int = 10,
        layers: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        states: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        as_of: Times = None,
        known_at: Times = None,
        ranker: str = "hybrid",
        run_id: str | None = None,
        all_tags: Collection[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        session: str | None = None,
        following: Sequence[str] = (),
        project: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
    ) -> Hits:
        """Find the best matches with the parts of their scores, or nothing at all.

        `limit` is an upper bound. `tags` matches any of them, `all_tags` every one. `as_of` asks
        what was true at a time, `known_at` what the store knew then. `session` selects one
        conversation, `project` one project. `following` are the texts before a query that may
        need them, the latest last: "and what should I pack for him?".
        """
        return self._parts.read.search(
            query,
            limit,
            layers,
            kinds,
            tags,
            states,
            since,
            until,
            as_of,
            known_at,
            ranker,
            run_id,
            all_tags,
            metadata,
            session,
            following,
            project,
            speaker,
            source,
        )

    def query_relevant(self, text: str, limit: int = 10, recency_bias: float = 0.35) -> Hits:
        """Rank by shared words, recency and importance, by the formula of the Milton document."""
        return self._parts.read.query_relevant(text, limit, recency_bias)

    def recall_similar(self, query: str, top_k: int = 5) -> Hits:
        """Find the memories that are nearest in meaning, in the long-term layers."""
        return self._parts.read.recall_similar(query, top_k)

    def query_recent(
        self,
        hours: float = 24,
        tags: Collection[str] | None = None,
        limit: int = 20,
        project: str | None = None,
    ) -> builtins.list[Record]:
        """List what happened within some hours, newest first; with any of the tags, if given."""
        return self._parts.read.query_recent(hours, tags, limit, project)

    def memory_context(
        self, goal: str, limits: Mapping[str, int] | None = None, max_chars: int = 2000
    ) -> Context:
        """Collect memories about a task, for a model to read: bounded, fenced and labelled.

        It is data, and grants no permission.
        """
        return self._parts.read.memory_context(goal, limits, max_chars)

    def context(
        self,
        goal: str,
        budget: int = 2000,
        session: str | None = None,
        project: str | None = None,
        tokens: int | None = None,
        most: int | None = None,
    ) -> Context:
        """Build the context for the next prompt: fenced, within `budget` characters or `tokens`.

        First what always applies: instructions and the profile. Then what is known about the
        prompt, then what was said about it, `most` memories of these. Memories that `session` was
        given before are left out. It is data, and grants no permission.
        """
        return self._parts.read.context(goal, budget, session, project, tokens, most)

    def compacted(self, session: str) -> None:
        """Note that a session's context was compacted: memories may be given to it again."""
        self._parts.context.compacted(session)

    def contents(self, record_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of some records by their ids.

        This is for display, and does not count as use of the records.
        """
        return self._parts.inspect.contents(record_ids)

    def history(self, record_id: str) -> builtins.list[Event]:
        """List everything that happened to a record, oldest first."""
        return self._parts.inspect.history(record_id)

    def resting_on(self, record_id: str) -> builtins.list[str]:
        """List the ids of the records that have a record as evidence."""
        return self._parts.inspect.resting_on(record_id)

    def lost_evidence(self, record_id: str) -> builtins.list[str]:
        """List the evidence of a record that was forgotten, superseded or erased since."""
        return self._parts.inspect.lost_evidence(record_id)

    def search_archive(
        self, query: str = "", limit: int = 100, since: Times = None, until: Times = None
    ) -> builtins.list[Record]:
        """Find archived records that contain a text, as `grep -i` would, newest first.

        `archived` of each record names its file and line.
        """
        return self._parts.inspect.search_archive(query, limit, since, until)

    def pending(self) -> builtins.list[dict[str, Any]]:
        """List everything that waits for a person, oldest first.

        These are requests, escalations, reviews, and due memories.
        """
        return self._parts.inspect.pending()

    def recap(self, project: str | None = None, session: str | None = None) -> Recap | None:
        """Sum up a session, or the last one of a project, or the last one without a project.

        It says in at most 600 characters what was asked, decided, broken, fixed and left open.
        None if there is no session.
        """
        return self._parts.sessions.recap(project, session)

    def facts(
        self,
        subject: str | None = None,
        attribute: str | None = None,
        as_of: Times = None,
        project: str | None = None,
    ) -> builtins.list[Fact]:
        """List the facts about a subject, or about everyone; or those that held at a time.

        `project` selects those of a project.
        """
        return self._parts.facts.current(subject, attribute, as_of, project)

    def timeline(self, subject: str) -> builtins.list[Fact]:
        """List what is and was true about a subject, in the order in which it began."""
        return self._parts.facts.timeline(subject)

    # Profile, projects and proposals

    def user_profile(self, project: str | None = None) -> UserProfile:
        """Return the profile of the user, or the profile without a user.

        With a project, instructions for other projects are left out.
        """
        return self._parts.profiles.user_profile(project)

    def projects(self) -> builtins.list[ProjectMemory]:
        """Return the status of each project, by name."""
        return self._parts.profiles.projects()

    def upsert_user_profile(
        self,
        patch: Mapping[str, Any],
        evidence_ids: Sequence[str] = (),
        *,
        replace: bool = False,
    ) -> UserProfile:
        """Set keys of the profile, each with its evidence; lists grow unless you pass `replace`.

        An operator's handle sets them at once; on other handles they wait as proposals.
        """
        profile = self._parts.profiles.upsert(patch, evidence_ids, replace=replace)
        self._parts.derived.settle()
        return profile

    def propose_profile(
        self, key: str, value: Any, reason: str, evidence: Sequence[str] = ()
    ) -> Record:
        """Propose a value of the profile; it waits until an operator confirms or rejects it."""
        record = self._parts.proposals.propose_profile(key, value, reason, evidence)
        self._scope.changed(1)
        return record

    def propose_correction(self, record_id: str, text: str, reason: str) -> Record:
        """Propose another text for a record; an operator confirms or rejects it.

        For a fact, `text` is a whole sentence or the bare value; for the profile, the value.
        """
        record = self._scope.visible("propose_correction", record_id)
        proposal = self._parts.proposals.propose_correction(record, text, reason)
        self._scope.changed(1)
        return proposal

    def request_forget(self, record_id: str, reason: str) -> Record:
        """Ask a person to forget a record; the request waits with the proposals."""
        record = self._scope.visible("request_forget", record_id)
        request = self._parts.proposals.request_forget(record, reason)
        self._scope.changed(1)
        return request

    def feedback(self, record_id: str, verdict: str) -> Record:
        """Report that a memory was `helpful`, or is `wrong` or `outdated`.

        A helpful memory counts as used, and is returned. For the others, a request to forget them
        waits for a person, and is returned. Nothing is forgotten automatically.
        """
        return self._parts.feedback.give(record_id, verdict)

    def proposals(self, limit: int | None = None, after: str | None = None) -> Queue:
        """List the waiting proposals, with everything that a person needs to decide.

        Those with most effect come first. `limit` is the maximum number, and `after` starts after
        this record of the queue. The list says how many wait in all (`total`) and how many come
        after it (`left`).
        """
        return self._parts.proposals.waiting(None if limit is None else rules.limit(limit), after)

    def compact(self, create_proposals: bool = False) -> builtins.list[dict[str, Any]]:
        """Find semantic records that say the same or share a topic.

        With `create_proposals` each group is proposed.
        """
        return self._parts.proposals.compact(create_proposals)

    def dedup(self, create_proposals: bool = False) -> builtins.list[dict[str, Any]]:
        """Find procedures of a workflow that are the same.

        With `create_proposals` each group is proposed.
        """
        return self._parts.proposals.dedup(create_proposals)

    # Upkeep

    def run_once(self) -> dict[str, Any]:
        """Promote important memories, expire old ones, and archive the surplus.

        The outcome is also written to `status/`.
        """
        return self._parts.lifecycle.run_once()

    @property
    def moved(self) -> Moved | None:
        """The full outcome of the last `run_once` of this handle."""
        return self._parts.lifecycle.moved

    def plan_promotion(self) -> builtins.list[Decision]:
        """List what `run_once` would do with each short-term memory, and by which rule."""
        return self._parts.lifecycle.planned()

    def compress_short_to_long(
        self, cutoff_hours: float = 48, dry_run: bool = False
    ) -> dict[str, Any]:
        """Sum up older short-term memories in the profile and in projects, and archive them.

        An operator's handle changes the profile at once; on other handles changes wait.
        """
        report = self._parts.profiles.compress(cutoff_hours, dry_run)
        if not dry_run:
            self._parts.derived.settle()
        return report

    def sleep(
        self,
        dry_run: bool = False,
        progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
        model: str | None = None,
    ) -> dict[str, Any]:
        """Turn conversations into facts, preferences, summaries and workflows.

        With `dry_run` only plan it. `stop` is asked between texts; once it returns True, the run
        ends, and the next one continues there. A dry run with the name of a `model`, or "" for that
        of the settings, says which facts it finds, which the rules, and which both.
        """
        return self._parts.sleep.run(dry_run, progress, stop, model)

    def batch(self) -> AbstractContextManager[None]:
        """Change or decide many times in a block; snapshot and mirrors follow once, at its end.

        Each change is durable as soon as its call returns.
        """
        return self._parts.derived.batch()

    def index(self, progress: Progress | None = None) -> int:
        """Index now instead of in the background; return how many vectors were missing.

        Vectors of embedders that the settings no longer name are dropped, once those that they
        name are complete.
        """
        return self._parts.derived.index(progress)

    def orchestrator(self) -> Orchestrator:
        """Return an object that runs the jobs of `schedule.yaml`, with this handle's authority."""
        return self._parts.jobs.orchestrator()

    def jobs(self) -> builtins.list[Outlook]:
        """List when each job ran last, its outcome, and when it is due."""
        return self._parts.jobs.outlook()

    # Mirrors

    def sync_mirrors(self, progress: Progress | None = None) -> dict[str, Any]:
        """Bring every mirror up to date now, and report on each."""
        return self._parts.derived.sync_mirrors(progress)

    def rebuild_mirrors(
        self, names: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Rebuild some mirrors, or all enabled ones, and report on each."""
        return self._parts.derived.rebuild_mirrors(names, progress)

    def verify_mirrors(
        self, names: Sequence[str] | None = None, progress: Progress | None = None
    ) -> dict[str, Verified]:
        """Compare every entry of some mirrors, or of all enabled ones, with the store.

        The report counts what is missing, outdated or unknown.
        """
        return self._parts.derived.verify_mirrors(names, progress)

    def mirrors(self) -> builtins.list[MirrorStatus]:
        """List the enabled mirrors: where each is, and how many events it is behind."""
        return self._parts.derived.statuses()

    # Sharing, the world model, and the state of the handle

    def shared(self, agent: str) -> Guest:
        """Open the memories that another agent shares with this one; NotFound if there are none.

        It is closed with this handle.
        """
        return self._parts.shared.open(agent)

    def sharing(self) -> builtins.list[Grant]:
        """List what other agents share now; `status()` names those that could not be asked."""
        return self._parts.shared.offers()

    @property
    def browsing(self) -> Browsing:
        """Lists, conversations and what came of them, for people who browse the memory."""
        return self._parts.browsing

    @property
    def world(self) -> WorldModel:
        """Tools and integrations, as records and as files."""
        return self._parts.world

    def status(self) -> dict[str, Any]:
        """Report the contents of the store, the state of its jobs, and problems.

        Only a handle without a user sees the whole store.
        """
        return self._parts.status.report()

    @property
    def problems(self) -> builtins.list[str]:
        """What this handle could not do, without failing a call."""
        return self._parts.status.problems()

    @property
    def outage(self) -> Outage | None:
        """The last operation that failed because the store was unavailable."""
        return self._scope.resilient.outage

    def failsafe_status(self) -> dict[str, Any]:
        """Count the memories that wait in the fail-safe."""
        return self._parts.failsafe.status()

    def replay_failsafe(self, progress: Progress | None = None) -> dict[str, Any]:
        """Store the memories that wait in the fail-safe, once and in order, and report."""
        return self._parts.failsafe.replay(progress)

    def catch_up(self) -> None:
        """Replay the fail-safe if that is possible now; otherwise `status()` says why not."""
        self._parts.failsafe.catch_up()

    @property
    def secrets(self) -> dict[str, int]:
        """How many likely secrets this handle has stored or redacted, by kind."""
        return self._parts.redaction.counts

    @property
    def wrote(self) -> bool:
        """Whether this handle has written; a surface resets it after running what is due."""
        return self._parts.derived.wrote

    @wrote.setter
    def wrote(self, value: bool) -> None:
        self._parts.derived.wrote = value
