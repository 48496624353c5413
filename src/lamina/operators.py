"""The verbs that only a person may use: the trail, copies of the whole store, and what changes other memories."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from lamina import rules, text
from lamina.errors import Corrupt, InvalidInput, Refused
from lamina.home import given_path, make_private_folder, refuse_link
from lamina.memory import Memory
from lamina.model import Event, Layer, Record, State

if TYPE_CHECKING:
    from lamina.reviews import Reviews
    from lamina.store import verify
    from lamina.store.archive import File
    from lamina.store.reads import Read
    from lamina.store.records import Filter


class Operator(Memory):
    """A person's handle: everything an agent can do, and what only a person may."""

    def status(self) -> dict[str, Any]:
        """What is in the store; without a user also how often somebody tried to cross a boundary of this home."""
        found = super().status()
        if self.user is None:
            found["violations"] = self.home.count_violations()
        return found

    def audit_log(self, limit: int = 50) -> list[Event]:
        """The newest changes first."""
        self._check_whole("audit log")
        return self._store.events(rules.limit(limit))

    def audit_reads(self, limit: int = 50) -> list[Read]:
        """The newest reads first, of this process and of every other that has written its own."""
        self._check_whole("audit log")
        return self._store.reads.latest(rules.limit(limit))

    def audit_head(self) -> dict[str, Any]:
        """What fixes the whole history as it is now. Keep it elsewhere, and `audit_verify` will notice a rewrite."""
        self._check_whole("audit head")
        self._store.identify()
        changes, reads = self._store.head(), self._store.reads.head()
        return {
            "agent": self.agent,
            "store": self._store.id,
            "events": {"seq": changes.seq, "hash": changes.hash.hex()},
            "reads": {"seq": reads.seq, "hash": reads.hash.hex()},
        }

    def audit_verify(
        self, head: Mapping[str, Any] | None = None, progress: verify.Progress | None = None
    ) -> dict[str, verify.Report]:
        """Check every row against the chain, and both chains against a head that was kept elsewhere."""
        self._check_whole("audit verify")
        self._store.identify()
        expected = _expected_head(head, self._store.id)
        report = {"events": self._store.verify(expected.get("events"), progress)}
        report["reads"] = self._store.reads.verify(expected.get("reads"))
        return report

    def reindex(self, progress: verify.Progress | None = None) -> None:
        """Make everything anew that is derived from the records: the full-text index, vectors, blocks."""
        self._check_whole("reindex")
        self._store.reindex(self.actor, self._clock(), vectors=True)
        self.index(progress)

    def backup(self, to: Path | str | None = None) -> Path:
        """A complete, checked copy of the store as it is now."""
        from lamina.formats import ours

        self._check_whole("backup")
        target = None if to is None else given_path(to)
        if target is not None:
            ours.refuse_work_tree(target)
        self._audit("backup", (), path=text.one_line(str(to or "")))
        self._store.reads.flush()
        return self._store.backup(self._clock(), target)

    def restore(self, folder: Path | str, progress: verify.Progress | None = None) -> dict[str, Any]:
        """Replace the store by a backup of it. What it replaces is backed up first, and the trail says so."""
        from lamina.store import restoration

        self._check_whole("restore")
        return restoration.over_live(self._store, given_path(folder), self.actor, self._clock(), progress)

    def export(
        self,
        path: Path | str | None = None,
        *,
        public: bool = False,
        force: bool = False,
        progress: verify.Progress | None = None,
    ) -> Path:
        """Write every record, in every state, with its events, as JSON that another program can read."""
        from lamina.formats import ours
        from lamina.store import backup

        self._check_whole("export")
        if path is None:
            folder = self._store.place("exports")
            refuse_link(folder)
            make_private_folder(folder)
            target = backup.unused(folder / f"{backup.stamp(self._clock())}.json")
        else:
            target = given_path(path)
            if not public and not force:
                ours.refuse_work_tree(target)
            if not target.parent.is_dir():
                raise InvalidInput(f"{target.parent} is not a folder")
        write = ours.write_public if public else ours.write
        number = self._store.steadily(lambda: write(self._store, target, progress, force=force))
        self._audit("export", (), path=text.one_line(str(target)), records=number)
        return target

    def import_(self, path: Path | str, trust: bool = False, progress: verify.Progress | None = None) -> dict[str, Any]:
        """Take in an export: everything into an empty store of the same agent, else record by record as `external`."""
        from lamina.formats import jsonl, ours

        self._check_whole("import")
        source = given_path(path)
        if jsonl.detect(source) == "lines":
            report = jsonl.read(self._store, source, self._draft, trust, self.actor, self._clock(), progress)
            self._tell(report["taken"])
            return report
        report = ours.read(self._store, source, ours.Arrivals(self._draft, trust), self.actor, self._clock(), progress)
        if report["mode"] == "restored":
            # The trail is the imported one to the byte, so this is said in the other trail.
            self._audit("import", (), path=text.one_line(str(source)), **report)
        return report

    def prune(self, dry_run: bool = False, **bounds: Any) -> dict[str, Any]:
        """Move memories of any layer to the archive: those for which everything holds that is given.

        Bounds are `layers`, `older_than_days`, `importance_below`, `tags` (any of them) and `states` (active).
        """
        chosen, below = self._pruning(**bounds)
        if dry_run:
            return {"pruned": len(self._store.matching(chosen, below)), "dry_run": True}
        number = self._lifecycle.prune(chosen, below)
        self._settle()
        return {"pruned": number, "dry_run": False}

    def prunable(self, limit: int = 20, **bounds: Any) -> dict[str, Any]:
        """What `prune` would move: how many, and the newest of them."""
        chosen, below = self._pruning(**bounds)
        numbers = [number for number, _ in self._store.matching(chosen, below)]
        found = self._store.numbered(numbers[: -rules.limit(limit) - 1 : -1])
        self._audit("prunable", tuple(record.id for record in found))
        return {"pruned": len(numbers), "records": found}

    def _pruning(
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
        until = None if older_than_days is None else self._clock() - timedelta(days=rules.days(older_than_days))
        chosen = self._filter(layers, states, None, tags, None, until)
        if Layer.WORKING in chosen.layers:
            raise InvalidInput("working memory ends with its run; close the run instead")
        return chosen, below

    def confirm(self, record_id: str, reason: str | None = None) -> Record:
        """Activate a proposal, and supersede what it replaces. If that has changed meanwhile, nothing happens."""
        return self._decided(self._reviews.confirm(record_id, reason))

    def reject(self, record_id: str, reason: str) -> Record:
        """Put a proposal aside, and keep what it says out, whoever brings it back."""
        return self._decided(self._reviews.reject(record_id, reason))

    def lift(self, record_id: str, reason: str) -> Record:
        """Let in again what a rejected proposal says."""
        return self._reviews.lift(record_id, reason)

    def revoke(self, source: str, reason: str) -> list[Record]:
        """Put all that came from a source, or was derived from that, before a person again; `undo` takes it back."""
        moved = self._reviews.revoke(source, reason)
        self._settle()
        return moved

    def revocable(self, source: str) -> tuple[list[Record], int]:
        """What `revoke` would put before a person, and how many archived memories came from the source too."""
        found, archived = self._reviews.revocable(source)
        self._audit("revocable", tuple(record.id for record in found))
        return found, archived

    def rollback(self, record_id: str, reason: str | None = None) -> Record:
        """Take an active record back, and restore what it had superseded. On what happened it only hides."""
        return self._decided(self._reviews.rollback(record_id, reason))

    def correct(self, record_id: str, text: str, reason: str) -> Record:
        """Supersede a record by what is so, with lineage; the new record."""
        return self._decided(self._reviews.correct(record_id, text, reason))

    def forget(self, record_id: str, reason: str | None = None) -> Record:
        """Hide a record; `undo` brings it back."""
        return self._decided(self._reviews.forget(record_id, reason))

    def undo(self, event_id: int, reason: str | None = None) -> list[Record]:
        """Take back a confirmation, a rollback, a forgetting or a correction, if nothing has happened to its records since."""
        restored = self._reviews.undo(event_id, reason)
        self._settle()
        return restored

    @cached_property
    def _reviews(self) -> Reviews:
        from lamina.reviews import Reviews

        return Reviews(self._store, self.actor, self.user, self._clock, self._draft, self._visible)

    def _decided(self, record: Record) -> Record:
        self._tell(1)
        self._settle()
        return record

    def archives(self) -> list[File]:
        """The files of the archive, the newest first."""
        self._check_whole("archive list")
        return self._store.archives()

    def restore_archived(self, *record_ids: str) -> list[Record]:
        """Bring archived memories back, with their ids and their histories."""
        found = [self._visible("restore_archived", record_id) for record_id in record_ids]
        restored = self._store.archive.restore(self.actor, self._clock(), [record.id for record in found])
        self._tell(len(restored))
        self._settle()
        return restored

    def _check_whole(self, verb: str) -> None:
        """Some verbs concern the whole store, which a handle for one user must not see."""
        if self.user is not None:
            raise Refused(f"{verb} concerns all users of {self.agent}; open the handle without a user")


class ChainHead(msgspec.Struct, frozen=True):
    """The end of one chain, as it was exported."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
    hash: str


class Head(msgspec.Struct, frozen=True):
    """What `audit_head` gave."""

    store: str
    events: ChainHead
    reads: ChainHead


def _expected_head(head: Mapping[str, Any] | None, store_id: str) -> Mapping[str, Any]:
    """An exported head, when it has the form of one and belongs to this store."""
    if head is None:
        return {}
    try:
        expected = msgspec.convert(head, Head)
    except (msgspec.ValidationError, OverflowError) as error:
        raise InvalidInput(f"this is not a head as `lamina audit head` prints it: {error}") from None
    if expected.store != store_id:
        other = text.shown(expected.store)
        raise Corrupt(f"this head is of the store {other}, but this store is {store_id}: it was exchanged")
    return {name: msgspec.structs.asdict(getattr(expected, name)) for name in ("events", "reads")}
