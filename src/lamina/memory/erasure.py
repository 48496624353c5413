"""Forgetting for good (P5): what was erased from the tables is also cleaned out of every file, and a certificate says so.

An erasure begins with one transaction, which takes the records out and notes what is left to clean. Everything after it
can be done again: whoever is interrupted resumes, and the certificate is written when nothing is left to do.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from lamina.errors import InvalidInput, LaminaError, NotFound, Refused, StoreUnavailable
from lamina.failsafe import spool as spools
from lamina.failsafe.line import decoded
from lamina.home import folder as home
from lamina.home.folder import Home
from lamina.model import erased_words, rules
from lamina.model.clock import Clock
from lamina.model.erased_words import Signature
from lamina.model.record import Actor, Role, iso
from lamina.store.core.store import FILE_NAME, Store
from lamina.store.core.transaction import EVERY
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import certificates
from lamina.store.tables.lineage import TIME
from lamina.store.tables.reads import Read
from lamina.store.upkeep import backup, erase, erase_plan, leftovers
from lamina.store.upkeep.copies import Copies
from lamina.store.upkeep.erase import Begun
from lamina.store.upkeep.erase_plan import Wanted
from lamina.store.upkeep.read_only import attached
from lamina.text import words

COPYING = frozenset({"export", "export_as", "backup"})
ON_A_SERVER = (
    "its log, replicas and backups, and the files of other homes that use it, are not ours to clean"
)
LEFT_THERE = "the memory was there before it moved; what it left is for the operator of that server to remove"
ANOTHER_MEMORY = (
    "it is another memory of this agent, which has not moved to the server; erase it there, too"
)
OUTSIDE = "outside the home"
LOCK = "erasing.lock"
PATIENCE = 60.0  # seconds that an erasure waits for another one
ESCAPED = re.compile(rb'(?<!\\)\\++[nrt"]')  # what JSON makes of the ends of words


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
    looked_for: int  # words and runs of words that nothing else has
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

    def __init__(
        self, store: Store, home: Home, actor: Actor, user: str | None, clock: Clock
    ) -> None:
        self._store = store
        self._home = home
        self._actor = actor
        self._user = user
        self._clock = clock

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within the block nobody else erases from this store: two would clean the same files under each other."""
        with (
            home.alone(self._store.folder / LOCK, PATIENCE),
            self._store.database.alone("erasing", PATIENCE),
        ):
            yield

    def wanted(self, ids: tuple[str, ...], session: object, user: object, source: object) -> Wanted:
        """What somebody asks for, when it says exactly one thing."""
        if self._actor.role is not Role.OPERATOR:
            raise Refused("erase is for operators: agents may ask for it, people decide")
        given = [
            name
            for name, value in (("session", session), ("user", user), ("source", source))
            if value is not None
        ]
        if bool(ids) + len(given) != 1:
            raise InvalidInput(
                "say what to erase: records by their ids, or a session, or a user, or a source; one of these"
            )
        whose = self._store.user(user)
        if whose is not None and self._user not in (None, whose):
            raise Refused(
                f"this handle is for the user {self._user}; open one without a user to erase another's memories"
            )
        named = {
            name: rules.label(value, name)
            for name, value in (("session", session), ("source", source))
            if value is not None
        }
        scope = self._user if not ids else None
        return Wanted(ids, named.get("session"), whose, named.get("source"), scope)

    def preview(self, wanted: Wanted) -> dict[str, Any]:
        """What an erasure would take, and what it would leave; nothing changes."""
        with self._store.database.moment() as connection:
            plan = erase_plan.plan(self._store, connection, wanted)
        if not plan.chosen and not self._has_asked(wanted):
            raise _nothing(wanted)
        with _disk():
            copies = Copies(self._store, plan.goes, Signature())
            named = {
                "exports": [*map(str, copies.exports())],
                "backups": [*map(str, copies.backups())],
            }
        return {
            "what": wanted.what,
            "records": plan.chosen,
            "derived": [{"id": one.id, "why": one.why} for one in plan.verdicts if one.goes],
            "kept": [{"id": one.id, "why": one.why} for one in plan.kept],
            "archived": len(plan.archived),
            "mentions": self._mentions(wanted.user, set(plan.goes)),
            **named,
        }

    def _has_asked(self, wanted: Wanted) -> bool:
        """Whether it is about a user who has asked for something: that is to be cleaned, too."""
        user = wanted.user
        return user is not None and any(
            read.note.get("user") == user for read in self._store.reads.latest(EVERY)
        )

    def _mentions(self, user: str | None, going: set[str]) -> int:
        """How many memories of others name somebody; only a person can tell whether they mean the same one."""
        if user is None:
            return 0
        with self._store.database.moment() as connection:
            return len(erase_plan.naming(connection, user) - going)

    def begin(
        self, wanted: Wanted, reason: str | None = None, *, keep_backups: bool = False
    ) -> Begun:
        """Take the records out of the tables and of the archive. From here on there is no way back."""
        why = None if reason is None else rules.reason(reason)
        asked = partial(self._has_asked, wanted)
        now = self._clock()
        begun = erase.begin(
            self._store, self._actor, now, wanted, why, keep_backups=keep_backups, anyway=asked
        )
        if begun is None:
            raise _nothing(wanted)
        return begun

    def unfinished(self) -> list[Begun]:
        """The erasures that were interrupted."""
        with self._store.database.moment() as connection:
            return erase.unfinished(self._store, connection)

    def problems(self) -> list[str]:
        with self._store.database.moment() as connection:
            return [erase_plan.UNFINISHED] if erase_plan.is_unfinished(connection) else []

    def certificates(self, number: int | None = None) -> list[Certificate]:
        """What was certified, or one of it, the oldest first. Raise when a certificate is not what
        the trail says."""
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise InvalidInput(
                f"{words.shown(number)} is not the number of an erasure; see `lamina erasures`"
            )
        with self._store.database.moment() as connection:
            found = certificates.checked(connection, number)
        return [msgspec.convert(one, Certificate) for one in found]

    def clean(self, begun: Begun, mirrors: Mapping[str, Any]) -> Certificate:
        """Everything after the first transaction, as often as it takes; the certificate at its end."""
        with _disk():
            return self._clean(begun, mirrors)

    def _clean(self, begun: Begun, mirrors: Mapping[str, Any]) -> Certificate:
        now, known = self._clock(), begun.known
        self._store.archive.filing.tidy()  # the archive's former files, if that has failed before
        outside = list(self._copies_elsewhere(begun))
        doomed = erase.is_doomed(begun.ids, known, begun.user)
        reads = self._store.reads.erase(self._actor, now, doomed)
        unreached = [*self._clean_neighbours(begun, doomed, now), *self._purge(known)]
        unreached += _untold(mirrors)
        removed, kept = self._clean_files(begun, now)
        unreached += [*kept, *self._left(begun, {one["place"] for one in kept}), *outside]
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
            mentions=self._mentions(begun.user, set(begun.ids)),
            notes=begun.notes,
            reads=reads,
            looked_for=len(known),
            removed=[known.masked(place) for place in removed],
            mirrors={
                name: "told" if "error" not in told else "queued" for name, told in mirrors.items()
            },
            unreached=[
                {"place": known.masked(one["place"]), "why": one["why"]} for one in unreached
            ],
        )
        self._certify(done)
        return done

    def _certify(self, done: Certificate) -> None:
        """Keep the certificate in the store, and as a file; the words that were looked for are gone with it."""
        erase.finish(self._store, self._actor, done.at, done.number, done.to_dict())
        self._store.database.fold()
        self.file_certificates()

    def file_certificates(self) -> None:
        """Write the certificates that are not in files yet, and drop the lists of what is done."""
        with self._store.database.moment() as connection:
            erase.tidy(self._store, connection)
            certificates.write_missing(connection, self._store.folder)

    # Files that hold what was erased.

    def _clean_files(self, begun: Begun, now: datetime) -> tuple[list[str], list[dict[str, str]]]:
        """Remove copies; what was removed, and what could not be."""
        copies = Copies(self._store, begun.ids, begun.known)
        backups = list(copies.backups())
        if backups and not begun.keep_backups:
            backup.make(self._store, now)  # there must be one at any time
        doomed = [
            *copies.exports(),
            *copies.damaged(),
            *copies.conversations({*begun.ids, *(one["id"] for one in begun.kept)}),
        ]
        doomed += [*copies.mirrors()]
        doomed += [] if begun.keep_backups else backups
        removed: list[str] = []
        unreached = [
            {"place": self._name(path), "why": "backups are kept"}
            for path in backups
            if begun.keep_backups
        ]
        for path in doomed:
            try:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                removed.append(self._name(path))
            except OSError as error:
                unreached.append(
                    {"place": self._name(path), "why": f"it cannot be removed: {error.strerror}"}
                )
        if copies.is_left_behind():
            from lamina.store.upkeep import migrate

            hollowed = migrate.hollow(self._store, now)
            removed += [self._name(path) for path in hollowed]
            if not hollowed:
                unreached.append(
                    {"place": self._name(self._store.folder / FILE_NAME), "why": ANOTHER_MEMORY}
                )
        leftovers.masked(self._home.violations, begun.known)
        return removed + self._clean_spool(begun) + self._clean_status(begun), unreached

    def _clean_spool(self, begun: Begun) -> list[str]:
        """Lines of the fail-safe, wherever they lie by now: those that still wait, that were replayed, or laid aside."""
        ids, known, user = frozenset(begun.ids), begun.known, begun.user

        def is_doomed(raw: bytes) -> bool:
            try:
                line = decoded(raw)
            except ValueError:
                return leftovers.holds(ESCAPED.sub(b" ", raw), known, ids)
            said = line.payload
            if said is None:
                return False
            held = (
                said.content,
                *said.tags,
                *filter(None, (said.source, said.speaker, said.session, said.key)),
            )
            is_users = user is not None and said.user == user
            return (
                line.id in ids
                or is_users
                or known.is_among((*held, *erased_words.strings(said.metadata)))
            )

        spool = spools.spool(self._store.folder, self._store.settings["preset"])
        return [
            self._name(path) for path in spool.cleanse(is_doomed, self._store.path_of("archive"))
        ]

    def _clean_status(self, begun: Begun) -> list[str]:
        """Files that say what is pending, or was done last: they are written again when there is something to say."""
        own = [
            path
            for path in leftovers.files([self._home.status])
            if path.name.startswith(f"{self._store.agent}_")
        ]
        found = [path for path in own if leftovers.is_in(path, begun.known, begun.ids)]
        for path in found:
            path.unlink(missing_ok=True)
        return [self._name(path) for path in found]

    def _clean_neighbours(
        self, begun: Begun, doomed: Callable[[Read], bool], now: datetime
    ) -> Iterator[dict[str, str]]:
        """What other agents have asked for, where this one shared something; and what they themselves know of the user."""
        for agent in self._home.agents():
            if agent == self._store.agent:
                continue
            try:
                store = attached(self._home.agent_folder(agent), agent, self._store.settings)
                if store is None:
                    continue
                with closing(store):
                    store.reads.erase(
                        self._actor,
                        now,
                        lambda read: (
                            read.note.get("shared_by") == self._store.agent and doomed(read)
                        ),
                    )
                    number = 0 if begun.user is None else erase_plan.count_of(store, begun.user)
            except LaminaError as error:
                yield {"place": f"agents/{agent}", "why": f"it cannot be asked: {error.message}"}
                continue
            if number:
                yield {
                    "place": f"agents/{agent}",
                    "why": f"it has {number} memories of this user; erase them there too",
                }

    def _copies_elsewhere(self, begun: Begun) -> Iterator[dict[str, str]]:
        """Copies that were written out of the home since the first of these was made, as the trail of reads tells.

        And what was left on servers when the memory moved away from them.
        """
        from lamina.store.upkeep import migrate

        for place in migrate.copies_left(self._store.database.reader()):
            yield {"place": place, "why": LEFT_THERE}
        oldest = min((one[:TIME] for one in begun.ids), default="")
        for read in self._store.reads.latest(EVERY):
            path = read.note.get("path")
            is_later = self._store.ids.prefix(read.at)[:TIME] >= oldest
            if (
                read.action in COPYING
                and path
                and is_later
                and not Path(path).is_relative_to(self._store.folder)
            ):
                yield {"place": path, "why": f"{read.action} of {iso(read.at)}, {OUTSIDE}"}
        for earlier in certificates.kept(
            self._store.database.reader()
        ):  # an altered one must not stop an erasure
            yield from (one for one in earlier["unreached"] if one["why"].endswith(OUTSIDE))
        for path in begun.files:
            yield {"place": path, "why": "some of it was imported from there"}

    # Bytes that no row holds any more.

    def _purge(self, known: Signature) -> Iterator[dict[str, str]]:
        """Take the words out of the index and of the logs; where anything may be left, the file is written anew."""
        erase.purge(self._store)
        for database in filter(None, (self._store.database, self._store.reads.sound())):
            is_folded = database.fold()
            if not isinstance(database, SqliteDatabase):
                yield {"place": database.address, "why": ON_A_SERVER}
                continue
            if any(leftovers.is_sampled(one, known) for one in _with_log(database.path)):
                database.rewrite()  # what is found after this is in rows that nobody wanted erased
                is_folded = database.fold()
            if not is_folded:
                why = "another process is reading it; it is emptied when that has ended and the store is written to"
                yield {"place": self._name(database.path) + "-wal", "why": why}

    def _left(self, begun: Begun, known: set[str]) -> Iterator[dict[str, str]]:
        """Whatever else holds what was erased: in the agent's folder, and among the files of the home."""
        beside = [path for path in sorted(self._home.path.iterdir()) if path.is_file()]
        for path in Copies(self._store, (), begun.known).others([*beside, self._home.status]):
            if known.isdisjoint(map(self._name, (path, *path.parents))):
                yield {"place": self._name(path), "why": "it holds words that nothing else has"}

    def _name(self, path: Path) -> str:
        """A path as it is told: below the home, if it is there."""
        return (
            str(path.relative_to(self._home.path))
            if path.is_relative_to(self._home.path)
            else str(path)
        )


def _nothing(wanted: Wanted) -> NotFound:
    if wanted.ids:
        return NotFound(f"there is no record {', '.join(wanted.ids)}, or it is erased already")
    return NotFound(f"nothing of this {wanted.what} is here")


@contextmanager
def _disk() -> Iterator[None]:
    """Errors of the disk in our words."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename or 'a file'} cannot be reached: {error.strerror}"
        raise StoreUnavailable(f"{why}; `lamina erase --resume` finishes what was begun") from error


def _with_log(path: Path) -> list[Path]:
    return [one for one in (path, path.with_name(path.name + "-wal")) if one.exists()]


def _untold(mirrors: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Mirrors that could not be told, and those on servers, where nobody of us can look at the bytes."""
    for name, told in mirrors.items():
        if "error" in told:
            yield {"place": f"mirror {name}", "why": f"it is told later: {told['error']}"}
        elif "elsewhere" in told:
            why = (
                "the server was told to delete it; what its files still hold can only be seen there"
            )
            yield {"place": f"mirror {name}: {told['elsewhere']}", "why": why}
