"""The handle for people, with what only a person may do: each verb calls its part."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamina.memory.agent import Memory
from lamina.memory.misuse import unknown_argument
from lamina.memory.refusals import recorded
from lamina.model import rules
from lamina.model.record import Event, Record

if TYPE_CHECKING:
    from lamina.home.folder import Violations
    from lamina.memory.erasure import Certificate
    from lamina.memory.scope import Times
    from lamina.store.tables.archived import File
    from lamina.store.tables.grants import Grant
    from lamina.store.tables.reads import Read
    from lamina.store.tables.refusals import Refusal
    from lamina.store.upkeep.verify import Progress, Report

BOUNDS = ("layers", "older_than_days", "importance_below", "tags", "states")


@recorded
class Operator(Memory):
    """A person's handle: everything that an agent can do, and what only a person may do."""

    # Review

    def confirm(
        self, record_id: str, reason: str | None = None, content: str | None = None
    ) -> Record:
        """Activate a proposal, and supersede what it replaces.

        If the replaced record has changed meanwhile, nothing happens. `content` is the text to
        confirm in its place: a whole text, the value of a profile entry, or for a fact a sentence
        or its value.
        """
        return self._decided(self._parts.reviews.confirm(record_id, reason, content))

    def reject(self, record_id: str, reason: str | None = None) -> Record:
        """Reject a proposal or withdraw an active fact, and keep its value out."""
        return self._decided(self._parts.reviews.reject(record_id, reason))

    def lift(self, record_id: str, reason: str) -> Record:
        """Allow the value of a rejected proposal, or of a withdrawn fact, again."""
        return self._parts.reviews.lift(record_id, reason)

    def revoke(self, source: str, reason: str) -> list[Record]:
        """Put everything from a source, and everything derived from it, under review again.

        `undo` takes it back.
        """
        records = self._parts.reviews.revoke(source, reason)
        self._parts.derived.decided(records)
        return records

    def revocable(self, source: str) -> tuple[list[Record], int]:
        """List what `revoke` would put under review, and count the archived records."""
        records, archived = self._parts.reviews.revocable(source)
        self._scope.audit("revocable", tuple(record.id for record in records))
        return records, archived

    def rollback(self, record_id: str, reason: str | None = None) -> Record:
        """Withdraw an active record, and restore what it superseded; hide an event."""
        return self._decided(self._parts.reviews.rollback(record_id, reason))

    def correct(self, record_id: str, text: str, reason: str) -> Record:
        """Supersede a record by a corrected one, with lineage, and return the new record.

        For a fact, `text` is a whole sentence or the bare value.
        """
        return self._decided(self._parts.reviews.correct(record_id, text, reason))

    def forget(self, record_id: str, reason: str | None = None) -> Record:
        """Hide a record; `undo` brings it back."""
        return self._decided(self._parts.reviews.forget(record_id, reason))

    def undo(self, event_id: int, reason: str | None = None) -> list[Record]:
        """Undo a decision if its records have not changed since.

        That is a confirmation, rejection, rollback, revocation, forgetting or correction. A value
        that it kept out is allowed again.
        """
        records = self._parts.reviews.undo(event_id, reason)
        self._parts.derived.decided(records)
        return records

    def _decided(self, record: Record) -> Record:
        self._scope.changed(1)
        self._parts.derived.decided([record])
        return record

    # Audit

    def audit_violations(self, limit: int = 50) -> Violations:
        """List attempts to cross a boundary of this home, newest first."""
        return self._parts.audit.violations(limit)

    def audit_log(self, limit: int = 50, before: int | None = None) -> list[Event]:
        """List changes, newest first; with `before`, those before the event of this number."""
        return self._parts.audit.log(limit, before)

    def audit_reads(self, limit: int = 50) -> list[Read]:
        """List reads, newest first, of every process that has written its own."""
        return self._parts.audit.reads(limit)

    def audit_refusals(self, limit: int = 50) -> list[Refusal]:
        """List calls that were refused for lack of authority, newest first; a flood is counted."""
        return self._parts.audit.refusals(limit)

    def audit_head(self) -> dict[str, Any]:
        """Return a fingerprint of the whole history as it is now.

        Keep it elsewhere, and `audit_verify` will notice a rewrite.
        """
        return self._parts.audit.head()

    def audit_verify(
        self, head: Mapping[str, Any] | None = None, progress: Progress | None = None
    ) -> dict[str, Report]:
        """Check every row against the chain, and both chains against a head kept elsewhere."""
        return self._parts.audit.verify(head, progress)

    # Erasing

    def erasable(
        self,
        *record_ids: str,
        session: str | None = None,
        user: str | None = None,
        source: str | None = None,
        project: str | None = None,
    ) -> dict[str, Any]:
        """List what `erase` would remove, what rests on it, and which copies would be removed."""
        return self._parts.erasures.erasable(record_ids, session, user, source, project)

    def erase(
        self,
        *record_ids: str,
        session: str | None = None,
        user: str | None = None,
        source: str | None = None,
        project: str | None = None,
        reason: str | None = None,
        keep_backups: bool = False,
    ) -> Certificate:
        """Erase records permanently, with everything derived from them.

        They are removed from every table, file and copy in the home.
        """
        erasures = self._parts.erasures
        return erasures.erase(record_ids, session, user, source, project, reason, keep_backups)

    def resume_erasures(self) -> list[Certificate]:
        """Finish erasures that were interrupted."""
        return self._parts.erasures.resume()

    def erasures(self, number: int | None = None) -> list[Certificate]:
        """List the certificates of erasures, or the one with this number.

        Each is compared with its hash in the trail.
        """
        self._scope.check_whole("erasures")
        return self._parts.erasures.certificates(number)

    # Long-term memory and archive

    def promote(self, record_id: str) -> Record:
        """Move one short-term memory to its long-term layer, whatever its importance."""
        return self._decided(self._parts.lifecycle.promote(record_id))

    def prune(self, dry_run: bool = False, **bounds: Any) -> dict[str, Any]:
        """Archive records of any layer for which every given bound holds.

        Bounds are `layers`, `older_than_days`, `importance_below`, `tags` (any of them) and
        `states` (active).
        """
        return self._parts.lifecycle.prune(dry_run, _known("prune", bounds))

    def prunable(self, limit: int = 20, **bounds: Any) -> dict[str, Any]:
        """Count what `prune` would archive, and show the newest of it."""
        return self._parts.lifecycle.prunable(limit, _known("prunable", bounds))

    def archives(self) -> list[File]:
        """List the files of the archive, newest first."""
        return self._parts.lifecycle.archives()

    def restore_archived(self, *record_ids: str) -> list[Record]:
        """Bring archived records back, with their ids and their histories."""
        return self._parts.lifecycle.restore(record_ids)

    # Sharing

    def grant(
        self,
        agent: str,
        *,
        layer: str | None = None,
        tag: str | None = None,
        record: str | None = None,
        expires: Times = None,
        reason: str | None = None,
    ) -> Grant:
        """Let another agent read a layer, a tag or one record of this one.

        On a user's handle, it may read only that user's memories.
        """
        return self._parts.sharing.grant(agent, layer, tag, record, expires, reason)

    def revoke_grant(self, number: int, reason: str | None = None) -> Grant:
        """End a grant: it gives no more access."""
        return self._parts.sharing.end(number, reason)

    def grants(self, include_ended: bool = False) -> list[Grant]:
        """List what other agents may read now; with `include_ended` also ended grants."""
        return self._parts.sharing.given(include_ended)

    def end_grants_but(self, kept: Sequence[Grant], reason: str) -> None:
        """End open grants except some: a backup may contain grants that were ended since."""
        self._parts.sharing.end_all_but(kept, reason)

    # The whole store

    def reindex(self, progress: Progress | None = None) -> None:
        """Rebuild everything that is derived: words, tags, links, facets, vectors, blocks, days.

        The model of importance is learned again.
        """
        self._scope.check_whole("reindex")
        rules.progress(progress)
        self._scope.store.reindex(self.actor, self._scope.clock(), vectors=True)
        self.index(progress)
        self._parts.importance.relearn()

    def backup(self, to: Path | str | None = None) -> Path:
        """Make a complete, checked copy of the store as it is now."""
        return self._parts.backups.make(to)

    def restore(self, folder: Path | str, progress: Progress | None = None) -> dict[str, Any]:
        """Replace the store with a backup of it.

        The store is backed up first, and the trail says so.
        """
        return self._parts.backups.restore(folder, progress)

    def export(
        self,
        path: Path | str | None = None,
        *,
        public: bool = False,
        force: bool = False,
        progress: Progress | None = None,
        states: Collection[str] | None = None,
        session: str | None = None,
    ) -> Path:
        """Write every record, in every state, with its events, as JSON for other programs.

        With `states` or a `session` only the records that match, without events: such a file can be
        merged, but cannot restore a store.
        """
        return self._parts.exchange.export(path, public, force, progress, states, session)

    def export_as(
        self,
        format: str,
        path: Path | str,
        *,
        force: bool = False,
        progress: Progress | None = None,
        states: Collection[str] | None = None,
        session: str | None = None,
    ) -> dict[str, Any]:
        """Export to another program's format, or to a document for people.

        The report names what the format cannot hold. `states` and `session` choose some records.
        """
        return self._parts.exchange.export_as(format, path, force, progress, states, session)

    def import_(
        self,
        path: Path | str,
        trust: bool = False,
        progress: Progress | None = None,
        *,
        format: str | None = None,
        on_conflict: str = "skip",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Import a file. Without `trust` its records are `external`, and it grants nothing.

        With `trust` an export of Lamina restores an empty store of its agent, with grants and
        history. Files of other programs are recognised by their content, or by `format`.
        `on_conflict` says what happens to memories that are here already: `skip`, `merge` or
        `replace`. A dry run reports what would happen.
        """
        return self._parts.exchange.import_(path, trust, progress, format, on_conflict, dry_run)


def _known(verb: str, bounds: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return bounds for pruning, if they are valid and there are any."""
    for name in bounds:
        if name not in BOUNDS:
            raise unknown_argument(verb, name, BOUNDS)
    return bounds
