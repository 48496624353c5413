"""Memories that move by themselves: plans of the engines, applied to the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from lamina.engines import promotion
from lamina.engines.promotion import Action, Decision
from lamina.errors import LaminaError
from lamina.home.folder import make_private_folder, refuse_link, write_private
from lamina.home.retention import Retention
from lamina.model import hashing
from lamina.model.clock import Clock
from lamina.model.record import Actor, Draft, Entry, Layer, Record, State
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.tables.records import COLUMN, Filter, Row

Episode = Callable[[Sequence[Record]], Draft]
Twins = Callable[[Sequence[Entry], float], Mapping[str, str]]


class Moved(NamedTuple):
    """What one run did."""

    promoted: int
    joined: int
    expired: int
    rotated: int
    remaining: int
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        """As the document has it: always these five."""
        told = {"ok": True, "promoted": self.promoted, "rotated": self.rotated > 0}
        return {**told, "remaining": self.remaining, "threshold": self.threshold}


class Lifecycle:
    """Applies what the engines decide, for one actor in one scope."""

    def __init__(
        self,
        store: Store,
        actor: Actor,
        user: str | None,
        clock: Clock,
        twins: Twins,
        episode: Episode | None = None,
    ) -> None:
        """`twins` finds what entries repeat; `episode` makes the record that a promotion leaves, where that is wanted."""
        self._store = store
        self._actor = actor
        self._user = user
        self._clock = clock
        self._twins = twins
        self._episode = episode

    def plan(self, retention: Retention) -> list[Decision]:
        """What a run would do now, entry by entry, with the rule that decides."""
        now, entries = self._clock(), self._store.short_term(self._user)
        twins: Mapping[str, str] = {}
        if retention.deduplicate:
            twins = self._twins(
                promotion.promotable(entries, now, retention), retention.deduplicate
            )
        decided = promotion.plan(entries, now, retention, twins)
        return [self._believed(one) for one in decided] if self._store.rejections.any() else decided

    def _believed(self, decision: Decision) -> Decision:
        """The decision, which takes nothing to where it is believed that somebody has rejected."""
        if decision.action is not Action.PROMOTE or decision.layer is Layer.EPISODIC:
            return decision
        record = self._store.get(decision.entry.id)
        if record is None:
            return decision
        layer, metadata = decision.promoted
        found = self._store.rejections.of(structs.replace(record, layer=layer, metadata=metadata))
        return structs.replace(decision, rejected=found)

    def run(self, retention: Retention) -> Moved:
        """Promote, join, expire and rotate. Running it again right away changes nothing."""
        decided = self.plan(retention)
        chosen = {action: [one for one in decided if one.action is action] for action in Action}
        return Moved(
            promoted=self._promote(chosen[Action.PROMOTE]),
            joined=self._join(chosen[Action.JOIN]),
            expired=self._leave("expire", "expired", chosen[Action.EXPIRE]),
            rotated=self._leave("rotate", "rotated", chosen[Action.ROTATE]),
            remaining=self._store.count_short_term(self._user),
            threshold=retention.promote_threshold,
        )

    def expire(self, retention: Retention) -> int:
        """Archive only what is too old and too unimportant; how many."""
        return self._leave(
            "expire",
            "expired",
            [one for one in self.plan(retention) if one.action is Action.EXPIRE],
        )

    def prune(self, chosen: Filter, below: float | None) -> int:
        """Archive whatever matches, of any layer; how many."""
        wanted = self._store.matching(chosen, below)
        return self._store.archive.add(
            self._actor, "prune", self._clock(), "pruned", wanted, "pruned_archive"
        )

    def archive(self, record_ids: Sequence[str], action: str, why: str) -> int:
        """Move short-term memories to the archive; those that are there already or have changed layer stay as they are."""
        wanted = []
        for record_id in record_ids:
            row = self._store.row(record_id)
            if (
                row is not None
                and row[COLUMN["layer"]] == Layer.SHORT_TERM
                and row[COLUMN["state"]] == State.ACTIVE
            ):
                wanted.append((row[0], row[COLUMN["event"]]))
        return self._store.archive.add(self._actor, action, self._clock(), why, wanted)

    def _promote(self, decided: Sequence[Decision]) -> int:
        """Move entries up, all in one transaction; one that has changed since it was looked at waits for the next run."""
        if not decided:
            return 0
        by_number = {decision.entry.seq: decision for decision in decided}
        with self._store.change(self._actor, "promote", self._clock()) as transaction:
            rows = transaction.unchanged([(one.entry.seq, one.entry.event) for one in decided])
            moved = [_move_up(transaction, row, by_number[row[0]]) for row in rows]
            if moved and self._episode is not None:
                transaction.insert([self._episode(moved)])
        return len(moved)

    def _join(self, decided: Sequence[Decision]) -> int:
        """Let entries stand as evidence of the memories that they repeat, and leave for the archive."""
        if not decided:
            return 0
        with self._store.change(self._actor, "deduplicate", self._clock()) as transaction:
            joined = [decision for decision in decided if _join(transaction, decision)]
        return self._leave("deduplicate", "duplicate", joined)

    def _leave(self, action: str, why: str, decided: Sequence[Decision]) -> int:
        wanted = [(one.entry.seq, one.entry.event) for one in decided]
        return (
            self._store.archive.add(self._actor, action, self._clock(), why, wanted)
            if wanted
            else 0
        )


def _move_up(transaction: Transaction, row: Row, decision: Decision) -> Record:
    """One entry into the layer that its kind leads to, with what that layer promises."""
    layer, metadata = decision.promoted
    if decision.rejected is not None:
        transaction.guard.note_refused(decision.rejected)
    if metadata != hashing.decode(row[COLUMN["metadata"]]):
        return transaction.update(row, layer=layer, promoted_at=transaction.now, metadata=metadata)
    return transaction.update(row, layer=layer, promoted_at=transaction.now)


def _join(transaction: Transaction, decision: Decision) -> bool:
    """Make an entry evidence of its twin; not if either has changed or gone since they were looked at."""
    twin = transaction.find(str(decision.twin))
    if twin is None or not transaction.unchanged([(decision.entry.seq, decision.entry.event)]):
        return False
    known = hashing.decode(twin[COLUMN["evidence"]])
    if decision.entry.id not in known:
        importance = max(twin[COLUMN["importance"]], decision.entry.importance)
        evidence = (*known, decision.entry.id)
        transaction.update(
            twin, evidence=evidence, last_verified=transaction.now, importance=importance
        )
    return True


def write_status(path: Path, value: Any) -> str | None:
    """A file that tells others how things are. What was done stays done when it cannot be written: it is only told."""
    try:
        refuse_link(path.parent)
        make_private_folder(path.parent)
        refuse_link(path)
        write_private(path, msgspec.json.format(hashing.encode(value), indent=2) + b"\n")
    except LaminaError as error:
        return error.message
    return None
