"""Searching through a mirror: it names candidates, the store checks them, and our own ranker scores what is left.

A mirror that is down, slow, far behind or names what it should not costs an answer nothing: the store has it all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina.errors import LaminaError, StoreUnavailable
from lamina.model.clock import is_id
from lamina.model.record import Layer, State
from lamina.search.mirror_request import Asked, Searchable
from lamina.store.tables.outbox import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lamina.search.request import Ask
    from lamina.store.index.catalogue import Rows
    from lamina.store.tables.records import Filter

CANDIDATES = 400
PATIENCE = 2.0  # seconds
PAUSE = timedelta(seconds=30)  # in which one that has failed is not asked again
PAGE, PAGES = 500, 4  # records that it may be behind


class Said(NamedTuple):
    """An answer: where the mirror was when it was asked, and what it named."""

    position: Position
    ids: list[str]


class Unseen(NamedTuple):
    """What has changed since then: rows, and the ids of what is not there any more."""

    rows: set[int]
    gone: set[str]


class Via:
    """One mirror, for the searches of a handle."""

    def __init__(self, name: str, mirror: Searchable, patience: float = PATIENCE) -> None:
        self._name = name
        self._mirror = mirror
        self._patience = patience
        self._call: _Call | None = None
        self._failed: tuple[datetime, str] | None = None
        self._strange = 0

    @property
    def problems(self) -> list[str]:
        """What `status()` has to say about it."""
        told = (
            []
            if self._failed is None
            else [f"the mirror {self._name} is not searched: {self._failed[1]}"]
        )
        if self._strange:
            what = f"named {self._strange:,} memories that are not there or were not asked for"
            told.append(f"the mirror {self._name} {what}; run `lamina mirror verify`")
        return told

    def rows(self, ask: Ask, vector: Sequence[float] | None) -> Rows | None:
        """The rows of what could answer, ascending; None when the store has to find them itself."""
        if not _can_answer(ask.chosen) or ask.look.is_past:
            return None
        if self._failed is None or not self._failed[0] <= ask.now < self._failed[0] + PAUSE:
            try:
                rows = self._rows(ask, vector)
            except LaminaError as error:
                self._failed = (ask.now, error.message)
            else:
                self._failed = None
                return rows
        ask.notes.append(
            f"the mirror {self._name} was not searched: {self._failed[1]}; the store has answered"
        )
        return None

    def _rows(self, ask: Ask, vector: Sequence[float] | None) -> Rows:
        if self._call is not None and self._call.is_alive():
            raise StoreUnavailable("it is still busy with an earlier question")
        self._call = _Call(self._mirror, _question(ask, vector))
        said = self._call.within(self._patience)
        unseen = _unseen(ask, said.position)
        found = ask.look.numbers(said.ids)
        self._check(ask, said.ids, found, unseen)
        rows = np.unique(np.array([*found.values(), *unseen.rows], np.int64))
        return rows[ask.allowed[rows]]

    def _check(self, ask: Ask, ids: list[str], found: dict[str, int], unseen: Unseen) -> None:
        """Raise when it names what is not there or was not asked for, unless that has changed since its position.

        It may also know already what was written while we looked.
        """
        strange = {
            one for one in ids if (number := found.get(one)) is None or not ask.allowed[number]
        }
        strange -= unseen.gone | {one for one in strange if found.get(one) in unseen.rows}
        if strange:
            strange -= ask.look.later()
        if strange:
            self._strange += len(strange)
            raise StoreUnavailable(
                f"it named {len(strange):,} memories that are not there or were not asked for"
            )


def _unseen(ask: Ask, position: Position) -> Unseen:
    rows: set[int] = set()
    gone: set[str] = set()
    for _ in range(PAGES):
        changes = ask.look.changes(position, PAGE)
        if changes is None:
            raise StoreUnavailable("it follows another history; run `lamina mirror sync`")
        if not changes.events:
            return Unseen(rows, gone)
        rows.update(row[0] for row in changes.rows)
        gone.update(changes.gone)
        position = changes.position
    raise StoreUnavailable("it is far behind; run `lamina mirror sync`")


class _Call(threading.Thread):
    """One question to a mirror, which nobody waits for longer than agreed."""

    def __init__(self, mirror: Searchable, asked: Asked) -> None:
        super().__init__(name="lamina-mirror", daemon=True)
        self._mirror = mirror
        self._asked = asked
        self._said: Said | None = None
        self._error: Exception | None = None

    def within(self, seconds: float) -> Said:
        self.start()
        self.join(seconds)
        if self.is_alive():
            raise StoreUnavailable(f"it did not answer within {seconds:g} seconds")
        if isinstance(self._error, LaminaError):
            raise self._error
        if self._said is None:
            raise StoreUnavailable(f"it broke: {self._error!r}") from self._error
        return self._said

    def run(self) -> None:
        try:
            self._said = self._answer()
        except Exception as error:  # noqa: BLE001 - whatever another engine may raise: whoever waits tells it
            self._error = error

    def _answer(self) -> Said:
        position = self._mirror.position()
        if not isinstance(position, Position):
            raise StoreUnavailable("it is not made yet; run `lamina mirror sync`")
        return Said(position, list(_ids(self._mirror.candidates(self._asked), self._asked.limit)))


def _ids(named: object, limit: int) -> Iterator[str]:
    """The ids in an answer, each once; one that is no list of ids is no answer."""
    if not isinstance(named, list) or len(named) > limit:
        raise StoreUnavailable(
            f"it answered with something else than a list of at most {limit:,} ids"
        )
    if not all(isinstance(one, str) and is_id(one) for one in named):
        raise StoreUnavailable("it answered with something that is no id")
    return iter(dict.fromkeys(named))


def _can_answer(chosen: Filter) -> bool:
    """Whether mirrors hold all that a filter asks for: they know what is active now, and not everything of it."""
    return (
        chosen.states == (State.ACTIVE,)
        and Layer.WORKING not in chosen.layers
        and not (chosen.all_tags or chosen.metadata)
        and (chosen.run_id, chosen.as_of, chosen.id, chosen.part, chosen.guest) == (None,) * 5
    )


def _question(ask: Ask, vector: Sequence[float] | None) -> Asked:
    chosen = ask.chosen
    return Asked(
        ask.query,
        vector,
        max(CANDIDATES, 2 * ask.limit),
        chosen.user,
        chosen.layers,
        chosen.kinds,
        chosen.tags,
        chosen.since,
        chosen.until,
    )
