"""The memories as two live JSONL files, for people who like files. Nothing is read back from them as memory."""

from __future__ import annotations

import hashlib
import heapq
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
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
BUFFER = 1 << 17


class Saved(msgspec.Struct, frozen=True):
    """What a commit leaves beside the files: how far they go, and how long they were."""

    position: Position
    form: str
    sizes: dict[str, int]


class Waiting(NamedTuple):
    """A record that was put: its number, its file, and where its line lies among those that wait."""

    seq: int
    file: str
    start: int
    size: int


class _Payload(msgspec.Struct):
    id: str


class _Stamp(msgspec.Struct):
    """What has to be known of a line to keep it, in either form."""

    seq: int
    id: str | None = None
    payload: _Payload | None = None


_stamps = msgspec.json.Decoder(_Stamp)
_encode = msgspec.json.Encoder().encode


class JsonlMirror:
    """`short_term.jsonl` and `long_term.jsonl` in one folder, in the order of `seq`.

    New lines are appended; where a line has to go or to change, the file is written anew beside the old one and takes its
    place. What a crash leaves behind the sizes of the last commit is cut off.
    """

    def __init__(self, folder: Path, form: str = "sky") -> None:
        if form not in FORMS:
            raise InvalidInput(f"unknown form {shown(form)} of JSONL; known are {', '.join(FORMS)}")
        self._folder = folder
        self._form = form
        self._known: Saved | None = None
        self._waiting: dict[str, Waiting] = {}
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
                self._waiting[record.id] = Waiting(record.seq, file, start, len(line))
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
                sizes = self._written(sizes)
            self._known = Saved(position, self._form, sizes)
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
        """Nothing waits any more."""
        if self._spool is not None:
            self._end_of_spool()
        self._spool = None
        self._waiting, self._dropped, self._cleared = {}, set(), False

    def _new_spool(self) -> IO[bytes]:
        """A file without a name for what waits, which goes with us."""
        spool = tempfile.TemporaryFile(buffering=BUFFER, dir=self._folder)  # noqa: SIM115 - it lives until a commit
        self._end_of_spool = weakref.finalize(self, spool.close)
        return spool

    def _saved(self) -> Saved | None:
        """What the last commit left, as long as the files are at least what they were."""
        try:
            saved = msgspec.json.decode((self._folder / POSITION).read_bytes(), type=Saved)
            sizes = {name: (self._folder / name).stat().st_size for name in (SHORT, LONG)}
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        except OSError as error:
            raise StoreUnavailable(f"{self._folder} cannot be read: {error.strerror}") from error
        is_intact = saved.sizes.keys() == sizes.keys() and all(
            sizes[name] >= size for name, size in saved.sizes.items()
        )
        return saved if is_intact and saved.form == self._form else None

    def _written(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Bring both files to what was put and dropped; their sizes."""
        waiting: dict[str, list[Waiting]] = {SHORT: [], LONG: []}
        for one in sorted(self._waiting.values()):
            waiting[one.file].append(one)
        anew = [
            name for name in (SHORT, LONG) if self._must_be_anew(name, sizes[name], waiting[name])
        ]
        try:
            made = {name: self._write_anew(name, sizes[name], waiting[name]) for name in anew}
        except BaseException:
            self._remove_works()
            raise
        if anew:
            self._put_in_place(anew)
        return {
            name: made[name] if name in made else self._append(name, sizes[name], waiting[name])
            for name in (SHORT, LONG)
        }

    def _put_in_place(self, names: Sequence[str]) -> None:
        # Without a position, a crash between two names is seen, and all is made anew.
        (self._folder / POSITION).unlink(missing_ok=True)
        fsync_folder(self._folder)
        for name in names:
            os.replace(self._work(name), self._folder / name)
        fsync_folder(self._folder)

    def _must_be_anew(self, name: str, size: int, waiting: Sequence[Waiting]) -> bool:
        """Whether a line has to go, or one to stand before others."""
        if self._cleared:
            return True
        last = -1
        for seq, record_id, _ in self._lines(name, size):
            if record_id in self._dropped or record_id in self._waiting:
                return True
            last = seq
        return bool(waiting) and waiting[0].seq <= last

    def _append(self, name: str, size: int, waiting: Sequence[Waiting]) -> int:
        path = self._folder / name
        if path.stat().st_size == size and not waiting:
            return size
        with os.fdopen(
            os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)), "r+b", buffering=BUFFER
        ) as file:
            file.truncate(size)  # what a crash has left
            file.seek(size)
            for _, line in self._waiting_lines(waiting):
                file.write(line)
            return _finished(file)

    def _write_anew(self, name: str, size: int, waiting: Sequence[Waiting]) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self._work(name), flags, 0o600), "wb", buffering=BUFFER) as file:
            kept = () if self._cleared else self._staying(name, size)
            for _, line in heapq.merge(kept, self._waiting_lines(waiting)):
                file.write(line)
            return _finished(file)

    def _staying(self, name: str, size: int) -> Iterator[tuple[int, bytes]]:
        for seq, record_id, line in self._lines(name, size):
            if record_id not in self._dropped and record_id not in self._waiting:
                yield seq, line

    def _waiting_lines(self, waiting: Sequence[Waiting]) -> Iterator[tuple[int, bytes]]:
        for one in waiting:
            assert self._spool is not None
            self._spool.seek(one.start)
            yield one.seq, self._spool.read(one.size)

    def _lines(self, name: str, size: int) -> Iterator[tuple[int, str, bytes]]:
        """The lines of a file up to what was committed: number, id, bytes."""
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
        """Leave no half file, neither ours nor that of a process that died."""
        for name in (SHORT, LONG):
            self._work(name).unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A private folder of real files, and errors of the disk in our words."""
        for path in (self._folder, *(self._folder / name for name in (SHORT, LONG, POSITION))):
            refuse_link(path)
        make_private_folder(self._folder)
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"the mirror in {self._folder} cannot be written: {error.strerror}"
            ) from error


def _finished(file: IO[bytes]) -> int:
    """Make a file durable; its size."""
    file.flush()
    os.fsync(file.fileno())
    return file.tell()
