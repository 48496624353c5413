"""Move memories between layers and the archive by applying the plans of the engines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from lamina.engines import promotion
from lamina.engines.promotion import Action, Decision, Service, Waiting
from lamina.errors import Conflict, EmbedderFailed, InvalidInput
from lamina.home.retention import Retention, RetentionFile
from lamina.model import hashing, rules
from lamina.model.record import Draft, Entry, Layer, Record, State
from lamina.store.core.transaction import Transaction
from lamina.store.tables import grounds, records
from lamina.store.tables.archived import File
from lamina.store.tables.records import COLUMN, Filter, Row
from lamina.text.words import counted

if TYPE_CHECKING:
    from lamina.memory.scope import Scope

ROTATE_CHECK = "memory_rotate_check"
USED_SINCE = timedelta(days=2)  # runs are minutes apart, so each read is seen by many of them


class Moved(NamedTuple):
    """The counts of one run."""

    promoted: int
    joined: int
    expired: int
    rotated: int
    remaining: int
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Return the five values that the document of the originals names."""
        told = {"ok": True, "promoted": self.promoted, "rotated": self.rotated > 0}
        return {**told, "remaining": self.remaining, "threshold": self.threshold}


class Lifecycle:
    """Promote, join, expire, rotate, prune and restore."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.retention = RetentionFile(scope.home.path, scope.settings["preset"])
        self.moved: Moved | None = None  # by the last `run_once` of this handle

    def run_once(self) -> dict[str, Any]:
        """Promote, expire and rotate by the rules of retention; report it in `status/`."""
        self.moved = self.run(self.retention.current())
        self._scope.parts.proposals.expire()
        report = self.moved.to_dict()
        self._scope.parts.status_files.write_action(ROTATE_CHECK, report)
        self._scope.parts.derived.sync_mirrors()
        return report

    def planned(self) -> list[Decision]:
        """List what `run_once` would do with each short-term memory, and by which rule."""
        decisions = self.plan(self.retention.current())
        self._scope.audit("plan_promotion", ())
        return decisions

    def promote(self, record_id: str) -> Record:
        """Promote one memory at a person's request: by the same rules, at any importance."""
        record = self._scope.visible("promote", record_id)
        promotion.check_promotable(record)
        with self._scope.store.read() as db:
            entries = records.short_term(db, self._scope.user, record.id)
        moved = self._promote([self._believed(promotion.by_hand(entry)) for entry in entries])
        if not moved:
            raise Conflict(f"the record {record.id} has changed meanwhile; nothing was done")
        return moved[0]

    def plan(self, retention: Retention) -> list[Decision]:
        """Decide what a run would do now with each entry, and by which rule."""
        now = self._scope.clock()
        with self._scope.store.read() as db:
            entries = records.short_term(db, self._scope.user)
        serving, _ = self._serving(promotion.explicit(entries, now, retention), retention)
        twins: Mapping[str, str] = {}
        if retention.deduplicate:
            twins = self._duplicates(
                promotion.promotable(entries, now, retention, serving), retention.deduplicate
            )
        decided = promotion.plan(entries, now, retention, twins, serving)
        return (
            [self._believed(one) for one in decided]
            if self._scope.store.rejections.any()
            else decided
        )

    def waiting(self) -> Waiting:
        """Count the explicit memories that wait in short-term memory, and explain why."""
        retention = self.retention.current()
        with self._scope.store.read() as db:
            entries = records.short_term(db, self._scope.user, kinds=promotion.EXPLICIT)
        explicit = promotion.explicit(entries, self._scope.clock(), retention)
        slept = self._scope.store.night.slept().seq
        return promotion.waiting(explicit, slept, *self._serving(explicit, retention))

    def _serving(
        self, explicit: Sequence[Entry], retention: Retention
    ) -> tuple[Mapping[str, Service], list[str]]:
        """Find the explicit memories that are in use, and those whose importance was stated."""
        if not explicit or not retention.promote_used:
            return {}, []
        accesses = self._scope.parts.importance.accesses(USED_SINCE)
        used = {id_ for id_, (number, _) in accesses.items() if number >= 1}
        with self._scope.store.read() as db:
            believed = grounds.supporting(db, [one.id for one in explicit])
        wanted = [one.id for one in explicit if one.id in used or one.id in believed]
        stated = [id_ for id_ in wanted if self._is_stated(id_)]
        serving = {
            id_: Service.USED if id_ in used else Service.BELIEVED
            for id_ in wanted
            if id_ not in stated
        }
        return serving, stated

    def _is_stated(self, record_id: str) -> bool:
        """Return whether the importance of a memory was stated, and is not our own judgement."""
        store = self._scope.store
        record, original = store.get(record_id), store.night.original(record_id)
        if record is None or original is None:
            return True
        return not self._scope.parts.importance.is_judged(structs.asdict(record), original)

    def _believed(self, decision: Decision) -> Decision:
        """Mark the promotion of a rejected value: it must not become believed."""
        if decision.action is not Action.PROMOTE or decision.layer is Layer.EPISODIC:
            return decision
        record = self._scope.store.get(decision.entry.id)
        if record is None:
            return decision
        layer, metadata = decision.promoted
        found = self._scope.store.rejections.of(
            structs.replace(record, layer=layer, metadata=metadata)
        )
        return structs.replace(decision, rejected=found)

    def run(self, retention: Retention) -> Moved:
        """Promote, join, expire and rotate. Running it again immediately changes nothing."""
        decided = self.plan(retention)
        chosen = {action: [one for one in decided if one.action is action] for action in Action}
        return Moved(
            promoted=len(self._promote(chosen[Action.PROMOTE])),
            joined=self._join(chosen[Action.JOIN]),
            expired=self._leave("expire", "expired", chosen[Action.EXPIRE]),
            rotated=self._leave("rotate", "rotated", chosen[Action.ROTATE]),
            remaining=self._remaining(),
            threshold=retention.promote_threshold,
        )

    def expire(self, retention: Retention) -> int:
        """Archive entries that are too old and too unimportant; return their number."""
        return self._leave(
            "expire",
            "expired",
            [one for one in self.plan(retention) if one.action is Action.EXPIRE],
        )

    def archive(self, record_ids: Sequence[str], action: str, why: str) -> int:
        """Archive short-term memories, except those that have changed layer or state."""
        wanted = []
        for record_id in record_ids:
            row = self._scope.store.row(record_id)
            if (
                row is not None
                and row[COLUMN["layer"]] == Layer.SHORT_TERM
                and row[COLUMN["state"]] == State.ACTIVE
            ):
                wanted.append((row[0], row[COLUMN["event"]]))
        return self._scope.store.archive.add(
            self._scope.actor, action, self._scope.clock(), why, wanted
        )

    def prunable(self, limit: int, bounds: Mapping[str, Any]) -> dict[str, Any]:
        """Count what `prune` would move, and show the newest of these records."""
        chosen, below = self._bounded(**bounds)
        numbers = [number for number, _ in self._matching(chosen, below)]
        newest = self._scope.store.numbered(numbers[: -rules.limit(limit) - 1 : -1])
        self._scope.audit("prunable", tuple(record.id for record in newest))
        return {"pruned": len(numbers), "records": newest}

    def prune(self, dry_run: bool, bounds: Mapping[str, Any]) -> dict[str, Any]:
        """Archive records of any layer that are within all bounds."""
        chosen, below = self._bounded(**bounds)
        wanted = self._matching(chosen, below)
        if dry_run:
            return {"pruned": len(wanted), "dry_run": True}
        count = self._scope.store.archive.add(
            self._scope.actor, "prune", self._scope.clock(), "pruned", wanted, "pruned_archive"
        )
        self._scope.parts.derived.settle()
        return {"pruned": count, "dry_run": False}

    def _matching(self, chosen: Filter, below: float | None) -> list[tuple[int, int]]:
        with self._scope.store.read() as db:
            return records.matching(db, chosen, below)

    def _remaining(self) -> int:
        with self._scope.store.read() as db:
            return records.count_short_term(db, self._scope.user)

    def _bounded(
        self,
        layers: Collection[str] | None = None,
        older_than_days: float | None = None,
        importance_below: float | None = None,
        tags: Collection[str] | None = None,
        states: Collection[str] = (State.ACTIVE,),
    ) -> tuple[Filter, float | None]:
        if not (layers or tags) and older_than_days is None and importance_below is None:
            raise InvalidInput("prune needs a bound: a layer, an age, an importance or a tag")
        below = None if importance_below is None else rules.importance(importance_below)
        until = None
        if older_than_days is not None:
            until = self._scope.clock() - timedelta(days=rules.days(older_than_days))
        chosen = self._scope.filter(layers, states, None, tags, None, until)
        if Layer.WORKING in chosen.layers:
            raise InvalidInput("working memory ends with its run; close the run instead")
        return chosen, below

    def archives(self) -> list[File]:
        """List the files of the archive, newest first."""
        self._scope.check_whole("archive list")
        return self._scope.store.archives()

    def restore(self, record_ids: Sequence[str]) -> list[Record]:
        """Bring archived records back, with their ids and history."""
        ids = [self._scope.visible("restore_archived", record_id).id for record_id in record_ids]
        restored = self._scope.store.archive.restore(self._scope.actor, self._scope.clock(), ids)
        self._scope.changed(len(restored))
        self._scope.parts.derived.settle()
        return restored

    def _duplicates(self, entries: Sequence[Entry], least: float) -> Mapping[str, str]:
        """Find entries that repeat a memory; none without a working embedder."""
        try:
            return self._scope.recall.duplicates(entries, least)
        except EmbedderFailed as error:
            self._scope.note_problem(f"nothing was deduplicated: {error.message}")
            return {}

    def _episode(self, promoted: Sequence[Record]) -> Draft:
        """Draft the episodic record of a promotion, with the promoted records as evidence."""
        return self._scope.draft(
            {
                "content": f"Promoted {counted(len(promoted), 'memory', 'memories')} to long-term",
                "layer": Layer.EPISODIC,
                "kind": "action",
                "evidence": [record.id for record in promoted],
                "trust": rules.lowest_trust(record.trust for record in promoted),
            }
        )

    def _promote(self, decided: Sequence[Decision]) -> list[Record]:
        """Promote entries in one transaction; entries that have changed wait for the next run."""
        if not decided:
            return []
        by_number = {decision.entry.seq: decision for decision in decided}
        self._read_ahead(decided)
        with self._scope.store.change(
            self._scope.actor, "promote", self._scope.clock()
        ) as transaction:
            rows = transaction.unchanged([(one.entry.seq, one.entry.event) for one in decided])
            moved = [self._move_up(transaction, row, by_number[row[0]]) for row in rows]
            if moved and self._scope.settings["promotion.episodes"]:
                transaction.insert([self._episode(moved)])
        return moved

    def _read_ahead(self, decided: Sequence[Decision]) -> None:
        """Parse the texts before the transaction begins, since it blocks other writers."""
        if chosen := [one.entry.id for one in decided if one.layer is Layer.SEMANTIC]:
            found = filter(None, map(self._scope.store.get, chosen))
            self._scope.parts.statements.read_ahead(found, self._scope.clock())

    def _move_up(self, transaction: Transaction, row: Row, decision: Decision) -> Record:
        """Promote one entry into the layer of its kind, with the metadata that this layer needs.

        What cannot be believed alongside the facts is kept as an episode.
        """
        layer, metadata = decision.promoted
        if decision.rejected is not None:
            transaction.guard.note_refused(decision.rejected)
        fields: dict[str, Any] = {"layer": layer, "promoted_at": transaction.now}
        if metadata != hashing.decode(row[COLUMN["metadata"]]):
            fields["metadata"] = metadata
        if layer is Layer.SEMANTIC:
            moved = self._scope.parts.statements.promote(transaction, row, fields)
            if moved is not None:
                return moved
            fields = {"layer": Layer.EPISODIC, "promoted_at": transaction.now}
        return transaction.update(row, **fields)

    def _join(self, decided: Sequence[Decision]) -> int:
        """Add entries as evidence to the memories that they repeat, and archive them."""
        if not decided:
            return 0
        with self._scope.store.change(
            self._scope.actor, "deduplicate", self._scope.clock()
        ) as transaction:
            joined = [decision for decision in decided if _join(transaction, decision)]
        return self._leave("deduplicate", "duplicate", joined)

    def _leave(self, action: str, why: str, decided: Sequence[Decision]) -> int:
        wanted = [(one.entry.seq, one.entry.event) for one in decided]
        if not wanted:
            return 0
        now = self._scope.clock()
        return self._scope.store.archive.add(self._scope.actor, action, now, why, wanted)


def _join(transaction: Transaction, decision: Decision) -> bool:
    """Add an entry as evidence to its twin, unless either has changed or is gone."""
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
