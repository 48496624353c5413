"""The verbs that every surface calls. A handle has an authority, a scope and a clock; it translates nothing."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from msgspec import structs

from lamina import clock as clocks
from lamina import config, rules, text
from lamina.clock import Clock
from lamina.errors import Conflict, InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.home import Home
from lamina.model import Actor, Draft, Event, Hits, Layer, Record, State
from lamina.recall import keyword
from lamina.runs import Run, ending
from lamina.store.fulltext import Weights
from lamina.store.reads import Read
from lamina.store.records import Filter
from lamina.store.store import Store
from lamina.store.transaction import Transaction

RANKERS = ("keyword",)
Times = datetime | str | float | None


class Memory:
    """An agent's handle: it remembers, reads and proposes within its own agent and user."""

    def __init__(self, home: Home, store: Store, user: str | None, actor: Actor, clock: Clock, settings: config.Settings):
        self.home = home
        self.agent = store.agent
        self.user = user
        self.actor = actor
        self.settings = settings
        self._store = store
        self._clock = clock
        self._problems: builtins.list[str] = []
        self._kinds: tuple[str, ...] = rules.KINDS + settings["kinds.extra"]
        self._draft = rules.Drafter(actor, user, self._kinds, settings["content.max_bytes"]).draft

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Write what is buffered and let go of every file."""
        self._store.close()

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
        **more: Any,
    ) -> Record:
        """Store one memory; it is durable when this returns. The same key again returns the same record."""
        # What was not given is left out here: looking at it again in the rules costs more.
        item: dict[str, Any] = {"content": content, **more}
        if kind is not None:
            item["kind"] = kind
        if layer is not None:
            item["layer"] = layer
        if tags is not None:
            item["tags"] = tags
        if importance is not None:
            item["importance"] = importance
        if metadata is not None:
            item["metadata"] = metadata
        if evidence is not None:
            item["evidence"] = evidence
        if source is not None:
            item["source"] = source
        if speaker is not None:
            item["speaker"] = speaker
        if session is not None:
            item["session"] = session
        if at is not None:
            item["at"] = at
        if key is not None:
            item["key"] = key
        return self._store_drafts([self._draft(item)])[0]

    def remember_short(
        self, content: str, tags: Sequence[str] | None = None, importance: float | None = None, **more: Any
    ) -> Record:
        """Store one short-term memory."""
        return self.remember(content, layer=Layer.SHORT_TERM, tags=tags, importance=importance, **more)

    def remember_many(self, items: Iterable[Mapping[str, Any]]) -> builtins.list[Record]:
        """Store many memories in one transaction: all of them, or none and an error that names the item."""
        if not isinstance(items, Iterable):
            raise InvalidInput(f"items is a {type(items).__name__}, not a list of mappings")
        drafts = []
        for index, item in enumerate(items):
            try:
                drafts.append(self._draft(item))
            except LaminaError as error:
                raise _of_item(error, index) from None
        return self._store_drafts(drafts, many=True)

    def get(self, record_id: str) -> Record:
        """The record with this id, whatever its state."""
        record = self._visible("get", record_id)
        self._audit("get", (record.id,))
        return record

    def list(
        self,
        layers: Collection[str] | None = None,
        states: Collection[str] | None = (State.ACTIVE,),
        kinds: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        since: Times = None,
        until: Times = None,
        limit: int = 50,
    ) -> builtins.list[Record]:
        """Records, newest first. Working memory only when its layer is named; all states when `states` is None."""
        chosen = self._filter(layers, states, kinds, tags, since, until)
        found = self._store.listed(chosen, rules.limit(limit))
        self._audit("list", tuple(record.id for record in found))
        return found

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
        ranker: str = "keyword",
        run_id: str | None = None,
    ) -> Hits:
        """The best matches with the parts of their scores, or nothing at all: `limit` is an upper bound."""
        if ranker not in RANKERS:
            raise InvalidInput(f"unknown ranker {ranker!r}; known are {', '.join(RANKERS)}", known=[*RANKERS])
        asked, most = rules.query(query), rules.limit(limit)
        if run_id is None and layers is not None and Layer.WORKING in several(layers, "layers"):
            raise InvalidInput("working memory is searched within its run: use the run's search()")
        wanted = (State.ACTIVE,) if states is None else states
        chosen = self._filter(layers, wanted, kinds, tags, since, until, run_id)
        words, now = text.terms(asked), self._clock()
        weights = Weights(keyword.RECENCY_WEIGHT, keyword.IMPORTANCE_WEIGHT)
        found = self._store.matches(text.match_any(words), chosen, now, weights, keyword.pool(most)) if words else []
        hits = keyword.rank(found, now, most)
        self._audit("search", tuple(hit.record.id for hit in hits), query=asked)
        return hits

    def history(self, record_id: str) -> builtins.list[Event]:
        """Everything that ever happened to a record, oldest first."""
        record = self._visible("history", record_id)
        self._audit("history", (record.id,))
        return self._store.history(record.id)

    def run(self, task: str) -> Run:
        """Begin a run: a place for working memory that ends with the task."""
        draft = self._draft({"content": task, "layer": Layer.WORKING, "kind": "action"}, run_id="new")
        with self._store.change(self.actor, "run.open", self._clock()) as transaction:
            (opening,) = transaction.insert([structs.replace(draft, run_id=transaction.next_id())])
        return Run(self, opening)

    def runs(self) -> builtins.list[Run]:
        """Runs that were not closed, such as those of a process that died."""
        found = self._store.open_runs(self.user)
        self._audit("runs", tuple(record.id for record in found))
        return [Run(self, record) for record in found]

    def add_note(self, run_id: str, item: Mapping[str, Any]) -> Record:
        """Store a note in a run. `Run.note` is the way to call this."""
        return self._store_drafts([self._draft(item, run_id)], "run.note", run_id)[0]

    def count_notes(self, run_id: str) -> int:
        """How many notes an open run has. `Run.note_count` is the way to ask."""
        return self._store.count_notes(run_id, self.user)

    def close_run(self, run_id: str, task: str, summary: str | None, failure: BaseException | str | None) -> Record | None:
        """Set a run's notes aside and keep its ending, in one step. `Run.close` is the way to call this."""
        with self._store.change(self.actor, "run.close", self._clock()) as transaction:
            rows = transaction.run(run_id, None)
            notes = [self._store.record(row) for row in rows]
            if not notes or not self._in_scope(notes[0]):
                raise Refused(f"the run {text.shown(task, 60)} is closed already")
            made = None
            if summary is not None or self.settings["runs.episodes"]:
                (made,) = transaction.insert(
                    [ending(task, notes, summary, failure, self._draft, self.settings["content.max_bytes"])]
                )
            for row, note in zip(rows, notes, strict=True):
                rules.check_move(note.state, State.TOMBSTONED, self.actor.role)
                transaction.update(row, state=State.TOMBSTONED)
        return made

    def status(self) -> dict[str, Any]:
        """What is in the store for this handle, and what needs attention. The whole store only without a user."""
        found: dict[str, Any] = {
            "home": str(self.home.path),
            "agent": self.agent,
            "user": self.user,
            "store": self._store.id,
            "records": self._store.counts(self.user),
            "open_runs": len(self._store.open_runs(self.user)),
            "problems": self._problems + ([self._store.reads.problem] if self._store.reads.problem else []),
        }
        if self.user is None:
            head = self._store.head()
            found |= {"events": head.seq, "head": head.hash.hex(), "bytes": self._store.sizes()}
        return found

    def _store_drafts(
        self, drafts: Sequence[Draft], action: str = "remember", run_id: str | None = None, *, many: bool = False
    ) -> builtins.list[Record]:
        if not drafts:
            return []
        with self._store.change(self.actor, action, self._clock()) as transaction:
            if run_id is not None and not transaction.is_open(run_id, self.user):
                raise Refused("this run is closed; open a new one")
            for draft in drafts:
                if draft.evidence or draft.key is not None:
                    break
            else:
                return transaction.insert(drafts)
            stored = []
            for index, draft in enumerate(drafts):
                try:
                    stored.append(self._insert_checked(transaction, draft))
                except LaminaError as error:
                    raise (_of_item(error, index) if many else error) from None
            return stored

    def _insert_checked(self, transaction: Transaction, draft: Draft) -> Record:
        """Store a draft that refers to what is there already: by its evidence, or by its key."""
        existing = transaction.find_key(draft.key, draft.user) if draft.key is not None else None
        if existing is not None:
            if existing.content == draft.content:
                return existing
            key = text.shown(draft.key)
            raise Conflict(f"the key {key} was used for another text, in record {existing.id}", record=existing.id)
        unknown = transaction.unresolved(draft)
        if unknown:
            for record_id in unknown:
                self._note_crossing(record_id)
            raise NotFound(f"evidence {unknown[0]} leads to no record", unknown=unknown)
        return transaction.insert([draft])[0]

    def _visible(self, action: str, record_id: object) -> Record:
        """A record within this handle's scope. One outside it looks like one that does not exist, and is noted."""
        if isinstance(record_id, str) and clocks.is_id(record_id):
            record = self._store.get(record_id)
            if record is not None and self._in_scope(record):
                return record
            self._note_crossing(record_id)
        self._audit(action, (), missing=text.shown(record_id))
        raise NotFound(f"there is no record {text.shown(record_id)}")

    def _note_crossing(self, record_id: str) -> None:
        """Log an attempt to reach a record that belongs to somebody else; one that never existed is no attempt."""
        if self._store.get(record_id) is not None:
            self._violation("reach another user's record", record_id)
        elif clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
            self._violation("reach another agent's record", record_id)

    def _in_scope(self, record: Record) -> bool:
        return self.user is None or record.user in (None, self.user)

    def _violation(self, attempt: str, value: object) -> None:
        try:
            self.home.log_violation(self._clock(), self.actor, attempt, value)
        except StoreUnavailable as error:  # told in the status; told to the caller, it would give the record away
            self._problems.append(error.message)

    def _filter(
        self,
        layers: Collection[str] | None,
        states: Collection[str] | None,
        kinds: Collection[str] | None,
        tags: Collection[str] | None,
        since: Times,
        until: Times,
        run_id: object = None,
    ) -> Filter:
        if run_id is not None and not (isinstance(run_id, str) and clocks.is_id(run_id)):
            raise InvalidInput(f"run_id {text.shown(run_id)} is not the id of a run")
        return Filter(
            self.user,
            tuple({rules.one_of(Layer, value, "layer"): None for value in several(layers, "layers")}),
            tuple({rules.one_of(State, value, "state"): None for value in several(states, "states")}),
            tuple({rules.kind(value, self._kinds): None for value in several(kinds, "kinds")}),
            rules.tags(several(tags, "tags")),
            None if since is None else clocks.moment(since, "since"),
            None if until is None else clocks.moment(until, "until"),
            run_id,
        )

    def _audit(self, action: str, found: tuple[str, ...], **note: Any) -> None:
        if self.user is not None:
            note["user"] = self.user
        self._store.reads.add(Read(self._clock(), self.actor, action, found, note))


def _of_item(error: LaminaError, index: int) -> LaminaError:
    """The error, saying which item of many it is about."""
    return type(error)(f"item {index}: {error.message}", **{**error.details, "item": index})


def several(values: Collection[str] | None, name: str) -> tuple[Any, ...]:
    """A filter's values. A bare text is a mistake that would otherwise be taken letter by letter."""
    if values is None:
        return ()
    if isinstance(values, str) or not isinstance(values, Collection):
        raise InvalidInput(f"{name} {text.shown(values)} is not a list; write [{text.shown(values)}]")
    return tuple(values)
