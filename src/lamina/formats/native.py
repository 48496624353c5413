"""Lamina's own export: one JSON file with every record, event and note (docs/format.md)."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import Conflict, Corrupt, InvalidInput, NotFound, Refused
from lamina.formats import whole_files
from lamina.formats.importing import Policy
from lamina.formats.merge import Merger, counted
from lamina.model import hashing
from lamina.model.clock import to_micros
from lamina.model.record import Actor, Draft, Layer, Record, State, iso
from lamina.store.archive import archive
from lamina.store.core.store import Store
from lamina.store.engine import raw_file
from lamina.store.engine.sql import Connection
from lamina.store.tables import archived, certificates, events, grants, record_lines, records
from lamina.store.tables.record_lines import Written, row_of
from lamina.store.tables.records import Filter
from lamina.store.upkeep import erase, opening
from lamina.store.upkeep.adopt import Exported, adopt

Progress = Callable[[int, int], None]
FORMAT, PUBLIC_FORMAT, VERSION = "lamina-export", "lamina-public", 2
SELECTION = "lamina-selection"  # some records without history, to be merged and never restored
LISTS = ("archived", "archives", "certificates", "events", "grants", "notes", "records")
# A file may be this fraction of the machine's memory: once read, it takes several times its size.
MEMORY_SHARE = 4
# What a public export may say about a memory: nothing about people, and no payload of a tool.
PUBLIC_FIELDS = frozenset(
    "id layer kind content importance score confidence trust tags occurred_at".split()
)
PUBLIC_METADATA = frozenset(
    "category tool status workflow canonical origin topic_tags compacted_from repo_slug"
    " source_url".split()
)


class ExportedEvent(msgspec.Struct, frozen=True):
    """An event in a file; the hash covers the exact bytes of the body."""

    body: str
    hash: str


class ExportedNote(msgspec.Struct, frozen=True):
    """The text that belongs to an event."""

    event: int
    position: int
    salt: str
    body: str


class ExportedArchive(msgspec.Struct, frozen=True):
    """A file of the archive."""

    number: int
    file: str
    why: str
    made_at: datetime


class ExportedLine(msgspec.Struct, frozen=True):
    """A line of that file, and the last event about it."""

    archive: int
    event: int
    record: Written


class ExportedGrant(msgspec.Struct, frozen=True):
    """A grant to another agent, open or ended."""

    number: int
    agent: str
    user: str | None
    layer: str | None
    tag: str | None
    record: str | None
    granted_at: datetime
    expires_at: datetime | None
    ended_at: datetime | None
    salt: str


class ExportedCertificate(msgspec.Struct, frozen=True):
    """The certificate of an erasure; its hash in the chain covers the exact bytes of the body."""

    number: int
    body: str


class ExportedHead(msgspec.Struct, frozen=True):
    """The end of the chain of events, as `lamina audit head` shows it."""

    seq: int
    hash: str


class Manifest(msgspec.Struct, frozen=True):
    """The lengths of all lists, and the head of the chain, which covers their items."""

    archived: int
    archives: int
    events: int
    grants: int
    notes: int
    records: int
    head: ExportedHead
    certificates: int = 0


class Export(msgspec.Struct, frozen=True):
    """The whole file.

    Version 1 had no archive; early files of version 2 had no grants, certificates or manifest.
    """

    format: str
    version: int
    agent: str
    store: str
    records: list[Written]
    events: list[ExportedEvent]
    notes: list[ExportedNote]
    archives: list[ExportedArchive] = []
    archived: list[ExportedLine] = []
    grants: list[ExportedGrant] = []
    certificates: list[ExportedCertificate] = []
    manifest: Manifest | None = None


def write(
    store: Store, target: Path, progress: Progress | None = None, *, force: bool = False
) -> int:
    """Write everything in the store at one moment. The same store gives the same bytes."""
    with store.database.moment() as db:
        total = records.count(db)
        shared, archives = list(grants.written(store)), _archive_files(db)
        certified = certificates.bodies(db)
        lines = (record_lines.line(row, store.agent) for row in records.every(db))
        lists = {
            "archived": _archived_lines(store),
            "archives": archives,
            "certificates": ({"body": body, "number": number} for number, body in certified),
            "events": ({"body": body, "hash": digest.hex()} for body, digest in events.bodies(db)),
            "grants": shared,
            "notes": _notes(db),
            "records": counted(map(msgspec.Raw, lines), total, progress),
        }
        head = store.head()
        manifest = Manifest(
            archived=archived.count(db, None),
            archives=len(archives),
            certificates=len(certified),
            events=head.seq,
            grants=len(shared),
            notes=sum(1 for _ in events.notes(db)),
            records=total,
            head=ExportedHead(head.seq, head.hash.hex()),
        )
        opening = {
            "agent": store.agent,
            "format": FORMAT,
            "manifest": manifest,
            "store": store.id,
            "version": VERSION,
        }
        with whole_files.write_whole(target, force) as work:
            write_json(work, opening, lists)
    return total + manifest.archived


def _archive_files(db: Connection) -> list[dict[str, Any]]:
    return [
        {"number": file.number, "file": file.file, "why": file.why, "made_at": iso(file.made_at)}
        for file in reversed(archived.files(db))
    ]


def _archived_lines(store: Store) -> Iterator[dict[str, Any]]:
    for number, event, line in store.archived_lines():
        yield {"archive": number, "event": event, "record": msgspec.Raw(line)}


def _notes(db: Connection) -> Iterator[dict[str, Any]]:
    for event, position, salt, body in events.notes(db):
        yield {"body": body, "event": event, "position": position, "salt": salt.hex()}


def write_some(
    store: Store,
    target: Path,
    chosen: Filter,
    progress: Progress | None = None,
    *,
    force: bool = False,
) -> int:
    """Write the records that match and nothing else: a file to merge, never to restore from."""
    with store.database.moment() as db:
        total = records.count(db, chosen)
        lines = (record_lines.line(row, store.agent) for row in records.every(db, chosen))
        lists: dict[str, Iterable[Any]] = {
            "events": (),
            "notes": (),
            "records": counted(map(msgspec.Raw, lines), total, progress),
        }
        opening = {
            "agent": store.agent,
            "format": SELECTION,
            "store": store.id,
            "version": VERSION,
        }
        with whole_files.write_whole(target, force) as work:
            write_json(work, opening, lists)
    return total


def write_public(
    store: Store,
    target: Path,
    chosen: Filter | None = None,
    progress: Progress | None = None,
    *,
    force: bool = False,
) -> int:
    """Write active memories that are not about a person, without raw payloads, to share."""
    with store.database.moment() as db:
        found = map(store.record, records.every(db, chosen))
        public = [record for record in found if _is_public(record)]
        opening = {"agent": store.agent, "format": PUBLIC_FORMAT, "version": VERSION}
        shown = counted(map(_public, public), len(public), progress)
        with whole_files.write_whole(target, force) as work:
            write_json(work, opening, {"records": shown})
    return len(public)


def _is_public(record: Record) -> bool:
    """Tell whether a record is active, and neither about nor from a particular person."""
    if record.state is not State.ACTIVE or record.layer in (Layer.PROFILE, Layer.WORKING):
        return False
    return record.user is None and record.speaker is None


def _public(record: Record) -> dict[str, Any]:
    fields = {name: value for name, value in record.to_dict().items() if name in PUBLIC_FIELDS}
    fields["metadata"] = {
        name: value for name, value in record.metadata.items() if name in PUBLIC_METADATA
    }
    return fields


def write_json(work: Path, opening: Mapping[str, Any], lists: Mapping[str, Iterable[Any]]) -> None:
    """Write one JSON object, one item per line, so that line tools and diffs can read it too."""
    with work.open("wb") as file:
        file.write(hashing.encode(opening)[:-1])
        for place, (name, items) in enumerate(lists.items()):
            file.write(b',\n"' if place or opening else b'\n"')
            file.write(name.encode() + b'":[')
            for index, item in enumerate(items):
                file.write((b",\n" if index else b"\n") + hashing.encode(item))
            file.write(b"\n]")
        file.write(b"}\n")


def refuse_work_tree(target: Path) -> None:
    """Raise if a target is in a repository, where private memories do not belong."""
    # Unlike `resolve`, `realpath` does not raise for circular links.
    for folder in Path(os.path.realpath(target)).parents:
        if (folder / ".git").exists():
            raise Refused(
                f"{target} lies in the git work tree {folder};"
                " export elsewhere, with --public, or with --force"
            )


def read(
    store: Store,
    source: Path,
    draft: Callable[[object], Draft],
    trusted: bool,
    actor: Actor,
    now: datetime,
    progress: Progress | None = None,
    *,
    policy: Policy = Policy.SKIP,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Restore a trusted export into an empty store of its agent; merge any other.

    Trust, grants and history give a file authority: only an operator who trusts it restores them.
    """
    export = load(source)
    is_restorable = (
        export.format == FORMAT and export.agent == store.agent and store.head().seq == 0
    )
    if trusted and is_restorable:
        if dry_run:
            return {**_rehearsed(store, export, source, now), **_shared(export, now)}
        restored = _restore(store, export, source, progress)
        erase.erase_again(store, actor, now)
        return {**restored, **_shared(export, now)}
    note = {"store": export.store, "agent": export.agent}
    everything = [*export.records, *(line.record for line in export.archived)]
    merger = Merger(store, draft, trusted, policy)
    report = merger.merge(everything, actor, now, note, progress, dry_run=dry_run)
    left_out = _shared(export, now)
    if export.events:
        left_out["events"] = len(export.events)
    restorable = is_restorable and bool(everything)
    rare = {"left_out": left_out, "restorable": restorable, "dry_run": dry_run}
    return {**report, **{name: value for name, value in rare.items() if value}}


