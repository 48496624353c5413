"""The operator's view of the trail: changes, reads, refusals, and whether it is unaltered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from lamina.errors import Corrupt, InvalidInput
from lamina.home.folder import Violations
from lamina.memory.scope import Part
from lamina.model import rules
from lamina.model.record import Event
from lamina.store.tables import events
from lamina.store.tables.reads import Read
from lamina.store.tables.refusals import Refusal
from lamina.store.upkeep import verify
from lamina.text.words import shown


class ChainHead(msgspec.Struct, frozen=True):
    """The end of one chain, as it was exported."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    hash: str


class Head(msgspec.Struct, frozen=True):
    """A head as `audit_head` exports it."""

    store: str
    events: ChainHead
    reads: ChainHead


class Audit(Part):
    """Read the trail and verify it."""

    def violations(self, limit: int) -> Violations:
        """List attempts to cross a boundary of this home, newest first."""
        self._scope.check_whole("audit violations")
        return self._scope.home.read_violations(rules.limit(limit))

    def log(self, limit: int, before: int | None) -> list[Event]:
        """List changes, newest first; with `before`, only those before the event of this number."""
        self._scope.check_whole("audit log")
        most = rules.limit(limit)
        number = events.LAST if before is None else rules.event_number(before)
        with self._store.read() as db:
            return events.latest(db, most, number)

    def reads(self, limit: int) -> list[Read]:
        """List the reads of every process that has written its own, newest first."""
        self._scope.check_whole("audit log")
        return self._scope.resilient.reads.latest(rules.limit(limit))

    def refusals(self, limit: int) -> list[Refusal]:
        """List the refusals of every process, newest first; those of a flood are only counted."""
        self._scope.check_whole("audit log")
        return self._scope.resilient.reads.refused(rules.limit(limit))

    def head(self) -> dict[str, Any]:
        """Export the heads of both chains, which fix the whole history."""
        self._scope.check_whole("audit head")
        self._store.identify()
        changes, reads = self._store.head(), self._store.reads.head()
        return {
            "agent": self._scope.agent,
            "store": self._store.id,
            "events": {"seq": changes.seq, "hash": changes.hash.hex()},
            "reads": {"seq": reads.seq, "hash": reads.hash.hex()},
        }

    def verify(
        self, head: Mapping[str, Any] | None, progress: verify.Progress | None
    ) -> dict[str, verify.Report]:
        """Check every row against its chain, and both chains against a head kept elsewhere."""
        self._scope.check_whole("audit verify")
        rules.progress(progress)
        self._store.identify()
        expected = _expected_head(head, self._store.id)
        return {
            "events": verify.store(self._store, expected.get("events"), progress),
            "reads": verify.reads(self._store.reads, expected.get("reads")),
        }


def _expected_head(head: Mapping[str, Any] | None, store_id: str) -> Mapping[str, Any]:
    """Check that an exported head is well-formed and belongs to this store."""
    if head is None:
        return {}
    try:
        expected = msgspec.convert(head, Head)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError) as error:
        raise InvalidInput(
            f"this is not a head as `lamina audit head` prints it: {error}"
        ) from None
    if expected.store != store_id:
        raise Corrupt(
            f"this head is of the store {shown(expected.store)}, but this store is {store_id}:"
            " it was exchanged"
        )
    return {name: msgspec.structs.asdict(getattr(expected, name)) for name in ("events", "reads")}
