"""The private home on disk: allowed names and paths, private files, and the log of violations."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec

from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.home import ownership
from lamina.home.locks import locked
from lamina.model.record import Actor, iso
from lamina.text.words import is_invisible, one_line, shown

AGENT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# Names that Windows resolves to devices in any folder.
DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)
MAX_USER = 128
QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|/\S+")
UNREADABLE = "unreadable line"
LATELY = timedelta(days=30)  # older entries stay in the log, without a warning
# Neither follow a link nor wait for a process at the other end of a pipe.
NOT_ELSEWHERE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def agent_name(value: object) -> str:
    """Check an agent's name: it must be unambiguous on any file system, in any case, to any eye."""
    if not isinstance(value, str) or not AGENT_NAME.fullmatch(value):
        raise InvalidInput(
            f"agent name {shown(value)} is not allowed: use a-z, 0-9, - and _, at most 64"
            " characters, starting with a letter or digit"
        )
    if value in DEVICES:
        problem = "it names a device on some systems"
        raise InvalidInput(f"agent name {value!r} is not allowed: {problem}")
    return value


def user_name(value: object) -> str | None:
    """Check the user that a handle is limited to, normalised with NFKC; None means no limit."""
    if value is None:
        return None
    name = unicodedata.normalize("NFKC", value) if isinstance(value, str) else ""
    if not 0 < len(name) <= MAX_USER or name != name.strip():
        problem = f"is not a text of 1 to {MAX_USER} characters without outer spaces"
        raise InvalidInput(f"user name {shown(value)} {problem}")
    if not name.isprintable() or any(map(is_invisible, name)):
        raise InvalidInput(f"user name {shown(value)} contains control or invisible characters")
    return name


def stored_user(
    value: object,
    is_known: Callable[[str], bool],
    has_likeness: Callable[[str], bool],
) -> str | None:
    """Check the name of a user of a store: accept a stored one, refuse a new one that looks alike.

    `has_likeness` tells whether a user's name has this skeleton. For nearly all names, the store
    need not be asked.
    """
    name = user_name(value)
    if name is None or not isinstance(value, str) or (name.isascii() and name == value):
        return name
    from lamina.text import lookalikes  # needed for few names, and not when commands start

    letter, likeness = lookalikes.foreign_letter(name), lookalikes.skeleton(name)
    if (name == value and letter is None and not likeness.isascii()) or is_known(value):
        return value
    refused = f"user name {shown(value)} is not allowed"
    if letter is not None:
        code = f"{letter} (U+{ord(letter):04X}, {unicodedata.name(letter)})"
        problem = f"{code} looks like a letter of another script; write each word in one script"
        raise InvalidInput(f"{refused}: {problem}")
    if likeness != name and has_likeness(likeness):
        raise InvalidInput(f"{refused}: another user here has a name that looks the same")
    return name


def given_path(value: object) -> Path:
    """Check a path given by a caller, and make it absolute."""
    if not isinstance(value, (str, Path)):
        raise InvalidInput(f"the path {shown(value)} is a {type(value).__name__}, not a text")
    if "\0" in str(value):
        raise InvalidInput(f"the path {shown(str(value))} contains a NUL character")
    try:
        path = Path(value).expanduser().absolute()
        path.lstat()
    except RuntimeError:
        raise InvalidInput(
            f"the path {shown(str(value))} names the home of an unknown user"
        ) from None
    except UnicodeEncodeError:
        raise InvalidInput(
            f"the path {shown(str(value))} has characters that no path can have"
        ) from None
    except OSError as error:  # most paths need not exist yet
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            problem = f"leads nowhere: {error.strerror}"
            raise InvalidInput(f"the path {shown(str(value))} {problem}") from None
    return path


class Violation(msgspec.Struct, frozen=True):
    """An attempt to cross a boundary of the home: who, from where, what, and with which value."""

    at: str
    actor: str
    surface: str
    attempt: str
    value: str

    @property
    def kind(self) -> str:
        """The kind of attempt: its description without the values in it."""
        return QUOTED.sub("…", self.attempt).partition(": ")[0]


class Violations(msgspec.Struct, frozen=True):
    """The newest attempts first, and the number of unreadable lines in the log."""

    entries: tuple[Violation, ...]
    unreadable: int


