"""Read and replace other programs' configuration files, taking care of links, modes and races."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from lamina.errors import Conflict, InvalidInput, LaminaError, Refused

LARGEST = 32 * 1024 * 1024


class Found(msgspec.Struct, frozen=True):
    """A file as it was read: its text, None if there is no such file, and where it really lies."""

    path: Path
    target: Path  # the file that links point to; links are preserved
    text: str | None
    status: os.stat_result | None = None


def look(path: Path) -> Found:
    """Read a file. Refuse one that we could not replace without harm, with the reason."""
    target = _target(path)
    try:
        with target.open("rb") as file:
            status = os.fstat(file.fileno())
            _check(path, status)
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        _check_folder(path, target)
        return Found(path, target, None)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise Refused(f"{path} has more than {LARGEST:,} bytes")
    try:
        return Found(path, target, data.decode(), status)
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8; nothing was changed") from None


def replace(found: Found, text: str | None) -> None:
    """Write a whole file, or remove it, unless it was changed since it was read."""
    now = look(found.path)
    if now.text != found.text:
        raise Conflict(f"{found.path} has been changed meanwhile; try again")
    try:
        if text is None:
            found.target.unlink(missing_ok=True)
        else:
            _write(found.target, text.encode(), now.status)
    except OSError as error:
        raise Refused(f"{found.path} cannot be written: {error.strerror}") from None


def missing_folders(path: Path) -> list[Path]:
    """List the folders that must be created for a file, outermost first."""
    return [folder for folder in reversed(path.parents) if not folder.is_dir()]


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove empty folders, innermost first."""
    for folder in reversed(folders):
        with suppress(OSError):  # it is not empty: it stays
            folder.rmdir()


def _target(path: Path) -> Path:
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # a link to itself
        raise Refused(f"{path} is a link that leads nowhere") from None
    if path.is_symlink() and not target.exists():
        raise Refused(f"{path} is a link to {target}, which is not there")
    return target


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{path} is not a file")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise Refused(f"{path} is read-only; nothing was changed")


def _check_folder(path: Path, target: Path) -> None:
    """Refuse a path where no file can be created, before anything is written."""
    above = next(folder for folder in target.parents if folder.exists())
    if not above.is_dir():
        raise Refused(f"{path} cannot be made: {above} is not a folder")
    if not os.access(above, os.W_OK):
        raise Refused(f"{path} cannot be made: {above} is read-only")


def _write(target: Path, data: bytes, status: os.stat_result | None) -> None:
    """Replace a file as a whole, with the same mode and owner."""
    target.parent.mkdir(parents=True, exist_ok=True)
    work, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(work, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if status is None:
                os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101 - as any new file
            else:
                if os.name != "nt":
                    os.chown(name, status.st_uid, status.st_gid)
                os.chmod(name, stat.S_IMODE(status.st_mode))  # noqa: PTH101
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def explain(path: Path, error: LaminaError) -> InvalidInput:
    """Add to an error which file it is about."""
    return InvalidInput(f"{path}: {error.message}; nothing was changed")
