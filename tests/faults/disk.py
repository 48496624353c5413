"""A disk that forgets what was not synced: the calls of a process again, and what is left when the
power goes at any of them.

POSIX promises nothing about bytes before `fsync` of their file, nor about names before `fsync` of
their folder, nor about their order. A real file system is kinder; this one is not.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .harness import attached, strace

SECTOR = 512
# Everything that changes files or names, and what moves the place in a file at which the next write
# happens.
KNOWN = (
    *(
        "openat",
        "write",
        "pwrite64",
        "sendfile",
        "ftruncate",
        "rename",
        "unlink",
        "rmdir",
        "unlinkat",
        "mkdir",
        "link",
    ),
    *("fsync", "fdatasync", "lseek", "read"),
)
# Who uses these for files of the home is told that they are not understood here.
UNKNOWN = (
    *(
        "writev",
        "pwritev",
        "pwritev2",
        "fallocate",
        "truncate",
        "copy_file_range",
        "renameat",
        "renameat2",
    ),
    *("mkdirat", "linkat", "symlink", "symlinkat", "sync_file_range", "msync", "creat", "open"),
)
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
OPENED = re.compile(r"(\d+)<((?:\\x[0-9a-f]{2})*)>")
UNFINISHED = " <unfinished ...>"


def unescaped(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal.replace("\\x", ""))


class Call(NamedTuple):
    """One call that came to an end: its name, its arguments as strace shows them,
    and its result."""

    name: str
    arguments: str
    result: int
    answer: str

    @property
    def strings(self) -> list[bytes]:
        assert "..." not in [cut for _, cut in STRING.findall(self.arguments)], (
            "strace has shortened something"
        )
        return [unescaped(text) for text, _ in STRING.findall(self.arguments)]

    @property
    def file(self) -> tuple[int, Path] | None:
        """The number and the path of the open file that this is about."""
        found = OPENED.match(self.arguments)
        return found and (int(found[1]), Path(unescaped(found[2]).decode()))

    @property
    def numbers(self) -> list[int]:
        """The plain numbers among the arguments, behind the last text."""
        return [int(part) for part in re.findall(r", (\d+)", STRING.sub("", self.arguments))]


def recorder(log: Path) -> list[str]:
    """strace, told to keep every call of a process and its threads that counts here, with
    all its bytes."""
    what = f"trace={','.join(KNOWN + UNKNOWN)}"
    return [strace(), "-f", "-y", "-xx", "-s", "100000000", "-o", str(log), "-e", what]


@contextmanager
def recorded(pid: int, log: Path) -> Iterator[list[Call]]:
    """strace on a process and its threads within the block; every call with all its bytes is there
    at the end of it."""
    calls: list[Call] = []
    with attached([*recorder(log), "-p", str(pid)]):
        yield calls
    calls += parsed(log.read_text().splitlines())


def parsed(lines: Sequence[str]) -> Iterator[Call]:
    """Calls in the order in which they ended; what another thread interrupted is
    put together again."""
    begun: dict[str, str] = {}
    for line in lines:
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith(UNFINISHED):
            begun[thread] = text.removesuffix(UNFINISHED)
            continue
        if text.startswith("<... "):
            text = begun.pop(thread) + text.partition("resumed>")[2]
        shape = re.fullmatch(r"(\w+)\((.*)\)\s+= (-?\d+)(.*)", text)
        if shape is not None and int(shape[3]) >= 0:
            yield Call(shape[1], shape[2], int(shape[3]), shape[3] + shape[4])


class File:
    """The bytes of one file: as the process sees them, as the disk has them for certain, and the
    writes in between."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.durable = bytes(content)
        self.pending: list[tuple[int, bytes | None]] = []

    def write(self, at: int, data: bytes | None) -> None:
        """Write some bytes; None cuts the file off there, or extends it."""
        put(self.content, at, data)
        self.pending.append((at, data))

    def sync(self) -> None:
        self.durable = bytes(self.content)
        self.pending.clear()

    def left(self, chance: random.Random | None) -> bytes:
        """What the disk may hold after a cut: nothing of what was not synced, or any part of it,
        torn between sectors."""
        content = bytearray(self.durable)
        for at, data in self.pending if chance is not None else ():
            assert chance is not None
            if chance.random() < 0.5:
                torn = data is not None and chance.random() < 0.3
                put(
                    content,
                    at,
                    data[: chance.randrange(len(data) // SECTOR + 1) * SECTOR]
                    if torn and data is not None
                    else data,
                )
        return bytes(content)


def put(content: bytearray, at: int, data: bytes | None) -> None:
    end = at if data is None else at + len(data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if data is None:
        del content[at:]
    else:
        content[at:end] = data


Name = File | None  # None is a folder
Move = dict[Path, Name | bool]  # what a name stands for from now on; False when it is gone


class Disk:
    """The files below one folder, from a state that is all on the disk."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.names: dict[Path, Name] = {
            path: File(path.read_bytes()) if path.is_file() else None for path in home.rglob("*")
        }
        self.durable = dict(self.names)
        self.pending: list[Move] = []
        self._places: dict[int, int] = {}
        self._open: dict[int, File] = {}
        self._appending: set[int] = set()

    def is_ours(self, path: Path) -> bool:
        return path == self.home or self.home in path.parents

    def follow(self, call: Call) -> bool:
        """Do what the process did; whether anything on the disk is different now."""
        if call.name == "openat":
            return self._opened(call)
        file = call.file
        if file is not None:
            return self.is_ours(file[1]) and self._changed(call, *file)
        paths = [Path(text.decode()) for text in call.strings]
        if not any(map(self.is_ours, paths)):
            return False
        assert call.name in KNOWN, call
        self._named(call.name, paths)
        return True

    def _opened(self, call: Call) -> bool:
        found = OPENED.match(call.answer)
        if found is None or not self.is_ours(path := Path(unescaped(found[2]).decode())):
            return False
        number, made = int(found[1]), path not in self.names and path != self.home
        self._places[number] = 0
        if made:
            self._move({path: File()})
        target = self.names.get(path)
        if target is None:
            return made
        self._open[number] = target
        (self._appending.add if "O_APPEND" in call.arguments else self._appending.discard)(number)
        if "O_TRUNC" in call.arguments and target.content:
            target.write(0, None)
        return True

    def _changed(self, call: Call, number: int, path: Path) -> bool:
        if call.name in ("fsync", "fdatasync"):
            return self._synced(number, path)
        if call.name == "unlinkat":
            self._move({path / call.strings[0].decode(): False})
            return True
        if call.name in ("lseek", "read"):
            self._places[number] = (
                call.result if call.name == "lseek" else self._places.get(number, 0) + call.result
            )
            return False
        assert call.name in KNOWN, call
        file = self._open[number]
        if call.name == "sendfile":
            self._put(number, file, self._sent(call))
        elif call.name == "ftruncate":
            file.write(call.numbers[-1], None)
        elif call.name == "pwrite64":
            file.write(call.numbers[-1], call.strings[0][: call.result])
        else:
            self._put(number, file, call.strings[0][: call.result])
        return True

    def _put(self, number: int, file: File, data: bytes) -> None:
        """Write where this open file stands."""
        at = len(file.content) if number in self._appending else self._places.get(number, 0)
        file.write(at, data)
        self._places[number] = at + len(data)

    def _sent(self, call: Call) -> bytes:
        """What the system copied from one file into another. One outside the home stays
        as it is."""
        source, name = OPENED.findall(call.arguments)[1]
        path = Path(unescaped(name).decode())
        offset = re.search(r"\[(\d+)\]", call.arguments)
        assert offset is not None, call
        content = self._open[int(source)].content if self.is_ours(path) else path.read_bytes()
        return bytes(content[int(offset[1]) :][: call.result])

    def _synced(self, number: int, path: Path) -> bool:
        file = self.names.get(path)
        if path == self.home or (path in self.names and file is None):
            settled = [move for move in self.pending if any(name.parent == path for name in move)]
            for move in settled:
                self.pending.remove(move)
                apply(self.durable, move)
            return bool(settled)
        self._open[number].sync()
        return True

    def _named(self, name: str, paths: list[Path]) -> None:
        first, last = paths[0], paths[-1]
        if name == "mkdir":
            self._move({first: None})
        elif name in ("unlink", "rmdir"):
            self._move({first: False})
        elif name == "link":
            self._move({last: self.names[first]})
        else:
            inside = {path: value for path, value in self.names.items() if first in path.parents}
            moved: Move = {last: self.names[first], first: False}
            moved |= {last / path.relative_to(first): value for path, value in inside.items()}
            self._move(moved | dict.fromkeys(inside, False))

    def _move(self, move: Move) -> None:
        apply(self.names, move)
        self.pending.append(move)

    def left(self, manner: str, chance: random.Random) -> dict[Path, bytes | None]:
        """What is there when the power comes back: nothing that was not synced, names without
        bytes, or any part."""
        names = dict(self.durable)
        for move in self.pending[
            : {"strict": 0, "names": None, "mixed": chance.randint(0, len(self.pending))}[manner]
        ]:
            apply(names, move)
        luck = chance if manner == "mixed" else None
        reachable = {
            path
            for path in names
            if all(folder in names for folder in path.parents if self.home in folder.parents)
        }
        # The shared memory of SQLite is no file to rely on: it is made anew by whoever comes first.
        wanted = {path: names[path] for path in sorted(reachable) if not path.name.endswith("-shm")}
        return {path: None if file is None else file.left(luck) for path, file in wanted.items()}

    def written(self, left: dict[Path, bytes | None], to: Path) -> Path:
        """That state as real files."""
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(mode=0o700)
        for path, content in left.items():
            place = to / path.relative_to(self.home)
            if content is None:
                place.mkdir(mode=0o700)
            else:
                place.write_bytes(content)
                place.chmod(0o600)
        return to


def apply(names: dict[Path, Name], move: Move) -> None:
    for path, value in move.items():
        if isinstance(value, bool):
            names.pop(path, None)
        else:
            names[path] = value
