"""Read the bytes of any file without dropping the locks that SQLite holds on it.

POSIX drops every lock of a process on a file when the process closes any descriptor of that file.
SQLite knows which files it has locked in this process, by any handle, thread or name, and defers
the close; Python's `open` does not. So every file that may be a database which this process has
open is read here. See docs/decisions/0024-raw-reads.md.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

AT_ONCE = 1 << 20  # bytes
# SQLite tracks the locks of main databases only.
FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
INDEX = "-shm"


def opened(path: Path) -> io.BufferedReader:
    """Open a file for reading; errors are those of `open`."""
    real = Path(os.path.realpath(path))  # SQLite itself opens no symbolic links here
    # A pipe, a folder, a missing file, or a deleted one: Python opens these.
    if not real.is_file():
        return path.open("rb")
    if is_index(real):
        problem = "it belongs to a database, and only SQLite may open it"
        raise OSError(errno.EBUSY, problem, str(path))
    try:
        return io.BufferedReader(_SqliteFile(real), AT_ONCE)
    except UnicodeEncodeError:  # SQLite opens no file whose name is not valid text
        return path.open("rb")


def read(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def copy(source: Path, target: Path) -> None:
    """Copy a file durably into a new, private one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(target, flags, 0o600)
    with os.fdopen(descriptor, "wb") as copied, opened(source) as file:
        shutil.copyfileobj(file, copied, AT_ONCE)
        copied.flush()
        os.fsync(copied.fileno())


def is_index(path: Path) -> bool:
    """Tell whether a file is the index of a log, whose locks SQLite does not track.

    It holds no text.
    """
    real = Path(os.path.realpath(path))
    return real.name.endswith(INDEX) and real.with_name(real.name.removesuffix(INDEX)).exists()


class _SqliteFile(io.RawIOBase):
    """A file that is opened, read and closed by SQLite."""

    def __init__(self, path: Path) -> None:
        self._at = 0
        self._path = str(path)
        try:
            self._file = apsw.VFSFile("", self._path, [FLAGS, 0])
        except apsw.Error as error:
            path.stat()  # raises if the file is gone by now
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self._path) from error

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: lambda: 0, os.SEEK_CUR: lambda: self._at, os.SEEK_END: self._size}
        self._at = begin[whence]() + offset
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        try:
            # Never read past the end: apsw strips zeros from a short read, even those in the file.
            wanted = min(len(view), self._size() - self._at)
            data = self._file.xRead(wanted, self._at) if wanted > 0 else b""
        except apsw.Error as error:
            raise OSError(errno.EIO, os.strerror(errno.EIO), self._path) from error
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _size(self) -> int:
        """Return the size; SQLite says 0 for a file of one byte, since it creates such files."""
        return self._file.xFileSize() or len(self._file.xRead(1, 0))

    def close(self) -> None:
        if not self.closed:
            super().close()
            if hasattr(self, "_file"):
                self._file.xClose()