class Home:
    """A folder that holds the memories of all agents, each in a folder of its own."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(os.path.realpath(given_path(path)))

    @property
    def violations(self) -> Path:
        return self.path / "violations.jsonl"

    @property
    def status(self) -> Path:
        """The folder in which every agent reports what was last done, and what is pending."""
        return self.path / "status"

    def agent_folder(self, agent: str) -> Path:
        return self.path / "agents" / agent_name(agent)

    def agents(self) -> Iterator[str]:
        """List the agents that have a folder here, by name."""
        folder = self.path / "agents"
        if folder.is_dir():
            names = (entry.name for entry in folder.iterdir())
            yield from sorted(filter(AGENT_NAME.fullmatch, names))

    def prepare(self, agent: str) -> Path:
        """Create the agent's folder, private, if new. Refuse a link or another account's folder."""
        folder = self.agent_folder(agent)
        make_private_folder(self.path)
        refuse_untrusted(self.path)
        for step in (folder.parent, folder):
            refuse_link(step)
            make_private_folder(step)
            refuse_untrusted(step)
        return folder

    def log_violation(self, at: datetime, actor: Actor, attempt: str, value: object) -> None:
        """Log an attempt to reach another agent's or user's memory, or to leave the home."""
        if not self.path.is_dir():
            return  # a home that does not exist holds nothing to protect
        entry = {
            "at": iso(at),
            "actor": one_line(str(actor)),
            "surface": actor.surface,
            "attempt": attempt,
            "value": shown(value),
        }
        line = json.dumps(entry).encode() + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(self.violations, flags, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.violations} cannot be written: {error.strerror}"
            ) from error

    def read_violations(self, limit: int) -> Violations:
        """Read the newest entries of the log, and count its unreadable lines."""
        newest: deque[Violation] = deque(maxlen=limit)
        unreadable = 0
        for entry in self._log_entries():
            if entry is None:
                unreadable += 1
            else:
                newest.append(entry)
        return Violations(tuple(reversed(newest)), unreadable)

    def violations_by_attempt(self, now: datetime) -> dict[str, int]:
        """Count the recent attempts by kind, the most frequent first, and the unreadable lines."""
        since = iso(now - LATELY)
        recent = (entry for entry in self._log_entries() if entry is None or entry.at >= since)
        counts = Counter(UNREADABLE if entry is None else entry.kind for entry in recent)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _log_entries(self) -> Iterator[Violation | None]:
        """Read the entries of the log, oldest first; None for an unreadable line."""
        try:
            with self.violations.open("rb") as file:
                for line in file:
                    try:
                        yield msgspec.json.decode(line, type=Violation)
                    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                        yield None
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreUnavailable(f"{self.violations} cannot be read: {error.strerror}") from error


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter. An existing one keeps its mode; see `doctor`."""
    try:
        for folder in [*reversed(path.parents), path]:
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
                # Otherwise a power cut could lose it with everything synced in it.
                fsync_folder(folder.parent)
    except (FileExistsError, NotADirectoryError):
        problem = "is a file, or lies below one, where a folder is needed"
        raise StoreUnavailable(f"{path} {problem}") from None
    except OSError as error:
        raise StoreUnavailable(f"the folder {path} cannot be made: {error.strerror}") from error


def make_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read, if there is none. Never follow a link."""
    refuse_link(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be made: {error.strerror}") from error
    os.close(descriptor)


@contextmanager
def hold_lock(path: Path, patience: float | None = None) -> Iterator[None]:
    """Hold an exclusive lock on a file of ours within this block.

    Wait for it without a limit, or for some seconds and then raise. The file names the process that
    holds the lock.
    """
    make_private_file(path)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path, patience=patience))
            if patience is not None:
                path.write_text(str(os.getpid()), "ascii")
        except BlockingIOError as error:
            why = f"{path} is held by {_holder(path)}, waited {patience:.0f} s"
            raise StoreUnavailable(f"{why}; try again when that has ended") from error
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be locked: {error.strerror}") from error
        yield


def _holder(path: Path) -> str:
    with suppress(OSError, ValueError):
        return f"process {int(path.read_text('ascii'))}"
    return "another process"


def write_private(path: Path, content: bytes) -> None:
    """Write a whole file, durably, that only its owner can read; or write nothing."""
    work = path.with_name(path.name + ".tmp")
    refuse_link(work)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(work, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(work, path)
        fsync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # what prevented the write may prevent the removal
            work.unlink(missing_ok=True)
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error


def append_private(path: Path, body: bytes) -> None:
    """Append lines durably to a file that only its owner can read. Complete a torn line first."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | NOT_ELSEWHERE
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        if status.st_size:
            file.seek(-1, os.SEEK_END)
            body = body if file.read(1) == b"\n" else b"\n" + body
        left = memoryview(body)
        while left:
            left = left[file.write(left) :]
        os.fsync(descriptor)


def cut_private(path: Path, size: int) -> None:
    """Truncate such a file to a size."""
    descriptor = os.open(path, os.O_WRONLY | NOT_ELSEWHERE)
    try:
        os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


def open_private(path: Path) -> BinaryIO | None:
    """Open a file for reading, if there is one: no link, and nothing that would make us wait."""
    return os.fdopen(os.open(path, os.O_RDONLY | NOT_ELSEWHERE), "rb") if is_file(path) else None


def read_private(path: Path) -> bytes:
    """Read the whole content of such a file; empty if there is none."""
    file = open_private(path)
    if file is None:
        return b""
    with file:
        return file.read()


def is_file(path: Path) -> bool:
    """Tell if there is a file that is not a link."""
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def has_bytes(path: Path) -> bool:
    """Tell if there is a file that is not empty."""
    return path.exists() and path.stat().st_size > 0


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 for a folder, or if it has just been removed."""
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except FileNotFoundError:
        return 0


def refuse_link(path: Path) -> os.stat_result | None:
    """Raise if a file that should be ours is a link to elsewhere; otherwise return its status."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        problem = "is a symbolic link; memory is only kept in real files under the home"
        raise Refused(f"{path} {problem}")
    return status


def refuse_untrusted(path: Path) -> None:
    """Raise if a file that should be ours is a link, another account's, or writable by others."""
    status = refuse_link(path)
    if status is not None:
        ownership.check_status(path, status)


def fsync_folder(path: Path) -> None:
    """Make a rename in this folder survive a power cut."""
    if os.name == "nt":  # folders cannot be opened there, and renames are already durable
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
