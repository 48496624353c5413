"""Reading what other agents share: only what they were asked to by an operator, and with a trace at both."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import closing
from typing import Any

from msgspec import structs

from lamina.errors import InvalidInput, LaminaError, NotFound, Refused
from lamina.home import settings as config
from lamina.home.folder import Home, agent_name
from lamina.memory.viewer import Viewer
from lamina.model import clock as clocks
from lamina.model.clock import Clock, to_micros
from lamina.model.record import Actor, Record, Role, State
from lamina.store.core.store import Store
from lamina.store.tables import grants
from lamina.store.tables.grants import Grant
from lamina.store.tables.reads import Read, ReadLog
from lamina.store.tables.records import Filter
from lamina.store.upkeep.read_only import attached
from lamina.text import words

UNSHARED = "reach a record that is not shared"
NOTHING_SHARED = "reach an agent that shares nothing"


class Guest(Viewer):
    """What another agent shares now, to be read and no more. Each look asks the grants, and is in the trails of both."""

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: config.Settings,
        reader: str,
        reads: ReadLog,
    ) -> None:
        super().__init__(home, store, user, actor, clock, settings)
        self.reader = reader
        self._shared_by = store.agent
        self._own_reads = reads

    def _granted(self, chosen: Filter) -> Filter:
        """Never more than the grants let through, and of that what is believed; or was, for a question about the past."""
        seen = (State.ACTIVE, State.SUPERSEDED) if chosen.as_of is not None else (State.ACTIVE,)
        states = tuple(state for state in chosen.states or seen if state in seen)
        if not states:
            raise Refused(
                f"only active memories are shared, and superseded ones with as_of; not {', '.join(chosen.states)}"
            )
        return structs.replace(chosen, states=states, guest=(self.reader, to_micros(self._clock())))

    def _seen(self, record_id: str) -> Record | None:
        found = self._store.listed(self._granted(Filter(self.user, id=record_id)), 1)
        return found[0] if found else None

    def _note_crossing(self, record_id: str) -> None:
        if self._store.exists(record_id):
            self._violation(UNSHARED, record_id)
        elif clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
            self._violation("reach another agent's record", record_id)

    def _audit(self, action: str, found: tuple[str, ...], **note: Any) -> None:
        """At the reader with what was asked; at the giver only who looked and what was seen, since the question is not its."""
        now, mine = self._clock(), {**note, "shared_by": self.agent}
        if "query" in note:
            from lamina.text.secrets import detection  # searches load more than this

            mine["query"] = detection.redacted(note["query"])
        if self.user is not None:
            mine["user"] = self.user
        self._own_reads.add(Read(now, self.actor, action, found, mine))
        looker = Actor(Role.AGENT, self.reader, self.actor.surface)
        self._store.reads.add(
            Read(now, looker, f"shared.{action}", found, {"shared_with": self.reader})
        )


class Guests:
    """The other agents of a home, as far as they share with one. `audit` and `violation` leave word at that one."""

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: config.Settings,
        audit: Callable[..., None],
        violation: Callable[[str, object], None],
    ) -> None:
        self._home = home
        self._reads = store.reads
        self._agent = store.agent
        self._user = user
        self._actor = actor
        self._clock = clock
        self._settings = settings
        self._audit = audit
        self._violation = violation
        self._open: weakref.WeakSet[Guest] = weakref.WeakSet()

    def open(self, agent: object) -> Guest:
        """What an agent shares. One that shares nothing looks like one that does not exist, and is noted."""
        name = self._checked(agent)
        folder = self._home.agent_folder(name)
        try:  # without a folder here it could not note who has read what, though a server may have its memory
            store = attached(folder, name, self._settings) if folder.is_dir() else None
        except Refused:  # a link in its place: no agent of this home
            store = None
        if store is not None:
            if self._shared_by(store):
                guest = Guest(
                    self._home,
                    store,
                    self._user,
                    self._actor,
                    self._clock,
                    self._settings,
                    self._agent,
                    self._reads,
                )
                self._open.add(guest)
                return guest
            store.close()
        self._violation(NOTHING_SHARED, name)
        self._audit("shared", (), missing=name)
        raise NotFound(f"the agent {words.shown(name)} shares nothing with {self._agent}")

    def offers(self) -> tuple[list[Grant], list[str]]:
        """What every other agent shares now, and which of them could not be asked."""
        found: list[Grant] = []
        problems: list[str] = []
        for name in self._home.agents():
            if name == self._agent:
                continue
            try:
                store = attached(self._home.agent_folder(name), name, self._settings)
                if store is not None:
                    with closing(store):
                        found += self._shared_by(store)
            except LaminaError as error:
                problems.append(f"what the agent {name} shares is not known: {error.message}")
        self._audit("sharing", ())
        return found, problems

    def close(self) -> None:
        """Close what is still open."""
        for guest in list(self._open):
            guest.close()

    def _checked(self, agent: object) -> str:
        try:
            name = agent_name(agent)
        except InvalidInput as error:
            self._violation(error.message, agent)
            raise
        if name == self._agent:
            raise InvalidInput(f"{name} is this handle's own agent; nobody shares with itself")
        return name

    def _shared_by(self, store: Store) -> list[Grant]:
        """The grants of a store that hold for this reader now."""
        now = self._clock()
        found = [
            grant
            for grant in grants.given(store)
            if grant.agent == self._agent and grant.is_open(now)
        ]
        return [grant for grant in found if self._reaches(store, grant, to_micros(now))]

    def _reaches(self, store: Store, grant: Grant, now: int) -> bool:
        """Whether a grant is for this user; one of a record says nothing once that cannot be seen."""
        if grant.record is None:
            return self._user is None or grant.user in (None, self._user)
        return bool(store.listed(Filter(self._user, id=grant.record, guest=(self._agent, now)), 1))
