"""Merge the records of an export into a store that has a history of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from msgspec import structs

from lamina.errors import Conflict, InvalidInput, Refused
from lamina.formats.importing import DryRunOver, Policy, external, state_of_untrusted
from lamina.model import hashing, rules
from lamina.model.clock import is_id, moment
from lamina.model.record import Actor, Draft, Layer, Record, State, Trust
from lamina.model.rejection import BELIEVABLE
from lamina.model.rules import BELIEVED
from lamina.store.core.store import Store
from lamina.store.core.transaction import Transaction
from lamina.store.tables import records
from lamina.store.tables.record_lines import Written
from lamina.store.tables.records import Row
from lamina.store.upkeep import erase_plan
from lamina.text.words import shown

T = TypeVar("T")
Progress = Callable[[int, int], None]
Known = Callable[[str], bool]
BATCH = 1000
# The fields that are checked as for a new memory.
CHECKED = tuple("content kind tags importance metadata source speaker session confidence".split())
# The fields in which two records with one id may differ, so that one could replace the other.
TELLING = ("content", "kind", "tags", "importance", "confidence", "metadata")


class Merger:
    """Merges records: checked like any other, trusted only if the operator says so."""

    def __init__(
        self,
        store: Store,
        draft: Callable[[object], Draft],
        trusted: bool,
        policy: Policy = Policy.SKIP,
    ) -> None:
        self._store = store
        self._draft = draft
        self._trusted = trusted
        self._policy = policy
        self._grown = self._replaced = self._less_trusted = 0
        self._refused: list[dict[str, object]] = []

    def merge(
        self,
        everything: Sequence[Written],
        actor: Actor,
        now: datetime,
        note: Mapping[str, Any],
        progress: Progress | None = None,
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merge all records that are not here yet, or none of them; return a report."""
        incoming = {record.id: record for record in everything}
        with (
            suppress(DryRunOver),
            self._store.change(actor, "import", now, note=note) as transaction,
        ):

            def known(target: str) -> bool:
                return target in incoming or records.exists(transaction.db, target)

            new = [
                record
                for record in incoming.values()
                if not records.exists(transaction.db, record.id)
            ]
            certified = erase_plan.everything(self._store.folder, None)
            fresh = [
                record for record in new if not self._is_erased(transaction, record, certified)
            ]
            arrived = [
                self._record(record, known, now, transaction.user)
                for record in counted(fresh, len(fresh), progress)
            ]
            new_ids = {record.id for record in new}
            here = [record for record in incoming.values() if record.id not in new_ids]
            transaction.adopt(arrived)
            if self._policy is not Policy.SKIP:
                self._meet_all(transaction, here, known, now)
            if self._trusted:
                self._less_trusted = sum(
                    self._is_less_trusted(transaction, record) for record in here
                )
            if dry_run:
                raise DryRunOver
        return self._report(len(everything), arrived)

    def _report(self, total: int, arrived: Sequence[Record]) -> dict[str, Any]:
        """Report on a file. Rare outcomes are listed only if they have occurred."""
        changed = self._grown + self._replaced
        rare = {
            "grown": self._grown,
            "replaced": self._replaced,
            "still_external": self._less_trusted,
            "rejected": self._refused,
        }
        return {
            "mode": "merged",
            "taken": len(arrived),
            "skipped": total - len(arrived) - changed - len(self._refused),
            "pending": sum(record.state is State.CONSTRAINED for record in arrived),
            **{name: value for name, value in rare.items() if value},
            **external(0 if self._trusted else len(arrived) + self._replaced),
            **({"rejected_count": len(self._refused)} if self._refused else {}),
        }

    def _refuse(self, record_id: str, message: str) -> None:
        self._refused.append({"id": record_id, "message": message})

    def _is_erased(
        self, transaction: Transaction, record: Written, certified: Container[str]
    ) -> bool:
        guard = transaction.guard
        if record.id not in certified and not guard.is_erased(record.user, record.content):
            return False
        self._refuse(record.id, "this text was erased here; an import does not bring it back")
        return True

    def _meet_all(
        self, transaction: Transaction, here: Iterable[Written], known: Known, now: datetime
    ) -> None:
        for written in here:
            try:
                self._meet(transaction, self._record(written, known, now, transaction.user))
            except (Conflict, Refused) as error:
                self._refuse(written.id, error.message)

    def _meet(self, transaction: Transaction, theirs: Record) -> None:
        """Extend our record with the same id, or replace it by theirs."""
        row = records.by_id(transaction.db, theirs.id)
        if row is None:  # archived or erased
            return
        ours = self._store.record(row)
        if ours.user != theirs.user:
            raise Conflict(
                f"the record {ours.id} is another user's here;"
                " what one user's says changes no other's"
            )
        if self._policy is Policy.MERGE:
            evidence = tuple(dict.fromkeys((*ours.evidence, *theirs.evidence)))
            metadata = {**theirs.metadata, **ours.metadata}
            if ours.content != theirs.content:
                raise Conflict(
                    f"the record {ours.id} is here with another text, which a merge does not change"
                )
            if (evidence, metadata) == (ours.evidence, ours.metadata):
                return
            self._check_trust(ours)
            transaction.update(row, evidence=evidence, metadata=metadata)
            self._grown += 1
        elif _is_more_trusted(theirs, ours) or any(
            getattr(ours, name) != getattr(theirs, name) for name in TELLING
        ):
            self._replace(transaction, row, ours, theirs)

    def _replace(self, transaction: Transaction, row: Row, ours: Record, theirs: Record) -> None:
        """Supersede ours by theirs, under a new id; once, however often the file is imported."""
        telling = {name: getattr(theirs, name) for name in TELLING}
        digest = hashlib.sha256(hashing.encode([ours.id, *telling.values()]))
        key = f"lamina:{digest.hexdigest()}"
        if transaction.find_key(key, ours.user) is not None:
            return
        if ours.state is not State.ACTIVE or theirs.state not in (State.ACTIVE, State.CONSTRAINED):
            raise Conflict(
                f"the record {ours.id} is {ours.state} here and {theirs.state} there:"
                " neither replaces the other"
            )
        self._check_trust(ours)
        draft = Draft(
            **telling,
            layer=ours.layer,
            user=ours.user,
            trust=theirs.trust,
            source=theirs.source,
            speaker=theirs.speaker,
            session=theirs.session,
            evidence=theirs.evidence,
            occurred_at=theirs.occurred_at,
            key=key,
        )
        rules.check_contract(draft.layer, draft.metadata)
        transaction.guard.refuse_rejected(draft)
        db = transaction.db
        evidence = tuple(
            item for item in draft.evidence if not is_id(item) or records.exists(db, item)
        )
        transaction.replace([row], structs.replace(draft, evidence=evidence))
        self._replaced += 1

    def _is_less_trusted(self, transaction: Transaction, written: Written) -> bool:
        """Tell whether a record has less trust here than in a trusted file; it keeps its trust."""
        row = records.by_id(transaction.db, written.id)
        ours = None if row is None else self._store.record(row)
        return ours is not None and ours.state in BELIEVABLE and _is_more_trusted(written, ours)

    def _check_trust(self, ours: Record) -> None:
        if not self._trusted and (ours.trust is not Trust.EXTERNAL or ours.layer in BELIEVED):
            raise Refused(
                f"the record {ours.id} is more trusted than this file;"
                " --trust lets the file change it"
            )

    def _record(
        self, written: Written, known: Known, now: datetime, user: Callable[[object], str | None]
    ) -> Record:
        """Check a record before it is merged. References to records not here become plain text."""
        if not is_id(written.id) or (written.run_id is None) == (written.layer is Layer.WORKING):
            raise InvalidInput(f"the record {shown(written.id)} is not one that Lamina makes")
        fields = {name: getattr(written, name) for name in CHECKED}
        fields["at"] = written.occurred_at
        fields["evidence"] = [
            item if not is_id(item) or known(item) else f"record:{item}"
            for item in written.evidence
        ]
        checked = self._draft(fields)
        rules.check_contract(written.layer, checked.metadata)
        # An untrusted file replaces nothing: undoing such a record would restore something that was
        # never confirmed.
        replaced = filter(known, written.supersedes) if self._trusted else ()
        return Record(
            id=written.id,
            seq=0,
            agent=written.agent,
            user=user(written.user),
            layer=written.layer,
            state=self._state(written),
            kind=checked.kind,
            content=checked.content,
            importance=checked.importance,
            confidence=checked.confidence,
            trust=written.trust if self._trusted else Trust.EXTERNAL,
            source=checked.source,
            tags=checked.tags,
            metadata=checked.metadata,
            evidence=checked.evidence,
            speaker=checked.speaker,
            session=checked.session,
            run_id=_known_id(written.run_id),
            occurred_at=checked.occurred_at or now,
            created_at=now,
            updated_at=now,
            promoted_at=_moment(written.promoted_at),
            valid_from=_moment(written.valid_from),
            valid_to=_moment(written.valid_to),
            last_verified=_moment(written.last_verified),
            supersedes=tuple(dict.fromkeys(replaced)),
            superseded_by=_successor(written, known),
        )

    def _state(self, written: Written) -> State:
        if self._trusted:
            return written.state
        return state_of_untrusted(written.layer, written.state)


def _is_more_trusted(theirs: Record | Written, ours: Record) -> bool:
    return rules.lowest_trust((theirs.trust, ours.trust)) is not theirs.trust


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else moment(value)


def _successor(written: Written, known: Known) -> str | None:
    """Return the successor of a superseded record; any other has none, whatever the file says."""
    named = written.superseded_by if written.state is State.SUPERSEDED else None
    return named if named and known(named) else None


def _known_id(value: str | None) -> str | None:
    if value is not None and not is_id(value):
        raise InvalidInput(f"run_id {shown(value)} is not the id of a run")
    return value


def counted(items: Iterable[T], total: int, progress: Progress | None) -> Iterator[T]:
    """Yield items, and report progress from time to time and at the end."""
    for number, item in enumerate(items, 1):
        yield item
        if progress is not None and (number % BATCH == 0 or number == total):
            progress(number, total)
