"""Compare a mirror with the store: every entry with its record, every record with its entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lamina.mirrors import Damaged, Listed, Mirror, Position
from lamina.store.core.store import Store
from lamina.store.tables import outbox
from lamina.store.tables.records import COLUMN

PAGE = 500
MORE = 100_000  # surplus entries to list before giving up
NAMED = 10  # ids of each kind in a report
Progress = Callable[[int, int], None]


class Verified(msgspec.Struct, frozen=True):
    """A comparison: how many entries there are, how many differ, and some of their ids.

    What has changed in the store since the mirror's position is only `waiting`: the next sync
    brings it.
    """

    held: int
    missing: int = 0
    outdated: int = 0
    unknown: int = 0
    waiting: int = 0
    ids: Mapping[str, list[str]] = {}
    problem: str | None = None
    is_compared: bool = True  # False: it could not be reached, and may be correct

    @property
    def ok(self) -> bool:
        return self.problem is None and not (self.missing or self.outdated or self.unknown)

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, **msgspec.structs.asdict(self)}


def verify(store: Store, mirror: Mirror, progress: Progress | None = None) -> Verified:
    """Compare a whole mirror with the store; others may write to the store, but not the mirror."""
    assert isinstance(mirror, Listed)
    position = mirror.position()
    if position is None:
        return Verified(0, problem="it is not made yet, or not for these settings")
    expected = _expected(store, mirror)
    held = len(expected)
    outdated: list[str] = []
    unknown: list[str] = []
    number = 0
    try:
        for number, (record_id, digest) in enumerate(mirror.entries(), 1):
            wanted = expected.pop(record_id, None)
            if wanted is None:
                unknown.append(record_id)
            elif wanted != digest:
                outdated.append(record_id)
            if number > MORE + 2 * held:  # a server that never stops listing entries
                problem = f"it has far more entries than there are memories ({held:,})"
                return Verified(number, problem=problem)
            if progress is not None and number % PAGE == 0:
                progress(min(number, held), held)
    except Damaged as error:
        return Verified(number, problem=f"it is damaged: {error}")
    changed = _changed(store, position)
    if changed is None:
        return Verified(number, problem="it follows another history than the store")
    differing = {"missing": list(expected), "outdated": outdated, "unknown": unknown}
    return _report(number, differing, changed)


def _report(number: int, differing: Mapping[str, list[str]], changed: set[str]) -> Verified:
    real = {
        kind: [record_id for record_id in ids if record_id not in changed]
        for kind, ids in differing.items()
    }
    named = {kind: ids[:NAMED] for kind, ids in real.items() if ids}
    missing, outdated, unknown = (len(real[kind]) for kind in ("missing", "outdated", "unknown"))
    return Verified(number, missing, outdated, unknown, len(changed), named)


def _expected(store: Store, mirror: Listed) -> dict[str, str]:
    """Compute the digest that each active record should have in the mirror."""
    pages = outbox.every_active(store.database, PAGE)
    records = (store.record(row) for page in pages for row in page)
    return {record.id: mirror.digest(record) for record in records}


def _changed(store: Store, position: Position) -> set[str] | None:
    """Collect the ids of records changed since a position; None for another history."""
    changed: set[str] = set()
    while True:
        changes = outbox.after(store.database, position, PAGE)
        if changes is None:
            return None
        if not changes.events:
            return changed
        changed.update(changes.gone, (row[COLUMN["id"]] for row in changes.rows))
        position = changes.position
