"""Read the header of a SQLite file before any statement, so that foreign files stay untouched."""

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
# "Lamn" and "Lamr": they tell a store and its trail of reads from all other SQLite files.
STORE, READS = 0x4C616D6E, 0x4C616D72
BESIDE = ("-wal", "-shm", "-journal")  # the files that SQLite keeps beside a database in use
READS_FILE = "reads.db"
SIGNS = ("*/*_archive_*.jsonl", "backups/*/manifest.json", "erasures/*.json", "damaged/*")


class Header(NamedTuple):
    """The fields of the header that we need. If its page count is not valid, `pages` is 0."""

    pages: int
    page_size: int
    schema: int
    user_version: int
    application_id: int

    @property
    def bytes(self) -> int:
        """The size of the database according to its header."""
        return self.pages * self.page_size


def read(path: Path) -> Header | None:
    """Read the header of a file; None for a new file, or one with its latest state in a log."""
    try:
        with raw_file.opened(path) as file:
            head = file.read(SIZE)
            length = file.seek(0, 2)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    if not head or any(_beside(path, suffix).exists() for suffix in ("-wal", "-journal")):
        return None
    header = parsed(head)
    if header is None:
        problem = "this is not a SQLite database, or its first page is damaged"
        raise Corrupt(f"{path}: {problem}; see `lamina restore`")
    missing = header.bytes - length
    if missing > 0:
        problem = f"{missing:,} bytes are missing at its end"
        raise Corrupt(f"{path}: {problem}; see `lamina restore`")
    return header


def parsed(head: bytes) -> Header | None:
    """Parse a header; None if these bytes are not one."""
    if len(head) < SIZE or not head.startswith(MAGIC):
        return None
    (page_size,) = struct.unpack(">H", head[16:18])
    (pages,), (schema,) = struct.unpack(">I", head[28:32]), struct.unpack(">I", head[40:44])
    (version,), (application,) = struct.unpack(">i", head[60:64]), struct.unpack(">i", head[68:72])
    if head[24:28] != head[92:96]:  # SQLite versions that do not keep the count wrote last
        pages = 0
    return Header(pages, 65536 if page_size == 1 else page_size, schema, version, application)


def is_kept(path: Path) -> bool:
    """Tell whether a file is a store or its trail of reads, or belongs to a database in use."""
    if any(_beside(path, suffix).exists() for suffix in BESIDE):
        return True
    for suffix in BESIDE:
        database = path.with_name(path.name.removesuffix(suffix))
        if database != path and is_file(database):
            return True
    return is_file(path) and _application(path) in (STORE, READS)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _application(path: Path) -> int | None:
    """Read the application id of a database; None for a file that is not one."""
    with raw_file.opened(path) as file:
        head = file.read(SIZE)
    return int.from_bytes(head[68:72]) if len(head) == SIZE and head.startswith(MAGIC) else None


def refuse_lost(path: Path, is_there: Callable[[], object] = lambda: False) -> None:
    """Raise if an earlier store is empty or gone: a new one would hide the loss.

    After a sign of a store is found, look again: another process may be creating it just now.
    """
    if is_there():
        return
    trace = sign(path.parent)
    if trace is not None and not is_there():
        remedy = "see `lamina restore`, or set store.url if they are on a server"
        problem = f"{path} is empty or gone, but {trace} shows that there were memories"
        raise Corrupt(f"{problem}; {remedy}")


def sign(folder: Path) -> str | None:
    """Find a file that exists only where there was a store."""
    if has_bytes(folder / READS_FILE):
        return READS_FILE
    traces = (path for pattern in SIGNS for path in folder.glob(pattern))
    try:
        return next((path.relative_to(folder).as_posix() for path in traces), None)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be read: {error.strerror}") from error
