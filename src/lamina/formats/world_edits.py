"""Find changes in the files of the world model since Lamina wrote them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lamina.formats.world import (
    FORMER,
    INTEGRATION,
    INTEGRATIONS,
    NOTHING,
    TOOL,
    TOOLS,
    Given,
    Problem,
    World,
    digest,
    file_of,
    read_files,
    written,
)

Key = tuple[str, str]
Stamp = tuple[Key, str | None]


class FileEdit(msgspec.Struct, frozen=True):
    """An entry whose file differs from what Lamina wrote, or no longer has it."""

    kind: str
    name: str
    before: Given | None  # in the records
    after: Given | None  # in the file

    @property
    def key(self) -> Key:
        return self.kind, self.name

    @property
    def file(self) -> str:
        return file_of(self.kind, self.name)

    @property
    def what(self) -> str:
        return "removed" if self.after is None else "added" if self.before is None else "changed"

    @property
    def stamp(self) -> Stamp:
        """The key and the hash that tell this edit from a later one of the same entry."""
        return self.key, None if self.after is None else digest(self.after)

    @property
    def is_deleted_file(self) -> bool:
        """True if a whole file is gone. That may be a loss: restore it, and ask a person."""
        return self.after is None and self.kind == INTEGRATION

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": self.what,
            "world": self.kind,
            "name": self.name,
            "file": self.file,
            "before": self.before,
            "after": self.after,
        }


class Edited(NamedTuple):
    """The edits found in the files, and the problems of those that could not be read."""

    edits: list[FileEdit]
    problems: list[Problem]


def edited(folder: Path, current: Mapping[Key, Given]) -> Edited:
    """Compare the files with what was written last, and with the current records."""
    world = read_files(folder)
    edits = [*_differing(folder, world, current), *_gone(folder, world, current)]
    return Edited(edits, world.problems)


def unreadable(folder: Path, problems: Collection[Problem]) -> list[Key]:
    """Return the entries of files that cannot be read now: deleting such a file removes none."""
    bad = {problem.file for problem in problems}
    return [key for key in _noted(folder)[0] if file_of(*key) in bad]


def _differing(folder: Path, world: World, current: Mapping[Key, Given]) -> list[FileEdit]:
    notes, former = _noted(folder)
    edits = [FileEdit(*key, current.get(key), value) for key, value in _entries(world).items()]

    def is_known(edit: FileEdit) -> bool:
        assert edit.after is not None
        after = digest(edit.after)
        is_current = edit.before is not None and digest(edit.before) == after
        return is_current or after in (notes.get(edit.key), *former.get(edit.key, ()))

    return [edit for edit in edits if not is_known(edit)]


def _gone(folder: Path, world: World, current: Mapping[Key, Given]) -> list[FileEdit]:
    """Find entries missing from files that can be read. A missing list is restored."""
    notes, former = _noted(folder)
    bad = {problem.file for problem in world.problems}
    present = {(kind, name.casefold()) for kind, name in _entries(world)}
    exists = {TOOL: (folder / TOOLS).exists(), INTEGRATION: (folder / INTEGRATIONS).is_dir()}

    def is_gone(kind: str, name: str) -> bool:
        key = kind, name
        was_written = key in notes and NOTHING not in former.get(key, ())
        is_readable = exists[kind] and file_of(*key) not in bad
        return was_written and is_readable and (kind, name.casefold()) not in present

    return [FileEdit(*key, current[key], None) for key in sorted(current) if is_gone(*key)]


def _entries(world: World) -> dict[Key, Given]:
    tools = {(TOOL, name): value for name, value in world.tools.items()}
    return {**tools, **{(INTEGRATION, name): value for name, value in world.integrations.items()}}


def _noted(folder: Path) -> tuple[dict[Key, str], dict[Key, list[str]]]:
    """Return the hashes of what was written last, and of what a crash may have left instead."""
    notes = written(folder)
    last = {(kind, name): own for kind in FORMER for name, own in notes.get(kind, {}).items()}
    former = {
        (kind, name): own.split()
        for kind in FORMER
        for name, own in notes.get(FORMER[kind], {}).items()
    }
    return last, former
