"""How a mirror catches up with the store: from its position along the events, or from the beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lamina.mirrors import Damaged, Mirror, Position, Settling
from lamina.model.record import Layer, State
from lamina.store.core.store import Store
from lamina.store.tables import outbox, records
from lamina.store.tables.outbox import Changes
from lamina.store.tables.records import COLUMN, Row

PAGE = 500
Progress = Callable[[int, int], None]
BETWEEN_COMMITS = 50_000


def silent(done: int, total: int) -> None:
    """Tell nobody how far it is."""


class Synced(NamedTuple):
    """What was done: events followed, records put and dropped, and whether the mirror was made anew."""

    events: int = 0
    put: int = 0
    dropped: int = 0
    rebuilt: bool = False


def sync(
    store: Store, mirror: Mirror, limit: int = BETWEEN_COMMITS, progress: Progress = silent
) -> Synced:
    """Bring a mirror up to date; about `limit` records are handled between two commits, fewer if it wants that.

    A position of another history, or a mirror that is not what it was: everything is put anew.
    """
    position = mirror.position()
    try:
        followed = (
            None
            if position is None
            else _followed(store, mirror, position, _most(mirror, limit), progress)
        )
    except Damaged:
        followed = None
    done = rebuild(store, mirror, limit, progress) if followed is None else followed
    if isinstance(mirror, Settling):
        mirror.settle(lambda record_id: _is_stored(store, record_id))
    return done


def _is_stored(store: Store, record_id: str) -> bool:
    with store.read() as db:
        return records.by_id(db, record_id) is not None


def _most(mirror: Mirror, limit: int) -> int:
    """One that keeps what waits in memory says how much that may be."""
    return min(limit, getattr(mirror, "between_commits", limit))


def _followed(
    store: Store, mirror: Mirror, position: Position, limit: int, progress: Progress
) -> Synced | None:
    done, committed = Synced(), Synced()
    start, end = position.event, outbox.head(store.database).event
    while True:
        changes = outbox.after(store.database, position, PAGE)
        if changes is None:
            return None
        if changes.events:
            position, done = changes.position, _applied(store, mirror, changes, done)
            progress(min(position.event, end) - start, end - start)
        handled = done.put + done.dropped - committed.put - committed.dropped
        if handled >= limit or (not changes.events and done != committed):
            mirror.commit(position)
            committed = done
        if not changes.events:
            return done


def _applied(store: Store, mirror: Mirror, changes: Changes, done: Synced) -> Synced:
    """Put what is active now, and drop what is not any more. Working memory is neither: it was never there."""
    kept = [row for row in changes.rows if row[COLUMN["layer"]] != Layer.WORKING]
    active = [row for row in kept if _is_active(row)]
    dropped = [*changes.gone, *(row[COLUMN["id"]] for row in kept if not _is_active(row))]
    mirror.put([store.record(row) for row in active])
    mirror.drop(dropped)
    return Synced(done.events + changes.events, done.put + len(active), done.dropped + len(dropped))


def _is_active(row: Row) -> bool:
    return bool(row[COLUMN["state"]] == State.ACTIVE)


def rebuild(
    store: Store, mirror: Mirror, limit: int = BETWEEN_COMMITS, progress: Progress = silent
) -> Synced:
    """Everything anew. Until its end, a commit says that nothing is complete: an interrupted one is followed from event 0."""
    head, limit = outbox.head(store.database), _most(mirror, limit)
    with store.read() as db:
        counts = records.counts(db, None)
    total = sum(number.get(State.ACTIVE, 0) for number in counts.values())
    mirror.clear()
    put = committed = 0
    for found in outbox.every_active(store.database, PAGE):
        mirror.put([store.record(row) for row in found])
        put += len(found)
        progress(min(put, total), total)
        if put - committed >= limit:
            mirror.commit(Position(head.store))
            committed = put
    mirror.commit(head)
    return Synced(head.event, put, 0, rebuilt=True)
