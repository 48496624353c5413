"""How mirrors are kept up to date behind the writers of a handle. A mirror that fails costs the writer nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.mirrors import Mirror, Position
from lamina.mirrors.lock import alone
from lamina.mirrors.sync import Progress, rebuild, silent, sync
from lamina.mirrors.verify import Verified, verify
from lamina.search.worker import Worker
from lamina.store.core.store import Store
from lamina.store.tables import outbox
from lamina.text.words import counted, shown

LINGER = 0.2  # seconds: a mirror takes many memories in hardly more time than one


class Standing(msgspec.Struct, frozen=True):
    """How far a mirror is: how many events it is behind; None when it has to be made anew."""

    name: str
    place: str
    behind: int | None = None
    problem: str | None = None

    @property
    def ok(self) -> bool:
        return self.problem is None and self.behind == 0

    @property
    def told(self) -> str:
        """How far it is, for people, with what to do."""
        if self.problem is not None:
            return f"cannot be used: {self.problem}"
        if self.behind is None:
            return "is not made yet; `lamina mirror sync` makes it"
        events = counted(self.behind, "event")
        return (
            f"is {events} behind; `lamina mirror sync` brings them"
            if self.behind
            else "is up to date"
        )

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
        """Something was written: bring the mirrors up to date, soon and in the background."""
        self._is_due = True
        self._worker.wake()

    def sync(self, progress: Progress | None = None, *, erased: bool = False) -> dict[str, Any]:
        """Bring every mirror up to date now; what was done in each, or why it was not possible.

        After an erasure, one whose files keep what was dropped is made anew; one on a server is told, and says where it is.
        """

        def brought(mirror: Mirror) -> dict[str, Any]:
            anew = erased and getattr(mirror, "keeps_bytes", False)
            done = (rebuild if anew else sync)(
                self._store, mirror, progress=progress or silent
            )._asdict()
            return (
                {**done, "elsewhere": place_of(mirror)}
                if erased and getattr(mirror, "is_elsewhere", False)
                else done
            )

        self._is_due = False  # what is written from here on is for the next time
        return self._each(self._mirrors, brought)

    def rebuild(
        self, names: Collection[str] = (), progress: Progress | None = None
    ) -> dict[str, Any]:
        """Make some mirrors anew, or all of them; what was done in each, or why it was not possible."""
        return self._each(
            self._chosen(names),
            lambda mirror: rebuild(self._store, mirror, progress=progress or silent)._asdict(),
        )

    def verify(
        self, names: Collection[str] = (), progress: Progress | None = None
    ) -> dict[str, Verified]:
        """Compare some mirrors with the store, or all of them."""
        found: dict[str, Verified] = {}
        with self._lock, alone(self._store):
            for name, mirror in self._chosen(names).items():
                try:
                    found[name] = verify(self._store, mirror, progress)
                except LaminaError as error:
                    found[name] = Verified(0, problem=error.message, is_compared=False)
        return found

    def standings(self) -> list[Standing]:
        """How far each of them is."""
        return standings(self._store, self._mirrors)

    def _chosen(self, names: Collection[str]) -> Mapping[str, Mirror]:
        for name in names:
            if name not in [*self._mirrors]:  # whatever was given, hashable or not
                known = ", ".join(self._mirrors) or "none"
                raise InvalidInput(f"there is no mirror {shown(name)}; those that are on: {known}")
        return {
            name: mirror for name, mirror in self._mirrors.items() if not names or name in names
        }

    def _each(
        self, mirrors: Mapping[str, Mirror], work: Callable[[Mirror], dict[str, Any]]
    ) -> dict[str, Any]:
        """Do something with each of some mirrors, one process at a time. What fails is told, and the others go on."""
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
        """Bring the mirrors up to date for the last time, if anything was written since they were."""
        self._worker.stop()
        if self._is_due:
            self.sync()

    def _step(self) -> bool:
        self.sync()
        return False


def place_of(mirror: Mirror) -> str:
    """Where a mirror is, for people."""
    return str(getattr(mirror, "place", ""))


def standings(store: Store, mirrors: Mapping[str, Mirror]) -> list[Standing]:
    """How far each of some mirrors is."""
    head = outbox.head(store.database)
    return [_standing(name, mirror, head) for name, mirror in mirrors.items()]


def _standing(name: str, mirror: Mirror, head: Position) -> Standing:
    try:
        position = mirror.position()
    except LaminaError as error:
        return Standing(name, place_of(mirror), problem=error.message)
    is_ours = position is not None and position.store == head.store and position.event <= head.event
    return Standing(
        name,
        place_of(mirror),
        head.event - position.event if position is not None and is_ours else None,
    )
