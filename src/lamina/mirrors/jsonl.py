"""The memories as two live JSONL files, for people who like files; no memory is read from them."""

from __future__ import annotations

import hashlib
import heapq
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from lamina.errors import InvalidInput, StoreUnavailable
from lamina.formats import milton, sky
from lamina.home.folder import fsync_folder, make_private_folder, refuse_link, write_private
from lamina.mirrors import Damaged, Position
from lamina.model.record import Layer, Record
from lamina.text.words import shown

SHORT, LONG = "short_term.jsonl", "long_term.jsonl"
POSITION = ".position.json"
FORMS = {"sky": sky.line_of, "milton": milton.line_of}
# The form's name in a checkpoint: files with lines of another form are rewritten.
MARKS = {"sky": "sky", "milton": "milton, payload and data"}
BUFFER = 1 << 17


class Checkpoint(msgspec.Struct, frozen=True):
    """The state after a commit: how far the files go, and how long they were."""

    position: Position
    form: str
    sizes: dict[str, int]


class SpooledLine(NamedTuple):
    """A record's line that waits in the spool for a commit, and the file that it belongs in."""

    seq: int
    file: str
    start: int
    size: int


class _Payload(msgspec.Struct):
    id: str


class _Stamp(msgspec.Struct):
    """The part of a line that identifies its record, in either form."""

    seq: int
    id: str | None = None
    payload: _Payload | None = None


_stamps = msgspec.json.Decoder(_Stamp)
_encode = msgspec.json.Encoder().encode


