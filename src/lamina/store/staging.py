"""Databases that are built beside the one they replace, in a folder that nobody reads from.

A folder without a plan is unfinished work. Writing the plan is the point of no return: from then on the new files are valid
and the old ones are not, and whoever opens the store next moves them before anything is read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from lamina import canon
from lamina.errors import Corrupt, Refused, StoreUnavailable
from lamina.home import alone, fsync_folder, has_bytes, is_file, make_private_folder, refuse_link, write_private
from lamina.locks import locked
from lamina.store import backup
from lamina.store.shelf import checked
from lamina.store.store import FILE_NAME, READS_NAME

LOCK = "exchange.lock"
PLAN = "exchange.json"
ARRIVING = ".arriving.tmp"  # where a memory from a server is built; a restore has a new folder each time
RESTORE, UNFINISHED = ".restore-", ".tmp"
DAMAGED = "damaged"
SUFFIXES = ("", "-wal", "-shm", "-journal")


class Plan(msgspec.Struct, frozen=True):
    """What becomes of the files that are replaced."""

    aside: str | None = None  # the folder below `damaged` that takes the old databases; None removes them
    obsolete: tuple[str, ...] = ()  # files of the archive that are removed with them


@contextmanager
def restoring(folder: Path) -> Iterator[Path]:
    """A private folder for one restore at a time, which is gone afterwards, with those that crashes have left."""
    with alone(folder / LOCK):
        _remove(_restores(folder))
        try:
            place = Path(tempfile.mkdtemp(dir=folder, prefix=RESTORE, suffix=UNFINISHED))
        except OSError as error:
            raise StoreUnavailable(f"{folder} cannot be written: {error.strerror}") from error
        try:
            yield place
        finally:
            _remove([place])


@contextmanager
def arriving(folder: Path) -> Iterator[Path]:
    """A private folder for one move into the home at a time. A crash leaves it, so that nobody begins a new memory instead."""
    with alone(folder / LOCK):
        place = folder / ARRIVING
        if _is_planned(place):
            _finish(place)
        _remove([place])
        make_private_folder(place)
        try:
            yield place
        finally:
            _remove([place])


def exchange(place: Path, plan: Plan) -> None:
    """Put the files of a folder where they belong. The caller holds the lock; a crash is finished by the next opening."""
    try:
        _sync(place)
        write_private(place / PLAN, canon.encode(plan))
        _finish(place)
    except OSError as error:
        raise StoreUnavailable(f"{place.parent / FILE_NAME} cannot be replaced: {error.strerror}") from error


def settle(folder: Path) -> None:
    """Finish what a killed process has decided, and remove what it has not, before anybody reads."""
    if _planned(folder):
        with alone(folder / LOCK):  # whoever is about to finish it is waited for
            try:
                for place in _planned(folder):
                    _finish(place)
            except OSError as error:
                raise StoreUnavailable(f"{folder / FILE_NAME} cannot be replaced: {error.strerror}") from error
    remove_restores(folder)


def remove_restores(folder: Path) -> None:
    """Remove copies of backups that killed restores have left, unless somebody restores now or may not write here."""
    if _restores(folder):
        with suppress(OSError), locked(folder / LOCK, patience=0):
            _remove(_restores(folder))


def refuse_unsettled(folder: Path) -> None:
    """Raise for who may not write, while only a decided exchange makes the memory whole."""
    if _planned(folder):
        do = "the next command that opens it for writing, such as `lamina status`, finishes that"
        raise StoreUnavailable(f"{folder / FILE_NAME}: a killed process was about to replace it; {do}")


def refuse_arriving(folder: Path, agent: str) -> None:
    """Raise when there is no memory here yet because it is still on its way: a new one would be taken for it."""
    if (folder / ARRIVING).is_dir() and not has_bytes(folder / FILE_NAME):
        do = f"run `lamina migrate --to file` from where it was, or delete {folder / ARRIVING} to give the move up"
        raise Refused(f"{folder / FILE_NAME}: a move of {agent} into this place is not finished; {do}", place=str(folder))


def beside(place: Path) -> list[str]:
    """The files of a folder that belong to its database, by their names below it."""
    return sorted(path.relative_to(place).as_posix() for path in place.glob("*/*") if is_file(path))


def put(place: Path, folder: Path, files: Iterable[str], *, keep: bool = True) -> None:
    """Move such files below another folder. A different one of the same name is renamed, or replaced."""
    for file in files:
        source, target = place / file, folder / file
        refuse_link(target.parent)
        refuse_link(target)
        make_private_folder(target.parent)
        if keep and target.exists() and digest(target) != digest(source):
            os.rename(target, backup.unused(target.with_name(target.name + ".replaced")))
        os.replace(source, target)
        fsync_folder(target.parent)


def digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _restores(folder: Path) -> list[Path]:
    """The folders of restores, under way or left behind."""
    try:
        names = os.listdir(folder)  # every opening looks, and pathlib takes ten times as long
    except FileNotFoundError:
        return []
    found = [folder / name for name in names if name.startswith(RESTORE) and name.endswith(UNFINISHED)]
    return [place for place in found if not place.is_symlink()]


def _planned(folder: Path) -> list[Path]:
    """The folders whose files are valid already."""
    return [place for place in (*_restores(folder), folder / ARRIVING) if _is_planned(place)]


def _is_planned(place: Path) -> bool:
    return is_file(place / PLAN)


def _finish(place: Path) -> None:
    """Move everything. Each step is skipped when it was done before; with the memory in its place, all of them are."""
    plan, folder = _read(place / PLAN), place.parent
    if (place / FILE_NAME).exists():
        if (place / READS_NAME).exists():
            _replace(place, READS_NAME, plan)
        for file in plan.obsolete:
            (folder / checked(file)).unlink(missing_ok=True)
        put(place, folder, beside(place), keep=plan.aside is not None)
        _replace(place, FILE_NAME, plan)
    shutil.rmtree(place)
    fsync_folder(folder)


def _replace(place: Path, name: str, plan: Plan) -> None:
    """Put a database in the place of another. A log beside the old one would be taken for the new one's."""
    folder = place.parent
    if plan.aside is not None:
        aside = folder / DAMAGED / plan.aside
        make_private_folder(aside)
        for suffix in reversed(SUFFIXES):
            if (folder / (name + suffix)).exists():
                os.rename(folder / (name + suffix), aside / (name + suffix))
        fsync_folder(aside)
    for suffix in reversed(SUFFIXES):
        (folder / (name + suffix)).unlink(missing_ok=True)
    os.rename(place / name, folder / name)
    fsync_folder(folder)


def _read(path: Path) -> Plan:
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"{path} is damaged: {error}") from None
    if plan.aside is not None and Path(plan.aside).name != plan.aside:
        raise Corrupt(f"{path} names {plan.aside}, which lies outside the home")
    return plan


def _sync(place: Path) -> None:
    """Make everything in a folder survive a power cut."""
    for path in sorted(place.rglob("*"), reverse=True):
        if is_file(path):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            fsync_folder(path)
    fsync_folder(place)


def _remove(places: Iterable[Path]) -> None:
    for place in places:
        if not _is_planned(place):  # else an exchange was cut off, which the next opening finishes
            shutil.rmtree(place, ignore_errors=True)
