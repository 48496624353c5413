"""Records of an export, taken one by one into a store that has a history of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from msgspec import structs

from lamina.errors import Conflict, InvalidInput, Refused
from lamina.formats.importing import Policy, external, state_of_untrusted
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

Progress = Callable[[int, int], None]
Known = Callable[[str], bool]
BATCH = 1000
LISTED = 1000
# The fields that are checked as they are when somebody remembers.
CHECKED = (
    "content",
    "kind",
    "tags",
    "importance",
    "metadata",
    "source",
    "speaker",
    "session",
    "confidence",
)
# Where two records with one id may differ, so that one could take the place of the other.
TELLING = ("content", "kind", "tags", "importance", "confidence", "metadata")


class Merger:
    """How records from elsewhere enter: checked like any other, trusted only if the operator says so."""

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
        """All records that are not here yet, or none of them and an error."""
        incoming = {record.id: record for record in everything}
        with (
            suppress(_DryRunError),
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
            counted = _counted(fresh, len(fresh), progress)
            arrived = [self.record(record, known, now, transaction.user) for record in counted]
            arriving = {record.id for record in new}
            here = [one for one in incoming.values() if one.id not in arriving]
            transaction.adopt(arrived)
            if self._policy is not Policy.SKIP:
                self._meet_all(transaction, here, known, now)
            if self._trusted:
                self._less_trusted = sum(self._is_less_trusted(transaction, one) for one in here)
            if dry_run:
                raise _DryRunError
        return self._report(len(everything), arrived)

    def _report(self, total: int, arrived: Sequence[Record]) -> dict[str, Any]:
        """What came of a file. What happens seldom is said when it has happened."""
        changed = self._grown + self._replaced
        seldom = {
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
            **{name: value for name, value in seldom.items() if value},
            **external(0 if self._trusted else len(arrived) + self._replaced),
            **({"rejected_count": len(self._refused)} if self._refused else {}),
        }

    def _refuse(self, record_id: str, message: str) -> None:
        self._refused.append({"id": record_id, "message": message})

    def _is_erased(
        self, transaction: Transaction, record: Written, certified: Container[str]
    ) -> bool:
        is_erased = record.id in certified or transaction.guard.is_erased(
            record.user, record.content
        )
        if is_erased:
            self._refuse(
                record.id, "what this says was erased here; an import does not bring it back"
            )
        return is_erased

    def _meet_all(
        self, transaction: Transaction, here: Iterable[Written], known: Known, now: datetime
    ) -> None:
        for found in here:
            try:
                self._meet(transaction, found, self.record(found, known, now, transaction.user))
            except (Conflict, Refused) as error:
                self._refuse(found.id, error.message)

    def _meet(self, transaction: Transaction, found: Written, theirs: Record) -> None:
        """A record that both have: ours grows, or theirs takes its place."""
        row = records.by_id(transaction.db, found.id)
        if row is None:  # archived or erased
            return
        ours = self._store.record(row)
        if ours.user != theirs.user:
            raise Conflict(
                f"the record {ours.id} is another user's here; what one user's says changes no other's"
            )
        if self._policy is Policy.MERGE:
            evidence = tuple(dict.fromkeys((*ours.evidence, *theirs.evidence)))
            metadata = {**theirs.metadata, **ours.metadata}
            if ours.content != theirs.content:
                raise Conflict(f"the record {ours.id} is here with another text; texts do not grow")
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
        """Supersede ours by what theirs says, under a new id; once, however often the file comes."""
        told = hashing.encode([ours.id, *(getattr(theirs, name) for name in TELLING)])
        key = f"lamina:{hashlib.sha256(told).hexdigest()}"
        if transaction.find_key(key, ours.user) is not None:
            return
        if ours.state is not State.ACTIVE or theirs.state not in (State.ACTIVE, State.CONSTRAINED):
            raise Conflict(
                f"the record {ours.id} is {ours.state} here and {theirs.state} there: neither replaces the other"
            )
        self._check_trust(ours)
        fields = {
            name: getattr(theirs, name)
            for name in (*TELLING, "source", "speaker", "session", "evidence")
        }
        same: dict[str, Any] = {
            "layer": ours.layer,
            "user": ours.user,
            "occurred_at": theirs.occurred_at,
            "key": key,
        }
        draft = Draft(trust=theirs.trust, **fields, **same)
        rules.check_contract(draft.layer, draft.metadata)
        transaction.guard.refuse_rejected(draft)
        evidence = tuple(
            one for one in draft.evidence if not is_id(one) or records.exists(transaction.db, one)
        )
        transaction.replace([row], structs.replace(draft, evidence=evidence))
        self._replaced += 1

    def _is_less_trusted(self, transaction: Transaction, found: Written) -> bool:
        """Whether a record has less trust here than in a trusted file; it keeps the trust it came with."""
        row = records.by_id(transaction.db, found.id)
        ours = None if row is None else self._store.record(row)
        return ours is not None and ours.state in BELIEVABLE and _is_more_trusted(found, ours)

    def _check_trust(self, ours: Record) -> None:
        if not self._trusted and (ours.trust is not Trust.EXTERNAL or ours.layer in BELIEVED):
            raise Refused(
                f"the record {ours.id} is more trusted than this file; --trust lets the file change it"
            )

    def record(
        self,
        found: Written,
        known: Callable[[str], bool],
        now: datetime,
        user: Callable[[object], str | None],
    ) -> Record:
        """A record as it may enter. References to what is not here stay as words."""
        if not is_id(found.id) or (found.run_id is None) == (found.layer is Layer.WORKING):
            raise InvalidInput(f"the record {shown(found.id)} is not one that Lamina makes")
        evidence = [
            item if not is_id(item) or known(item) else f"record:{item}" for item in found.evidence
        ]
        checked = self._draft(
            {
                **{name: getattr(found, name) for name in CHECKED},
                "at": found.occurred_at,
                "evidence": evidence,
            }
        )
        rules.check_contract(found.layer, checked.metadata)
        return Record(
            id=found.id,
            seq=0,
            agent=found.agent,
            user=user(found.user),
            layer=found.layer,
            state=self._state(found),
            kind=checked.kind,
            content=checked.content,
            importance=checked.importance,
            confidence=checked.confidence,
            trust=found.trust if self._trusted else Trust.EXTERNAL,
            source=checked.source,
            tags=checked.tags,
            metadata=checked.metadata,
            evidence=checked.evidence,
            speaker=checked.speaker,
            session=checked.session,
            run_id=_known_id(found.run_id),
            occurred_at=checked.occurred_at or now,
            created_at=now,
            updated_at=now,
            promoted_at=_moment(found.promoted_at),
            valid_from=_moment(found.valid_from),
            valid_to=_moment(found.valid_to),
            last_verified=_moment(found.last_verified),
            # Who is not trusted replaces nothing: taking back such a record would bring back what nobody has confirmed.
            supersedes=tuple(dict.fromkeys(filter(known, found.supersedes)))
            if self._trusted
            else (),
            superseded_by=_successor(found, known),
        )

    def _state(self, found: Written) -> State:
        return found.state if self._trusted else state_of_untrusted(found.layer, found.state)


def _is_more_trusted(theirs: Record | Written, ours: Record) -> bool:
    return rules.lowest_trust((theirs.trust, ours.trust)) is not theirs.trust


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else moment(value)


def _successor(found: Written, known: Known) -> str | None:
    """What took the place of a record; one that still stands has no successor, whatever the file says."""
    named = found.superseded_by if found.state is State.SUPERSEDED else None
    return named if named and known(named) else None


def _known_id(value: str | None) -> str | None:
    if value is not None and not is_id(value):
        raise InvalidInput(f"run_id {shown(value)} is not the id of a run")
    return value


def _counted(items: Sequence[Written], total: int, progress: Progress | None) -> Iterable[Written]:
    for number, item in enumerate(items, 1):
        yield item
        if progress is not None and (number % BATCH == 0 or number == total):
            progress(number, total)


class _DryRunError(Exception):
    """A dry run is over, and nothing of it may be kept."""
