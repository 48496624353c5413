"""Read what other agents share: only what an operator granted, and noted by both agents."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn, Self

from msgspec import structs

from lamina.errors import Forbidden, InvalidInput, LaminaError, NotFound, Refused
from lamina.failsafe.resilient import Resilient
from lamina.home.folder import agent_name
from lamina.memory.read import Read as ReadVerbs
from lamina.memory.refusals import recorded
from lamina.memory.scope import Scope
from lamina.model import clock as clocks
from lamina.model.clock import to_micros
from lamina.model.record import Actor, Record, Role, State
from lamina.store.core.store import Store
from lamina.store.tables import grants
from lamina.store.tables.grants import Grant
from lamina.store.tables.reads import Read
from lamina.store.tables.records import Filter
from lamina.store.tables.refusals import Refusal
from lamina.store.upkeep.read_only import attached
from lamina.text import words

UNSHARED = "reach a record that is not shared"
NOTHING_SHARED = "reach an agent that shares nothing"


class GuestScope(Scope):
    """The scope of a reader in another agent's memory.

    Each read checks the grants, and is in the trails of both agents.
    """

    def __init__(self, reader: Scope, store: Store) -> None:
        resilient = Resilient(
            lambda: store,
            store.folder,
            store.agent,
            reader.settings,
            reader.home.path,
            spooled=False,  # what waits there is only for the giver
        )
        super().__init__(
            reader.home, resilient, reader.user, reader.actor, reader.clock, reader.settings
        )
        self.reader = reader
        self.shared_by = store.agent

    def granted(self, chosen: Filter) -> Filter:
        """Narrow a filter to the grants, and to active records, or superseded ones with `as_of`."""
        seen = (State.ACTIVE, State.SUPERSEDED) if chosen.as_of is not None else (State.ACTIVE,)
        states = tuple(state for state in chosen.states or seen if state in seen)
        if not states:
            raise Forbidden(
                "only active memories are shared, and superseded ones with as_of;"
                f" not {', '.join(chosen.states)}",
                lacks="grant",
            )
        guest = (self.reader.agent, to_micros(self.clock()))
        return structs.replace(chosen, states=states, guest=guest)

    def seen(self, record_id: str) -> Record | None:
        records = self.store.listed(self.granted(Filter(self.user, id=record_id)), 1)
        return records[0] if records else None

    def remains(self, record_id: str) -> Record | None:
        """Hide the stubs of erased records."""
        return None

    def note_crossing(self, record_id: str) -> None:
        if self.exists(record_id):
            self.crossing(UNSHARED, record_id)
        elif clocks.tag_of(record_id) != clocks.agent_tag(self.agent):
            self.crossing("reach another agent's record", record_id)

    def note_refusal(self, refusal: Refusal, texts: Iterable[str], wait: bool) -> None:
        """Note a refusal in both trails."""
        super().note_refusal(refusal, texts, wait)
        self.reader.note_refusal(refusal, (), wait)

    def audit(self, action: str, record_ids: tuple[str, ...], **note: Any) -> None:
        """Note a read in both trails; the question only in the reader's."""
        now, name = self.clock(), self.reader.agent
        self.reader.note_read(now, action, record_ids, {**note, "shared_by": self.agent})
        looker = Actor(Role.AGENT, name, self.actor.surface)
        seen = Read(now, looker, f"shared.{action}", record_ids, {"shared_with": name})
        self.resilient.reads.add(seen)


@recorded
class Guest(ReadVerbs):
    """What another agent shares now, read-only."""

    def __init__(self, scope: GuestScope) -> None:
        super().__init__(scope)
        self.home = scope.home
        self.settings = scope.settings
        self.agent = scope.agent
        self.reader = scope.reader.agent
        self.user = scope.user
        self.actor = scope.actor

    if not TYPE_CHECKING:  # for a type checker, a guest has only its own verbs

        def __getattr__(self, name: str) -> NoReturn:
            from lamina.memory.operator import Operator

            if name.startswith("_") or not hasattr(Operator, name):
                reason = f"{type(self).__name__!r} object has no attribute {name!r}"
            else:
                self._scope.refused(name, "grant")
                reason = f"{name} is not for guests: what {self.agent} shares can only be read"
            raise AttributeError(reason, name=name, obj=self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def problems(self) -> list[str]:
        """What this handle could not do, without failing a call."""
        return self._scope.parts.status.problems()

    def close(self) -> None:
        """Write what is buffered and let go of every file."""
        self._scope.close()


class Shared:
    """The other agents of a home that share with this one."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._open: weakref.WeakSet[Guest] = weakref.WeakSet()

    def open(self, agent: object) -> Guest:
        """Open what an agent shares. One that shares nothing looks as if it did not exist."""
        name = self._checked(agent)
        folder = self._scope.home.agent_folder(name)
        # Without a folder here it has no trail of reads, even if a server has its memory.
        try:
            store = attached(folder, name, self._scope.settings) if folder.is_dir() else None
        except Refused:  # a link in its place: not an agent of this home
            store = None
        if store is not None:
            if self._shared_by(store):
                guest = Guest(GuestScope(self._scope, store))
                self._open.add(guest)
                return guest
            store.close()
        self._scope.crossing(NOTHING_SHARED, name)
        self._scope.audit("shared", (), missing=name)
        raise NotFound(f"the agent {words.shown(name)} shares nothing with {self._scope.agent}")

    def offers(self) -> list[Grant]:
        """List what other agents share now; `status()` names those that could not be checked."""
        found: list[Grant] = []
        for name in self._scope.home.agents():
            if name == self._scope.agent:
                continue
            try:
                store = attached(self._scope.home.agent_folder(name), name, self._scope.settings)
                if store is not None:
                    with closing(store):
                        found += self._shared_by(store)
            except LaminaError as error:
                self._scope.note_problem(
                    f"what the agent {name} shares is not known: {error.message}"
                )
        self._scope.audit("sharing", ())
        return found

    def close(self) -> None:
        """Close guests that are still open."""
        for guest in list(self._open):
            guest.close()

    def _checked(self, agent: object) -> str:
        try:
            name = agent_name(agent)
        except InvalidInput as error:
            self._scope.violation(error.message, agent)
            raise
        if name == self._scope.agent:
            raise InvalidInput(
                f"{name} is this handle's own agent; an agent cannot share with itself"
            )
        return name

    def _shared_by(self, store: Store) -> list[Grant]:
        """List the grants of a store that hold for this reader now."""
        now = self._scope.clock()
        found = [
            grant
            for grant in grants.given(store)
            if grant.agent == self._scope.agent and grant.is_open(now)
        ]
        return [grant for grant in found if self._reaches(store, grant, to_micros(now))]

    def _reaches(self, store: Store, grant: Grant, now: int) -> bool:
        """Return whether a grant is for this user, and its record, if it names one, is visible."""
        if grant.record is None:
            return self._scope.user is None or grant.user in (None, self._scope.user)
        return bool(
            store.listed(
                Filter(self._scope.user, id=grant.record, guest=(self._scope.agent, now)), 1
            )
        )
