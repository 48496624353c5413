"""Keep the lines that could not be imported in a private file beside their source.

They are kept unchanged, so that nothing is ever dropped.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from lamina.errors import StoreUnavailable
from lamina.formats import lines
from lamina.formats.lines import CHUNK, Line
from lamina.home.folder import fsync_folder, refuse_link

SUFFIX = ".rejected"
LISTED = 1000


class Rejects:
    """The rejected lines of one source; those kept by an earlier try are not added again.

    With `keep=False` the problems are listed, and no file is written.
    """

    def __init__(self, source: Path, *, keep: bool = True) -> None:
        self._keeps = keep
        self.path = source.with_name(source.name + SUFFIX)
        self.count = 0
        self.listed: list[dict[str, object]] = []
        self._source = source
        self._file: BinaryIO | None = None
        self._original: BinaryIO | None = None
        self._kept: set[bytes] = set()
        self._size = 0
        self._is_new = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; after a failure, undo it, since nothing was imported or rejected."""
        if self._original is not None:
            self._original.close()
        if self._file is None:
            return
        if error is None:
            self._file.close()
            return
        with suppress(OSError):  # what could not be written is no longer needed
            self._file.close()
        if self._is_new:
            self.path.unlink(missing_ok=True)
        else:
            os.truncate(self.path, self._size)

    @property
    def file(self) -> str | None:
        """The path of the file of rejected lines, if there are any."""
        return str(self.path) if self.count and self._keeps else None

    def add(self, line: Line, message: str) -> None:
        """Record what is wrong with a line, and keep the line."""
        self.count += 1
        if len(self.listed) < LISTED:
            self.listed.append({"file": str(self._source), "line": line.number, "message": message})
        if not self._keeps:
            return
        try:
            self._keep(line)
        except OSError as error:
            raise self._unwritable(error) from error

    def make_durable(self) -> None:
        """Make sure that the kept lines survive a power cut."""
        if self._file is None:
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            fsync_folder(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from error

    def _keep(self, line: Line) -> None:
        file = self._file or self._opened()
        digest = hashlib.sha256()
        for piece in self._pieces(line):
            digest.update(piece)
        if digest.digest() not in self._kept:
            self._kept.add(digest.digest())
            for piece in self._pieces(line):
                file.write(piece)
            file.write(b"\n")

    def _pieces(self, line: Line) -> Iterator[bytes]:
        """Yield the bytes of a line without its end, from the source if the line is truncated."""
        if line.end - line.start <= len(line.raw) + 2:
            yield line.raw.rstrip(b"\r\n")
            return
        original = self._original = self._original or lines.opened(self._source)
        original.seek(line.start)
        left = line.end - line.start
        while left and (piece := original.read(min(CHUNK, left))):
            left -= len(piece)
            yield piece if left else piece.rstrip(b"\r\n")

    def _opened(self) -> BinaryIO:
        """Open the file for more lines; end a line that an interrupted try has left incomplete."""
        refuse_link(self.path)
        self._is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            _check_own(os.fstat(descriptor))
        except OSError:  # the file is not ours, and is left alone
            os.close(descriptor)
            raise
        file = self._file = os.fdopen(descriptor, "r+b")
        ended = self._read_kept(file)
        self._size = file.seek(0, os.SEEK_END)
        if not ended:
            file.write(b"\n")
        return file

    def _read_kept(self, file: BinaryIO) -> bool:
        """Read the lines that are kept already; return whether the last one is complete."""
        digest, ended = hashlib.sha256(), True
        while piece := file.readline(CHUNK):
            ended = piece.endswith(b"\n")
            digest.update(piece.rstrip(b"\r\n") if ended else piece)
            if ended:
                self._kept.add(digest.digest())
                digest = hashlib.sha256()
        return ended

    def _unwritable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.path} cannot be written ({error.strerror}), so that what is wrong in"
            f" {self._source.name} has no place;"
            " nothing was imported. Copy the file to a folder where you may write"
        )


def _check_own(status: os.stat_result) -> None:
    """Raise unless it is a plain file with one name: another could be read by others."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "it is a hard link: the file has another name too")
