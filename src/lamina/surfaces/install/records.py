"""Records of installs in the home: the edits of each file, and its text before and after."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import msgspec

from lamina.errors import InvalidInput
from lamina.home.folder import Home, hold_lock, make_private_folder, write_private
from lamina.home.ownership import opened
from lamina.surfaces.install.edits import Edit

FOLDER = "installs"
PATIENCE = 10.0  # seconds to wait for another install


class FileRecord(msgspec.Struct, frozen=True):
    """A file that was edited. Its text before is the copy that an uninstall goes back to."""

    path: str
    before: str | None
    after: str
    edits: tuple[Edit, ...]
    folders: tuple[str, ...] = ()  # created for it


class Record(msgspec.Struct, frozen=True):
    """One install: of which agent, for a user or for the project in a folder."""

    agent: str
    project: str | None
    at: datetime
    files: tuple[FileRecord, ...]

    @property
    def name(self) -> str:
        return name(self.agent, None if self.project is None else Path(self.project))

    def file(self, path: Path) -> FileRecord | None:
        return next((file for file in self.files if file.path == str(path)), None)


def name(agent: str, project: Path | None) -> str:
    """Name the file of a record."""
    if project is None:
        return f"{agent}.json"
    return f"{agent}-{hashlib.sha256(str(project).encode()).hexdigest()[:16]}.json"


class Records:
    """The records of a home."""

    def __init__(self, home: Home) -> None:
        self.folder = home.path / FOLDER

    def all(self) -> list[Record]:
        return list(self._read())

    def find(self, agent: str, project: Path | None) -> Record | None:
        path = self.folder / name(agent, project)
        return _load(path) if path.is_file() else None

    def keep(self, record: Record) -> None:
        """Write a record durably: an uninstall needs it."""
        make_private_folder(self.folder)
        write_private(self.folder / record.name, msgspec.json.encode(record))

    def restore(self, agent: str, project: Path | None, record: Record | None) -> None:
        """Restore the record of an install; remove it if there was none."""
        if record is not None:
            self.keep(record)
        else:
            (self.folder / name(agent, project)).unlink(missing_ok=True)

    def locked(self) -> AbstractContextManager[None]:
        """Allow one process at a time to install."""
        make_private_folder(self.folder)
        return hold_lock(self.folder / "lock", PATIENCE)

    def _read(self) -> Iterator[Record]:
        for path in sorted(self.folder.glob("*.json")):
            yield _load(path)


def _load(path: Path) -> Record:
    try:
        with opened(path) as file:
            return msgspec.json.decode(file.read(), type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} is not a record of `lamina install`: {error}; move it away"
        ) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
