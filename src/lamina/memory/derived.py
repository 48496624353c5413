"""Everything derived from records: the index, the mirrors, and the profile's snapshot."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamina.errors import LaminaError
from lamina.model import rules
from lamina.model.record import Layer, Record
from lamina.search import is_quick
from lamina.store.tables import derived

if TYPE_CHECKING:
    from lamina.memory.failsafe import Progress
    from lamina.memory.scope import Scope
    from lamina.mirrors.upkeep import MirrorStatus, Upkeep
    from lamina.mirrors.verify import Verified

log = logging.getLogger("lamina")

# A search embeds a few new records itself; from this number on, the worker does it.
MANY = 2048
# With fewer new records, closing a handle does not start an embedder.
FEW = 256


class Derived:
    """Keep the index, mirrors and snapshot up to date with the records.

    A failure here undoes no write: the memory is stored, and `status()` reports the problem.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.wrote = False
        self.unindexed = 0
        self.worked = False  # the indexing worker was started
        self.patience = MANY if is_quick(scope.settings["recall.embedders"]) else 1
        self._is_batch = False
        self._is_unsettled = False  # the batch has changed something

    def changed(self, count: int) -> None:
        """Index in the background: at once for slow embedders, otherwise after many writes."""
        self.wrote = True
        self.unindexed += count
        if self.unindexed >= self.patience:
            self.unindexed = 0
            try:
                self._scope.recall.worker.wake()
                self.worked = True
            except LaminaError as error:  # a wrong setting, for example
                self._scope.note_problem(error.message)
        if count and self.has_mirrors:
            try:
                self.mirrors.wake()
            except LaminaError as error:  # a wrong key, for example
                self._scope.note_problem(error.message)

    def decided(self, records: Sequence[Record]) -> None:
        """Follow up a decision: update the snapshot, the mirrors, and affected world files."""
        self.settle()
        if any(record.layer is Layer.WORLD for record in records):
            from lamina.memory.world import whole_world

            self._scope.note_problem(whole_world(self._scope).follow())

    def settle(self) -> None:
        """Write the profile's snapshot and update the mirrors; once in a batch."""
        if self._is_batch:
            self._is_unsettled = True
            return
        self._scope.note_problem(self._scope.parts.profiles.write_snapshot())
        self.sync_mirrors()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Settle once, at the end of a block.

        The snapshot is written even if nothing changed: an earlier process may have died before
        writing it.
        """
        outer, self._is_batch = self._is_batch, True
        try:
            yield
        finally:
            self._is_batch = outer
            if not outer:
                changed, self._is_unsettled = self._is_unsettled, False
                if changed:
                    self.settle()
                else:
                    self._scope.note_problem(self._scope.parts.profiles.write_snapshot())

    def index(self, progress: Progress | None = None) -> int:
        """Bring vectors and blocks up to date; drop the vectors of removed embedders."""
        rules.progress(progress)
        count = self._scope.recall.index(progress)
        self._scope.recall.indexer.forget_others()
        self._scope.recall.prepare_server()
        return count

    def search_problems(self) -> list[str]:
        """List problems of indexing and of mirror searches, as far as they were tried."""
        return self._scope.recall.problems if "recall" in self._scope.__dict__ else []

    @cached_property
    def has_mirrors(self) -> bool:
        from lamina.mirrors import configured

        return bool(configured.names(self._scope.settings))

    @cached_property
    def mirrors(self) -> Upkeep:
        """The enabled mirrors."""
        from lamina.mirrors.upkeep import Upkeep

        return Upkeep(self._scope.store, self._scope.copies, self._scope.note_problem)

    def sync_mirrors(self, progress: Progress | None = None) -> dict[str, Any]:
        """Bring every mirror up to date now and report on each."""
        rules.progress(progress)
        return self.mirrors.sync(progress) if self.has_mirrors else {}

    def rebuild_mirrors(
        self, names: Sequence[str] | None, progress: Progress | None
    ) -> dict[str, Any]:
        """Rebuild some mirrors, or all enabled ones, and report on each."""
        self._scope.check_whole("making mirrors anew")
        rules.progress(progress)
        return self.mirrors.rebuild(rules.several(names, "names"), progress)

    def verify_mirrors(
        self, names: Sequence[str] | None, progress: Progress | None
    ) -> dict[str, Verified]:
        """Compare every entry of some mirrors, or of all enabled ones, with the store."""
        self._scope.check_whole("comparing mirrors")
        rules.progress(progress)
        return self.mirrors.verify(rules.several(names, "names"), progress)

    def statuses(self) -> list[MirrorStatus]:
        """Report where each mirror is and how many events it is behind."""
        self._scope.check_whole("looking at mirrors")
        return self.mirrors.statuses()

    def close(self) -> None:
        """Finish mirrors and index; a forked child leaves them to its parent."""
        try:
            if "mirrors" in self.__dict__ and not self._scope.store.database.inherited:
                self.mirrors.close()
        finally:
            self._finish_index()

    def _finish_index(self) -> None:
        worked, wrote = self.worked, self.unindexed > 0
        self.worked, self.unindexed = False, 0
        if not (worked or wrote) or self._scope.store.database.inherited:
            return
        try:
            if not worked and self._unpacked() < FEW:
                return
            if worked:
                self._scope.recall.worker.stop()
            if self.patience > 1:
                self._scope.recall.index()
        except LaminaError as error:  # the next process does what is missing
            log.warning("the index was not finished: %s", error.message)

    def _unpacked(self) -> int:
        with self._scope.store.read() as db:
            return derived.count_unpacked(db)
