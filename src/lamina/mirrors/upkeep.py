"""Update mirrors in the background, so that a failing mirror does not affect writers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.mirrors import Mirror, Position
from lamina.mirrors.sync import Progress, alone, rebuild, silent, sync
from lamina.mirrors.verify import Verified, verify
from lamina.search.worker import Worker
from lamina.store.core.store import Store
from lamina.store.tables import outbox
from lamina.text.words import counted, shown

LINGER = 0.2  # seconds: a mirror takes many memories in little more time than one


class MirrorStatus(msgspec.Struct, frozen=True):
    """The events that a mirror is behind; None when it has to be rebuilt."""

    name: str
    place: str
    behind: int | None = None
    problem: str | None = None

    @property
    def ok(self) -> bool:
        return self.problem is None and self.behind == 0

    @property
    def told(self) -> str:
        """Describe its state and what to do, for people."""
        if self.problem is not None:
            return f"cannot be used: {self.problem}"
        if self.behind is None:
            return "is not made yet; `lamina mirror sync` makes it"
        events = counted(self.behind, "event")
        if self.behind:
            return f"is {events} behind; `lamina mirror sync` brings them"
        return "is up to date"

    def to_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Upkeep:
    """The mirrors of a store, by name."""

    def __init__(
        self, store: Store, mirrors: Mapping[str, Mirror], note_problem: Callable[[str], None]
    ) -> None:
        self._store = store
        self._mirrors = mirrors
        self._note_problem = note_problem
        self._lock = threading.Lock()
        self._is_due = False
        self._worker = Worker(self._step, LINGER)

    def wake(self) -> None:
        """Bring the mirrors up to date soon, in the background."""
        self._is_due = True
        self._worker.wake()

    def sync(self, progress: Progress | None = None, *, erased: bool = False) -> dict[str, Any]:
        """Bring every mirror up to date now; return what was done in each, or its problem.

        After an erasure, a mirror whose files keep dropped data is rebuilt; one on a server drops
        it as usual, and its location is in the result.
        """

        def bring(mirror: Mirror) -> dict[str, Any]:
            run = rebuild if erased and getattr(mirror, "keeps_bytes", False) else sync
            done = run(self._store, mirror, progress=progress or silent)._asdict()
            if erased and getattr(mirror, "is_elsewhere", False):
                done["elsewhere"] = location_of(mirror)
            return done

        self._is_due = False  # what is written from here on is left to the next sync
        return self._each(self._mirrors, bring)

    def rebuild(
        self, names: Collection[str] = (), progress: Progress | None = None
    ) -> dict[str, Any]:
        """Rebuild some mirrors, or all; return what was done in each, or its problem."""
        return self._each(
            self._chosen(names),
            lambda mirror: rebuild(self._store, mirror, progress=progress or silent)._asdict(),
        )

    def verify(
        self, names: Collection[str] = (), progress: Progress | None = None
    ) -> dict[str, Verified]:
        """Compare some mirrors with the store, or all of them."""
        reports: dict[str, Verified] = {}
        with self._lock, alone(self._store):
            for name, mirror in self._chosen(names).items():
                try:
                    reports[name] = verify(self._store, mirror, progress)
                except LaminaError as error:
                    reports[name] = Verified(0, problem=error.message, is_compared=False)
        return reports

    def statuses(self) -> list[MirrorStatus]:
        """Report how far each mirror has come."""
        return statuses(self._store, self._mirrors)

    def _chosen(self, names: Collection[str]) -> Mapping[str, Mirror]:
        for name in names:
            if name not in [*self._mirrors]:  # a list, since a name may be unhashable
                known = ", ".join(self._mirrors) or "none"
                raise InvalidInput(f"there is no mirror {shown(name)}; those that are on: {known}")
        if not names:
            return self._mirrors
        return {name: mirror for name, mirror in self._mirrors.items() if name in names}

    def _each(
        self, mirrors: Mapping[str, Mirror], work: Callable[[Mirror], dict[str, Any]]
    ) -> dict[str, Any]:
        """Do some work on each mirror, one process at a time; note failures and go on."""
        done: dict[str, Any] = {}
        with self._lock, alone(self._store):
            for name, mirror in mirrors.items():
                try:
                    done[name] = work(mirror)
                except LaminaError as error:
                    done[name] = {"error": error.message}
                    self._note_problem(f"the mirror {name} is not up to date: {error.message}")
        return done

    def close(self) -> None:
        """Bring the mirrors up to date once more, if anything was written since."""
        self._worker.stop()
        if self._is_due:
            self.sync()

    def _step(self) -> bool:
        self.sync()
        return False


def location_of(mirror: Mirror) -> str:
    """Describe the location of a mirror, for people."""
    return str(getattr(mirror, "place", ""))


def statuses(store: Store, mirrors: Mapping[str, Mirror]) -> list[MirrorStatus]:
    """Report how far each of some mirrors has come."""
    head = outbox.head(store.database)
    return [_standing(name, mirror, head) for name, mirror in mirrors.items()]


def _standing(name: str, mirror: Mirror, head: Position) -> MirrorStatus:
    try:
        position = mirror.position()
    except LaminaError as error:
        return MirrorStatus(name, location_of(mirror), problem=error.message)
    is_ours = position is not None and position.store == head.store and position.event <= head.event
    behind = head.event - position.event if position is not None and is_ours else None
    return MirrorStatus(name, location_of(mirror), behind)
