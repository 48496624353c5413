"""Put what holds before what no longer does (Q2-Q5) if a search includes stale records.

An active record comes before every superseded, tombstoned or waiting one of the same user that has
the same text or the same slot, and that matches the same question. Other records keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
from msgspec import structs

from lamina.engines import facts
from lamina.model import slots
from lamina.model.record import Hits, Record, State
from lamina.search.request import Request
from lamina.store.index.catalogue import STATES, Mask, Rows
from lamina.store.index.snapshot import Snapshot
from lamina.store.tables.records import Filter
from lamina.text.words import normalise, terms

TELLING = 16  # words of a text, longest first, by which others with the same text are found


class Found(Protocol):
    """Anything that has a record, such as a hit."""

    @property
    def record(self) -> Record: ...


Item = TypeVar("Item", bound=Found)


def has_stale(chosen: Filter) -> bool:
    """Tell whether a search includes active records and others."""
    return not chosen.states or (len(chosen.states) > 1 and State.ACTIVE in chosen.states)


def first(
    request: Request,
    ranked: Iterable[Item],
    told: set[str],
    matches: Callable[[Item, list[Record]], list[Item]],
) -> Iterator[Item]:
    """Yield items in order, but put the active records that replace a stale one before it.

    `matches` takes a stale item and those active records, and returns the ones that match the
    question, ranked. `told` holds the ids that were yielded before, and is extended.
    """
    if not has_stale(request.chosen):
        yield from ranked
        return
    for item in ranked:
        if item.record.id in told:
            continue
        if item.record.state is not State.ACTIVE:
            for holding in matches(item, _standing_for(request, item.record)):
                if holding.record.id not in told:
                    told.add(holding.record.id)
                    yield holding
        told.add(item.record.id)
        yield item


def marked(look: Snapshot, chosen: Filter, found: Hits) -> Hits:
    """Add to hits what they say that does not hold; not for a guest or a look back."""
    if chosen.guest or chosen.as_of is not None:
        return found
    said = [hit.record.id for hit in found if not facts.is_fact(hit.record)]
    outdated = look.outdated(said, chosen.user)
    if not outdated:
        return found
    hits = [structs.replace(hit, outdated=outdated.get(hit.record.id)) for hit in found]
    return Hits(hits, found.notes, found.confidence, is_whole=found.is_whole)


def is_active(request: Request, rows: Rows | slice) -> Mask:
    """Mark the rows of active records."""
    active: Mask = request.look.catalogue["state"][rows] == STATES[State.ACTIVE]
    return active


def _standing_for(request: Request, stale: Record) -> list[Record]:
    """Find the visible active records with the text or the slot of a stale one."""
    slot, text = slots.slot(stale), normalise(stale.content)
    rows = _with_words(request, stale.content)
    if slot is not None:
        rows = np.union1d(rows, request.look.with_facet(*slots.slot_facet(slot[1], slot[2])))
    rows = rows[request.allowed[rows]]
    rows = rows[is_active(request, rows)]
    return [
        record
        for record in request.look.records(rows.tolist(), request.chosen).values()
        if record.user == stale.user
        and (normalise(record.content) == text or (slot is not None and slots.slot(record) == slot))
    ]


def _with_words(request: Request, content: str) -> Rows:
    """List the rows that contain the most informative words of a text."""
    words = sorted(set(terms(content)), key=lambda word: (-len(word), word))[:TELLING]
    if not words:
        return np.zeros(0, np.int64)
    rows = request.look.holding(words[0])
    for word in words[1:]:
        rows = np.intersect1d(rows, request.look.holding(word), assume_unique=True)
    return rows
