"""Find the copies of erased memories in an agent's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lamina.model.erased_words import Signature
from lamina.store.engine import raw_file
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.upkeep import backup, erase_plan, leftovers

if TYPE_CHECKING:
    from lamina.store.core.store import Store

LEFTOVER = (".tmp", ".replaced")  # remains of a killed process or of a restored backup
# Names and numbers that we store about files, without text of a memory.
OURS = frozenset({".written.json", ".position.json"})


class Copies:
    """The files beside the databases of a store that contain some records."""

    def __init__(self, store: Store, ids: Collection[str], known: Signature) -> None:
        self._store = store
        self._ids = frozenset(ids)
        self._known = known

    def exports(self) -> Iterator[Path]:
        """Find exports in any format. Our own list ids in their history; only records count."""
        for path in leftovers.files([self._store.path_of("exports")]):
            own = _exported(path)
            ids = self._ids if own is None else ()
            if not self._ids.isdisjoint(own or ()) or leftovers.is_in(path, self._known, ids):
                yield path

    def backups(self) -> Iterator[Path]:
        """Find backups, including those being made or removed."""
        place = self._store.folder / "backups"
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            if (folder / backup.MANIFEST).is_file() and backup.is_readable(folder):
                if backup.holds(folder, self._ids) or self._known.is_among(backup.notes(folder)):
                    yield folder
            elif leftovers.is_below(folder, self._known, self._ids):
                yield folder

    def damaged(self) -> Iterator[Path]:
        """Find damaged stores that were set aside, and the remains of killed processes."""
        place = self._store.folder / "damaged"
        found = sorted(place.iterdir()) if place.is_dir() else []
        found += [
            path
            for path in sorted(self._store.folder.rglob("*"))
            if _is_leftover(path) and place not in path.parents
        ]
        backups = self._store.folder / "backups"
        return (
            path
            for path in found
            if path.parent != backups and leftovers.is_below(path, self._known, self._ids)
        )

    def is_left_behind(self) -> bool:
        """Tell whether the memory's files from before its move to a server still contain it."""
        if isinstance(self._store.database, SqliteDatabase):
            return False
        own = [self._store.folder / f"memory.db{suffix}" for suffix in ("", "-wal")]
        files = leftovers.files([*own, self._store.path_of("archive")])
        return any(leftovers.is_in(path, self._known, self._ids) for path in files)

    def mirrors(self) -> Iterator[Path]:
        """Find files of mirrors that are no longer kept up to date."""
        settings = self._store.settings
        folder = self._store.path_of("jsonl")
        if settings["mirrors.jsonl"] == "off" and any(
            leftovers.is_in(path, self._known, self._ids) for path in leftovers.files([folder])
        ):
            yield folder
        folder = self._store.path_of("rag/chroma_store")
        if settings["mirrors.chroma"] != "embedded" and (folder / ".lamina").exists():
            yield folder  # a search for words may miss what is in database pages

    def conversations(self, ids: Collection[str]) -> Iterator[Path]:
        """Find the files of conversations that are partly erased: a file holds only whole ones."""
        files = leftovers.files([self._store.path_of("episodes")])
        return (path for path in files if path.stem in ids)

    def others(self, beside: Collection[Path]) -> Iterator[Path]:
        """Find any other file of the agent, or at the given places, that holds what was erased.

        The databases were just rewritten, backups were searched for the records, and an archive
        contains nothing else.
        """
        if not self._known:
            return
        folder = self._store.folder
        own = {
            folder / f"{name}{end}"
            for name in ("memory.db", "reads.db")
            for end in ("", "-wal", "-shm")
        }
        own |= {folder / file.file for file in self._store.archives()}
        own.add(folder / erase_plan.CERTIFICATES)
        own |= set(backup.backups(folder))
        chroma = self._store.path_of("rag/chroma_store")
        mirrored: list[Path] = []
        for path in leftovers.files([folder, *beside]):
            if path.name in OURS or not own.isdisjoint((path, *path.parents)):
                continue
            if path.is_relative_to(chroma):
                mirrored.append(path)
            elif leftovers.is_in(path, self._known):
                yield path
        yield from leftovers.holding(mirrored, self._known) if mirrored else ()


class _Record(msgspec.Struct):
    id: str


class _Line(msgspec.Struct):
    record: _Record


class _Exported(msgspec.Struct):
    format: str
    records: list[_Record] = []
    archived: list[_Line] = []


def _exported(path: Path) -> set[str] | None:
    """List the ids in an export of our own; None if it is something else."""
    try:
        export = msgspec.json.decode(raw_file.read(path), type=_Exported)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not export.format.startswith("lamina-"):
        return None
    return {record.id for record in export.records} | {line.record.id for line in export.archived}


def _is_leftover(path: Path) -> bool:
    return path.name.endswith(LEFTOVER) or ".replaced-" in path.name
