"""The verbs that only read. A handle has an authority, a scope and a clock; it translates nothing."""

from __future__ import annotations

import builtins
import os
from datetime import datetime, timedelta
from typing import Any

from lamina.errors import InvalidInput, LaminaError
from lamina.failsafe import spool
from lamina.failsafe import waiting as meanwhile
from lamina.failsafe.outage import Outage, untold
from lamina.failsafe.validation import Allowed
from lamina.home import settings as config
from lamina.home.folder import Home
from lamina.memory.viewer import Times, Viewer, optional_moment
from lamina.model import clock as clocks
from lamina.model import rules
from lamina.model.clock import Clock
from lamina.model.record import Actor, Event, Hits, Record, Waiting
from lamina.store.core.store import FILE_NAME, Store
from lamina.store.tables.records import Filter


class Reader(Viewer):
    """What every handle of an agent can do: look at the memories of its own agent and user, and at what became of them.

    What waits in the fail-safe is seen with what is stored; while the store cannot be read, it is all that is seen.
    """

    def __init__(
        self,
        home: Home,
        store: Store,
        user: str | None,
        actor: Actor,
        clock: Clock,
        settings: config.Settings,
    ):
        super().__init__(home, store, user, actor, clock, settings)
        self._spool = spool.spool(store.folder, settings["preset"])
        self._outage: Outage | None = None
        self._allowed = Allowed(home.path, self.agent, self._kinds, settings["content.max_bytes"])
        self._queue = meanwhile.Queue(self._spool, self._allowed)
        self._process: int | None = os.getpid()  # whose handle it is, until it is closed

    @property
    def outage(self) -> Outage | None:
        """What could not be done with the store when it was last tried, and why."""
        return self._outage

    def close(self) -> None:
        """Write what is buffered and let go of every file."""
        self._process = None
        super().close()

    def failsafe_status(self) -> dict[str, Any]:
        """What waits in the fail-safe, in numbers."""
        return self._spool.status()

    def search_archive(
        self, query: str = "", limit: int = 100, since: Times = None, until: Times = None
    ) -> builtins.list[Record]:
        """What was archived and holds a text, as `grep -i` would find it, the newest first; `archived` says file and line."""
        from lamina.store.archive.search import Wanted

        asked = rules.query(query)
        if not asked.strip() and since is None and until is None:
            raise InvalidInput(
                "the query is empty; say what to look for in the archive, or since or until when"
            )
        wanted = Wanted(
            asked, self.user, optional_moment(since, "since"), optional_moment(until, "until")
        )
        found = self._store.search_archive(wanted, rules.limit(limit))
        self._audit("search_archive", tuple(record.id for record in found), query=asked)
        return found

    def pending(self) -> builtins.list[dict[str, Any]]:
        """What waits for somebody: requests, escalations, reviews, and days that have come. Oldest first."""
        from lamina.engines import awareness
        from lamina.store.index.catalogue import day_number
        from lamina.text import dates

        today = self._clock().date()
        open_, answers = self._store.pending(
            self.user, day_number(today - awareness.GRACE), day_number(today) + 1
        )
        spans = {
            one.id: [(day.start, day.end) for day in dates.find(one.content, one.occurred_at)]
            for one in open_
        }
        found = awareness.pending(open_, awareness.answers(answers), today, spans)
        self._audit("pending", tuple(item["id"] for item in found))
        return found

    def history(self, record_id: str) -> builtins.list[Event]:
        """Everything that ever happened to a record, oldest first."""
        record = self._visible("history", record_id, stub=True)
        self._audit("history", (record.id,))
        return self._store.history(record.id)

    def resting_on(self, record_id: str) -> builtins.list[str]:
        """The ids of what rests on a record: the other way round than its evidence."""
        from lamina.store.tables import lineage

        record = self._visible("resting_on", record_id, stub=True)
        with self._store.database.moment() as connection:
            found = lineage.resting(connection, record.id, self.user)
        self._audit("resting_on", tuple(found))
        return found

    def status(self) -> dict[str, Any]:
        """What is in the store for this handle, and what needs attention. The whole store only without a user."""
        known: dict[str, Any] = {
            "home": str(self.home.path),
            "agent": self.agent,
            "user": self.user,
        }
        try:
            found = known | self._status()
            self._outage = self._outage if self._spool.is_waiting() else None
        except spool.OUTAGES as error:
            self._note_outage(error)
            place = config.shown_value(self.settings["store.url"]) or str(
                self._store.folder / FILE_NAME
            )
            found = known | {
                "store": None,
                "place": place,
                "records": {},
                "archived": 0,
                "open_runs": 0,
                "bursts": [],
            }
            found["problems"] = self.problems
        outage = [str(self._outage)] if self._outage else []
        found["problems"] = [
            *outage,
            *untold(self._outage, found["problems"]),
            *self._queue.problems(),
        ]
        return found

    def _status(self) -> dict[str, Any]:
        from lamina.engines import bursts

        found: dict[str, Any] = {
            "store": self._store.id,
            "place": self._store.database.address,
            "records": self._store.counts(self.user),
            "archived": self._store.count_archived(self.user),
            "open_runs": len(self._store.open_runs(self.user)),
            "bursts": self._bursts(),
            "problems": [
                *self._problems,
                *filter(None, (self._store.reads.problem,)),
                *self._recall_problems(),
            ],
        }
        found["problems"] += [bursts.message(burst) for burst in found["bursts"]]
        if self.user is None:
            head = self._store.head()
            found |= {"events": head.seq, "head": head.hash.hex(), "bytes": self._store.sizes()}
        return found

    def _bursts(self) -> builtins.list[dict[str, Any]]:
        """The sources outside from which many memories came at once, or many that begin alike, in the last days."""
        from lamina.engines import bursts

        since = clocks.to_micros(self._clock() - bursts.LATELY)
        slot = bursts.SLOT // timedelta(microseconds=1)
        return bursts.found(
            *self._store.outside(self.user, since, slot, bursts.BEGINNING, bursts.ALIKE)
        )

    def _answer(
        self,
        asked: str,
        most: int,
        chosen: Filter,
        ranker: str,
        known_at: datetime | None,
        bias: float | None,
    ) -> Hits:
        if not self._spool.is_waiting():
            return super()._answer(asked, most, chosen, ranker, known_at, bias)
        hits = meanwhile.found(asked, meanwhile.chosen(self._waiting(), chosen, known_at), most)
        try:
            return meanwhile.merged(
                super()._answer(asked, most, chosen, ranker, known_at, bias), hits, most
            )
        except spool.OUTAGES as error:
            self._note_outage(error)
            return Hits(hits, [f"only the fail-safe was searched: {error.message}"], is_whole=False)

    def _rows(self, chosen: Filter, limit: int) -> builtins.list[Record]:
        if not self._spool.is_waiting():
            return super()._rows(chosen, limit)
        waiting = meanwhile.chosen(self._waiting(), chosen)
        try:
            stored = super()._rows(chosen, limit)
        except spool.OUTAGES as error:
            self._note_outage(error)
            stored = []
        return meanwhile.listed(stored, waiting, limit)

    def _alike(self, part: str, limit: int) -> builtins.list[str]:
        found = super()._alike(part, limit)
        try:
            gone = self._store.gone_alike(part, self.user, limit)
        except spool.OUTAGES as error:
            self._note_outage(error)
            gone = []
        return [*dict.fromkeys([*found, *gone])][:limit]

    def _seen(self, record_id: str) -> Record | None:
        waiting = [one for one in self._waiting() if one.id == record_id and self._in_scope(one)]
        try:
            return super()._seen(record_id) or next(iter(waiting), None)
        except spool.OUTAGES as error:
            if not waiting:
                raise
            self._note_outage(error)
            return waiting[0]

    def _note_crossing(self, record_id: str) -> None:
        if any(one.id == record_id and not self._in_scope(one) for one in self._waiting()):
            self._violation("reach another user's record", record_id)
        else:
            super()._note_crossing(record_id)

    def _waiting(self) -> builtins.list[Waiting]:
        """What waits in the fail-safe, in its order. It is asked for before the store, which may take it any time."""
        return self._queue.records()

    def _note_outage(self, error: LaminaError, tried: str = "read") -> None:
        """Keep that the store cannot be used. Any other error is the caller's, and so is every one without the fail-safe."""
        if (
            not spool.is_outage(error)
            or self._process != os.getpid()
            or self.settings["failsafe"] == "off"
        ):
            raise error
        self._outage = Outage(tried, error.message)

    def _remains(self, record_id: str) -> Record | None:
        from lamina.store.upkeep import erase_plan

        return erase_plan.remains(self._store, record_id, self.user)

    def _recall_problems(self) -> builtins.list[str]:
        """What keeps the index from being made and the mirror from being searched, as far as this handle has tried."""
        return made.problems if (made := self.__dict__.get("_recall")) is not None else []
