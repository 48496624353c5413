"""The spool of an agent (B4): two files that take memories while the store cannot."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from lamina.errors import Conflict, Corrupt, LaminaError, StoreUnavailable
from lamina.failsafe.line import (
    ITEM,
    Action,
    Broken,
    Commit,
    Contents,
    Item,
    Line,
    LinePosition,
    decoded,
    emptied,
    encoded,
)
from lamina.home.folder import (
    append_private,
    cut_private,
    fsync_folder,
    is_file,
    make_private_file,
    make_private_folder,
    open_private,
    read_private,
    refuse_link,
    size_of,
    write_private,
)
from lamina.home.locks import locked
from lamina.model import hashing
from lamina.model.record import Actor, Layer, iso
from lamina.text.words import counted, shown

SHORT, LONG, REJECTED = "short_term.jsonl", "long_term.jsonl", "rejected.jsonl"
FILES = (LONG, SHORT)
WRITING, REPLAYING = ".lock", ".replay"  # empty files to lock
SHORT_LAYERS = frozenset((Layer.WORKING, Layer.SHORT_TERM))
QUIET = 5.0  # seconds to wait for a replay to end
OUTAGES = (StoreUnavailable, Corrupt)
UNFINISHED = "other lines of its batch are missing, so it was never acknowledged"


Batch = dict[int, tuple[Line, LinePosition]]  # by part number


class _File:
    """One file as far as it was read. Lines are only added, so what was read stays."""

    def __init__(self, inode: int) -> None:
        self.inode = inode
        self.changed = 0  # when, in nanoseconds
        self.size = 0
        self.number = 0
        self.last = b""  # the last complete line
        self.good: list[tuple[Line, LinePosition]] = []
        self.broken: list[Broken] = []
        self.tail: Broken | None = None


class Spool:
    """The two files of an agent. One process at a time changes them, durably before it returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, _File] = {}
        self._batches: dict[str, Batch] = {}
        self._keys: dict[tuple[str | None, str | None], Line] = {}
        self._last = -1  # the highest order read so far
        self._contents: Contents | None = None
        self._cache_lock = threading.Lock()

    def is_waiting(self) -> bool:
        """Return whether anything waits, by the size of the files alone; ignore foreign files."""
        try:
            is_folder = stat.S_ISDIR(os.lstat(self.folder).st_mode)
        except (
            FileNotFoundError,
            NotADirectoryError,
        ):  # as in most homes; every search calls this, so it is one system call
            return False
        return is_folder and any(
            is_file(path := self.folder / name) and size_of(path) for name in FILES
        )

    def contents(self) -> Contents:
        """Read everything that waits now."""
        if not self.is_waiting():
            return Contents()
        with self._cache_lock, self._locked(reading=True):
            return self._gathered()

    def keep(
        self,
        items: Sequence[Item],
        at: datetime,
        action: Action,
        actor: Actor,
        unless: Mapping[str, Any] | None = None,
    ) -> list[Line]:
        """Keep memories, all or none; they survive a power cut when this returns.

        Repeating a key with the same text returns the same memory.
        """
        self._make_folder()
        with self._cache_lock, self._locked():
            self._read()
            order = max(
                self._last + 1, sum(map(_size, self._files.values()))
            )  # an erasure may have shortened the files
            batch = os.urandom(8).hex()
            commit = None if unless is None else msgspec.convert(unless, Commit)
            kept: list[Line] = []
            new: list[Line] = []
            own: dict[tuple[str | None, str | None], Line] = {}
            for one in items:
                name = one.draft.user, one.draft.key
                line = (own.get(name) or self._known(name)) if one.draft.key is not None else None
                if line is None:
                    line = Line(
                        ITEM,
                        one.id,
                        at,
                        order,
                        batch,
                        len(new) + 1,
                        0,
                        action,
                        actor,
                        one.draft,
                        commit,
                    )
                    new.append(line)
                    own[name] = line
                elif line.payload is not None and line.payload.content != one.draft.content:
                    key = shown(one.draft.key)
                    raise Conflict(
                        f"the key {key} was used for another text, in record {line.id}",
                        record=line.id,
                    )
                kept.append(line)
            self._append(new)
        return kept

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Prevent replays in a block: an erasure cleans waiting lines where they are."""
        self._make_folder()
        make_private_file(self.folder / REPLAYING)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / REPLAYING, reading=True, patience=QUIET))
            except BlockingIOError as error:
                why = "another process is replaying the fail-safe; try again when it is done"
                raise StoreUnavailable(why) from error
            except OSError as error:
                raise self._unusable(error) from error
            yield

    @contextmanager
    def replaying(self) -> Iterator[bool]:
        """Lock the spool for a replay; yield False if another process is replaying."""
        self._make_folder()
        with ExitStack() as stack:
            is_alone = True
            try:
                stack.enter_context(locked(self.folder / REPLAYING, patience=0))
            except BlockingIOError:
                is_alone = False
            except OSError as error:
                raise self._unusable(error) from error
            yield is_alone

    def settle(
        self, done: Contents, rejected: Mapping[str, str], archive: Path, stamp: str
    ) -> list[Path] | None:
        """Archive the files once all of them is done, and set aside the lines that were unusable.

        `rejected` maps ids of lines to reasons. If lines were added meanwhile, nothing is moved.
        """
        with self._cache_lock, self._locked():
            if self._gathered().files != done.files:
                return None
            unused = [
                Broken(place, rejected[line.id])
                for line, place in done.waiting
                if line.id in rejected
            ]
            self._lay_aside([*done.broken, *unused])
            return self._move(archive, stamp)

    def rejected(self) -> int:
        """Count the lines that were set aside."""
        with suppress(OSError):
            return read_private(self.folder / REJECTED).count(b"\n")
        return 0

    def problems(self) -> list[str]:
        """Describe foreign files, and lines that wait or were set aside."""
        own = [self.folder / name for name in (*FILES, REJECTED)]
        strange = [path for path in own if os.path.lexists(path) and not is_file(path)]
        strange = [self.folder] if self.folder.is_symlink() else strange
        found = [
            f"{path} is not what Lamina has made, so the fail-safe cannot be used; move it away"
            for path in strange
        ]
        if self.is_waiting():
            number = len(self.contents().lines)
            memories = counted(number, "memory waits", "memories wait")
            found.append(f"{memories} in the fail-safe; see `lamina failsafe status`")
        if number := self.rejected():
            lines = counted(number, "line of the fail-safe", "lines of the fail-safe")
            found.append(f"{lines} could not be used, kept in {self.folder / REJECTED}")
        return found

    def status(self) -> dict[str, Any]:
        """Count what waits."""
        found = self.contents()
        sizes = {name: size for name, _, size in found.files}
        waiting = [(line, place) for line, place in found.waiting if line.payload is not None]

        def told(name: str) -> dict[str, int]:
            return {
                "lines": sum(place.file == name for _, place in waiting),
                "bytes": sizes.get(name, 0),
            }

        return {
            "folder": str(self.folder),
            "waiting": len(waiting),
            "oldest": min((iso(line.at) for line, _ in waiting), default=None),
            "short_term": told(SHORT),
            "long_term": told(LONG),
            "broken": [
                {"file": one.place.file, "line": one.place.number, "why": one.why}
                for one in found.broken
            ],
            "rejected": self.rejected(),
        }

    def cleanse(self, is_doomed: Callable[[bytes], bool], archive: Path) -> list[Path]:
        """Remove lines from every file of the spool (P5); return the files that were rewritten.

        A line that still waits keeps its position in its batch, without any of its text.
        """
        own = [self.folder / name for name in (*FILES, REJECTED)]
        found = [path for path in (*own, *archived(archive)) if is_file(path)]
        if not found:
            return []
        self._make_folder()
        with self._cache_lock, self._locked():
            return [
                path for path in found if _cleansed(path, is_doomed, keeps_place=path in own[:2])
            ]

    # The methods below are called with the lock held.

    def _make_folder(self) -> None:
        refuse_link(self.folder)
        make_private_folder(self.folder)

    @contextmanager
    def _locked(self, *, reading: bool = False) -> Iterator[None]:
        try:
            with locked(self.folder / WRITING, reading=reading):
                yield
        except BlockingIOError as error:
            held = "another process holds the fail-safe; try again"
            raise StoreUnavailable(f"{self.folder}: {held}", failsafe=True) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.folder}: the fail-safe cannot be used: {error.strerror}", failsafe=True
        )

    def _read(self) -> None:
        """Read what is new in the files; reread a file that was changed or replaced."""
        for name in FILES:
            known = self._files.get(name)
            before = len(known.good) if known is not None else 0
            if self._read_file(name):
                self._contents = None
                if self._files.get(name) is known and known is not None:
                    self._index(known.good[before:])
                else:
                    self._batches, self._keys, self._last = {}, {}, -1
                    for file in self._files.values():
                        self._index(file.good)

    def _read_file(self, name: str) -> bool:
        """Read the rest of a file; return whether there was anything new."""
        known = self._files.get(name)
        file = open_private(self.folder / name)
        if file is None:
            return self._files.pop(name, None) is not None
        with file:
            found = os.fstat(file.fileno())
            if known is None or known.inode != found.st_ino:
                known = self._files[name] = _File(found.st_ino)
            elif (_size(known), known.changed) == (found.st_size, found.st_mtime_ns):
                return False
            elif _size(known) >= found.st_size or not _goes_on(
                file, known
            ):  # it was changed or replaced
                known = self._files[name] = _File(found.st_ino)
            known.changed = found.st_mtime_ns
            file.seek(known.size)
            known.tail = None
            for raw in file:
                _take(known, name, raw)
        return True

    def _index(self, found: Sequence[tuple[Line, LinePosition]]) -> None:
        for line, place in found:
            self._last = max(self._last, line.order)
            self._batches.setdefault(line.batch, {}).setdefault(line.part, (line, place))
            if line.payload is not None and line.payload.key is not None:
                self._keys[line.payload.user, line.payload.key] = line

    def _known(self, name: tuple[str | None, str | None]) -> Line | None:
        """Find the line kept for a user under a key."""
        line = self._keys.get(name)
        return line if line is not None and _is_whole(self._batches[line.batch]) else None

    def _gathered(self) -> Contents:
        """Collect everything that waits; return the same object if nothing has changed."""
        self._read()
        if self._contents is None:
            waiting: list[tuple[Line, LinePosition]] = []
            broken = [
                one
                for file in self._files.values()
                for one in (*file.broken, file.tail)
                if one is not None
            ]
            for batch in self._batches.values():
                if _is_whole(batch):
                    waiting += batch.values()
                else:
                    broken += [Broken(place, UNFINISHED, line.id) for line, place in batch.values()]
            waiting.sort(key=lambda one: (one[0].order, one[0].batch, one[0].part))
            broken.sort(key=lambda one: one.place)
            files = tuple(
                (name, file.inode, _size(file))
                for name, file in sorted(self._files.items())
                if _size(file)
            )
            self._contents = Contents(tuple(waiting), tuple(broken), files)
        return self._contents

    def _append(self, lines: Sequence[Line]) -> None:
        """Append lines to their files; undo a partial write."""
        bodies: dict[str, list[bytes]] = {name: [] for name in FILES}
        for line in lines:
            assert line.payload is not None
            body = encoded(line, len(lines))
            self._check(body)
            bodies[SHORT if line.payload.layer in SHORT_LAYERS else LONG].append(body)
        known = {
            name: _size(self._files[name]) if name in self._files else 0
            for name, body in bodies.items()
            if body
        }
        try:
            for name in known:
                append_private(self.folder / name, b"".join(bodies[name]))
            if 0 in known.values():
                fsync_folder(self.folder)
        except BaseException:
            for name, size in known.items():
                with suppress(OSError):  # what remains is recognised by its batch or its torn end
                    cut_private(self.folder / name, size)
            raise

    def _check(self, body: bytes) -> None:
        """Raise if a line could not be read back: it must not be acknowledged."""
        try:
            decoded(body)
        except ValueError as error:
            raise StoreUnavailable(
                f"{self.folder}: this cannot be kept: {error}", failsafe=True
            ) from None

    def _lay_aside(self, broken: Sequence[Broken]) -> None:
        """Keep unusable lines for a person to inspect; none twice, even after a crash."""
        if not broken:
            return
        path = self.folder / REJECTED
        kept = set(read_private(path).splitlines(keepends=True))
        new = [line for one in broken if (line := self._told(one)) not in kept]
        if new:
            append_private(path, b"".join(new))
            fsync_folder(self.folder)

    def _told(self, one: Broken) -> bytes:
        with (self.folder / one.place.file).open("rb") as file:
            file.seek(one.place.start)
            raw = file.read(one.place.size).rstrip(b"\n")
        told: dict[str, Any] = {"file": one.place.file, "line": one.place.number, "why": one.why}
        try:
            told["text"] = raw.decode()
        except UnicodeDecodeError:
            import base64

            told["base64"] = base64.b64encode(raw).decode()
        return hashing.encode(told) + b"\n"

    def _move(self, archive: Path, stamp: str) -> list[Path]:
        moved = []
        make_private_folder(archive)
        for name in FILES:
            source, number = self.folder / name, 0
            if not size_of(source):  # a full disk left only an empty file
                source.unlink(missing_ok=True)
                continue
            while (target := archive / _archive_name(name, stamp, number)).exists():
                number += 1
            try:
                source.rename(target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                write_private(target, source.read_bytes())  # the fail-safe is on another disk
                source.unlink()
            moved.append(target)
        fsync_folder(archive)
        fsync_folder(self.folder)
        return moved


def is_outage(error: LaminaError) -> bool:
    """Return whether an error means that the store cannot be used now.

    An embedder's error does not mean that. One about a file that is not our store, or that of a
    newer Lamina, means that it never could be used.
    """
    return type(error) in OUTAGES and not error.details.get("foreign")


def spool(folder: Path, preset: str) -> Spool:
    """Open the spool of the agent with this folder, at the path that its preset sets."""
    name = "failsafe"
    if preset != "default":
        from lamina.home.retention import PRESETS

        name = PRESETS[preset].paths.get(name, name)
    return Spool(folder / name)


def archived(archive: Path) -> list[Path]:
    """List the files of earlier outages, oldest first."""
    return sorted(archive.glob("failsafe_*.jsonl"))


def _take(file: _File, name: str, raw: bytes) -> None:
    """Read one line; the last one may be incomplete."""
    place = LinePosition(name, file.number + 1, file.size, len(raw))
    if not raw.endswith(b"\n"):
        file.tail = Broken(place, "it is incomplete: its writer was interrupted")
        return
    file.number, file.size, file.last = place.number, place.start + place.size, raw
    if not raw.strip():
        return
    try:
        file.good.append((decoded(raw), place))
    except ValueError as error:
        file.broken.append(Broken(place, str(error)))


def _goes_on(file: BinaryIO, known: _File) -> bool:
    """Return whether a file still holds what was read of it: inode numbers are reused."""
    file.seek(known.size - len(known.last))
    return file.read(len(known.last)) == known.last


def _size(file: _File) -> int:
    return file.size + (file.tail.place.size if file.tail else 0)


def _is_whole(batch: Batch) -> bool:
    (first, _) = next(iter(batch.values()))
    return first.of == len(batch)


def _archive_name(name: str, stamp: str, number: int) -> str:
    return f"failsafe_{Path(name).stem}_{stamp}{f'_{number}' if number else ''}.jsonl"


def _cleansed(path: Path, is_doomed: Callable[[bytes], bool], *, keeps_place: bool) -> bool:
    """Rewrite a file without some of its lines; return whether it had any."""
    raws = path.read_bytes().splitlines(keepends=True)
    kept = [(emptied(raw) if keeps_place else b"") if is_doomed(raw) else raw for raw in raws]
    if kept == raws:
        return False
    write_private(path, b"".join(kept))
    return True
