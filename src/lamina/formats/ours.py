"""Lamina's own export: one JSON file with every record, event and note. docs/format.md describes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from lamina import canon, rules
from lamina.clock import is_id, moment
from lamina.errors import Conflict, Corrupt, InvalidInput, NotFound, Refused, StoreUnavailable
from lamina.home import fsync_folder, user_name
from lamina.model import Actor, Draft, Layer, Record, State, Trust, iso
from lamina.store.archive import Copy as ArchiveCopy
from lamina.store.store import Store
from lamina.store.written import Written, row_of
from lamina.text import shown

Progress = Callable[[int, int], None]
FORMAT, PUBLIC_FORMAT, VERSION = "lamina-export", "lamina-public", 2
BATCH = 1000

# The fields that are checked as they are when somebody remembers.
CHECKED = ("content", "kind", "tags", "importance", "metadata", "source", "speaker", "session", "confidence")
# What an export for others may say about a memory: nothing about people, and no payload of a tool.
PUBLIC_FIELDS = ("id", "layer", "kind", "content", "importance", "score", "confidence", "trust", "tags", "occurred_at")
PUBLIC_METADATA = frozenset(
    "category tool status workflow canonical origin topic_tags compacted_from repo_slug source_url".split()
)


class ExportedEvent(msgspec.Struct, frozen=True):
    """An event in a file; the hash is over the exact bytes of the body."""

    body: str
    hash: str


class ExportedNote(msgspec.Struct, frozen=True):
    """The words that belong to an event."""

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


class Export(msgspec.Struct, frozen=True):
    """The whole file. Version 1 knew no archive."""

    format: str
    version: int
    agent: str
    store: str
    records: list[Written]
    events: list[ExportedEvent]
    notes: list[ExportedNote]
    archives: list[ExportedArchive] = []
    archived: list[ExportedLine] = []


def write(store: Store, target: Path, progress: Progress | None = None, *, force: bool = False) -> int:
    """Write everything that the store holds at one moment. The same store gives the same bytes."""
    with store.snapshot():
        total = sum(sum(states.values()) for states in store.counts(None).values())
        opening = {"agent": store.agent, "format": FORMAT, "store": store.id, "version": VERSION}
        events = ({"body": body, "hash": digest.hex()} for body, digest in store.event_rows())
        notes = (
            {"body": body, "event": event, "position": position, "salt": salt.hex()}
            for event, position, salt, body in store.note_rows()
        )
        archives = [
            {"number": file.number, "file": file.file, "why": file.why, "made_at": iso(file.made_at)}
            for file in reversed(store.archives())
        ]
        archived = (
            {"archive": number, "event": event, "record": msgspec.Raw(line)} for number, event, line in store.archived_lines()
        )
        lists = {
            "archived": archived,
            "archives": archives,
            "events": events,
            "notes": notes,
            "records": _counted(map(msgspec.Raw, store.record_lines()), total, progress),
        }
        _write_file(target, opening, lists, force)
    return total + store.count_archived(None)


def write_public(store: Store, target: Path, progress: Progress | None = None, *, force: bool = False) -> int:
    """Write what may be shown to others: active memories that are not about a person, without raw payloads."""
    with store.snapshot():
        chosen = [record for record in store.records() if _is_public(record)]
        opening = {"agent": store.agent, "format": PUBLIC_FORMAT, "version": VERSION}
        _write_file(target, opening, {"records": _counted(map(_public, chosen), len(chosen), progress)}, force)
    return len(chosen)


def _is_public(record: Record) -> bool:
    """Active, and neither about nor from a particular person."""
    if record.state is not State.ACTIVE or record.layer in (Layer.PROFILE, Layer.WORKING):
        return False
    return record.user is None and record.speaker is None


def _public(record: Record) -> dict[str, Any]:
    fields = {name: value for name, value in record.to_dict().items() if name in PUBLIC_FIELDS}
    fields["metadata"] = {name: value for name, value in record.metadata.items() if name in PUBLIC_METADATA}
    return fields


def _write_file(target: Path, opening: Mapping[str, Any], lists: Mapping[str, Iterable[Any]], force: bool) -> None:
    """Write beside the target, make it durable, then put it in place; a crash leaves no half file."""
    work: Path | None = None
    try:
        if target.exists() and not (force and target.is_file()):
            hint = ", or force it" if target.is_file() else ""
            raise InvalidInput(f"{target} exists already; choose another name{hint}")
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".lamina-", suffix=".tmp")
        work = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            _write_json(file, opening, lists)
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, target)
        fsync_folder(target.parent)
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error
    finally:
        if work is not None:
            work.unlink(missing_ok=True)


def _write_json(file: BinaryIO, opening: Mapping[str, Any], lists: Mapping[str, Iterable[Any]]) -> None:
    """One JSON object whose lists have an item a line, so that line tools and diffs can read it too."""
    file.write(canon.encode(opening)[:-1])
    for name, items in lists.items():
        file.write(b',\n"' + name.encode() + b'":[')
        for index, item in enumerate(items):
            file.write((b",\n" if index else b"\n") + canon.encode(item))
        file.write(b"\n]")
    file.write(b"}\n")


def _counted(items: Iterable[Any], total: int, progress: Progress | None) -> Iterator[Any]:
    for number, item in enumerate(items, 1):
        yield item
        if progress is not None and (number % BATCH == 0 or number == total):
            progress(number, total)


def refuse_work_tree(target: Path) -> None:
    """Private memories do not belong into a repository."""
    for folder in target.resolve().parents:
        if (folder / ".git").exists():
            raise Refused(f"{target} lies in the git work tree {folder}; export elsewhere, with --public, or force it")


class Arrivals:
    """How records from elsewhere enter: checked like any other, trusted only if the operator says so."""

    def __init__(self, draft: Callable[[object], Draft], trusted: bool) -> None:
        self._draft = draft
        self._trusted = trusted

    def record(self, found: Written, known: Callable[[str], bool], now: datetime) -> Record:
        """A record as it may enter. References to what is not here stay as words."""
        if not is_id(found.id) or (found.run_id is None) == (found.layer is Layer.WORKING):
            raise InvalidInput(f"the record {shown(found.id)} is not one that Lamina makes")
        evidence = [item if not is_id(item) or known(item) else f"record:{item}" for item in found.evidence]
        checked = self._draft(
            {**{name: getattr(found, name) for name in CHECKED}, "at": found.occurred_at, "evidence": evidence}
        )
        rules.check_contract(found.layer, checked.metadata)
        return Record(
            id=found.id,
            seq=0,
            agent=found.agent,
            user=user_name(found.user),
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
            supersedes=tuple(dict.fromkeys(filter(known, found.supersedes))) if self._trusted else (),
            superseded_by=found.superseded_by if found.superseded_by and known(found.superseded_by) else None,
        )

    def _state(self, found: Written) -> State:
        if found.state is State.ACTIVE and found.layer in rules.CONTRACTS and not self._trusted:
            return State.CONSTRAINED
        return found.state


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else moment(value)


def _known_id(value: str | None) -> str | None:
    if value is not None and not is_id(value):
        raise InvalidInput(f"run_id {shown(value)} is not the id of a run")
    return value


def read(
    store: Store, source: Path, arrivals: Arrivals, actor: Actor, now: datetime, progress: Progress | None = None
) -> dict[str, Any]:
    """Take in an export: as it was into an empty store of its agent, else record by record, as external."""
    export = load(source)
    if export.agent == store.agent and store.is_empty():
        return _restore(store, export, source, progress)
    return _merge(store, export, arrivals, actor, now, progress)


def load(source: Path) -> Export:
    try:
        data = source.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}") from None
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None
    try:
        export = msgspec.json.decode(data, type=Export)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{source} is not an export of Lamina: {error}") from None
    if export.format != FORMAT or export.version not in (1, VERSION):
        known = f"known is {FORMAT!r} up to {VERSION}"
        raise InvalidInput(f"{source} has the format {export.format!r} version {export.version}; {known}")
    return export


def _restore(store: Store, export: Export, source: Path, progress: Progress | None) -> dict[str, Any]:
    """Everything as it was, checked against its own chain before it is kept."""
    try:
        events = [(event.body, bytes.fromhex(event.hash)) for event in export.events]
        notes = [(note.event, note.position, bytes.fromhex(note.salt), note.body) for note in export.notes]
        rows = [row_of(record) for record in export.records]
        report = store.adopt(export.store, rows, events, notes, _archives(export), progress)
    except (ValueError, TypeError, OverflowError, Conflict, Corrupt) as error:
        raise Corrupt(f"{source} was altered: {error}; nothing was imported") from error
    if not report.ok:
        place, message = report.problems[0].place, report.problems[0].message
        raise Corrupt(f"{source} was altered: {place}: {message}; nothing was imported", place=place)
    return {"mode": "restored", "taken": len(rows) + len(export.archived), "skipped": 0, "pending": 0}


def _archives(export: Export) -> list[ArchiveCopy]:
    """The files of the archive, as they were."""
    lines: dict[int, list[tuple[Written, int]]] = {}
    for line in export.archived:
        lines.setdefault(line.archive, []).append((line.record, line.event))
    return [ArchiveCopy(one.number, one.file, one.why, one.made_at, lines.get(one.number, [])) for one in export.archives]


def _merge(
    store: Store, export: Export, arrivals: Arrivals, actor: Actor, now: datetime, progress: Progress | None
) -> dict[str, Any]:
    """All records that are not here yet into a store with a history of its own, or none of them and an error."""
    everything = [*export.records, *(line.record for line in export.archived)]
    incoming = {record.id: record for record in everything}
    with store.change(actor, "import", now, note={"store": export.store, "agent": export.agent}) as transaction:

        def known(target: str) -> bool:
            return target in incoming or transaction.exists(target)

        fresh = [record for record in incoming.values() if not transaction.exists(record.id)]
        arrived = [arrivals.record(record, known, now) for record in _counted(fresh, len(fresh), progress)]
        transaction.adopt(arrived)
    pending = sum(record.state is State.CONSTRAINED for record in arrived)
    return {"mode": "merged", "taken": len(arrived), "skipped": len(everything) - len(arrived), "pending": pending}
