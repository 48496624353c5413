"""Write while the store is unavailable: keep memories in the fail-safe, and replay them later."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from lamina.errors import Conflict, LaminaError, StoreUnavailable
from lamina.failsafe import spool, waiting
from lamina.failsafe.line import Action, Item, suffix
from lamina.failsafe.outage import Outage
from lamina.model import rules
from lamina.model.clock import Ids
from lamina.model.record import Draft, Record
from lamina.store.tables.records import by_key, new_record
from lamina.text.words import shown

if TYPE_CHECKING:
    from lamina.failsafe.replay import Replayed
    from lamina.memory.scope import Scope
    from lamina.mirrors.required import Required

# Seconds that a write spends on replaying the fail-safe before it is queued there itself.
PATIENCE = 0.2
Progress = Callable[[int, int], None]


class Failsafe:
    """Accept what the store cannot, and store it later."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._resilient = scope.resilient
        self._spool = scope.resilient.spool
        self.is_behind = False  # something may be waiting, or the store is not being retried yet
        self._rests_until = 0.0

    def status(self) -> dict[str, Any]:
        """Count the memories that wait in the fail-safe."""
        return self._spool.status()

    def replay(self, progress: Progress | None = None) -> dict[str, Any]:
        """Store what waits, once and in order, and report."""
        rules.progress(progress)
        done = self.replayed(progress)
        if done is None:
            raise StoreUnavailable(
                "another process is replaying the fail-safe;"
                " `lamina failsafe status` shows what waits"
            )
        return done.to_dict()

    def replayed(
        self, progress: Progress | None = None, patience: float | None = None
    ) -> Replayed | None:
        """Replay what waits; None if another process is doing so."""
        from lamina.failsafe.replay import Replay

        scope = self._scope
        replay = Replay(
            scope.store,
            self._spool,
            scope.clock,
            self._resilient.allowed,
            scope.note_crossing,
            self.required,
        )
        done = replay.run(progress, patience)
        if done is not None:
            self.is_behind, self._resilient.outage = False, None
            scope.changed(done.stored)
        return done

    def catch_up(self) -> None:
        """Replay what waits, if possible now; otherwise `status()` says why not."""
        self.is_behind = self._spool.is_waiting()
        try:
            self._catch_up(None)
        except LaminaError as error:
            if spool.is_outage(error) and not error.details.get("failsafe"):
                self._resilient.outage = Outage("written", error.message)
            else:  # it is the fail-safe that is unusable
                self._scope.note_problem(f"the fail-safe was not replayed: {error.message}")

    def before_write(self) -> None:
        """Replay what waits first; do not retry a store that failed a moment ago."""
        if self.is_behind:
            self._catch_up(PATIENCE)

    def _catch_up(self, patience: float | None) -> None:
        if not self.is_behind:
            return
        outage = self._resilient.outage
        if time.monotonic() < self._rests_until:
            raise StoreUnavailable(
                outage.cause if outage else "it could not be written a moment ago"
            )
        if not self._spool.is_waiting():
            self.is_behind, self._resilient.outage = False, None
            return
        began = time.monotonic()
        try:
            self.replayed(patience=patience)
        except StoreUnavailable as error:
            if not error.details.get("failsafe") or patience is None:
                raise
            self._scope.note_problem(error.message)  # the store itself may be available
        # Together with the write itself it would take too long.
        if patience is not None and time.monotonic() - began > patience:
            raise StoreUnavailable("the fail-safe was replayed, and it took a while", behind=True)

    def keep(
        self,
        error: LaminaError,
        action: Action,
        now: datetime,
        drafts: Sequence[Draft],
        stored: Sequence[Record],
        episode: Callable[[Sequence[Record]], Draft] | None = None,
    ) -> list[Record]:
        """Keep drafts that the store could not take, all or none, with their episode if any.

        `stored` are the records of a write whose outcome is unknown: it may have happened, so
        their ids are kept.
        """
        self._note(error)
        known = self._known(drafts)
        unless = cast("Mapping[str, Any] | None", error.details.get("unless")) if stored else None
        if unless:
            ids = [record.id for record in stored]
        else:
            ids = [self.new_id(now) for _ in range(len(drafts) + 1)]
        items = [Item(one, draft) for one, draft in zip(ids, drafts, strict=False)]
        if episode is not None:
            turns = [
                record or new_record(item.draft, item.id, 0, self._scope.agent, now)
                for item, record in zip(items, known, strict=True)
            ]
            items.append(Item(ids[len(drafts)], episode(turns)))
            known += self._known([items[-1].draft])
        new = [item for item, record in zip(items, known, strict=True) if record is None]
        try:
            lines = self._spool.keep(new, now, action, self._scope.actor, unless) if new else ()
        except StoreUnavailable as failure:
            raise type(error)(f"{error.message}; {failure.message}") from failure
        kept = iter([waiting.record(line, self._resilient.allowed) for line in lines])
        return [record or cast(Record, next(kept)) for record in known]

    def _note(self, error: LaminaError) -> None:
        is_away = not error.details.get("behind")  # a store that was only slow is available
        self._resilient.note(error, "written" if is_away else "written in time")
        self.is_behind = True
        now = time.monotonic()
        if is_away and now >= self._rests_until:  # otherwise it was not even tried
            self._rests_until = now + self._scope.settings["store.retry_ms"] / 1000

    def _known(self, drafts: Sequence[Draft]) -> list[Record | None]:
        """Find the stored records with the keys of drafts, if the store can be read."""
        nothing: list[Record | None] = [None] * len(drafts)
        # Asking a server could take long.
        if self._scope.settings["store.url"] or all(draft.key is None for draft in drafts):
            return nothing
        try:
            store = self._scope.store
            with store.database.moment() as connection:
                rows = [
                    None if draft.key is None else by_key(connection, draft.key, draft.user)
                    for draft in drafts
                ]
        except spool.OUTAGES:
            return nothing
        return [
            None if row is None else same_text(store.record(row), draft)
            for row, draft in zip(rows, drafts, strict=True)
        ]

    def new_id(self, now: datetime) -> str:
        """Make an id that no store could assign: its end is random."""
        return Ids("", self._scope.agent).prefix(now) + suffix(os.urandom(8))

    @cached_property
    def required(self) -> Required | None:
        """The mirror that must accept each memory before the store commits it, if any."""
        if self._scope.settings["mirrors.weaviate"] == "off":
            return None
        from lamina.mirrors import configured

        return configured.required(self._scope.store, self._scope.settings)

    def turn(self) -> AbstractContextManager[None]:
        """Wait for the required mirror's turn; it begins before the store's transaction."""
        return nullcontext() if self.required is None else self.required.turn()


def same_text(existing: Record, draft: Draft) -> Record:
    """Return what is stored under a key, or raise Conflict if its text differs."""
    if existing.content == draft.content:
        return existing
    raise Conflict(
        f"the key {shown(draft.key)} was used for another text, in record {existing.id}",
        record=existing.id,
    )
