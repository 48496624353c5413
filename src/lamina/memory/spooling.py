"""What a handle does while its store cannot be written: it keeps memories in the fail-safe, and replays them later."""

from __future__ import annotations

import builtins
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from lamina.errors import Conflict, LaminaError, StoreUnavailable
from lamina.failsafe import spool
from lamina.failsafe import waiting as meanwhile
from lamina.failsafe.line import Action, Item, suffix
from lamina.failsafe.outage import Outage
from lamina.home.folder import Home
from lamina.home.settings import Settings
from lamina.memory.reader import Reader
from lamina.model import rules
from lamina.model.clock import Clock, Ids
from lamina.model.record import Actor, Draft, Record
from lamina.store.core.store import Store
from lamina.store.tables.records import by_key, minted
from lamina.text import words

if TYPE_CHECKING:
    from lamina.failsafe.replay import Replayed
    from lamina.mirrors.required import Required

# Seconds that a write spends on what waits in the fail-safe before it goes behind that.
PATIENCE = 0.2
Progress = Callable[[int, int], None]


class Spooling(Reader):
    """A handle that remembers, whatever becomes of its store."""

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        super().__init__(home, store, user, actor, clock, settings)
        self._is_behind = False  # whether something may wait in the fail-safe, or the store is left alone for a moment
        self._rests_until = 0.0

    def replay_failsafe(self, progress: Progress | None = None) -> dict[str, Any]:
        """Bring what waits in the fail-safe into the store, once and in its order; what came of it."""
        rules.progress(progress)
        done = self._replayed(progress)
        if done is None:
            raise StoreUnavailable(
                "another process is replaying the fail-safe; `lamina failsafe status` tells what waits"
            )
        return done.to_dict()

    def _replayed(
        self, progress: Progress | None = None, patience: float | None = None
    ) -> Replayed | None:
        """What came of a replay; nothing when another process does it."""
        from lamina.failsafe.replay import Replay

        given = (self._allowed, self._note_crossing, self._required)
        done = Replay(self._store, self._spool, self._clock, *given).run(progress, patience)
        if done is not None:
            self._is_behind, self._outage = False, None
            self._tell(done.stored)
        return done

    def catch_up(self) -> None:
        """Replay what waits in the fail-safe, if there is something and it is possible now; else `status()` tells why not."""
        self._is_behind = self._spool.is_waiting()
        try:
            self._catch_up(None)
        except LaminaError as error:
            if spool.is_outage(error) and not error.details.get("failsafe"):
                self._outage = Outage("written", error.message)
            else:  # it is the fail-safe that cannot be used
                self._note_problem(f"the fail-safe was not replayed: {error.message}")

    def _catch_up(self, patience: float | None = PATIENCE) -> None:
        """Before a write: what waits came first. A store that could not be written is left alone for a moment."""
        if not self._is_behind:
            return
        if time.monotonic() < self._rests_until:
            raise StoreUnavailable(
                self._outage.cause if self._outage else "it could not be written a moment ago"
            )
        if not self._spool.is_waiting():
            self._is_behind, self._outage = False, None
            return
        began = time.monotonic()
        try:
            self._replayed(patience=patience)
        except StoreUnavailable as error:
            if not error.details.get("failsafe") or patience is None:
                raise
            self._note_problem(error.message)  # the store may well be there, and so is used
        if (
            patience is not None and time.monotonic() - began > patience
        ):  # with the write itself it would be too long
            raise StoreUnavailable("the fail-safe was replayed, and it took a while", behind=True)

    def _spooled(
        self,
        error: LaminaError,
        action: Action,
        now: datetime,
        drafts: Sequence[Draft],
        made: Sequence[Record],
        whole: Callable[[Sequence[Record]], Draft] | None = None,
    ) -> builtins.list[Record]:
        """Keep in the fail-safe what the store could not take, all of it or nothing, with what is made of the whole.

        `made` are the records of a write whose end nobody has heard: it may have happened, so they keep their ids.
        """
        is_away = not error.details.get("behind")  # who only was too slow goes on
        self._note_outage(error, "written" if is_away else "written in time")
        self._is_behind = True
        if (
            is_away and (ticks := time.monotonic()) >= self._rests_until
        ):  # else it was not even asked
            self._rests_until = ticks + self.settings["store.retry_ms"] / 1000
        known = self._known(drafts)
        unless = cast("Mapping[str, Any] | None", error.details.get("unless")) if made else None
        ids = (
            [one.id for one in made]
            if unless
            else [self._new_id(now) for _ in range(len(drafts) + 1)]
        )
        items = [Item(one, draft) for one, draft in zip(ids, drafts, strict=False)]
        if whole is not None:
            turns = [
                there or minted(one.draft, one.id, 0, self.agent, now)
                for one, there in zip(items, known, strict=True)
            ]
            items.append(Item(ids[len(drafts)], whole(turns)))
            known += self._known([items[-1].draft])
        try:
            new = [one for one, there in zip(items, known, strict=True) if there is None]
            kept = iter(self._spool.keep(new, now, action, self.actor, unless) if new else ())
        except StoreUnavailable as failure:
            raise type(error)(f"{error.message}; {failure.message}") from failure
        waiting = (meanwhile.record(line, self._allowed) for line in kept)
        return [there or cast(Record, next(waiting)) for there in known]

    def _known(self, drafts: Sequence[Draft]) -> builtins.list[Record | None]:
        """What the store has under the keys of drafts, as long as it can be read; with another text it is a conflict."""
        nothing: builtins.list[Record | None] = [None] * len(drafts)
        if self.settings["store.url"] or all(
            draft.key is None for draft in drafts
        ):  # a server would be waited for
            return nothing
        try:
            with self._store.database.moment() as connection:
                rows = [
                    by_key(connection, draft.key, draft.user) if draft.key is not None else None
                    for draft in drafts
                ]
        except spool.OUTAGES:
            return nothing
        pairs = zip(rows, drafts, strict=True)
        return [
            None if row is None else same_text(self._store.record(row), draft)
            for row, draft in pairs
        ]

    def _new_id(self, now: datetime) -> str:
        return Ids("", self.agent).prefix(now) + suffix(os.urandom(8))

    @cached_property
    def _required(self) -> Required | None:
        """The mirror that has to take each memory before the store keeps it, if there is one."""
        if self.settings["mirrors.weaviate"] == "off":
            return None
        from lamina.mirrors import configured

        return configured.required(self._store, self.settings)

    def _note_problem(self, problem: str | None) -> None:
        if problem is not None and problem not in self._problems:
            self._problems.append(problem)

    def _tell(self, number: int) -> None:
        """Have new records indexed, by whoever can."""


def same_text(existing: Record, draft: Draft) -> Record:
    """What was stored under a key before, unless it was something else."""
    if existing.content == draft.content:
        return existing
    key = words.shown(draft.key)
    raise Conflict(
        f"the key {key} was used for another text, in record {existing.id}", record=existing.id
    )
