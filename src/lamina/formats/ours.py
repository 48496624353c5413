"""Lamina's own export: one JSON file with every record, event and note. docs/format.md describes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from lamina import canon, rules
from lamina.clock import is_id
from lamina.errors import Corrupt, InvalidInput, NotFound, Refused, StoreUnavailable
from lamina.home import fsync_folder, make_private_file, make_private_folder
from lamina.model import Actor, Layer, Record, State, Trust
from lamina.store.records import Row, fields_of
from lamina.store.store import Store

Progress = Callable[[int, int], None]
FORMAT, PUBLIC_FORMAT, VERSION = "lamina-export", "lamina-public", 1
BATCH = 1000

# What an export for others may say about a memory: nothing about people, and no payload of a tool.
PUBLIC_FIELDS = ("id", "layer", "kind", "content", "importance", "score", "confidence", "trust", "tags", "occurred_at")
PUBLIC_METADATA = frozenset(
    "category tool status workflow canonical origin topic_tags compacted_from repo_slug source_url".split()
)


class ExportedRecord(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record in a file, with what ties it to its events."""

    score: int
    key: str | None
    event: int
    salt: str


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


class Export(msgspec.Struct, frozen=True):
    """The whole file."""

    format: str
    version: int
    agent: str
    store: str
    records: list[ExportedRecord]
    events: list[ExportedEvent]
    notes: list[ExportedNote]


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
        lists = {"events": events, "notes": notes, "records": _counted(map(_exported, store.records()), total, progress)}
        _write_file(target, opening, lists, force)
    return total


def write_public(store: Store, target: Path, progress: Progress | None = None, *, force: bool = False) -> int:
    """Write what may be shown to others: active memories that are not about a person, without raw payloads."""
    with store.snapshot():
        private = (Layer.PROFILE, Layer.WORKING)
        chosen = [record for record, _, _, _ in store.records() if record.state is State.ACTIVE and record.layer not in private]
        opening = {"agent": store.agent, "format": PUBLIC_FORMAT, "version": VERSION}
        _write_file(target, opening, {"records": _counted(map(_public, chosen), len(chosen), progress)}, force)
    return len(chosen)


def _exported(entry: tuple[Record, str | None, int, bytes]) -> dict[str, Any]:
    record, key, event, salt = entry
    return {**record.to_dict(), "key": key, "event": event, "salt": salt.hex()}


def _public(record: Record) -> dict[str, Any]:
    fields = {name: value for name, value in record.to_dict().items() if name in PUBLIC_FIELDS}
    fields["metadata"] = {name: value for name, value in record.metadata.items() if name in PUBLIC_METADATA}
    return fields


def _write_file(target: Path, opening: Mapping[str, Any], lists: Mapping[str, Iterable[Any]], force: bool) -> None:
    """Write beside the target, make it durable, then put it in place; a crash leaves no half file."""
    if target.exists() and not force:
        raise InvalidInput(f"{target} exists already; choose another name, or force it")
    work = target.with_name(target.name + ".tmp")
    make_private_folder(target.parent)
    try:
        work.unlink(missing_ok=True)
        make_private_file(work)
        with work.open("wb") as file:
            _write_json(file, opening, lists)
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, target)
        fsync_folder(target.parent)
    except OSError as error:
        work.unlink(missing_ok=True)
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from error
    except BaseException:
        work.unlink(missing_ok=True)
        raise


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


def read(
    store: Store, source: Path, actor: Actor, now: datetime, *, trust: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Take in an export: as it was into an empty store of its agent, else record by record, as external."""
    export = load(source)
    if export.agent == store.agent and store.is_empty():
        return _restore(store, export, source, progress)
    return _merge(store, export, actor, now, trust, progress)


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
    if export.format != FORMAT or export.version != VERSION:
        raise InvalidInput(f"{source} has the format {export.format!r} version {export.version}; known is {FORMAT!r} {VERSION}")
    return export


def _restore(store: Store, export: Export, source: Path, progress: Progress | None) -> dict[str, Any]:
    """Everything as it was, checked against its own chain before it is kept."""
    try:
        events = [(event.body, bytes.fromhex(event.hash)) for event in export.events]
        notes = [(note.event, note.position, bytes.fromhex(note.salt), note.body) for note in export.notes]
        rows = [_row(record) for record in export.records]
    except ValueError as error:
        raise Corrupt(f"{source} was altered: {error}") from None
    report = store.adopt(export.store, rows, events, notes, progress)
    if not report.ok:
        place, message = report.problems[0].place, report.problems[0].message
        raise Corrupt(f"{source} was altered: {place}: {message}; nothing was imported", place=place)
    return {"mode": "restored", "taken": len(rows), "skipped": 0, "pending": 0}


def _row(record: ExportedRecord) -> Row:
    return (*fields_of(record, record.key), record.event, bytes.fromhex(record.salt))


def _merge(store: Store, export: Export, actor: Actor, now: datetime, trust: bool, progress: Progress | None) -> dict[str, Any]:
    """Record by record into a store with a history of its own; what is here already stays as it is."""
    incoming = {record.id for record in export.records}
    taken = skipped = pending = 0
    for start in range(0, len(export.records), BATCH):
        batch = export.records[start : start + BATCH]
        with store.change(actor, "import", now, note={"store": export.store, "agent": export.agent}) as transaction:
            fresh = [record for record in batch if transaction.find(record.id) is None]
            arrived = [_arrival(record, incoming, transaction.exists, actor, now, trust) for record in fresh]
            transaction.adopt(arrived)
        taken += len(arrived)
        skipped += len(batch) - len(fresh)
        pending += sum(record.state is State.CONSTRAINED for record in arrived)
        if progress is not None:
            progress(start + len(batch), len(export.records))
    return {"mode": "merged", "taken": taken, "skipped": skipped, "pending": pending}


def _arrival(
    record: ExportedRecord,
    incoming: set[str],
    exists: Callable[[str], bool],
    actor: Actor,
    now: datetime,
    trusted: bool,
) -> Record:
    """A record from elsewhere as it may enter: checked like any other, trusted only if the operator says so."""
    if not is_id(record.id):
        raise InvalidInput(f"the record id {record.id!r} is not one that Lamina makes")
    names = ("content", "tags", "importance", "metadata", "source", "speaker", "session", "confidence")
    given = {name: getattr(record, name) for name in names}
    rules.Drafter(actor).draft(given)
    rules.check_contract(record.layer, record.metadata)
    believed = record.state
    if believed is State.ACTIVE and not trusted and record.layer in rules.CONTRACTS:
        believed = State.CONSTRAINED

    def known(target: str) -> bool:
        return target in incoming or exists(target)

    return Record(
        id=record.id,
        seq=0,
        agent=record.agent,
        user=record.user,
        layer=record.layer,
        state=believed,
        kind=record.kind,
        content=record.content,
        importance=record.importance,
        confidence=record.confidence,
        trust=record.trust if trusted else Trust.EXTERNAL,
        source=record.source,
        tags=record.tags,
        metadata=record.metadata,
        evidence=tuple(item if not is_id(item) or known(item) else f"record:{item}" for item in record.evidence),
        speaker=record.speaker,
        session=record.session,
        run_id=record.run_id,
        occurred_at=record.occurred_at,
        created_at=now,
        updated_at=now,
        promoted_at=record.promoted_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        last_verified=record.last_verified,
        supersedes=tuple(filter(known, record.supersedes)),
        superseded_by=record.superseded_by if record.superseded_by and known(record.superseded_by) else None,
    )
