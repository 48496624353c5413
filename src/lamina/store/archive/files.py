"""Hold the files of the archive: in the agent's folder, or in a table that machines share."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import apsw

from lamina.errors import Corrupt, StoreUnavailable
from lamina.home.folder import fsync_folder, make_private_folder, refuse_link
from lamina.store.engine.sql import Connection, Cursor

NAME = re.compile(r"[a-z_]{1,32}/[a-z_]{1,32}_archive_[0-9TZ.-]{1,64}\.jsonl")
Source = Connection | Cursor


def stamp(now: datetime) -> str:
    """Write a time so that it can be a file's name everywhere."""
    return now.strftime("%Y%m%dT%H%M%S.%fZ")


class Laid(NamedTuple):
    """A file that was written: its digest, and the start and the length of each line."""

    sha256: bytes
    places: list[tuple[int, int]]


class Shelf(Protocol):
    """A place for files. Their names come from data, so a name that is not ours is refused."""

    def label(self, file: str) -> str:
        """Say where a file is, for people."""
        ...

    def make_ready(self, file: str) -> None:
        """Prepare for a file of this name."""
        ...

    def has(self, source: Source, file: str) -> bool: ...

    def open(self, source: Source, file: str) -> BinaryIO:
        """Open a file; FileNotFoundError when it is gone, another OSError when it is unreadable."""
        ...

    def write(self, target: Source, file: str, lines: Iterable[bytes]) -> Laid:
        """Write a whole file, durably, under a name that no other file has."""
        ...

    def remove(self, target: Source, file: str) -> None: ...


def shelf(source: Source, folder: Path) -> Shelf:
    """Choose the shelf for the files of a database."""
    return Folder(folder) if isinstance(source, (apsw.Connection, apsw.Cursor)) else Table()


def checked(file: str) -> str:
    if not NAME.fullmatch(file):
        raise Corrupt(f"{file!r} is not the name of an archive; run `lamina audit verify`")
    return file


class Folder:
    """Files in the agent's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, file: str) -> Path:
        path = self._folder / checked(file)
        refuse_link(path.parent)
        refuse_link(path)
        return path

    def label(self, file: str) -> str:
        return str(self._folder / file)

    def make_ready(self, file: str) -> None:
        make_private_folder(self.path(file).parent)

    def has(self, source: Source, file: str) -> bool:
        return self.path(file).exists()

    def open(self, source: Source, file: str) -> BinaryIO:
        return self.path(file).open("rb")

    def write(self, target: Source, file: str, lines: Iterable[bytes]) -> Laid:
        path = self.path(file)
        work = path.with_name(path.name + ".tmp")
        digest, places, start = hashlib.sha256(), [], 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(work, flags, 0o600)
            with os.fdopen(descriptor, "wb", buffering=1 << 20) as out:
                for line in lines:
                    out.write(line + b"\n")
                    digest.update(line + b"\n")
                    places.append((start, len(line)))
                    start += len(line) + 1
                out.flush()
                os.fsync(out.fileno())
            os.rename(work, path)
            for folder in (path.parent, path.parent.parent):  # the folder may be new as well
                fsync_folder(folder)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
        return Laid(digest.digest(), places)

    def remove(self, target: Source, file: str) -> None:
        path = self.path(file)
        try:
            for name in (path.name, path.name + ".tmp"):
                path.with_name(name).unlink(missing_ok=True)
            if path.parent.is_dir():
                fsync_folder(path.parent)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be removed: {error.strerror}") from error


class Table:
    """Files as rows, which change together with the rows that refer to them."""

    def label(self, file: str) -> str:
        return f"the file {file}"

    def make_ready(self, file: str) -> None:
        checked(file)

    def has(self, source: Source, file: str) -> bool:
        query = "SELECT 1 FROM files WHERE file = ?"
        return source.execute(query, (checked(file),)).get is not None

    def open(self, source: Source, file: str) -> BinaryIO:
        body = source.execute("SELECT body FROM files WHERE file = ?", (checked(file),)).get
        if not isinstance(body, bytes):
            raise FileNotFoundError(file)
        return io.BytesIO(body)

    def write(self, target: Source, file: str, lines: Iterable[bytes]) -> Laid:
        written = list(lines)
        body = b"".join(line + b"\n" for line in written)
        places, start = [], 0
        for line in written:
            places.append((start, len(line)))
            start += len(line) + 1
        target.execute("INSERT INTO files (file, body) VALUES (?, ?)", (checked(file), body))
        return Laid(hashlib.sha256(body).digest(), places)

    def remove(self, target: Source, file: str) -> None:
        target.execute("DELETE FROM files WHERE file = ?", (checked(file),))
