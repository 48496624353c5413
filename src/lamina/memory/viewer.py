"""What can be done with memories that may be seen: looking at them, calling them by a part of their ids, finding them."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from lamina.errors import InvalidInput, NotFound, StoreUnavailable
from lamina.home import settings as config
from lamina.home.folder import Home
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.clock import Clock
from lamina.model.record import LONG_TERM, Actor, Hits, Layer, Record, State
from lamina.search import RANKERS
from lamina.store.core.store import Store
from lamina.store.tables.reads import Read
from lamina.store.tables.records import Filter
from lamina.text import words as text

if TYPE_CHECKING:
    from lamina.mirrors import Mirror
    from lamina.search.context import Context
    from lamina.search.engine import Recall
    from lamina.search.mirror_request import Searchable

Times = datetime | str | float | None
MODELS = "models"
CANDIDATES = 10  # records that are named when a part of an id fits several


class Viewer:
    """What can be done with memories that may be seen, one's own or those that are shared: look at them, and find them."""

    _shared_by: str | None = None  # whose memories they are, if not one's own

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: config.Settings,
    ):
        self.home = home
        self.agent = store.agent
        self.user = user
        self.actor = actor
        self.settings = settings
        self._store = store
        self._clock = clock
        self._problems: builtins.list[str] = []
        self._kinds: tuple[str, ...] = rules.KINDS + settings["kinds.extra"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def problems(self) -> builtins.list[str]:
        """What this handle could not do, without anybody having been told otherwise."""
        return [*self._problems, *filter(None, (self._store.reads.problem,))]

    def close(self) -> None:
        """Write what is buffered and let go of every file."""
        try:
            if "_copies" in self.__dict__:
                from lamina.mirrors import configured

                configured.close(self._copies)
        finally:
            self._store.close()

    def get(self, record_id: str) -> Record:
        """The record with this id, whatever its state."""
        record = self._visible("get", record_id, stub=True)
        self._audit("get", (record.id,))
        return record

    def full_id(self, record_id: str) -> str:
        """The id of the one record that begins or ends with the characters given, of those that this handle may see.

        At least six are needed. A whole id comes back as it is, whether there is such a record or not.
        """
        given: object = record_id
        if isinstance(given, str) and clocks.is_id(given):
            return given
        if not isinstance(given, str) or not clocks.is_part(given):
            self._audit("full_id", (), missing=text.shown(given))
            raise NotFound(
                f"there is no record {text.shown(given)}; the beginning or end of an id has at least 6 characters"
            )
        found = self._alike(given, CANDIDATES + 1)
        self._audit("full_id", tuple(found[:CANDIDATES]), **({} if found else {"missing": given}))
        if not found:
            raise NotFound(f"there is no record whose id begins or ends with {text.shown(given)}")
        if len(found) > 1:
            raise self._ambiguous(given, found)
        return found[0]

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
        return self._listed("list", self._filter(layers, states, kinds, tags, since, until), limit)

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
    ) -> Hits:
        """The best matches with the parts of their scores, or nothing at all: `limit` is an upper bound.

        `tags` matches any of them, `all_tags` every one. `as_of` asks what was true at a time, `known_at` what the store
        knew then.
        """
        if ranker not in RANKERS:
            raise InvalidInput(
                f"unknown ranker {text.shown(ranker)}; known are {', '.join(RANKERS)}",
                known=[*RANKERS],
            )
        if (
            run_id is None
            and layers is not None
            and Layer.WORKING in rules.several(layers, "layers")
        ):
            raise InvalidInput("working memory is searched within its run: use the run's search()")
        past = (State.ACTIVE, State.SUPERSEDED) if as_of is not None else (State.ACTIVE,)
        chosen = self._filter(
            layers, past if states is None else states, kinds, tags, since, until, run_id
        )
        chosen = structs.replace(
            chosen,
            all_tags=rules.tags(rules.several(all_tags, "all_tags")),
            metadata=rules.facets(metadata),
            as_of=optional_moment(as_of, "as_of"),
        )
        return self._found(
            "search", query, limit, chosen, ranker, known_at=optional_moment(known_at, "known_at")
        )

    def query_relevant(self, text: str, limit: int = 10, recency_bias: float = 0.35) -> Hits:
        """The ranking of the Milton document: shared words, recency and importance, in exactly its formula."""
        bias = rules.number(recency_bias, "recency_bias")
        return self._found(
            "query_relevant",
            text,
            limit,
            Filter(self.user, states=(State.ACTIVE,)),
            "overlap",
            bias=bias,
        )

    def recall_similar(self, query: str, top_k: int = 5) -> Hits:
        """What is nearest in meaning, of the long-term layers."""
        chosen = Filter(self.user, LONG_TERM, (State.ACTIVE,))
        return self._found("recall_similar", query, top_k, chosen, "semantic")

    def query_recent(
        self, hours: float = 24, tags: Collection[str] | None = None, limit: int = 20
    ) -> builtins.list[Record]:
        """What happened within some hours, newest first; with any of the tags, if some are given."""
        since = self._clock() - timedelta(hours=rules.hours(hours))
        return self._listed(
            "query_recent", self._filter(None, (State.ACTIVE,), None, tags, since, None), limit
        )

    def memory_context(
        self, goal: str, limits: Mapping[str, int] | None = None, max_chars: int = 2000
    ) -> Context:
        """What is known for a task, for a model to read: bounded, fenced as data, labelled. It permits nothing."""
        from lamina.search import context

        rules.query(goal)
        wanted = context.limits(limits)
        room = context.room(max_chars)
        found = [
            self._found(
                "memory_context",
                goal,
                limit,
                Filter(self.user, (layer,), (State.ACTIVE,)),
                "hybrid",
            )
            for layer, limit in wanted.items()
            if limit
        ]
        hits = [hit for some in found for hit in some]
        notes = (note for some in found for note in some.notes)
        return context.made(
            hits, room, notes, self._shared_by, is_whole=all(some.is_whole for some in found)
        )

    @cached_property
    def _recall(self) -> Recall:
        from lamina.search.engine import Recall

        return Recall(self._store, self.settings, self.home.path / MODELS, self._searched)

    @cached_property
    def _copies(self) -> dict[str, Mirror]:
        """The mirrors that are on. None of them is opened yet."""
        from lamina.mirrors import configured

        return configured.mirrors(
            self._store, self.settings, lambda: next(iter(self._recall.embedders), None)
        )

    def _searched(self) -> Searchable | None:
        """The mirror that searches go through, if not the store itself is searched."""
        if self.settings["recall.via"] == "store":
            return None
        from lamina.mirrors import configured

        return configured.searchable(self.settings, self._copies)

    def _found(
        self,
        action: str,
        query: str,
        limit: int,
        chosen: Filter,
        ranker: str,
        known_at: datetime | None = None,
        bias: float | None = None,
    ) -> Hits:
        asked, most = rules.query(query), rules.limit(limit)
        hits = self._answer(asked, most, self._granted(chosen), ranker, known_at, bias)
        self._audit(action, tuple(hit.record.id for hit in hits), query=asked)
        return hits

    def _answer(
        self,
        asked: str,
        most: int,
        chosen: Filter,
        ranker: str,
        known_at: datetime | None,
        bias: float | None,
    ) -> Hits:
        return self._recall.search(asked, most, chosen, ranker, self._clock(), known_at, bias)

    def _listed(self, action: str, chosen: Filter, limit: int) -> builtins.list[Record]:
        found = self._rows(self._granted(chosen), rules.limit(limit))
        self._audit(action, tuple(record.id for record in found))
        return found

    def _rows(self, chosen: Filter, limit: int) -> builtins.list[Record]:
        return self._store.listed(chosen, limit)

    def _granted(self, chosen: Filter) -> Filter:
        """A filter that lets through what this handle may see of what it wants; one's own memory needs no grant."""
        return chosen

    def _visible(self, action: str, record_id: object, *, stub: bool = False) -> Record:
        """A record within this handle's scope. One outside it looks like one that does not exist, and is noted.

        Of one that was erased there is a stub, for who asks for that.
        """
        if isinstance(record_id, str) and clocks.is_id(record_id):
            record = self._seen(record_id)
            if record is None and (left := self._remains(record_id)) is not None:
                if not stub:
                    raise NotFound(
                        f"the record {record_id} was erased", erased=left.metadata["erased"]
                    )
                record = left
            if record is not None:
                return record
            self._note_crossing(record_id)
        self._audit(action, (), missing=text.shown(record_id))
        raise NotFound(f"there is no record {text.shown(record_id)}")

    def _seen(self, record_id: str) -> Record | None:
        """The record with this id, if this handle may see it."""
        record = self._store.get(record_id, self.user)
        return record if record is not None and self._in_scope(record) else None

    def _alike(self, part: str, limit: int) -> builtins.list[str]:
        """The ids that begin or end so, of records that this handle may see."""
        chosen = Filter(self.user, tuple(Layer), part=part)
        return [record.id for record in self._rows(self._granted(chosen), limit)]

    def _ambiguous(self, part: str, found: builtins.list[str]) -> InvalidInput:
        said = {
            one: text.shown(record.content, 60) if (record := self._seen(one)) else "erased"
            for one in found[:CANDIDATES]
        }
        more = ", and others" if len(found) > CANDIDATES else ""
        named = "\n".join(f"  {one}  {content}" for one, content in said.items())
        return InvalidInput(
            f"{text.shown(part)} could be any of these{more}; give more of the id, its end differs soonest:\n{named}",
            candidates=[{"id": one, "content": content} for one, content in said.items()],
        )

    def _remains(self, record_id: str) -> Record | None:
        """What is left of an erased record."""
        return None

    def _note_crossing(self, record_id: str) -> None:
        """Log an attempt to reach a record that belongs to somebody else; one that never existed is no attempt."""
        if self._store.exists(record_id):
            self._violation("reach another user's record", record_id)
        elif clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
            self._violation("reach another agent's record", record_id)

    def _in_scope(self, record: Record) -> bool:
        return self.user is None or record.user in (None, self.user)

    def _violation(self, attempt: str, value: object) -> None:
        try:
            self.home.log_violation(self._clock(), self.actor, attempt, value)
        except (
            StoreUnavailable
        ) as error:  # told in the status; told to the caller, it would give the record away
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
            tuple(
                {
                    rules.one_of(Layer, value, "layer"): None
                    for value in rules.several(layers, "layers")
                }
            ),
            tuple(
                {
                    rules.one_of(State, value, "state"): None
                    for value in rules.several(states, "states")
                }
            ),
            tuple(
                {rules.kind(value, self._kinds): None for value in rules.several(kinds, "kinds")}
            ),
            rules.tags(rules.several(tags, "tags")),
            optional_moment(since, "since"),
            optional_moment(until, "until"),
            run_id,
        )

    def _audit(self, action: str, found: tuple[str, ...], **note: Any) -> None:
        if "query" in note:
            from lamina.text.secrets import detection  # searches load more than this

            note["query"] = detection.redacted(note["query"])
        if self.user is not None:
            note["user"] = self.user
        self._store.reads.add(Read(self._clock(), self.actor, action, found, note))


def optional_moment(value: Times, name: str) -> datetime | None:
    return None if value is None else clocks.moment(value, name)
