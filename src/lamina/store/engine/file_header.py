"""The first hundred bytes of a SQLite file, read before any statement, so that a file which is not ours is left untouched."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lamina.errors import Corrupt, StoreUnavailable
from lamina.home.folder import has_bytes, is_file
from lamina.store.engine import raw_file

MAGIC = b"SQLite format 3\0"
SIZE = 100
# "Lamn" and "Lamr": tell a store and its trail of reads from any other SQLite file.
STORE, READS = 0x4C616D6E, 0x4C616D72
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database in use
READS_FILE = "reads.db"
SIGNS = ("*/*_archive_*.jsonl", "backups/*/manifest.json", "erasures/*.json", "damaged/*")


class Header(NamedTuple):
    """What the header says about the file."""

    pages: int
    page_size: int
    schema: int
    user_version: int
    application_id: int


def read(path: Path) -> Header | None:
    """The header of a file that is at rest, or None when the file is new or its last word is in a log beside it."""
    try:
        with raw_file.opened(path) as file:
            head = file.read(SIZE)
            length = file.seek(0, 2)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    if not head or any(
        path.with_name(path.name + suffix).exists() for suffix in ("-wal", "-journal")
    ):
        return None
    if len(head) < SIZE or not head.startswith(MAGIC):
        raise Corrupt(
            f"{path}: this is not a SQLite database, or its first page is damaged; see `lamina restore`"
        )
    (page_size,) = struct.unpack(">H", head[16:18])
    (pages,), (schema,) = struct.unpack(">I", head[28:32]), struct.unpack(">I", head[40:44])
    (version,), (application,) = struct.unpack(">i", head[60:64]), struct.unpack(">i", head[68:72])
    found = Header(pages, 65536 if page_size == 1 else page_size, schema, version, application)
    if length < found.pages * found.page_size:
        raise Corrupt(
            f"{path}: {found.pages * found.page_size - length:,} bytes are missing at its end; see `lamina restore`"
        )
    return found


def is_kept(path: Path) -> bool:
    """Whether a file is a store or its trail of reads, or belongs to any database that somebody uses now."""
    if any(path.with_name(path.name + end).exists() for end in BESIDE):
        return True
    if any(
        path.name.endswith(end) and is_file(path.with_name(path.name.removesuffix(end)))
        for end in BESIDE
    ):
        return True
    return is_file(path) and _application(path) in (STORE, READS)


def _application(path: Path) -> int | None:
    """Whose database a file is; None when it is none."""
    with raw_file.opened(path) as file:
        head = file.read(SIZE)
    return int.from_bytes(head[68:72]) if len(head) == SIZE and head.startswith(MAGIC) else None


def refuse_lost(path: Path, is_there: Callable[[], object] = lambda: False) -> None:
    """Raise when a store that was there before is empty or gone: a new one would hide the loss.

    It is looked for again after a sign of it was found, since another process may be making it.
    """
    if is_there():
        return
    found = sign(path.parent)
    if found is not None and not is_there():
        do = "see `lamina restore`, or set store.url if they are on a server"
        raise Corrupt(f"{path} is empty or gone, but {found} shows that there were memories; {do}")


def sign(folder: Path) -> str | None:
    """A file that only somebody writes who has had a store here."""
    if has_bytes(folder / READS_FILE):
        return READS_FILE
    found = (path for pattern in SIGNS for path in folder.glob(pattern))
    try:
        return next((path.relative_to(folder).as_posix() for path in found), None)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be read: {error.strerror}") from error
