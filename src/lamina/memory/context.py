"""Gather what a context contains (C1): what always applies, one search, what was given before."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.engines import facts, instructions, profile, tastes
from lamina.engines.instructions import Applying
from lamina.errors import Corrupt, StoreUnavailable
from lamina.failsafe.spool import OUTAGES
from lamina.model import clock as clocks
from lamina.model import rules, slots
from lamina.model.record import Hit, Hits, Layer, Outdated, Record, State, Trust
from lamina.search import context
from lamina.search.context import (
    Context,
    Gathered,
    Section,
    bounds,
    lines,
    noise,
    resting,
    sequels,
    topics,
)
from lamina.search.context.aim import ends
from lamina.search.context.builder import section_of
from lamina.store.tables import lineage, records, sleep
from lamina.store.tables.records import Filter
from lamina.text import words

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

ACTION, LIMITED, COMPACTED = "context", "memory_context", "context.compacted"
FOUND = 40  # hits from which a context is chosen
DEEPER = 160  # at most this many, if a session was given many of them before
FACTS_FOUND = 10  # facts that sleep made, from which some are chosen
LATER = 10  # later statements in which to look for the sequel of one
LEAST = 4  # minimum of hits for a prompt about its user, whatever the evidence
BOUND = 4  # binding memories for the topics of a prompt
BOUND_SAID = 8  # turns in which to look for more of them
ENTRIES = 1000  # of a profile
PREFERENCES = 20  # that a user stated explicitly
PROJECT_FACTS = 50
FACTS = (Layer.SEMANTIC, Layer.PROCEDURAL, Layer.SHORT_TERM, Layer.WORLD)
SESSIONS = 64  # whose given memories a handle remembers
NAMED = 3  # memories that a prompt names by their ids
HANDLE = re.compile(r"\b(?=[0-9a-z]{0,25}[0-9])[0-9a-z]{6,26}\b")
KNOWN = (Layer.PROFILE, Layer.PROCEDURAL, Layer.SEMANTIC, Layer.SHORT_TERM, Layer.WORLD)


class Told(msgspec.Struct):
    """What a session was given, with the time; and when its agent last forgot what it had."""

    given: dict[str, datetime] = {}
    since: datetime | None = None

    def has(self, record: Record, session: str) -> bool:
        """Return whether an agent still has the current version of a memory in its context."""
        if record.session == session:
            return self.since is None or record.created_at > self.since
        at = self.given.get(record.id)
        return at is not None and record.updated_at <= at


class Contexts:
    """The contexts of a handle, and what each session was given."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._sessions: OrderedDict[str, Told] = OrderedDict()

    def whole(
        self,
        goal: str,
        budget: int = 2000,
        session: str | None = None,
        project: str | None = None,
        tokens: int | None = None,
        most: int | None = None,
    ) -> Context:
        """Build the whole context of a prompt."""
        goal = rules.query(goal)
        room, number = bounds.room(budget, "budget"), bounds.tokens(tokens)
        number_of_items = None if most is None else rules.limit(most)
        name = None if session is None else rules.label(session, "session")
        place = None if project is None else rules.label(project, "project")
        gathered = self._gathered(ends(goal), name, place)
        if number is None:
            made = context.build(gathered, room, number_of_items)
        else:
            made = context.build_within(gathered, number, _count, number_of_items)
        ids = tuple(id_ for item in made.reasons for id_ in item.ids)
        self._note(ACTION, ids, goal, name)
        return made

    def limited(
        self, goal: str, limits: Mapping[str, int] | None = None, max_chars: int = 2000
    ) -> Context:
        """Build a context from some layers, with a maximum number of memories from each (Q9)."""
        goal = rules.query(goal)
        wanted, room = bounds.limits(limits), bounds.room(max_chars)
        answers = {
            layer: self._searched(goal, number, (layer,))
            for layer, number in wanted.items()
            if number
        }
        standing = self._profile(answers.get(Layer.PROFILE, ()), wanted.get(Layer.PROFILE, 0))
        gathered = Gathered(
            goal,
            tuple(standing),
            found=tuple(
                hit for layer, hits in answers.items() for hit in hits if layer is not Layer.PROFILE
            ),
            notes=tuple(note for hits in answers.values() for note in hits.notes),
            shared_by=self._scope.shared_by,
            is_whole=all(hits.is_whole for hits in answers.values()),
        )
        made = context.build_limited(gathered, room)
        self._note(LIMITED, tuple(id_ for item in made.reasons for id_ in item.ids), goal, None)
        return made

    def compacted(self, session: str) -> None:
        """Note that an agent's context was compacted: the session may be given memories again."""
        name = rules.label(session, "session")
        self._scope.audit(COMPACTED, (), session=name)
        self._remember(name, Told({}, self._scope.clock()))

    def _gathered(self, goal: str, session: str | None, project: str | None) -> Gathered:
        told = None if session is None else self._told(session)
        depth = 0 if told is None else min(DEEPER, len(told.given))
        is_idle = not goal or noise.is_small_talk(goal)
        found = Hits(()) if is_idle else self._within(goal, FOUND + depth, project)
        named = () if is_idle else tuple(self._named(goal))
        known = {hit.record.id for hit in named}
        hits = (*named, *(hit for hit in found if hit.record.id not in known))
        hits = sequels.placed(hits, self._sequels(goal, hits, project))
        facts = self._facts(goal, hits, told, session, project)
        both = {hit.record.id: hit for hit in (*facts, *hits)}  # a search may find them too
        hits += tuple(hit for hit in facts if both[hit.record.id] is hit)
        bound = () if is_idle else tuple(self._bound(goal, project))
        seen = (*hits, *(hit for hit, _ in bound))
        entries = self._entries()
        applying = instructions.applying(entries, self._told_by_sleep())
        has = frozenset(
            hit.record.id
            for hit in seen
            if told is not None
            and session is not None
            and hit.record.id not in known
            and told.has(hit.record, session)
        )
        standing = self._marked(Hits([*self._standing(entries, applying, project)]))
        return Gathered(
            goal,
            tuple(standing),
            bound,
            tuple(_overtaken(hits, applying)),
            has,
            found.notes,
            self._scope.shared_by,
            found.is_whole,
        )

    # What always applies

    def _standing(
        self, entries: Sequence[Record], applying: Applying, project: str | None
    ) -> Iterator[Hit]:
        """Yield what always applies, the most important of each kind first.

        These are instructions, confirmed ones first; then profile entries and facts of the project
        alternately; then preferences that were stated explicitly. External memories are excluded,
        and a guest gets none of this: its own memory instructs it.
        """
        if self._scope.shared_by is not None:
            return
        entries = [one for one in entries if profile.is_for(one, project)]
        orders = _trusted(one for one in applying.confirmed if profile.is_for(one, project))
        yield from (_always(one, "instruction") for one in orders)
        asked = _trusted(one for one in applying.waiting if profile.is_for(one, project))
        yield from (_always(one, lines.NOT_CONFIRMED) for one in asked)
        rest = _trusted(one for one in entries if not profile.is_standing(one))
        for entry, fact in zip_longest(rest, self._facts_of(project)):
            yield from () if entry is None else (_always(entry, "profile"),)
            yield from () if fact is None else (_always(fact, "project"),)
        layers = (Layer.SHORT_TERM, Layer.SEMANTIC)
        chosen = Filter(self._scope.user, layers, (State.ACTIVE,), ("preference",), beside=project)
        told = self._listed(chosen, PREFERENCES)
        for one in _trusted(one for one in told if not one.evidence and one.project is None):
            yield _always(one, "preference")

    def _told_by_sleep(self) -> list[Record]:
        """List the facts about instructions that sleep is sure of, and about names."""
        if self._scope.shared_by is not None:
            return []
        try:
            with self._scope.store.read() as db:
                found = [
                    row
                    for beginning in (slots.INSTRUCTION, tastes.NAME)
                    for row in sleep.active(db, beginning, self._scope.user)
                ]
        except OUTAGES as error:
            self._scope.resilient.note(error)
            return []
        return [self._scope.store.record(row) for row in found]

    def _facts_of(self, project: str | None) -> list[Record]:
        """List what is known about a project or was to be remembered for it."""
        if project is None:
            return []
        chosen = Filter(self._scope.user, FACTS, (State.ACTIVE,), project=project)
        listed = self._listed(chosen, PROJECT_FACTS)
        return _trusted(one for one in listed if section_of(one) is Section.KNOWN)

    def _entries(self) -> list[Record]:
        """List the entries of the user's own profile, ordered by key."""
        if self._scope.shared_by is not None:
            return []
        chosen = Filter(self._scope.user, (Layer.PROFILE,), (State.ACTIVE,))
        listed = self._listed(chosen, ENTRIES)
        own = (one for one in listed if one.user in (None, self._scope.user))
        return [*profile.by_key(own).values()]

    def _profile(self, found: Iterable[Hit], number: int) -> list[Hit]:
        """Choose from the profile: instructions, what was found, and the rest."""
        hits = list(found)
        named = [hit for hit in hits if profile.is_standing(hit.record)]
        others = [hit for hit in hits if not profile.is_standing(hit.record)]
        own = [one for one in self._entries() if one.trust is not Trust.EXTERNAL]
        always = [_always(one, "instruction") for one in own if profile.is_for_every_task(one)]
        rest = [_always(one, "profile") for one in own if not profile.is_standing(one)]
        every = {hit.record.id: hit for hit in (*rest, *others[::-1], *always, *named)}
        order = dict.fromkeys(hit.record.id for hit in (*named, *always, *others, *rest))
        return [every[id_] for id_ in order][:number]

    def _listed(self, chosen: Filter, limit: int) -> list[Record]:
        """List records from the catalogue, which a search needs anyway, or else from the store."""
        resilient = self._scope.resilient
        if resilient.is_waiting():
            return resilient.listed(chosen, limit)
        try:
            return self._scope.recall.listed(chosen, limit)
        except OUTAGES:
            return resilient.listed(chosen, limit)

    # What is looked up

    def _searched(
        self,
        query: str,
        limit: int,
        layers: tuple[Layer, ...],
        ranker: str = "hybrid",
        beside: str | None = None,
        least: int = 0,
        **narrowed: Any,
    ) -> Hits:
        """Search without a trace in the trail; the hits that are given away are noted later."""
        wanted = Filter(self._scope.user, layers, (State.ACTIVE,), beside=beside, **narrowed)
        chosen, now = self._scope.granted(wanted), self._scope.clock()

        def search() -> Hits:
            return self._scope.recall.search(query, limit, chosen, ranker, now, least=least)

        return self._scope.resilient.found(search, query, chosen, None, limit)

    def _within(self, goal: str, limit: int, project: str | None) -> Hits:
        """Search memories of a project, of none, and of the projects that a prompt names (C7)."""
        named = self._projects_in(goal) if project is not None else ()
        # A guest may be granted a fact without its evidence.
        as_said = self._scope.shared_by is None
        if not named:
            return self._searched(goal, limit, (), beside=project, least=LEAST, as_said=as_said)
        found = self._searched(goal, limit + DEEPER, (), as_said=as_said)
        allowed = (None, project, *named)
        hits = [hit for hit in found if hit.record.project in allowed][:limit]
        return Hits(hits, found.notes, found.confidence, is_whole=found.is_whole)

    def _facts(
        self,
        goal: str,
        hits: Sequence[Hit],
        told: Told | None,
        session: str | None,
        project: str | None,
    ) -> list[Hit]:
        """Find facts that sleep made: those that answer, and those based on what was found.

        They are searched separately: together with turns, they would change which turns are found.
        """
        if not goal or self._scope.shared_by is not None:
            return []
        new = [
            hit.record.id
            for hit in hits
            if told is None or session is None or not told.has(hit.record, session)
        ]
        try:
            with self._scope.store.read() as db:
                if not records.has_made(db):
                    return []
                rows = lineage.facts_on(db, new, self._scope.user) if new else []
            pairs = [(target, self._scope.store.record(row)) for target, row in rows]
        except OUTAGES as error:
            self._scope.resilient.note(error)
            return []
        made = (("origin", "sleep"),)
        found = self._searched(goal, FACTS_FOUND, (Layer.SEMANTIC,), beside=project, metadata=made)
        own = [(target, one) for target, one in pairs if project in (None, one.project)]
        return resting.facts(goal, found, frozenset(hit.record.id for hit in hits), own)

    def _sequels(self, goal: str, hits: Sequence[Hit], project: str | None) -> dict[str, Hit]:
        """Find later statements that follow up the first hits, by the hit that each follows."""
        found: dict[str, Hit] = {}
        for source in sequels.sources(hits):
            wanted = sequels.telling(source, goal)
            if not wanted or source.id in {hit.record.id for hit in found.values()}:
                continue
            how = (LATER, (Layer.EPISODIC,), "keyword", project)
            later = self._searched(" ".join(wanted), *how, since=source.occurred_at)
            if best := sequels.sequel(source, wanted, later):
                found[source.id] = best
        return found

    def _projects_in(self, goal: str) -> tuple[str, ...]:
        """Find the projects whose names appear in a prompt."""
        try:
            with self._scope.store.read() as db:
                names = records.projects(db)
        except OUTAGES as error:
            self._scope.resilient.note(error)
            return ()
        said = f" {' '.join(words.WORD.findall(words.normalise(goal)))} "
        spelled = {one: " ".join(words.WORD.findall(words.normalise(one))) for one in names}
        return tuple(one for one, plain in spelled.items() if plain and f" {plain} " in said)

    def _bound(self, goal: str, project: str | None) -> Iterator[tuple[Hit, str]]:
        """Yield what binds the user in the topics of a prompt, with these topics.

        Known facts come first, then statements, which sleep may turn into facts.
        """
        found = topics.topics(goal)
        if not found:
            return
        hits = self._searched(topics.binding(found), 3 * BOUND, KNOWN, "keyword", project)
        known = [hit for hit in hits if topics.binds(hit.record)][:BOUND]
        sources = {source for hit in known for source in hit.record.evidence}
        wanted = topics.binding(found, in_talk=True)
        said = self._searched(wanted, BOUND_SAID, (Layer.EPISODIC,), "keyword", project)
        stated = [hit for hit in said if topics.is_stated(hit.record, wanted)]
        new = (hit for hit in stated if hit.record.id not in sources)
        trusted = (hit for hit in (*known, *new) if hit.record.trust is not Trust.EXTERNAL)
        for hit in islice(trusted, BOUND):
            yield hit, topics.bound_in(hit.record, found)

    def _named(self, goal: str) -> Iterator[Hit]:
        """Yield the memories that a prompt names by parts of their ids."""
        parts = [part for part in dict.fromkeys(HANDLE.findall(goal)) if clocks.is_part(part)]
        for part in parts[:NAMED]:
            chosen = Filter(self._scope.user, states=(State.ACTIVE,), part=part)
            listed = self._scope.resilient.listed(self._scope.granted(chosen), 2)
            if len(listed) == 1:
                yield from self._marked(Hits([Hit(listed[0], 1.0, {"named": 1.0})]))

    def _marked(self, hits: Hits) -> Hits:
        """Mark what somebody said that does not hold."""
        try:
            chosen = self._scope.granted(Filter(self._scope.user))
            return self._scope.recall.marked(hits, chosen)
        except OUTAGES as error:
            self._scope.resilient.note(error)
            return hits

    # What was given before

    def _told(self, session: str) -> Told:
        """Return what a session was given, reading it from the trail of reads the first time."""
        if session not in self._sessions:
            try:
                given, since = self._scope.resilient.reads.given(ACTION, COMPACTED, session)
            except (Corrupt, StoreUnavailable) as error:
                self._scope.note_problem(
                    f"what this session was given before is not known: {error.message}"
                )
                given, since = {}, None
            self._remember(session, Told(given, since))
        self._sessions.move_to_end(session)
        return self._sessions[session]

    def _remember(self, session: str, told: Told) -> None:
        self._sessions[session] = told
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)

    def _note(self, action: str, ids: tuple[str, ...], goal: str, session: str | None) -> None:
        """Note in the trail what was given; the next context of the session looks there."""
        now = self._scope.clock()
        note = {} if session is None else {"session": session}
        self._scope.audit(action, ids, query=goal, **note)
        if session is not None:
            self._told(session).given.update(dict.fromkeys(ids, now))


def _trusted(found: Iterable[Record]) -> list[Record]:
    """Sort memories that are not external by importance, and equal ones in a stable order."""
    own = [one for one in found if one.trust is not Trust.EXTERNAL]
    return sorted(own, key=lambda one: (-one.importance, one.content, one.id))


def _overtaken(hits: Iterable[Hit], applying: Applying) -> Iterator[Hit]:
    """Mark entries of the profile that do not apply any more with what was said instead."""
    for hit in hits:
        if fact := applying.over.get(hit.record.id):
            now = () if facts.fact_of(fact).negated else (fact.content,)
            hit = msgspec.structs.replace(hit, outdated=Outdated(now=now))
        yield hit


def _always(record: Record, why: str) -> Hit:
    return Hit(record, 0.0, {why: 1.0})


def _count(text: str) -> int:
    """Count the tokens of a text as the default embedder does."""
    from lamina.embedders.wordllama import shared

    return len(shared().tokens(text))
