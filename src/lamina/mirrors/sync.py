"""Bring a mirror up to date, from its position in the events or from the beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from lamina.home import folder
from lamina.mirrors import Damaged, Mirror, Position, Settling
from lamina.model.record import Layer, State
from lamina.store.core.store import Store
from lamina.store.tables import outbox, records
from lamina.store.tables.outbox import Changes
from lamina.store.tables.records import COLUMN, Row

PAGE = 500
Progress = Callable[[int, int], None]
BETWEEN_COMMITS = 50_000
LOCK = "mirrors.lock"


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Be the only writer of this agent's mirrors, even among machines that share the store."""
    with folder.hold_lock(store.folder / LOCK), store.database.alone("mirrors"):
        yield


def silent(done: int, total: int) -> None:
    """Report no progress."""


class Synced(NamedTuple):
    """The work done: events followed, records put and dropped, and whether it was rebuilt."""

    events: int = 0
    put: int = 0
    dropped: int = 0
    rebuilt: bool = False


def sync(
    store: Store, mirror: Mirror, limit: int = BETWEEN_COMMITS, progress: Progress = silent
) -> Synced:
    """Bring a mirror up to date, with a commit after every `limit` records or so.

    A mirror that follows another history, or is damaged, is rebuilt.
    """
    position = mirror.position()
    done = None
    if position is not None:
        try:
            done = _follow(store, mirror, position, _most(mirror, limit), progress)
        except Damaged:
            done = None
    if done is None:
        done = rebuild(store, mirror, limit, progress)
    if isinstance(mirror, Settling):
        mirror.settle(lambda record_id: _is_stored(store, record_id))
    return done


def _is_stored(store: Store, record_id: str) -> bool:
    with store.read() as db:
        return records.by_id(db, record_id) is not None


def _most(mirror: Mirror, limit: int) -> int:
    """Lower the limit for a mirror that keeps uncommitted changes in memory."""
    return min(limit, getattr(mirror, "between_commits", limit))


def _follow(
    store: Store, mirror: Mirror, position: Position, limit: int, progress: Progress
) -> Synced | None:
    """Apply the events after a position; None if it belongs to another history."""
    done, committed = Synced(), Synced()
    start, end = position.event, outbox.head(store.database).event
    while True:
        changes = outbox.after(store.database, position, PAGE)
        if changes is None:
            return None
        if changes.events:
            position, done = changes.position, _apply(store, mirror, changes, done)
            progress(min(position.event, end) - start, end - start)
        handled = done.put + done.dropped - committed.put - committed.dropped
        if handled >= limit or (not changes.events and done != committed):
            mirror.commit(position)
            committed = done
        if not changes.events:
            return done


def _apply(store: Store, mirror: Mirror, changes: Changes, done: Synced) -> Synced:
    """Put active records and drop the others. Skip working memory, which was never there."""
    rows = [row for row in changes.rows if row[COLUMN["layer"]] != Layer.WORKING]
    active = [row for row in rows if _is_active(row)]
    dropped = [*changes.gone, *(row[COLUMN["id"]] for row in rows if not _is_active(row))]
    mirror.put([store.record(row) for row in active])
    mirror.drop(dropped)
    return Synced(done.events + changes.events, done.put + len(active), done.dropped + len(dropped))


def _is_active(row: Row) -> bool:
    return bool(row[COLUMN["state"]] == State.ACTIVE)


def rebuild(
    store: Store, mirror: Mirror, limit: int = BETWEEN_COMMITS, progress: Progress = silent
) -> Synced:
    """Fill a mirror from the beginning.

    Only the last commit has a position in the events, so an interrupted rebuild continues from
    event 0.
    """
    head, limit = outbox.head(store.database), _most(mirror, limit)
    with store.read() as db:
        counts = records.counts(db, None)
    total = sum(number.get(State.ACTIVE, 0) for number in counts.values())
    mirror.clear()
    put = committed = 0
    for rows in outbox.every_active(store.database, PAGE):
        mirror.put([store.record(row) for row in rows])
        put += len(rows)
        progress(min(put, total), total)
        if put - committed >= limit:
            mirror.commit(Position(head.store))
            committed = put
    mirror.commit(head)
    return Synced(head.event, put, 0, rebuilt=True)
