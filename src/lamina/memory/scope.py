"""The scope of a handle: who acts, for whom, where and when. Every part takes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    Refused,
    StoreUnavailable,
    no_record,
)
from lamina.failsafe.resilient import Resilient, is_of
from lamina.home.folder import Home
from lamina.home.settings import Settings
from lamina.memory import refusals, spans
from lamina.memory.parts import Parts
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.clock import Clock
from lamina.model.record import Actor, Draft, Layer, Record, State
from lamina.store.core.store import Store
from lamina.store.tables import records
from lamina.store.tables.reads import Read
from lamina.store.tables.records import Filter
from lamina.store.tables.refusals import Refusal
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.mirrors import Mirror
    from lamina.search.engine import SearchEngine
    from lamina.search.mirror_request import SearchableMirror

Times = datetime | str | float | None
MODELS = "models"


class Scope:
    """Who acts (`actor`), for which `user`, on whose memory (`agent`), with which clock.

    It decides what a handle may see and writes the trail of reads. It contains what several
    parts need; `parts` has the parts themselves.
    """

    shared_by: str | None = None  # the agent whose memory is read, if it is another one

    def __init__(
        self,
        home: Home,
        resilient: Resilient,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self.home = home
        self.resilient = resilient
        self.agent = resilient.agent
        self.user = user
        self.actor = actor
        self.clock = clock
        self.settings = settings
        self.kinds: tuple[str, ...] = rules.KINDS + settings["kinds.extra"]
        self.problems: list[str] = []
        self.parts = Parts(self)
        self.tracer: spans.Tracer | None = None
        try:
            self.tracer = spans.tracer(settings)
        except Refused as error:  # a memory without spans is better than none
            self.problems.append(error.message)

    @property
    def store(self) -> Store:
        """The store; raises StoreUnavailable while it cannot be used."""
        return self.resilient.store

    def draft(self, item: object, run_id: str | None = None) -> Draft:
        """Make a valid draft of a caller's input: rules, then importance, then secrets."""
        return self.parts.drafting.draft(item, run_id)

    def changed(self, count: int) -> None:
        """Have new or changed records indexed and mirrored."""
        self.parts.derived.changed(count)

    def audit(self, action: str, record_ids: tuple[str, ...], **note: Any) -> None:
        """Note a read in the trail."""
        self.note_read(self.clock(), action, record_ids, note)

    def note_read(
        self, at: datetime, action: str, record_ids: tuple[str, ...], note: dict[str, Any]
    ) -> None:
        """Note a read at a given time in the trail, with secrets removed from its query."""
        if "query" in note:
            note["query"] = _redacted(note["query"])
        if self.user is not None:
            note["user"] = self.user
        self.resilient.reads.add(Read(at, self.actor, action, record_ids, note))

    def visible(self, action: str, record_id: object, *, stub: bool = False) -> Record:
        """Find a record of this scope; with `stub`, also the stub of an erased one.

        A record of another scope looks as if it did not exist, and the attempt is noted.
        """
        if isinstance(record_id, str) and clocks.is_id(record_id):
            record = self.seen(record_id)
            if record is not None:
                return record
            if (remains := self.remains(record_id)) is not None:
                if stub:
                    return remains
                raise NotFound(
                    f"the record {record_id} was erased", erased=remains.metadata["erased"]
                )
            self.note_crossing(record_id)
        self.audit(action, (), missing=shown(record_id))
        raise no_record(shown(record_id))

    def seen(self, record_id: str) -> Record | None:
        """Find a record that this scope may see."""
        return self.resilient.get(record_id, self.user)

    def remains(self, record_id: str) -> Record | None:
        """Find the stub of an erased record."""
        from lamina.store.upkeep import erase_plan

        return erase_plan.remains(self.store, record_id, self.user)

    def is_mine(self, record: Record) -> bool:
        """Return whether a record is this user's or unscoped."""
        return is_of(self.user, record)

    def granted(self, chosen: Filter) -> Filter:
        """Narrow a filter to what this scope may see; one's own memory needs no grant."""
        return chosen

    def note_crossing(self, record_id: str) -> None:
        """Log an attempt to reach a record of another user or agent, if such a record exists."""
        waiting = self.resilient.waiting()
        if any(one.id == record_id and not self.is_mine(one) for one in waiting) or self.exists(
            record_id
        ):
            self.crossing("reach another user's record", record_id)
        elif clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
            self.crossing("reach another agent's record", record_id)

    def exists(self, record_id: str) -> bool:
        """Return whether there is or was such a record, whoever may see it."""
        with self.store.read() as db:
            return records.exists(db, record_id)

    def refused(
        self, verb: str, lacks: str, texts: Iterable[str] = (), *, wait: bool = True
    ) -> None:
        """Note in the trail that a verb was refused, with the visible records that it concerns."""
        self.note_refusal(Refusal(self.clock(), self.actor, verb, lacks), texts, wait)

    def note_refusal(self, refusal: Refusal, texts: Iterable[str], wait: bool) -> None:
        """Note a refusal in the trail, with the ids among the texts that this scope may see."""
        refusal = structs.replace(refusal, records=refusals.visible(self, texts))
        refusals.leave(self.resilient.reads, refusal, wait=wait)

    def crossing(self, attempt: str, value: object) -> None:
        """Log an attempt to reach another's record, and note it in the trail.

        The trail is written after the answer: its delay would reveal that the record exists.
        """
        self.violation(attempt, value)
        self.refused(attempt, "access", wait=False)

    def violation(self, attempt: str, value: object) -> None:
        """Log an attempt to cross a boundary of this home."""
        try:
            self.home.log_violation(self.clock(), self.actor, attempt, value)
        except StoreUnavailable as error:
            # Only the status reports this: an error here would reveal that the record exists.
            self.problems.append(error.message)

    def note_problem(self, problem: str | None) -> None:
        """Keep a problem for `status()`, once."""
        if problem is not None and problem not in self.problems:
            self.problems.append(problem)

    def check_whole(self, verb: str) -> None:
        """Refuse a verb for the whole store on a handle for one user."""
        if self.user is not None:
            raise Forbidden(
                f"{verb} concerns all users of {self.agent}; run it without --user, or open the"
                " handle without a user",
                lacks="access",
            )

    def filter(
        self,
        layers: Collection[str] | None = None,
        states: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        run_id: object = None,
        session: str | None = None,
        project: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
    ) -> Filter:
        """Make a filter of a caller's input, within this scope."""
        if run_id is not None and not (isinstance(run_id, str) and clocks.is_id(run_id)):
            raise InvalidInput(f"run_id {shown(run_id)} is not the id of a run")
        chosen_layers = [rules.one_of(Layer, v, "layer") for v in rules.several(layers, "layers")]
        chosen_states = [rules.one_of(State, v, "state") for v in rules.several(states, "states")]
        chosen_kinds = [rules.kind(value, self.kinds) for value in rules.several(kinds, "kinds")]
        return Filter(
            self.user,
            tuple(dict.fromkeys(chosen_layers)),
            tuple(dict.fromkeys(chosen_states)),
            tuple(dict.fromkeys(chosen_kinds)),
            rules.tags_to_find(tags, "tags"),
            optional_moment(since, "since"),
            optional_moment(until, "until"),
            run_id,
            session=None if session is None else rules.label(session, "session"),
            project=None if project is None else rules.label(project, "project"),
            speaker=None if speaker is None else rules.label(speaker, "speaker"),
            source=None if source is None else rules.label(source, "source"),
        )

    @cached_property
    def recall(self) -> SearchEngine:
        """The search engine of this handle."""
        from lamina.search.engine import SearchEngine

        return SearchEngine(self.store, self.settings, self.home.path / MODELS, self._searched)

    @cached_property
    def copies(self) -> dict[str, Mirror]:
        """The enabled mirrors. None of them is open yet."""
        from lamina.mirrors import configured

        return configured.mirrors(
            self.store, self.settings, lambda: next(iter(self.recall.embedders), None)
        )

    def _searched(self) -> SearchableMirror | None:
        """Choose the mirror that searches use; None for the store itself."""
        if self.settings["recall.via"] == "store":
            return None
        from lamina.mirrors import configured

        return configured.searchable(self.settings, self.copies)

    def close(self) -> None:
        """Write what is buffered and close every file."""
        try:
            if "copies" in self.__dict__:
                from lamina.mirrors import configured

                configured.close(self.copies)
        finally:
            self.resilient.close()


class Part:
    """A part of a handle. It asks for the store when needed, since it may be unavailable."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def _store(self) -> Store:
        return self._scope.store


def optional_moment(value: Times, name: str) -> datetime | None:
    return None if value is None else clocks.moment(value, name)


def _redacted(query: str) -> str:
    from lamina.text.secrets import detection  # most searches load it anyway

    return str(detection.redacted(query))