class JsonlMirror:
    """`short_term.jsonl` and `long_term.jsonl` in one folder, in the order of `seq`.

    New lines are appended. To remove or change a line, a new file is written beside the old one
    and replaces it. After a crash, files are truncated to their sizes at the last commit.
    """

    def __init__(self, folder: Path, form: str = "sky") -> None:
        if form not in FORMS:
            raise InvalidInput(f"unknown form {shown(form)} of JSONL; known are {', '.join(FORMS)}")
        self._folder = folder
        self._form = form
        self._known: Checkpoint | None = None
        self._waiting: dict[str, SpooledLine] = {}
        self._dropped: set[str] = set()
        self._cleared = False
        self._spool: IO[bytes] | None = None

    @property
    def place(self) -> str:
        return str(self._folder)

    def position(self) -> Position | None:
        self._known = None if self._cleared else self._saved()
        return None if self._known is None else self._known.position

    def put(self, records: Sequence[Record]) -> None:
        with self._writing():
            spool = self._spool = self._spool or self._new_spool()
            start = spool.seek(0, os.SEEK_END)
            for record in records:
                line = self._line(record)
                spool.write(line)
                file = SHORT if record.layer is Layer.SHORT_TERM else LONG
                self._waiting[record.id] = SpooledLine(record.seq, file, start, len(line))
                start += len(line)

    def drop(self, ids: Sequence[str]) -> None:
        for record_id in ids:
            self._waiting.pop(record_id, None)
            self._dropped.add(record_id)

    def clear(self) -> None:
        self._forget()
        self._cleared = True

    def commit(self, position: Position) -> None:
        with self._writing():
            saved = None if self._cleared else self._saved()
            if self._known not in (None, saved) and not self._cleared:
                raise Damaged(f"{self._folder} was changed by somebody else")
            self._cleared = saved is None
            self._remove_works()
            sizes = {SHORT: 0, LONG: 0} if saved is None else saved.sizes
            if self._cleared or self._waiting or self._dropped:
                sizes = self._write(sizes)
            self._known = Checkpoint(position, MARKS[self._form], sizes)
            write_private(self._folder / POSITION, msgspec.json.encode(self._known))
        self._forget()

    def entries(self) -> Iterator[tuple[str, str]]:
        saved = self._saved()
        for name, size in () if saved is None else saved.sizes.items():
            for _, record_id, line in self._lines(name, size):
                yield record_id, hashlib.sha256(line).hexdigest()

    def digest(self, record: Record) -> str:
        return hashlib.sha256(self._line(record)).hexdigest()

    def _line(self, record: Record) -> bytes:
        return _encode(FORMS[self._form](record)) + b"\n"

    def _forget(self) -> None:
        """Discard what waits."""
        if self._spool is not None:
            self._end_of_spool()
        self._spool = None
        self._waiting, self._dropped, self._cleared = {}, set(), False

    def _new_spool(self) -> IO[bytes]:
        """Open an unnamed file for waiting lines; it vanishes with this process."""
        spool = tempfile.TemporaryFile(buffering=BUFFER, dir=self._folder)  # noqa: SIM115 - kept
        self._end_of_spool = weakref.finalize(self, spool.close)
        return spool

    def _saved(self) -> Checkpoint | None:
        """Read the last checkpoint, unless the files are shorter than it says."""
        try:
            saved = msgspec.json.decode((self._folder / POSITION).read_bytes(), type=Checkpoint)
            sizes = {name: (self._folder / name).stat().st_size for name in (SHORT, LONG)}
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} cannot be read: {error.strerror}") from error
        is_intact = saved.sizes.keys() == sizes.keys() and all(
            sizes[name] >= size for name, size in saved.sizes.items()
        )
        return saved if is_intact and saved.form == MARKS[self._form] else None

    def _write(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Apply puts and drops to both files; return their new sizes."""
        waiting: dict[str, list[SpooledLine]] = {SHORT: [], LONG: []}
        for spooled in sorted(self._waiting.values()):
            waiting[spooled.file].append(spooled)
        rewritten: dict[str, int] = {}
        try:
            for name, lines in waiting.items():
                if self._needs_rewrite(name, sizes[name], lines):
                    rewritten[name] = self._rewrite(name, sizes[name], lines)
        except BaseException:
            self._remove_works()
            raise
        if rewritten:
            self._replace(rewritten)
        return {
            name: rewritten[name] if name in rewritten else self._append(name, sizes[name], lines)
            for name, lines in waiting.items()
        }

    def _replace(self, names: Iterable[str]) -> None:
        """Replace files with their new versions."""
        # Without a position, a crash between two files is noticed, and the mirror is rebuilt.
        (self._folder / POSITION).unlink(missing_ok=True)
        fsync_folder(self._folder)
        for name in names:
            os.replace(self._work(name), self._folder / name)
        fsync_folder(self._folder)

    def _needs_rewrite(self, name: str, size: int, waiting: Sequence[SpooledLine]) -> bool:
        """Return whether a line has to be removed, or inserted before others."""
        if self._cleared:
            return True
        last = -1
        for seq, record_id, _ in self._lines(name, size):
            if record_id in self._dropped or record_id in self._waiting:
                return True
            last = seq
        return bool(waiting) and waiting[0].seq <= last

    def _append(self, name: str, size: int, waiting: Sequence[SpooledLine]) -> int:
        path = self._folder / name
        if path.stat().st_size == size and not waiting:
            return size
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags), "r+b", buffering=BUFFER) as file:
            file.truncate(size)  # remove what a crash has left
            file.seek(size)
            for _, line in self._waiting_lines(waiting):
                file.write(line)
            return _finished(file)

    def _rewrite(self, name: str, size: int, waiting: Sequence[SpooledLine]) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self._work(name), flags, 0o600), "wb", buffering=BUFFER) as file:
            kept = () if self._cleared else self._kept_lines(name, size)
            for _, line in heapq.merge(kept, self._waiting_lines(waiting)):
                file.write(line)
            return _finished(file)

    def _kept_lines(self, name: str, size: int) -> Iterator[tuple[int, bytes]]:
        for seq, record_id, line in self._lines(name, size):
            if record_id not in self._dropped and record_id not in self._waiting:
                yield seq, line

    def _waiting_lines(self, waiting: Sequence[SpooledLine]) -> Iterator[tuple[int, bytes]]:
        for spooled in waiting:
            assert self._spool is not None
            self._spool.seek(spooled.start)
            yield spooled.seq, self._spool.read(spooled.size)

    def _lines(self, name: str, size: int) -> Iterator[tuple[int, str, bytes]]:
        """Read the lines of a file up to its committed size: seq, id, bytes."""
        try:
            with (self._folder / name).open("rb", buffering=BUFFER) as file:
                while size > 0 and (line := file.readline(size)):
                    size -= len(line)
                    stamp = _stamps.decode(line)
                    yield stamp.seq, stamp.id or (stamp.payload.id if stamp.payload else ""), line
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Damaged(f"{self._folder / name}: {error}") from error

    def _work(self, name: str) -> Path:
        return self._folder / f".{name}.tmp"

    def _remove_works(self) -> None:
        """Remove half-written files, ours and those of a process that died."""
        for name in (SHORT, LONG):
            self._work(name).unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Provide a private folder of regular files, and translate disk errors into ours."""
        for path in (self._folder, *(self._folder / name for name in (SHORT, LONG, POSITION))):
            refuse_link(path)
        make_private_folder(self._folder)
        try:
            yield
        except OSError as error:
            problem = f"the mirror in {self._folder} cannot be written: {error.strerror}"
            raise StoreUnavailable(problem) from error


def _finished(file: IO[bytes]) -> int:
    """Make a file durable and return its size."""
    file.flush()
    os.fsync(file.fileno())
    return file.tell()
