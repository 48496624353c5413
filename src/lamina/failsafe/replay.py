"""Replay the fail-safe into the store (B4): in order, once, with every line checked again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import structs

from lamina.errors import Conflict, LaminaError, Refused, StoreUnavailable
from lamina.failsafe.line import Contents, Line, suffix
from lamina.failsafe.spool import OUTAGES, Spool
from lamina.failsafe.validation import Allowed
from lamina.model.clock import Clock
from lamina.model.record import Actor, Draft, Layer, Record, Role, State, iso
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.tables import records
from lamina.store.upkeep import erase_plan
from lamina.text import words

Progress = Callable[[int, int], None]
AT_ONCE = 50  # lines stored per transaction, while other writers wait
NOBODY = Actor(Role.SYSTEM, "failsafe", "failsafe")
NOTE = "failsafe"  # the metadata key that says why a record is constrained


class RequiredMirror(Protocol):
    """A mirror that takes each record before the store commits it."""

    def turn(self) -> AbstractContextManager[None]: ...

    def put(self, records: Sequence[Record]) -> None: ...


class Replayed(msgspec.Struct):
    """The counts of a replay."""

    stored: int = 0
    known: int = 0  # already in the store
    constrained: int = 0  # of those stored
    rejected: int = 0
    archived: list[str] = []

    def to_dict(self) -> dict[str, Any]:
        return structs.asdict(self)


class Replay:
    """Replay one spool into one store. It can be repeated: ids show what is already stored."""

    def __init__(
        self,
        store: Store,
        spool: Spool,
        clock: Clock,
        allowed: Allowed,
        note_crossing: Callable[[str], object],
        required: RequiredMirror | None = None,
    ) -> None:
        self._store = store
        self._spool = spool
        self._clock = clock
        self._allowed = allowed
        self._note_crossing = note_crossing
        self._required = required
        self._adopted: list[Record] = []  # in the current transaction
        self._settled: set[str] = set()
        self._end: float | None = None
        self._rejected: dict[str, str] = {}
        self._done = Replayed()

    def run(
        self, progress: Progress | None = None, patience: float | None = None
    ) -> Replayed | None:
        """Replay everything that waits, and what arrives meanwhile; None if another process does.

        StoreUnavailable means that it did not finish within `patience` seconds.
        """
        self._end = None if patience is None else time.monotonic() + patience
        with self._spool.replaying() as is_alone:
            if not is_alone:
                return None
            self._check_erased()
            while True:
                contents = self._unstored(self._spool.contents())
                self._replay(contents, progress)
                archive = self._store.path_of("archive")
                moved = self._spool.settle(contents, self._rejected, archive, self._stamp())
                if moved is not None:
                    break
        self._done.rejected = len(self._rejected) + len(contents.broken)
        self._done.archived = [_named(path, self._store.folder) for path in moved]
        return self._done

    def _check_erased(self) -> None:
        """Raise while an erasure is unfinished: it may remove some of the waiting lines."""
        with self._store.database.moment() as connection:
            if erase_plan.is_unfinished(connection):
                raise StoreUnavailable(erase_plan.UNFINISHED, failsafe=True)

    def _unstored(self, contents: Contents) -> Contents:
        """Leave out parts of batches that an interrupted replay has already stored and archived."""
        unfinished = [one for one in contents.broken if one.id is None or not self._exists(one.id)]
        return contents._replace(broken=tuple(unfinished))

    def _exists(self, record_id: str) -> bool:
        with self._store.read() as db:
            return records.exists(db, record_id)

    def _stamp(self) -> str:
        return self._clock().strftime("%Y%m%dT%H%M%SZ")

    def _replay(self, contents: Contents, progress: Progress | None) -> None:
        self._pass_over(
            [
                line.id
                for line in contents.lines
                if line.unless is None and line.id not in self._settled
            ]
        )
        new = [line for line in contents.lines if line.id not in self._settled]
        for place, group in enumerate(groups(new)):
            if place and self._end is not None and time.monotonic() > self._end:
                raise StoreUnavailable(
                    "the fail-safe is being replayed, and it takes a while", behind=True
                )
            self._take(group)
            self._settled.update(line.id for line in group)
            if progress is not None:
                progress(len(self._settled), len(contents.lines))

    def _pass_over(self, record_ids: Sequence[str]) -> None:
        """Skip everything that is already stored, so that even a short replay gets further."""
        if record_ids:
            with self._store.database.moment() as connection:
                known = records.known(connection, record_ids)
            self._settled |= known
            self._done.known += len(known)

    def _take(self, group: Sequence[Line]) -> None:
        """Store lines in one step; if they are refused, one by one, noting which are refused."""
        before = structs.replace(self._done)
        try:
            with (
                self._turn(),
                self._store.change(
                    self._actor(group[0]), group[0].action, self._clock()
                ) as transaction,
            ):
                self._adopted = []
                for _, batch in groupby(group, key=lambda line: line.batch):
                    self._take_batch(transaction, list(batch))
                if self._required is not None:
                    self._required.put(self._adopted)
        except LaminaError as error:
            self._done = before
            if isinstance(error, OUTAGES) or _is_shut(error):
                raise
            if len(group) > 1:
                for line in group:
                    self._take([line])
            else:
                self._rejected[group[0].id] = error.message

    def _actor(self, line: Line) -> Actor:
        """Choose the actor of an event: NOBODY if anyone could have written the line."""
        return NOBODY if self._allowed.is_unproven(line) else line.actor

    def _turn(self) -> AbstractContextManager[None]:
        return nullcontext() if self._required is None else self._required.turn()

    def _take_batch(self, transaction: Transaction, batch: Sequence[Line]) -> None:
        stored = sum(self._take_line(transaction, line) for line in batch)
        if stored:  # events stay for good, so this one has only numbers and times
            transaction.tell(
                "replayed",
                {"batch": batch[0].batch, "records": stored, "written": iso(batch[0].at)},
            )

    def _take_line(self, transaction: Transaction, line: Line) -> bool:
        """Store a line; return whether it became a new record."""
        draft, why = self._allowed.drafted(line)
        if draft is None:
            self._rejected[line.id] = str(why)
            return False
        record_id = _free_id(transaction, line)
        if record_id is None or self._is_known(transaction, draft):
            self._done.known += 1
            return False
        draft, note = self._checked(transaction, draft, why)
        record = records.new_record(draft, record_id, 0, self._store.agent, line.at)
        if note:
            metadata = {**draft.metadata, NOTE: note}
            record = structs.replace(record, state=State.CONSTRAINED, metadata=metadata)
        elif (
            line.actor.role is not Role.OPERATOR
        ):  # an operator vouches for it, whatever its evidence
            record = structs.replace(record, trust=transaction.derived(draft).trust)
        transaction.adopt([record], [draft.key])
        self._adopted.append(record)
        self._done.stored += 1
        self._done.constrained += bool(note)
        return True

    def _is_known(self, transaction: Transaction, draft: Draft) -> bool:
        """Return whether the store has it under its key, or had it until it was erased."""
        if draft.key is None:
            return False
        existing = transaction.find_key(draft.key, draft.user)
        if existing is not None:
            return existing.content == draft.content
        try:
            transaction.guard.refuse_erased(draft.user, draft.key)
        except Conflict:
            return True
        return False

    def _checked(
        self, transaction: Transaction, draft: Draft, why: str | None
    ) -> tuple[Draft, dict[str, Any]]:
        """Make a draft that can be stored, and note why its record has to be constrained."""
        note: dict[str, Any] = {} if why is None else {"reason": why}
        if (
            draft.key is not None
            and (existing := transaction.find_key(draft.key, draft.user)) is not None
        ):
            key = words.shown(draft.key)
            reason = f"the key {key} was used for another text, in record {existing.id}"
            note |= {"reason": reason, "key": draft.key, "record": existing.id}
            draft = structs.replace(draft, key=None)
        if draft.run_id is not None and not transaction.is_open(draft.run_id, draft.user):
            note |= {
                "reason": "the run of this note was closed before it could be stored",
                "run": draft.run_id,
            }
            draft = structs.replace(draft, layer=Layer.SHORT_TERM, run_id=None)
        if unknown := self._unknown(transaction, draft):
            note |= {"reason": f"evidence {unknown[0]} leads to no record", "evidence": unknown}
            draft = structs.replace(
                draft, evidence=tuple(one for one in draft.evidence if one not in set(unknown))
            )
        return draft, note

    def _unknown(self, transaction: Transaction, draft: Draft) -> list[str]:
        """List evidence that does not exist or was erased."""
        if not draft.evidence:
            return []
        unknown = transaction.unresolved(draft)
        for one in unknown:
            self._note_crossing(one)
        return list(dict.fromkeys([*unknown, *_erased(transaction, draft.evidence)]))


def groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Group lines into one event each: one actor, one action, whole batches."""
    group: list[Line] = []
    for _, one in groupby(lines, key=lambda line: line.batch):
        batch = list(one)
        is_other = bool(group) and (group[0].actor, group[0].action) != (
            batch[0].actor,
            batch[0].action,
        )
        if is_other or len(group) + len(batch) > AT_ONCE:
            if group:
                yield group
            group = []
        group += batch
    if group:
        yield group