def _shared(export: Export, now: datetime) -> dict[str, int]:
    """Count the grants in a file that would let other agents read now."""
    number = sum(
        grant.ended_at is None and (grant.expires_at is None or grant.expires_at > now)
        for grant in export.grants
    )
    return {"grants": number} if number else {}


def load(source: Path) -> Export:
    """Read the whole file, which must fit into memory: its completeness is checked as a whole."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEMORY_SHARE
    try:
        status = source.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"{source} is not a file")
        if status.st_size > most:
            raise InvalidInput(
                f"{source} has more than {most:,} bytes, which this machine cannot hold;"
                " use backup and restore"
            )
        data = raw_file.read(source)
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None
    if not data.strip():
        raise InvalidInput(f"{source} is empty")
    try:
        export = msgspec.json.decode(data, type=Export)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{source} is not an export of Lamina: {error}") from None
    if export.format not in (FORMAT, SELECTION) or export.version not in (1, VERSION):
        known = f"known is {FORMAT!r} up to {VERSION}"
        raise InvalidInput(
            f"{source} has the format {export.format!r} version {export.version}; {known}"
        )
    return export


def _restore(
    store: Store, export: Export, source: Path, progress: Progress | None
) -> dict[str, Any]:
    """Restore everything as it was, after checking it against its own chain."""
    _check_manifest(export, source)
    try:
        trail = [(event.body, bytes.fromhex(event.hash)) for event in export.events]
        notes = [
            (note.event, note.position, bytes.fromhex(note.salt), note.body)
            for note in export.notes
        ]
        rows = [row_of(record) for record in export.records]
        shared = [_grant_row(grant) for grant in export.grants]
        certified = [(certificate.number, certificate.body) for certificate in export.certificates]
        exported = Exported(export.store, rows, trail, notes, _archives(export), shared, certified)
        report = adopt(store, exported, progress)
    except (ValueError, TypeError, OverflowError, Conflict, Corrupt) as error:
        raise Corrupt(f"{source} was altered: {error}; nothing was imported") from error
    if not report.ok:
        place, message = report.problems[0].place, report.problems[0].message
        raise Corrupt(
            f"{source} was altered: {place}: {message}; nothing was imported", place=place
        )
    taken = len(rows) + len(export.archived)
    return {"mode": "restored", "taken": taken, "skipped": 0, "pending": 0}


def _rehearsed(store: Store, export: Export, source: Path, now: datetime) -> dict[str, Any]:
    """Restore into a temporary store, for the report of a dry run."""
    with tempfile.TemporaryDirectory(prefix="lamina-") as folder:
        scratch = opening.in_file(Path(folder), store.agent, store.settings, now)
        try:
            report = _restore(scratch, export, source, None)
        finally:
            scratch.close()
    return {**report, "dry_run": True}


def _check_manifest(export: Export, source: Path) -> None:
    """Raise if the file differs from its manifest; files of earlier versions have none."""
    manifest = export.manifest
    if manifest is None:
        return
    for name in LISTS:
        actual, promised = len(getattr(export, name)), getattr(manifest, name)
        if actual != promised:
            raise Corrupt(
                f"{source} was altered or cut: it promises {promised} {name} and has {actual};"
                " nothing was imported"
            )
    if not export.events:
        return
    if manifest.head != ExportedHead(len(export.events), export.events[-1].hash):
        raise Corrupt(
            f"{source} was altered: its chain does not end where its manifest says;"
            " nothing was imported"
        )


def _grant_row(grant: ExportedGrant) -> tuple[Any, ...]:
    what = (grant.number, grant.agent, grant.user, grant.layer, grant.tag, grant.record)
    times = (
        None if time is None else to_micros(time)
        for time in (grant.granted_at, grant.expires_at, grant.ended_at)
    )
    return (*what, *times, bytes.fromhex(grant.salt))


def _archives(export: Export) -> list[archive.Copy]:
    """Return the files of the archive, as they were."""
    lines: dict[int, list[tuple[Written, int]]] = {}
    for line in export.archived:
        lines.setdefault(line.archive, []).append((line.record, line.event))
    return [
        archive.Copy(file.number, file.file, file.why, file.made_at, lines.get(file.number, []))
        for file in export.archives
    ]
