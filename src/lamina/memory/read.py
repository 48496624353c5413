"""Verbs that read: get records, look them up by part of their ids, search them."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import structs

from lamina.errors import InvalidInput, NotFound, no_record
from lamina.failsafe.spool import OUTAGES
from lamina.memory.scope import Times, optional_moment
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.record import LONG_TERM, Hits, Layer, Record, State
from lamina.search import RANKERS
from lamina.store.tables import records
from lamina.store.tables.records import Filter
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.memory.scope import Scope
    from lamina.search.context import Context

CANDIDATES = 10  # records to list when part of an id matches several


class Read:
    """Read what a scope may see: one's own records, or those that are shared."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def get(self, record_id: str) -> Record:
        """Return the record with this id, whatever its state."""
        record = self._scope.visible("get", record_id, stub=True)
        self._scope.audit("get", (record.id,))
        return record

    def full_id(self, record_id: str) -> str:
        """Return the id of the one visible record that begins or ends with these characters.

        At least six are needed. A whole id comes back as it is, whether it exists or not.
        """
        given: object = record_id
        if isinstance(given, str) and clocks.is_id(given):
            return given
        if not isinstance(given, str) or not clocks.is_part(given):
            self._scope.audit("full_id", (), missing=shown(given))
            raise NotFound(
                f"there is no record {shown(given)}; the beginning or end of an id has at least 6"
                " characters: list or search memories to find one"
            )
        ids = self._ids_like(given, CANDIDATES + 1)
        missing = {} if ids else {"missing": given}
        self._scope.audit("full_id", tuple(ids[:CANDIDATES]), **missing)
        if not ids:
            raise no_record(f"whose id begins or ends with {shown(given)}")
        if len(ids) > 1:
            raise self._ambiguous(given, ids)
        return ids[0]

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
        named = {"session": session, "project": project, "speaker": speaker, "source": source}
        chosen = self._scope.filter(layers, states, kinds, tags, since, until, **named)
        return self._listed("list", chosen, limit)

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
        what was true at a time, `known_at` what the store knew then. `session` is one
        conversation, `project` what belongs to a project. `following` are the texts before a query
        that may need them, the latest last.
        """
        if ranker not in RANKERS:
            raise InvalidInput(
                f"unknown ranker {shown(ranker)}; known are {', '.join(RANKERS)}",
                known=[*RANKERS],
            )
        if run_id is None and Layer.WORKING in rules.several(layers, "layers"):
            raise InvalidInput("working memory is searched within its run: use the run's search()")
        if states is None:
            states = (State.ACTIVE,) if as_of is None else (State.ACTIVE, State.SUPERSEDED)
        chosen = structs.replace(
            self._scope.filter(
                layers, states, kinds, tags, since, until, run_id, session, project, speaker, source
            ),
            all_tags=rules.tags_to_find(all_tags, "all_tags"),
            metadata=rules.facets(metadata),
            as_of=optional_moment(as_of, "as_of"),
        )
        moment = optional_moment(known_at, "known_at")
        before = tuple(map(rules.query, rules.several(following, "following")))
        return self._found(
            "search", query, limit, chosen, ranker, known_at=moment, following=before
        )

    def query_relevant(self, text: str, limit: int = 10, recency_bias: float = 0.35) -> Hits:
        """Rank by shared words, recency and importance, by the formula of the Milton document."""
        bias = rules.number(recency_bias, "recency_bias")
        chosen = Filter(self._scope.user, states=(State.ACTIVE,))
        return self._found("query_relevant", text, limit, chosen, "overlap", bias=bias)

    def recall_similar(self, query: str, top_k: int = 5) -> Hits:
        """Find the memories that are nearest in meaning, in the long-term layers."""
        chosen = Filter(self._scope.user, LONG_TERM, (State.ACTIVE,))
        return self._found("recall_similar", query, top_k, chosen, "semantic")

    def query_recent(
        self,
        hours: float = 24,
        tags: Collection[str] | None = None,
        limit: int = 20,
        project: str | None = None,
    ) -> builtins.list[Record]:
        """List what happened within some hours, newest first; with any of the tags, if given."""
        since = self._scope.clock() - timedelta(hours=rules.hours(hours))
        chosen = self._scope.filter(states=(State.ACTIVE,), tags=tags, since=since, project=project)
        return self._listed("query_recent", chosen, limit)

    def memory_context(
        self, goal: str, limits: Mapping[str, int] | None = None, max_chars: int = 2000
    ) -> Context:
        """Collect memories about a task, for a model to read: bounded, fenced and labelled.

        It is data, and grants no permission.
        """
        return self._scope.parts.context.limited(goal, limits, max_chars)

    def context(
        self,
        goal: str,
        budget: int = 2000,
        session: str | None = None,
        project: str | None = None,
        tokens: int | None = None,
        most: int | None = None,
    ) -> Context:
        """Build the context for the next prompt: what always applies, is known, and was said."""
        return self._scope.parts.context.whole(goal, budget, session, project, tokens, most)

    def _found(
        self,
        action: str,
        query: str,
        limit: int,
        chosen: Filter,
        ranker: str,
        known_at: datetime | None = None,
        bias: float | None = None,
        following: Sequence[str] = (),
    ) -> Hits:
        asked, most, granted = rules.query(query), rules.limit(limit), self._scope.granted(chosen)
        now = self._scope.clock()

        def search() -> Hits:
            return self._scope.recall.search(
                asked, most, granted, ranker, now, known_at, bias, following
            )

        hits = self._scope.resilient.found(search, asked, granted, known_at, most)
        self._scope.audit(action, tuple(hit.record.id for hit in hits), query=asked)
        return hits

    def _listed(self, action: str, chosen: Filter, limit: int) -> builtins.list[Record]:
        granted = self._scope.granted(chosen)
        listed = self._scope.resilient.listed(granted, rules.limit(limit))
        self._scope.audit(action, tuple(record.id for record in listed))
        return listed

    def _ids_like(self, part: str, limit: int) -> builtins.list[str]:
        """List visible records whose ids begin or end so; then archived and erased ones."""
        chosen = self._scope.granted(Filter(self._scope.user, tuple(Layer), part=part))
        ids = [record.id for record in self._scope.resilient.listed(chosen, limit)]
        if self._scope.shared_by is None:
            try:
                with self._scope.store.read() as db:
                    ids += records.removed_ids_like(db, part, self._scope.user, limit)
            except OUTAGES as error:
                self._scope.resilient.note(error)
        return [*dict.fromkeys(ids)][:limit]

    def _ambiguous(self, part: str, ids: builtins.list[str]) -> InvalidInput:
        contents = {
            one: shown(record.content, 60) if (record := self._scope.seen(one)) else "erased"
            for one in ids[:CANDIDATES]
        }
        more = ", and others" if len(ids) > CANDIDATES else ""
        named = "\n".join(f"  {one}  {content}" for one, content in contents.items())
        return InvalidInput(
            f"{shown(part)} could be any of these{more};"
            f" give more of the id, its end differs soonest:\n{named}",
            candidates=[{"id": one, "content": content} for one, content in contents.items()],
        )
