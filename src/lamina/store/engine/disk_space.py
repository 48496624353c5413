"""Tell whether a folder can take more, before it is tried: is the disk full or read-only?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from lamina.home.folder import size_of

INDEX_BYTES = 32 * 1024  # the index of the log, which SQLite needs beside a file before it reads
BLOCK = 4096  # with less left not even the fail-safe can take anything
# With less left SQLite cannot write, and its attempt would take room from the fail-safe.
ENOUGH = 2 * INDEX_BYTES


class Usage(NamedTuple):
    """The bytes of a disk: all, and those that we may still take."""

    total: int
    free: int


def usage_of(folder: Path) -> Usage:
    """Ask for the bytes of a disk as `shutil` does, whose import takes longer than the answer."""
    if hasattr(os, "statvfs"):
        disk = os.statvfs(folder)
        return Usage(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize)
    from shutil import disk_usage

    total, _, free = disk_usage(folder)
    return Usage(total, free)


def is_full(folder: Path) -> bool:
    """Tell whether a disk has no room for a write of SQLite; assume room on one we cannot ask."""
    try:
        usage = usage_of(folder)
    except OSError:
        return False
    return usage.total > 0 and usage.free < ENOUGH


def is_short(path: Path) -> bool:
    """Tell whether a SQLite file has no index of its log, which opening needs, nor room for it."""
    return size_of(path.with_name(path.name + "-shm")) < INDEX_BYTES and is_full(path.parent)


def hindrance(folder: Path) -> str | None:
    """Say what keeps us from writing into a folder; None when nothing does."""
    return closed(folder) or full(folder)


def closed(folder: Path) -> str | None:
    """Say that a folder is read-only, if so. A missing one is made when it is needed."""
    if not folder.is_dir() or os.access(folder, os.W_OK):
        return None
    effect = "it can be searched, but nothing is remembered and no read leaves a trace"
    return f"{folder} cannot be written: {effect}"


def full(folder: Path) -> str | None:
    """Say that the disk is full, if so."""
    if not folder.is_dir() or not is_full(folder):
        return None
    left = usage_of(folder).free
    effect = "nothing can be remembered"
    if left >= BLOCK:
        effect = "memories go to the fail-safe as long as there is room for it"
    remaining = f"{folder} has {left // 1024} KB left"
    return f"the disk is full: {remaining}; free some space, {effect} until then"
