"""The verbs that only a person may use: the trail, copies of the whole store, and what changes other memories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from lamina.errors import Corrupt, InvalidInput, Refused
from lamina.home.folder import Violations, given_path, make_private_folder, refuse_link, user_name
from lamina.memory.agent import Memory
from lamina.model import rules
from lamina.model.record import Event, Layer, Record, State
from lamina.text import words as text

if TYPE_CHECKING:
    from lamina.memory.erasure import Certificate, Erasures
    from lamina.memory.reviews import Reviews
    from lamina.memory.sharing import Sharing
    from lamina.memory.viewer import Times
    from lamina.store.tables.archived import File
    from lamina.store.tables.grants import Grant
    from lamina.store.tables.reads import Read
    from lamina.store.tables.records import Filter
    from lamina.store.upkeep import verify
    from lamina.store.upkeep.erase import Begun


class Operator(Memory):
    """A person's handle: everything an agent can do, and what only a person may."""

    def status(self) -> dict[str, Any]:
        """What is in the store; without a user also how often somebody tried to cross a boundary of this home."""
        found = super().status()
        if self.user is None:
            counted = self.home.violations_by_attempt(self._clock())
            found |= {"violations": sum(counted.values()), "violations_by_attempt": counted}
            found["problems"] += self._erasures.problems() if found["store"] else []
        return found

    def audit_violations(self, limit: int = 50) -> Violations:
        """Who tried to cross a boundary of this home, the newest first."""
        self._check_whole("audit violations")
        return self.home.read_violations(rules.limit(limit))

    def audit_log(self, limit: int = 50, before: int | None = None) -> list[Event]:
        """The newest changes first; with `before`, the newest before the event of this number."""
        self._check_whole("audit log")
        return self._store.events(
            rules.limit(limit), None if before is None else rules.event_number(before)
        )

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
        from lamina.store.upkeep import verify

        self._check_whole("audit verify")
        rules.progress(progress)
        self._store.identify()
        expected = _expected_head(head, self._store.id)
        report = {"events": verify.store(self._store, expected.get("events"), progress)}
        report["reads"] = verify.reads(self._store.reads, expected.get("reads"))
        return report

    def reindex(self, progress: verify.Progress | None = None) -> None:
        """Make everything anew that is derived from the records: the full-text index, vectors, blocks."""
        self._check_whole("reindex")
        rules.progress(progress)
        self._store.reindex(self.actor, self._clock(), vectors=True)
        self.index(progress)

    def backup(self, to: Path | str | None = None) -> Path:
        """A complete, checked copy of the store as it is now."""
        from lamina.formats import native
        from lamina.store.upkeep import backup

        self._check_whole("backup")
        target = None if to is None else given_path(to)
        if target is not None:
            native.refuse_work_tree(target)
        self._audit("backup", (), path=text.one_line(str(to or "")))
        self._store.reads.flush()
        return backup.make(self._store, self._clock(), target)

    def restore(
        self, folder: Path | str, progress: verify.Progress | None = None
    ) -> dict[str, Any]:
        """Replace the store by a backup of it. What it replaces is backed up first, and the trail says so."""
        from lamina.store.upkeep import restore as restoration

        self._check_whole("restore")
        rules.progress(progress)
        shared = self.grants()
        done = restoration.over_live(
            self._store, given_path(folder), self.actor, self._clock(), progress
        )
        self.end_grants_but(shared, "it was ended before this backup was restored")
        again = self.resume_erasures()
        return {**done, "erased_again": sum(len(one.records) for one in again)} if again else done

    def export(
        self,
        path: Path | str | None = None,
        *,
        public: bool = False,
        force: bool = False,
        progress: verify.Progress | None = None,
    ) -> Path:
        """Write every record, in every state, with its events, as JSON that another program can read."""
        from lamina.formats import native
        from lamina.store.archive.files import stamp
        from lamina.store.upkeep import backup

        self._check_whole("export")
        rules.progress(progress)
        if path is None:
            folder = self._store.path_of("exports")
            refuse_link(folder)
            make_private_folder(folder)
            target = backup.unused(folder / f"{stamp(self._clock())}.json")
        else:
            target = self._target(path, force=public or force)
        write = native.write_public if public else native.write
        number = self._store.steadily(lambda: write(self._store, target, progress, force=force))
        self._audit("export", (), path=text.one_line(str(target)), records=number)
        return target

    def export_as(
        self,
        format: str,
        path: Path | str,
        *,
        force: bool = False,
        progress: verify.Progress | None = None,
    ) -> dict[str, Any]:
        """Write what another program's form can hold, or a document for people; the report names what it cannot."""
        from lamina.formats import exporting, milton

        self._check_whole("export")
        rules.progress(progress)
        name, target = exporting.check(format), self._target(path, force=force)
        if name == "lamina":
            return {
                "format": name,
                "path": str(self.export(target, force=force, progress=progress)),
            }
        summaries: list[dict[str, Any]] = []
        if name == "milton":
            summaries = [milton.project_line(project.to_dict()) for project in self.projects()]
            profile = self.user_profile()
            if profile.evidence_ids:
                summaries.insert(0, milton.profile_line(profile.to_dict()))
        report = exporting.write(
            self._store, name, target, progress, force=force, summaries=summaries
        )
        self._audit(
            "export", (), path=text.one_line(str(target)), records=report["records"], format=name
        )
        return report

    def _target(self, path: Path | str, *, force: bool) -> Path:
        """Where an export goes: into a folder that is there, and into no repository unless that is meant."""
        from lamina.formats import native

        target = given_path(path)
        if not force:
            native.refuse_work_tree(target)
        if not target.parent.is_dir():
            raise InvalidInput(f"{target.parent} is not a folder")
        return target

    def import_(
        self,
        path: Path | str,
        trust: bool = False,
        progress: verify.Progress | None = None,
        *,
        format: str | None = None,
        on_conflict: str = "skip",
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Take in a file. Without `trust` its records are `external`, and it decides and grants nothing.

        With `trust` an export of Lamina restores an empty store of its agent, with grants and history.
        Files of other programs are known by what they hold, or by `format`. `on_conflict` says what happens
        to what is here already: `skip`, `merge` or `replace`. A dry run reports what would happen.
        """
        from lamina.formats import jsonl, native, registry
        from lamina.formats.importing import policy

        self._check_whole("import")
        rules.progress(progress)
        rules.flag(trust, "trust")
        source, chosen = given_path(path), policy(on_conflict)
        form = registry.chosen(source, format)
        given = (self._store, source, self._draft, trust, self.actor, self._clock(), progress)
        if form is not None:
            report = jsonl.read(*given, form=form, policy=chosen, dry_run=dry_run)
        else:
            report = native.read(*given, policy=chosen, dry_run=dry_run)
        if dry_run or report["mode"] == "restored":
            # A restored trail is the imported one to the byte, so this is said in the other trail.
            self._erasures.file_certificates()
            self._audit(
                "import",
                (),
                path=text.one_line(str(source)),
                mode=report["mode"],
                taken=report["taken"],
            )
            if not dry_run and (again := self.resume_erasures()):
                report["erased_again"] = sum(len(one.records) for one in again)
        elif form is not None:
            self._tell(report["taken"])
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
        until = (
            None
            if older_than_days is None
            else self._clock() - timedelta(days=rules.days(older_than_days))
        )
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
        self._follow(moved)
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
        """Take back a decision: a confirmation, rollback, revocation, forgetting or correction that nothing has followed."""
        restored = self._reviews.undo(event_id, reason)
        self._settle()
        self._follow(restored)
        return restored

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
        """Let another agent read a layer, a tag or one record of this one; on a user's handle, only what is that user's."""
        return self._grants.grant(agent, layer, tag, record, expires, reason)

    def revoke_grant(self, number: int, reason: str | None = None) -> Grant:
        """End a grant: from now on nothing is read by it."""
        return self._grants.end(number, reason)

    def grants(self, include_ended: bool = False) -> list[Grant]:
        """What other agents may read now, and with `include_ended` what they once might."""
        return self._grants.given(include_ended)

    @cached_property
    def _grants(self) -> Sharing:
        from lamina.memory.sharing import Sharing

        return Sharing(self.home, self._store, self.actor, self.user, self._clock, self._visible)

    @cached_property
    def _reviews(self) -> Reviews:
        from lamina.memory.reviews import Reviews

        return Reviews(self._store, self.actor, self.user, self._clock, self._draft, self._visible)

    def _decided(self, record: Record) -> Record:
        self._tell(1)
        self._settle()
        self._follow([record])
        return record

    def erasable(
        self,
        *record_ids: str,
        session: str | None = None,
        user: str | None = None,
        source: str | None = None,
    ) -> dict[str, Any]:
        """What `erase` would take, what rests on that, and which copies would go; nothing changes."""
        wanted = self._erasures.wanted(self._erasing(record_ids), session, user, source)
        found = self._erasures.preview(wanted)
        self._audit("erasable", tuple(found["records"]))
        return found

    def erase(
        self,
        *record_ids: str,
        session: str | None = None,
        user: str | None = None,
        source: str | None = None,
        reason: str | None = None,
        keep_backups: bool = False,
    ) -> Certificate:
        """Make records gone for good, with what was made of them: from every table, file and copy in the home."""
        keep = rules.flag(keep_backups, "keep_backups")
        with self._erasures.alone(), self._spool.quiet():
            self._resume_erasures()
            wanted = self._erasures.wanted(self._erasing(record_ids), session, user, source)
            return self._cleaned(self._erasures.begin(wanted, reason, keep_backups=keep))

    def resume_erasures(self) -> list[Certificate]:
        """Finish what was interrupted."""
        with self._erasures.alone():
            return self._resume_erasures()

    def _resume_erasures(self) -> list[Certificate]:
        self._erasures.file_certificates()
        return [self._cleaned(begun) for begun in self._erasures.unfinished()]

    def erasures(self, number: int | None = None) -> list[Certificate]:
        """The certificates of what was erased, or the one with this number, each compared with its
        hash in the trail."""
        self._check_whole("erasures")
        return self._erasures.certificates(number)

    def _erasing(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Records that this handle may erase; one that is another's looks as if it were not there."""
        return tuple(self._visible("erase", record_id).id for record_id in record_ids)

    def _cleaned(self, begun: Begun) -> Certificate:
        """Everything that follows from what is gone, then the certificate."""
        self._note_problem(self._profiles.write_snapshot())
        if self._whole_world.has_files:
            self._whole_world.write()
        if begun.user is not None:
            self._end_tokens(begun.user)
        return self._erasures.clean(
            begun, self._mirrors.sync(erased=True) if self._has_mirrors else {}
        )

    def _end_tokens(self, user: str) -> None:
        """Tokens that open the memory of somebody who is erased."""
        from lamina.home.tokens import Access

        access = Access(self.home.path)
        for token in access.tokens():
            if (token.agent, user_name(token.user)) == (self.agent, user_name(user)):
                access.revoke(token.id)

    @cached_property
    def _erasures(self) -> Erasures:
        from lamina.memory.erasure import Erasures

        return Erasures(self._store, self.home, self.actor, self.user, self._clock)

    def end_grants_but(self, kept: Collection[Grant], reason: str) -> None:
        """End every grant that is open, except some: what a restored backup gives may have been ended since."""
        staying = rules.several(kept, "kept")
        for one in self.grants():
            if one not in staying:
                self.revoke_grant(one.number, reason)

    def archives(self) -> list[File]:
        """The files of the archive, the newest first."""
        self._check_whole("archive list")
        return self._store.archives()

    def restore_archived(self, *record_ids: str) -> list[Record]:
        """Bring archived memories back, with their ids and their histories."""
        found = [self._visible("restore_archived", record_id) for record_id in record_ids]
        restored = self._store.archive.restore(
            self.actor, self._clock(), [record.id for record in found]
        )
        self._tell(len(restored))
        self._settle()
        return restored

    def _check_whole(self, verb: str) -> None:
        """Some verbs concern the whole store, which a handle for one user must not see."""
        if self.user is not None:
            raise Refused(
                f"{verb} concerns all users of {self.agent}; open the handle without a user"
            )


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
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError) as error:
        raise InvalidInput(
            f"this is not a head as `lamina audit head` prints it: {error}"
        ) from None
    if expected.store != store_id:
        other = text.shown(expected.store)
        raise Corrupt(
            f"this head is of the store {other}, but this store is {store_id}: it was exchanged"
        )
    return {name: msgspec.structs.asdict(getattr(expected, name)) for name in ("events", "reads")}
