"""Forgetting for good (P5): what was erased from the tables is also cleaned out of every file, and a certificate says so.

An erasure begins with one transaction, which takes the records out and notes what is left to clean. Everything after it
can be done again: whoever is interrupted resumes, and the certificate is written when nothing is left to do.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from lamina import canon, rules, traces
from lamina.clock import Clock
from lamina.errors import InvalidInput, NotFound, Refused, StoreUnavailable
from lamina.home import Home, make_private_folder, user_name, write_private
from lamina.model import Actor, Role, iso
from lamina.store import backup, erasing, removal, residue
from lamina.store.erasing import Wanted
from lamina.store.reads import Read
from lamina.store.removal import Begun
from lamina.store.store import Store

COPYING = frozenset({"export", "backup"})


class Certificate(msgspec.Struct, frozen=True):
    """What an erasure has done. It holds nothing of what was erased."""

    number: int
    agent: str
    store: str
    what: str
    by: str
    at: datetime
    records: list[str]
    asked_for: int
    derived: int
    kept: list[dict[str, str]]
    read_again: int
    mentions: int
    notes: int
    reads: int
    removed: list[str]
    mirrors: dict[str, str]
    unreached: list[dict[str, str]]
    format: str = "lamina-erasure"
    version: int = 1

    @property
    def is_complete(self) -> bool:
        return not self.unreached

    def to_dict(self) -> dict[str, Any]:
        return {**msgspec.structs.asdict(self), "at": iso(self.at), "complete": self.is_complete}


class Erasures:
    """Erases records of one store, for an operator."""

    def __init__(self, store: Store, home: Home, actor: Actor, user: str | None, clock: Clock) -> None:
        self._store = store
        self._home = home
        self._actor = actor
        self._user = user
        self._clock = clock

    def wanted(self, ids: tuple[str, ...], session: object, user: object, source: object) -> Wanted:
        """What somebody asks for, when it says exactly one thing."""
        if self._actor.role is not Role.OPERATOR:
            raise Refused("erase is for operators: agents may ask for it, people decide")
        given = [name for name, value in (("session", session), ("user", user), ("source", source)) if value is not None]
        if bool(ids) + len(given) != 1:
            raise InvalidInput("say what to erase: records by their ids, or a session, or a user, or a source; one of these")
        if user is not None and self._user not in (None, user):
            raise Refused(f"this handle is for the user {self._user}; open one without a user to erase another's memories")
        named = {
            name: rules.label(value, name) for name, value in (("session", session), ("source", source)) if value is not None
        }
        return Wanted(ids, named.get("session"), user_name(user), named.get("source"), self._user if not ids else None)

    def preview(self, wanted: Wanted) -> dict[str, Any]:
        """What an erasure would take, and what it would leave; nothing changes."""
        with self._store.snapshot():
            plan = erasing.plan(self._store, self._store.database.reader(), wanted)
        if not plan.chosen:
            raise self._nothing(wanted)
        with _disk():
            exports, backups = (find(set(plan.goes), plan.own) for find in (self._exports, self._backups))
            copies = {"exports": [str(path) for path in exports], "backups": [str(path) for path in backups]}
        return {
            "what": wanted.what,
            "records": plan.chosen,
            "derived": [{"id": one.id, "why": one.why} for one in plan.verdicts if one.goes],
            "kept": [{"id": one.id, "why": one.why} for one in plan.kept],
            "archived": len(plan.archived),
            "mentions": self._mentions(wanted.user, set(plan.goes)),
            **copies,
        }

    def _mentions(self, user: str | None, going: set[str]) -> int:
        """How many memories of others name somebody; only a person can tell whether they mean the same one."""
        if user is None:
            return 0
        with self._store.snapshot():
            return len(erasing.naming(self._store.database.reader(), user) - going)

    def begin(self, wanted: Wanted, reason: str | None = None, *, keep_backups: bool = False) -> Begun:
        """Take the records out of the tables and of the archive. From here on there is no way back."""
        why = None if reason is None else rules.reason(reason)
        begun = removal.begin(self._store, self._actor, self._clock(), wanted, why, keep_backups=keep_backups)
        if begun is None:
            raise self._nothing(wanted)
        return begun

    def unfinished(self) -> list[Begun]:
        """The erasures that were interrupted, and what a backup has brought back, which is taken out at once."""
        with self._store.snapshot():
            back = erasing.brought_back(self._store.database.reader())
        if back:
            removal.begin(self._store, self._actor, self._clock(), Wanted(tuple(back)))
        with self._store.snapshot():
            return removal.unfinished(self._store.database.reader())

    def problems(self) -> list[str]:
        with self._store.snapshot():
            return [erasing.UNFINISHED] if erasing.is_unfinished(self._store.database.reader()) else []

    def certificates(self) -> list[Certificate]:
        """What was certified, the oldest first."""
        with self._store.snapshot():
            found = removal.certificates(self._store.database.reader())
        return [msgspec.convert(one, Certificate) for one in found]

    def clean(self, begun: Begun, mirrors: Mapping[str, Any]) -> Certificate:
        """Everything after the first transaction, as often as it takes; the certificate at its end."""
        with _disk():
            return self._clean(begun, mirrors)

    def _clean(self, begun: Begun, mirrors: Mapping[str, Any]) -> Certificate:
        now, ids, words = self._clock(), set(begun.ids), frozenset(begun.words)
        outside = list(self._copies_elsewhere(begun))
        reads = self._store.reads.erase(self._actor, now, _is_doomed(ids, words, begun.user))
        unreached = self._purge(words)
        unreached += [{"place": f"mirror {name}", "why": f"it is told later: {why}"} for name, why in _failures(mirrors)]
        removed, kept = self._clean_files(begun, ids, words, now)
        unreached += [*kept, *self._left(words, {one["place"] for one in kept})]
        done = Certificate(
            number=begun.number,
            agent=self._store.agent,
            store=self._store.id,
            what=begun.what,
            by=begun.actor,
            at=now,
            records=sorted(begun.ids),
            asked_for=begun.chosen,
            derived=len(begun.ids) - begun.chosen,
            kept=begun.kept,
            read_again=begun.reread,
            mentions=self._mentions(begun.user, ids),
            notes=begun.notes,
            reads=reads,
            removed=removed,
            mirrors={name: "told" if "error" not in told else "queued" for name, told in mirrors.items()},
            unreached=[*unreached, *outside],
        )
        self._certify(done)
        return done

    def _certify(self, done: Certificate) -> None:
        """Keep the certificate in the store, and as a file; the words that were looked for are gone with it."""
        removal.finish(self._store, self._actor, done.at, done.number, done.to_dict())
        self._store.database.fold()
        self.file_certificates()

    def file_certificates(self) -> None:
        """Write the certificates that are not in files yet."""
        folder = self._store.folder / erasing.CERTIFICATES
        for done in self.certificates():
            path = folder / f"{done.number:04d}.json"
            if not path.exists():
                make_private_folder(folder)
                write_private(path, msgspec.json.format(canon.encode(done.to_dict()), indent=2) + b"\n")

    def _nothing(self, wanted: Wanted) -> NotFound:
        if not wanted.ids:
            return NotFound(f"nothing of this {wanted.what} is here")
        return NotFound(f"there is no record {', '.join(wanted.ids)}, or it is erased already")

    # Files that hold what was erased.

    def _clean_files(
        self, begun: Begun, ids: set[str], words: frozenset[str], now: datetime
    ) -> tuple[list[str], list[dict[str, str]]]:
        """Remove copies; what was removed, and what could not be."""
        removed: list[str] = []
        unreached: list[dict[str, str]] = []
        backups = list(self._backups(ids, words))
        if backups and not begun.keep_backups:
            self._store.backup(now)  # there must be one at any time
        told = ids | {one["id"] for one in begun.kept}
        doomed = [*self._exports(ids, words), *self._damaged(words), *self._conversations(told)]
        doomed += [] if begun.keep_backups else backups
        for path in doomed:
            try:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                removed.append(self._name(path))
            except OSError as error:
                unreached.append({"place": self._name(path), "why": f"it cannot be removed: {error.strerror}"})
        unreached += [{"place": self._name(path), "why": "backups are kept"} for path in backups if begun.keep_backups]
        residue.masked(self._home.violations, words)
        removed += self._clean_status(words)
        return removed, unreached

    def _clean_status(self, words: frozenset[str]) -> list[str]:
        """Files that say what is pending, or was done last: they are written again when there is something to say."""
        looked_for = residue.pattern(words)
        own = [path for path in residue.files([self._home.status]) if path.name.startswith(f"{self._store.agent}_")]
        found = residue.holding(own, looked_for) if looked_for is not None else []
        for path in found:
            path.unlink(missing_ok=True)
        return [self._name(path) for path in found]

    def _exports(self, ids: set[str], words: frozenset[str]) -> Iterator[Path]:
        """The exports in the home that hold some of it."""
        looked_for = residue.pattern(words)
        for path in residue.files([self._store.place("exports")]):
            if not ids.isdisjoint(_exported(path)) or (looked_for is not None and residue.first(path, looked_for)):
                yield path

    def _backups(self, ids: set[str], words: frozenset[str]) -> Iterator[Path]:
        """The backups in the home that hold some of it, and what is left of one that was being made or removed."""
        looked_for = residue.pattern(words)
        place = self._store.folder / "backups"
        whole = backup.backups(self._store.folder)
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            held = looked_for is not None and residue.holding(residue.files([folder]), looked_for)
            if held or (folder in whole and backup.holds(folder, ids)):
                yield folder

    def _conversations(self, ids: set[str]) -> Iterator[Path]:
        """The files of whole conversations of which something is erased; a part of one has no place there."""
        return (path for path in residue.files([self._store.place("episodes")]) if path.stem in ids)

    def _damaged(self, words: frozenset[str]) -> Iterator[Path]:
        """Damaged stores that were set aside."""
        looked_for = residue.pattern(words)
        folder = self._store.folder / "damaged"
        for path in sorted(folder.iterdir()) if folder.is_dir() and looked_for is not None else ():
            if looked_for is not None and residue.holding(residue.files([path]), looked_for):
                yield path

    def _copies_elsewhere(self, begun: Begun) -> Iterator[dict[str, str]]:
        """Copies that were written out of the home since the first of these was made, as the trail of reads tells."""
        oldest = min(one[:10] for one in begun.ids)
        for read in self._store.reads.latest(1 << 31):
            path = read.note.get("path")
            is_later = self._store.ids.prefix(read.at)[:10] >= oldest
            if read.action in COPYING and path and is_later and not Path(path).is_relative_to(self._store.folder):
                yield {"place": path, "why": f"{read.action} of {iso(read.at)}, outside the home"}
        for path in begun.files:
            yield {"place": path, "why": "some of it was imported from there"}

    # Bytes that no row holds any more.

    def _purge(self, words: frozenset[str]) -> list[dict[str, str]]:
        """Take the words out of the index and of the logs; where anything may be left, the file is written anew."""
        held: list[dict[str, str]] = []
        looked_for = residue.pattern(words)
        removal.purge(self._store)
        for database in filter(None, (self._store.database, self._store.reads.sound())):
            is_folded = database.fold()
            if looked_for is not None and any(residue.first(one, looked_for) for one in _with_log(database.path)):
                database.rewrite()  # what is found after this is in rows that nobody wanted erased
                is_folded = database.fold()
            if not is_folded:
                why = "another process is reading it; `lamina doctor` tells when its log is empty"
                held.append({"place": self._name(database.path) + "-wal", "why": why})
        return held

    def _left(self, words: frozenset[str], known: set[str]) -> Iterator[dict[str, str]]:
        """The files in the home that hold words which nobody else has, whatever they are.

        The databases and the newest backup were just written anew, and the archive has nothing but its records.
        """
        looked_for = residue.pattern(words)
        if looked_for is None:
            return
        own = {self._store.database.path, self._store.reads.path, self._store.place("archive")}
        own |= set(backup.backups(self._store.folder)[:1])
        places = [self._store.folder, self._home.violations, self._home.status]
        for path in residue.files(places):
            line = [path, *path.parents]
            if own.isdisjoint(line) and known.isdisjoint(map(self._name, line)) and residue.first(path, looked_for):
                yield {"place": self._name(path), "why": "it holds words that nothing else has"}

    def _name(self, path: Path) -> str:
        """A path as it is told: below the home, if it is there."""
        return str(path.relative_to(self._home.path)) if path.is_relative_to(self._home.path) else str(path)


@contextmanager
def _disk() -> Iterator[None]:
    """Errors of the disk in our words."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename or 'a file'} cannot be reached: {error.strerror}"
        raise StoreUnavailable(f"{why}; `lamina erase --resume` finishes what was begun") from error


def _is_doomed(ids: set[str], words: frozenset[str], user: str | None) -> Callable[[Read], bool]:
    """Whether the note of a read has to go: it found what is erased, asked for it, or was made for whom it was about."""

    def is_doomed(read: Read) -> bool:
        if not ids.isdisjoint(read.records) or (user is not None and read.note.get("user") == user):
            return True
        return traces.is_betrayed(" ".join(traces.strings(read.note)), words)

    return is_doomed


def _with_log(path: Path) -> list[Path]:
    return [one for one in (path, path.with_name(path.name + "-wal")) if one.exists()]


def _failures(mirrors: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, told in mirrors.items():
        if "error" in told:
            yield name, told["error"]


class _Exported(msgspec.Struct):
    class Line(msgspec.Struct):
        record: _Exported.Record

    class Record(msgspec.Struct):
        id: str

    records: list[_Exported.Record] = []
    archived: list[_Exported.Line] = []


def _exported(path: Path) -> set[str]:
    """The ids in an export; none when it is something else, in which only words can be looked for."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Exported)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return set()
    return {one.id for one in found.records} | {line.record.id for line in found.archived}
