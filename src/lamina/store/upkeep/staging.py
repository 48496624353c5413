"""Databases that are built beside the one they replace, in a folder from which no handle reads.

Until a plan is written in that folder, the old files are valid. Afterwards the new ones are, and
the next opening of the store moves them into place before anything is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec

from lamina.errors import Corrupt, Refused, StoreUnavailable
from lamina.home.folder import (
    fsync_folder,
    has_bytes,
    hold_lock,
    is_file,
    make_private_folder,
    refuse_link,
    write_private,
)
from lamina.home.locks import locked
from lamina.model import hashing
from lamina.store.archive.files import checked
from lamina.store.core.store import FILE_NAME, READS_NAME

LOCK = "exchange.lock"
PLAN = "exchange.json"
ARRIVING = ".arriving.tmp"  # receives a memory from a server; each restore has a folder of its own
RESTORE, UNFINISHED = ".restore-", ".tmp"
DAMAGED = "damaged"
SUFFIXES = ("", "-wal", "-shm", "-journal")


class Plan(msgspec.Struct, frozen=True):
    """What happens to the files that are replaced."""

    aside: str | None = None  # the folder below `damaged` for old databases; None removes them
    obsolete: tuple[str, ...] = ()  # archive files without a replacement, to be removed as well


@contextmanager
def restoring(folder: Path) -> Iterator[Path]:
    """Create a private folder for the only running restore, and remove it afterwards."""
    from tempfile import mkdtemp  # every opening loads this module, but few replace anything

    with hold_lock(folder / LOCK):
        _remove(_restores(folder))
        try:
            place = Path(mkdtemp(dir=folder, prefix=RESTORE, suffix=UNFINISHED))
        except OSError as error:
            raise StoreUnavailable(f"{folder} cannot be written: {error.strerror}") from error
        try:
            yield place
        finally:
            _remove([place])


@contextmanager
def arriving(folder: Path) -> Iterator[Path]:
    """Create a private folder for the only running move into the home, and remove it afterwards.

    A crash leaves it behind, and as long as it exists, no new memory is created.
    """
    with hold_lock(folder / LOCK):
        place = folder / ARRIVING
        if _is_planned(place):
            with _replacing(folder):
                _finish(place)
        _remove([place])
        make_private_folder(place)
        try:
            yield place
        finally:
            _remove([place])


def exchange(place: Path, plan: Plan) -> None:
    """Move the files of a folder into place; the caller holds the lock."""
    for name in (READS_NAME, FILE_NAME):
        if has_bytes(place / f"{name}-wal"):  # SQLite does not say that it could not empty the log
            raise StoreUnavailable(
                f"{place / name} could not be written whole; nothing was replaced"
            )
    with _replacing(place.parent):
        _sync(place)
        write_private(place / PLAN, hashing.encode(plan))
        _finish(place)


def settle(folder: Path) -> None:
    """After a crash, finish exchanges that were planned, and remove restores that were not."""
    if _planned(folder):
        with (
            hold_lock(folder / LOCK),
            _replacing(folder),
        ):  # waits for a process that is finishing one
            for place in _planned(folder):
                _finish(place)
    remove_restores(folder)


def remove_restores(folder: Path) -> None:
    """Remove the remains of killed restores, unless one is running or the folder is read-only."""
    if _restores(folder):
        with suppress(OSError), locked(folder / LOCK, patience=0):
            _remove(_restores(folder))


def refuse_unsettled(folder: Path) -> None:
    """Raise if a planned exchange must be finished first; for callers that may not write."""
    if _planned(folder):
        do = "the next command that opens it for writing, such as `lamina status`, finishes that"
        what = f"{folder / FILE_NAME}: a killed process was about to replace it"
        raise StoreUnavailable(f"{what}; {do}")


def refuse_arriving(folder: Path, agent: str) -> None:
    """Raise if the memory has yet to arrive: a new one would be mistaken for it."""
    place, path = folder / ARRIVING, folder / FILE_NAME
    if place.is_dir() and not has_bytes(path):
        what = f"{path}: a move of {agent} into this place is not finished"
        do = f"run `lamina migrate --to file` again, or delete {place} to give the move up"
        raise Refused(f"{what}; {do}", place=str(folder))


def beside(place: Path) -> list[str]:
    """List the files that belong to the database in a folder, relative to it."""
    found = (path for path in place.glob("*/*") if is_file(path))
    return sorted(path.relative_to(place).as_posix() for path in found)


def put(place: Path, folder: Path, files: Iterable[str], *, keep: bool = True) -> None:
    """Move files to another folder; keep a different file of the same name, or replace it."""
    from lamina.store.upkeep import backup

    for file in files:
        source, target = place / file, folder / file
        refuse_link(target.parent)
        refuse_link(target)
        make_private_folder(target.parent)
        if keep and target.exists() and backup.digest(target) != backup.digest(source):
            os.rename(target, backup.unused(target.with_name(target.name + ".replaced")))
        os.replace(source, target)
        fsync_folder(target.parent)


@contextmanager
def disk_errors(path: Path, problem: str, *, of_file: bool = False) -> Iterator[None]:
    """Raise disk errors as a problem with a path, or with the file that the error names."""
    try:
        yield
    except OSError as error:
        place = (error.filename or path) if of_file else path
        raise StoreUnavailable(f"{place} {problem}: {error.strerror}") from error


def _replacing(folder: Path) -> AbstractContextManager[None]:
    return disk_errors(folder / FILE_NAME, "cannot be replaced")


def _restores(folder: Path) -> list[Path]:
    """List the folders of restores, running or abandoned."""
    try:
        names = os.listdir(folder)  # every opening does this, and pathlib takes ten times as long
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be read: {error.strerror}") from error
    own = (name for name in names if name.startswith(RESTORE) and name.endswith(UNFINISHED))
    return [folder / name for name in own if not (folder / name).is_symlink()]


def _planned(folder: Path) -> list[Path]:
    return [place for place in (*_restores(folder), folder / ARRIVING) if _is_planned(place)]


def _is_planned(place: Path) -> bool:
    return is_file(place / PLAN)


def _finish(place: Path) -> None:
    """Move everything into place, the memory last; skip steps that were done before."""
    from shutil import rmtree

    plan, folder = _read(place / PLAN), place.parent
    if (place / FILE_NAME).exists():
        if (place / READS_NAME).exists():
            _replace(place, READS_NAME, plan)
        for file in plan.obsolete:
            (folder / checked(file)).unlink(missing_ok=True)
        put(place, folder, beside(place), keep=plan.aside is not None)
        _replace(place, FILE_NAME, plan)
    rmtree(place)
    fsync_folder(folder)


def _replace(place: Path, name: str, plan: Plan) -> None:
    """Replace a database and its log, which would be mistaken for that of the new one."""
    folder = place.parent
    old = [name + suffix for suffix in reversed(SUFFIXES) if (folder / (name + suffix)).exists()]
    if plan.aside is not None:
        aside = folder / DAMAGED / plan.aside
        make_private_folder(aside)
        for file in old:
            os.rename(folder / file, aside / file)
        fsync_folder(aside)
    else:
        for file in old:
            (folder / file).unlink()
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
    """Sync everything in a folder to disk, so that it survives a power cut."""
    for path in sorted(place.rglob("*"), reverse=True):
        if is_file(path):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            fsync_folder(path)
    fsync_folder(place)


def _remove(places: Iterable[Path]) -> None:
    from shutil import rmtree

    for place in places:
        if not _is_planned(place):  # otherwise the next opening finishes the exchange
            rmtree(place, ignore_errors=True)
