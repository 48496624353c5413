"""Plan the changes of an install or uninstall, show them, and apply them: all files or none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from lamina.errors import InvalidInput, LaminaError
from lamina.surfaces.install import edits, files
from lamina.surfaces.install.edits import Edit
from lamina.surfaces.install.files import Found
from lamina.surfaces.install.records import FileRecord, Record, Records


class FilePlan(msgspec.Struct, frozen=True):
    """What becomes of a file: as it is now, as it will be (None: removed), and the record of it."""

    found: Found
    after: str | None
    kept: FileRecord | None  # None if nothing of ours is left in it

    @property
    def path(self) -> Path:
        return self.found.path

    @property
    def is_change(self) -> bool:
        return self.found.text != self.after


class Plan(msgspec.Struct, frozen=True):
    """All that an install or an uninstall of one agent changes."""

    agent: str
    project: Path | None
    files: tuple[FilePlan, ...]

    @property
    def changes(self) -> list[FilePlan]:
        return [file for file in self.files if file.is_change]

    def record(self, now: datetime) -> Record | None:
        """Return the record to store; None if nothing of ours is left anywhere."""
        kept = tuple(file.kept for file in self.files if file.kept is not None)
        project = None if self.project is None else str(self.project)
        return Record(self.agent, project, now, kept) if kept else None

    def diff(self) -> str:
        """Format the changes as a unified diff."""
        return "".join(line for file in self.changes for line in _diff(file))


def plan_install(
    records: Records,
    agent: str,
    project: Path | None,
    wanted: Mapping[Path, Sequence[Edit]],
) -> Plan:
    """Plan an install, over an earlier one if there is any; nothing is written."""
    earlier, others = _records(records, agent, project)
    planned = [_edited(path, tuple(made), earlier, others) for path, made in wanted.items()]
    # What an earlier install edited and this one does not.
    gone = [file for file in earlier.files if Path(file.path) not in wanted] if earlier else []
    planned += [_undone(file, others) for file in gone]
    return Plan(agent, project, tuple(planned))


def plan_uninstall(records: Records, agent: str, project: Path | None) -> Plan | None:
    """Plan how to undo an install; None if there was none."""
    earlier, others = _records(records, agent, project)
    if earlier is None:
        return None
    return Plan(agent, project, tuple(_undone(file, others) for file in earlier.files))


def carry_out(records: Records, plans: Sequence[Plan], now: datetime) -> None:
    """Carry out plans. If a file cannot be written, restore those written before it."""
    with records.locked():
        done: list[FilePlan] = []
        earlier = [_records(records, plan.agent, plan.project)[0] for plan in plans]
        try:
            for plan in plans:
                if kept := plan.record(now):
                    records.keep(kept)  # first, so that whatever happens next can be undone
                for file in plan.changes:
                    files.replace(file.found, file.after)
                    done.append(file)
        except LaminaError:
            _put_back(done)
            for plan, before in zip(plans, earlier, strict=True):
                records.restore(plan.agent, plan.project, before)
            raise
        for plan, before in zip(plans, earlier, strict=True):
            _tidy(records, plan, before)


def _tidy(records: Records, plan: Plan, earlier: Record | None) -> None:
    """Remove the record of an install that has nothing left, and the folders created for it."""
    kept = [file.path for file in plan.files if file.kept is not None]
    if not kept:
        records.restore(plan.agent, plan.project, None)
    for file in earlier.files if earlier is not None else ():
        if Path(file.path) not in kept:
            files.remove_empty([Path(folder) for folder in file.folders])


def _records(
    records: Records, agent: str, project: Path | None
) -> tuple[Record | None, list[Record]]:
    """Find the record of this install, and those of all others."""
    earlier = records.find(agent, project)
    return earlier, [one for one in records.all() if earlier is None or one.name != earlier.name]


def _edited(
    path: Path, wanted: tuple[Edit, ...], earlier: Record | None, others: Iterable[Record]
) -> FilePlan:
    found = files.look(path)
    known = earlier.file(path) if earlier is not None else None
    try:
        before = _original(found.text, known)
        for other in others:
            shared = other.file(path)
            same = [edit for edit in wanted if shared is not None and edit in shared.edits]
            if before is not None and shared is not None and same:
                before = edits.undo(before, same, shared.before)
        after = edits.apply(before, wanted)
    except InvalidInput as error:
        raise files.explain(path, error) from None
    made = known.folders if known is not None else ()
    folders = made or tuple(map(str, files.missing_folders(found.target)))
    return FilePlan(found, after, FileRecord(str(path), before, after, wanted, folders))


def _undone(file: FileRecord, others: Sequence[Record]) -> FilePlan:
    """Plan the removal of our edits from a file, except those that another install needs."""
    path = Path(file.path)
    found = files.look(path)
    needed = [edit for other in others if (one := other.file(path)) for edit in one.edits]
    ours = tuple(edit for edit in file.edits if edit not in needed)
    if found.text is None:
        return FilePlan(found, None, None)
    try:
        if len(ours) == len(file.edits):
            return FilePlan(found, _original(found.text, file), None)
        return FilePlan(found, edits.undo(found.text, ours, file.before), None)
    except InvalidInput as error:
        raise files.explain(path, error) from None


def _original(text: str | None, known: FileRecord | None) -> str | None:
    """Return a file without our edits: byte for byte, if nobody has changed it."""
    if text is None or known is None:
        return text
    return known.before if text == known.after else edits.undo(text, known.edits, known.before)


def _put_back(done: Sequence[FilePlan]) -> None:
    for file in reversed(done):
        files.replace(Found(file.path, file.found.target, file.after), file.found.text)


def _diff(file: FilePlan) -> Iterable[str]:
    before, after = file.found.text, file.after
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        "/dev/null" if before is None else str(file.path),
        "/dev/null" if after is None else str(file.path),
    )
    return (line if line.endswith("\n") else f"{line}\n" for line in lines)