def _is_shut(error: LaminaError) -> bool:
    """Return whether the store accepts nothing at all, so that no line is to blame.

    The memory has been moved, or our role lacks a right.
    """
    return isinstance(error, Refused) and "place" in error.details


def _erased(transaction: Transaction, evidence: Sequence[str]) -> Iterator[str]:
    left = list(evidence)
    while left:
        try:
            transaction.guard.check_there(left)
            return
        except Conflict as error:
            gone = str(error.details["erased"])
            yield gone
            left = [one for one in left if one != gone]


def _free_id(transaction: Transaction, line: Line) -> str | None:
    """Choose the id of a line in the store; None if the record is already there.

    A line has ids from the store if the outcome of its write was unknown. If that write did not
    happen, the store may have given them to another one.
    """
    if line.unless is not None:
        event = transaction.event(line.unless.event)
        if event is not None and event.hash == line.unless.hash:
            return None
    if not transaction.exists(line.id):
        return line.id
    if line.unless is None or _is_same(transaction.find(line.id), line):
        return None
    other = line.id[:14] + suffix(hashlib.sha256(f"{line.batch}/{line.part}".encode()).digest())
    return None if transaction.exists(other) else other


def _is_same(row: records.Row | None, line: Line) -> bool:
    return (
        row is None
        or line.payload is None
        or row[records.COLUMN["content"]] == line.payload.content
    )


def _named(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
