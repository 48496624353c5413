"""Backups of a whole store: make one, or replace the store with one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina.formats import native
from lamina.home.folder import given_path
from lamina.memory.scope import Part
from lamina.model import rules
from lamina.store.upkeep import backup, restore
from lamina.store.upkeep.verify import Progress
from lamina.text.words import one_line

if TYPE_CHECKING:
    pass


class Backups(Part):
    """Back up a store and restore it, for an operator."""

    def make(self, to: Path | str | None) -> Path:
        """Make a complete, verified copy of the store as it is now."""
        self._scope.check_whole("backup")
        target = None if to is None else given_path(to)
        if target is not None:
            native.refuse_work_tree(target)
        self._scope.audit("backup", (), path=one_line(str(to or "")))
        self._store.reads.flush()
        return backup.make(self._store, self._scope.clock(), target)

    def restore(self, folder: Path | str, progress: Progress | None) -> dict[str, Any]:
        """Replace the store with a backup of it. The store is backed up first."""
        scope, sharing = self._scope, self._scope.parts.sharing
        scope.check_whole("restore")
        rules.progress(progress)
        shared = sharing.given(include_ended=False)
        report = restore.over_live(
            self._store, given_path(folder), scope.actor, scope.clock(), progress
        )
        sharing.end_all_but(shared, "it was ended before this backup was restored")
        again = scope.parts.erasures.resume()
        if again:
            report["erased_again"] = sum(len(certificate.records) for certificate in again)
        return report
