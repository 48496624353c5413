"""Whether a folder can take more: a disk that is full, or one that nobody may write, is told before it is tried."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lamina.home.folder import size_of

INDEX_BYTES = 32 * 1024  # what SQLite lays beside a file, before anybody can read its log
BLOCK = 4096  # with less left not even the fail-safe can take anything
ENOUGH = (
    2 * INDEX_BYTES
)  # with less left SQLite cannot write, and what it took would be missing for the fail-safe


def is_full(folder: Path) -> bool:
    """Whether a disk has no room for a write of SQLite; one that does not tell has room."""
    try:
        found = shutil.disk_usage(folder)
    except OSError:
        return False
    return found.total > 0 and found.free < ENOUGH


def is_short(path: Path) -> bool:
    """Whether there is no room to open a SQLite file as usual: the index of its log is not there, and would not fit."""
    return size_of(path.with_name(path.name + "-shm")) < INDEX_BYTES and is_full(path.parent)


def hindrance(folder: Path) -> str | None:
    """What keeps us from writing into a folder, for people; nothing when nothing does."""
    return closed(folder) or full(folder)


def closed(folder: Path) -> str | None:
    """That nobody may write there, if so. A folder that does not exist is made when it is needed."""
    if not folder.is_dir() or os.access(folder, os.W_OK):
        return None
    return f"{folder} cannot be written: it can be searched, but nothing is remembered and no read leaves a trace"


def full(folder: Path) -> str | None:
    """That the disk is full, if so."""
    if not folder.is_dir() or not is_full(folder):
        return None
    left = shutil.disk_usage(folder).free
    meanwhile = (
        "memories go to the fail-safe as long as there is room for it"
        if left >= BLOCK
        else "nothing can be remembered"
    )
    return f"the disk is full: {folder} has {left // 1024} KB left; free some space, {meanwhile} until then"
