"""Lines that could not be taken, kept as they are in a private file beside their source. Nothing is ever dropped."""

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
    """What is wrong in one source. A line that the file has from an earlier attempt is not written again.

    Where nothing is to be kept, it is only told what is wrong.
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
        """After a failure nothing was imported, so nothing was rejected either."""
        if self._original is not None:
            self._original.close()
        if self._file is None:
            return
        if error is None:
            self._file.close()
            return
        with suppress(OSError):  # what it could not write is not wanted any more
            self._file.close()
        if self._is_new:
            self.path.unlink(missing_ok=True)
        else:
            os.truncate(self.path, self._size)

    @property
    def file(self) -> str | None:
        """Where the lines are, if there are any."""
        return str(self.path) if self.count and self._keeps else None

    def add(self, line: Line, message: str) -> None:
        """Keep a line aside, with what is wrong with it."""
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
        """When this returns, what was kept survives a power cut."""
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
        """The bytes of a line without its end; from the source when they are too many to be at hand."""
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
        """The file, ready for more; a line that an interrupted attempt left without its end gets one."""
        refuse_link(self.path)
        self._is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            _check_own(os.fstat(descriptor))
        except OSError:  # it is nothing of ours, and stays as it is
            os.close(descriptor)
            raise
        file = self._file = os.fdopen(descriptor, "r+b")
        ended = self._read_kept(file)
        self._size = file.seek(0, os.SEEK_END)
        if not ended:
            file.write(b"\n")
        return file

    def _read_kept(self, file: BinaryIO) -> bool:
        """Know what is there already; whether it ends with the end of a line."""
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
            f"{self.path} cannot be written ({error.strerror}), so that what is wrong in {self._source.name} has no place;"
            " nothing was imported. Copy the file to a folder where you may write"
        )


def _check_own(found: os.stat_result) -> None:
    """Raise for what is no plain file, or has another name: who reads it there would find our lines in it."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    if found.st_nlink > 1:
        raise OSError(errno.EMLINK, "it is a hard link: the file has another name too")
