"""Tell before a write whether a folder can take it: is the disk full or read-only?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from lamina.home.folder import size_of

INDEX_BYTES = 32 * 1024  # the index of the log, which SQLite creates beside a file before it reads
BLOCK = 4096  # with less left, not even the fail-safe can write
# With less left SQLite cannot write, and trying would use up the room of the fail-safe.
ENOUGH = 2 * INDEX_BYTES


class Usage(NamedTuple):
    """The size of a disk in bytes, and how many of them we may still use."""

    total: int
    free: int


def usage_of(folder: Path) -> Usage:
    """Return the bytes of a disk as `shutil` does, whose import takes longer than the call."""
    if hasattr(os, "statvfs"):
        disk = os.statvfs(folder)
        return Usage(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize)
    from shutil import disk_usage

    total, _, free = disk_usage(folder)
    return Usage(total, free)


def is_full(folder: Path) -> bool:
    """Tell whether a disk has no room for a write of SQLite; if it cannot be asked, assume room."""
    try:
        usage = usage_of(folder)
    except OSError:
        return False
    return usage.total > 0 and usage.free < ENOUGH


def is_short(path: Path) -> bool:
    """Tell whether the index of a file's log, which opening needs, is missing and has no room."""
    return size_of(path.with_name(path.name + "-shm")) < INDEX_BYTES and is_full(path.parent)


def hindrance(folder: Path) -> str | None:
    """Say what prevents writing into a folder; None if nothing does."""
    return closed(folder) or full(folder)


def closed(folder: Path) -> str | None:
    """Say if a folder is read-only. A missing one does not count: it is created when needed."""
    if not folder.is_dir() or os.access(folder, os.W_OK):
        return None
    effect = "it can be searched, but nothing is remembered and no read leaves a trace"
    return f"{folder} cannot be written: {effect}"


def full(folder: Path) -> str | None:
    """Say if the disk is full."""
    if not folder.is_dir() or not is_full(folder):
        return None
    left = usage_of(folder).free
    effect = "nothing can be remembered"
    if left >= BLOCK:
        effect = "memories go to the fail-safe as long as there is room for it"
    remaining = f"{folder} has {left // 1024} KB left"
    return f"the disk is full: {remaining}; free some space, {effect} until then"
