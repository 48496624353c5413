"""Search with a mirror: it names candidates, the store checks them, our own ranker scores them.

A mirror that is down, slow or far behind, or that names what it should not, never costs an answer:
the store has everything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import structs

from lamina.errors import LaminaError, StoreUnavailable
from lamina.model.clock import is_id
from lamina.model.record import Layer, State
from lamina.search.mirror_request import MirrorRequest, SearchableMirror
from lamina.store.tables.outbox import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lamina.search.request import Request
    from lamina.store.index.catalogue import Rows
    from lamina.store.tables.records import Filter

CANDIDATES = 400
PATIENCE = 2.0  # seconds
PAUSE = timedelta(seconds=30)  # before a mirror that has failed is asked again
PAGE, PAGES = 500, 4  # records that it may be behind


class Answer(NamedTuple):
    """The position of the mirror when it was asked, and the ids that it named."""

    position: Position
    ids: list[str]


class Changed(NamedTuple):
    """The rows that have changed since a position, and the ids of records that have left."""

    rows: set[int]
    gone: set[str]


class MirrorSearch:
    """One mirror, as the searches of a handle use it."""

    def __init__(self, name: str, mirror: SearchableMirror, patience: float = PATIENCE) -> None:
        self._name = name
        self._mirror = mirror
        self._patience = patience
        self._call: _Call | None = None
        self._failed: tuple[datetime, str] | None = None
        self._strange = 0

    @property
    def problems(self) -> list[str]:
        """The problems that `status()` reports."""
        problems = []
        if self._failed is not None:
            problems.append(f"the mirror {self._name} is not searched: {self._failed[1]}")
        if self._strange:
            what = f"named {self._strange:,} memories that are not there or were not asked for"
            problems.append(f"the mirror {self._name} {what}; run `lamina mirror verify`")
        return problems

    def rows(self, request: Request, vector: Sequence[float] | None) -> Rows | None:
        """Return the rows that could answer, ascending; None if the store has to find them."""
        if not _can_answer(request.chosen) or request.look.is_past:
            return None
        if self._failed is None or not self._failed[0] <= request.now < self._failed[0] + PAUSE:
            try:
                rows = self._rows(request, vector)
            except LaminaError as error:
                self._failed = (request.now, error.message)
            else:
                self._failed = None
                return rows
        request.notes.append(
            f"the mirror {self._name} was not searched: {self._failed[1]}; the store has answered"
        )
        return None

    def _rows(self, request: Request, vector: Sequence[float] | None) -> Rows:
        if self._call is not None and self._call.is_alive():
            raise StoreUnavailable("it is still busy with an earlier question")
        self._call = _Call(self._mirror, _mirror_request(request, vector))
        answer = self._call.within(self._patience)
        changed = _changed_since(request, answer.position)
        named = request.look.numbers(answer.ids)
        self._check(request, answer.ids, named, changed)
        rows = np.unique(np.array([*named.values(), *changed.rows], np.int64))
        return rows[request.allowed[rows]]

    def _check(
        self, request: Request, ids: list[str], named: dict[str, int], changed: Changed
    ) -> None:
        """Raise if the mirror names something that does not exist or was not asked for.

        Changes since its position are excused, and so are those made in the meantime.
        """
        # No mirror knows what sleep has written.
        asked = request.look.allowed(structs.replace(request.chosen, as_said=False))
        strange = {id for id in ids if id not in named or not asked[named[id]]}
        strange -= changed.gone | {id for id in strange if named.get(id) in changed.rows}
        if strange:
            strange -= request.look.later()
        if strange:
            self._strange += len(strange)
            raise StoreUnavailable(
                f"it named {len(strange):,} memories that are not there or were not asked for"
            )


def _changed_since(request: Request, position: Position) -> Changed:
    """Collect what the mirror has not seen yet; raise if that is too much to check."""
    rows: set[int] = set()
    gone: set[str] = set()
    for _ in range(PAGES):
        changes = request.look.changes(position, PAGE)
        if changes is None:
            raise StoreUnavailable("it follows another history; run `lamina mirror sync`")
        if not changes.events:
            return Changed(rows, gone)
        rows.update(row[0] for row in changes.rows)
        gone.update(changes.gone)
        position = changes.position
    raise StoreUnavailable("it is far behind; run `lamina mirror sync`")


class _Call(threading.Thread):
    """A request to a mirror on its own thread, so that a search can stop waiting for it."""

    def __init__(self, mirror: SearchableMirror, asked: MirrorRequest) -> None:
        super().__init__(name="lamina-mirror", daemon=True)
        self._mirror = mirror
        self._asked = asked
        self._answer: Answer | None = None
        self._error: Exception | None = None

    def within(self, seconds: float) -> Answer:
        """Start, and return the answer; raise if there is none in time."""
        self.start()
        self.join(seconds)
        if self.is_alive():
            raise StoreUnavailable(f"it did not answer within {seconds:g} seconds")
        if isinstance(self._error, LaminaError):
            raise self._error
        if self._answer is None:
            raise StoreUnavailable(f"it broke: {self._error!r}") from self._error
        return self._answer

    def run(self) -> None:
        try:
            self._answer = self._ask_mirror()
        except Exception as error:  # noqa: BLE001 - any error of a mirror goes to the caller
            self._error = error

    def _ask_mirror(self) -> Answer:
        position = self._mirror.position()
        if not isinstance(position, Position):
            raise StoreUnavailable("it is not made yet; run `lamina mirror sync`")
        return Answer(position, list(_ids(self._mirror.candidates(self._asked), self._asked.limit)))


def _ids(named: object, limit: int) -> Iterator[str]:
    """Check that an answer is a list of ids, and return each once."""
    if not isinstance(named, list) or len(named) > limit:
        raise StoreUnavailable(
            f"it answered with something other than a list of at most {limit:,} ids"
        )
    if not all(isinstance(id, str) and is_id(id) for id in named):
        raise StoreUnavailable("it answered with something that is not an id")
    return iter(dict.fromkeys(named))


def _can_answer(chosen: Filter) -> bool:
    """Tell whether mirrors have all fields that a filter needs: some of those of active records."""
    missing = (
        *(chosen.run_id, chosen.session, chosen.project, chosen.beside),
        *(chosen.as_of, chosen.id, chosen.part, chosen.guest, chosen.speaker, chosen.source),
    )
    return (
        chosen.states == (State.ACTIVE,)
        and Layer.WORKING not in chosen.layers
        and not (chosen.all_tags or chosen.metadata)
        and all(value is None for value in missing)
    )


def _mirror_request(request: Request, vector: Sequence[float] | None) -> MirrorRequest:
    chosen = request.chosen
    return MirrorRequest(
        request.query,
        vector,
        max(CANDIDATES, 2 * request.limit),
        chosen.user,
        chosen.layers,
        chosen.kinds,
        chosen.tags,
        chosen.since,
        chosen.until,
    )
