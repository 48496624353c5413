"""Erase permanently (P5): from the tables, then from every file, with a certificate.

An erasure begins with one transaction, which removes the records and notes what is left to
clean. Everything after that can be repeated: an interrupted erasure is resumed, and the
certificate is written when nothing is left to do.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import (
    Forbidden,
    InvalidInput,
    LaminaError,
    NotFound,
    StoreUnavailable,
    no_record,
)
from lamina.failsafe import spool as spools
from lamina.failsafe.line import decoded
from lamina.home import folder as home
from lamina.home.folder import user_name
from lamina.home.tokens import Tokens
from lamina.memory.scope import Part
from lamina.memory.world import whole_world
from lamina.model import erased_words, rules
from lamina.model.erased_words import Signature
from lamina.model.record import Role, iso
from lamina.store.core.store import FILE_NAME
from lamina.store.core.transaction import EVERY
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import certificates
from lamina.store.tables.lineage import TIME
from lamina.store.tables.reads import Read
from lamina.store.upkeep import backup, erase, erase_plan, leftovers
from lamina.store.upkeep.copies import Copies
from lamina.store.upkeep.erase import StartedErasure
from lamina.store.upkeep.erase_plan import ErasureRequest
from lamina.store.upkeep.read_only import attached
from lamina.text import words

if TYPE_CHECKING:
    pass

COPYING = frozenset({"export", "export_as", "backup"})
ON_A_SERVER = (
    "its log, replicas and backups, and the files of other homes that use it, are not ours to clean"
)
LEFT_THERE = (
    "the memory was there before it moved;"
    " what it left is for the operator of that server to remove"
)
ANOTHER_MEMORY = (
    "it is another memory of this agent, which has not moved to the server; erase it there, too"
)
NO_USER = (
    "; a speaker is not a user: `lamina list --all --speaker NAME` lists what somebody said, and"
    " `lamina facts NAME --json` what is known about a person; erase it by its ids, or a whole"
    " conversation by --session"
)
OUTSIDE = "outside the home"
LOCK = "erasing.lock"
PATIENCE = 60.0  # seconds that an erasure waits for another one
ESCAPED = re.compile(rb'(?<!\\)\\++[nrt"]')  # JSON escapes at word boundaries


class Certificate(msgspec.Struct, frozen=True):
    """The result of an erasure. It holds nothing of what was erased."""

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
    looked_for: int  # words and sequences of words that occur nowhere else
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


class Erasures(Part):
    """Erase records of one store, for an operator."""

    def erasable(
        self,
        record_ids: Sequence[str],
        session: object,
        user: object,
        source: object,
        project: object,
    ) -> dict[str, Any]:
        """Report what an erasure would remove, what depends on that, and which copies would go."""
        found = self.preview(self.wanted(self._checked(record_ids), session, user, source, project))
        self._scope.audit("erasable", tuple(found["records"]))
        return found

    def erase(
        self,
        record_ids: Sequence[str],
        session: object,
        user: object,
        source: object,
        project: object,
        reason: str | None,
        keep_backups: bool,
    ) -> Certificate:
        """Erase records permanently, and everything made of them, in every file of the home."""
        keep = rules.flag(keep_backups, "keep_backups")
        with self.alone(), self._scope.resilient.spool.quiet():
            self._resume()
            wanted = self.wanted(self._checked(record_ids), session, user, source, project)
            return self._finish(self.begin(wanted, reason, keep_backups=keep))

    def resume(self) -> list[Certificate]:
        """Finish interrupted erasures."""
        with self.alone():
            return self._resume()

    def _resume(self) -> list[Certificate]:
        self.file_certificates()
        return [self._finish(begun) for begun in self.unfinished()]

    def _checked(self, record_ids: Sequence[str]) -> tuple[str, ...]:
        """Check that this scope may erase the records; those of others seem not to exist."""
        return tuple(self._scope.visible("erase", record_id).id for record_id in record_ids)

    def _finish(self, begun: StartedErasure) -> Certificate:
        """Bring derived data into line with the erasure, then write the certificate."""
        derived = self._scope.parts.derived
        self._scope.note_problem(self._scope.parts.profiles.write_snapshot())
        world = whole_world(self._scope)
        if world.has_files:
            world.write()
        if begun.user is not None:
            self._end_tokens(begun.user)
        mirrors = derived.mirrors.sync(erased=True) if derived.has_mirrors else {}
        return self.clean(begun, mirrors)

    def _end_tokens(self, user: str) -> None:
        """Revoke the tokens for the memory of an erased user."""
        access = Tokens(self._scope.home.path)
        for token in access.tokens():
            if (token.agent, user_name(token.user)) == (self._scope.agent, user_name(user)):
                access.revoke(token.id)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from erasing from this store: both would clean the same files."""
        with (
            home.hold_lock(self._store.folder / LOCK, PATIENCE),
            self._store.database.alone("erasing", PATIENCE),
        ):
            yield

    def wanted(
        self,
        ids: tuple[str, ...],
        session: object,
        user: object,
        source: object,
        project: object = None,
    ) -> ErasureRequest:
        """Check the request: exactly one of ids, session, user, source and project."""
        if self._scope.actor.role is not Role.OPERATOR:
            raise Forbidden(
                "erase is for operators: agents may ask for it, people decide", lacks="operator"
            )
        labels = {"session": session, "source": source, "project": project}
        given = [value for value in (user, *labels.values()) if value is not None]
        if bool(ids) + len(given) != 1:
            raise InvalidInput(
                "say what to erase: records by their ids, or a session, or a user, or a source, or"
                " a project; one of these"
            )
        whose = self._store.user(user)
        if whose is not None and self._scope.user not in (None, whose):
            raise Forbidden(
                f"this handle is for the user {self._scope.user}; open one without a user to erase"
                " another's memories",
                lacks="access",
            )
        named = {
            name: rules.label(value, name) for name, value in labels.items() if value is not None
        }
        scope = self._scope.user if not ids else None
        return ErasureRequest(ids, user=whose, scope=scope, **named)

    def preview(self, wanted: ErasureRequest) -> dict[str, Any]:
        """Report what an erasure would remove and leave; nothing changes."""
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

    def _has_asked(self, wanted: ErasureRequest) -> bool:
        """Return whether the erased user has searched: these queries must be cleaned, too."""
        user = wanted.user
        return user is not None and any(
            read.note.get("user") == user for read in self._store.reads.latest(EVERY)
        )

    def _mentions(self, user: str | None, going: set[str]) -> int:
        """Count memories of others that name the user; only a person can tell who is meant."""
        if user is None:
            return 0
        with self._store.database.moment() as connection:
            return len(erase_plan.naming(connection, user) - going)

    def begin(
        self, wanted: ErasureRequest, reason: str | None = None, *, keep_backups: bool = False
    ) -> StartedErasure:
        """Remove the records from tables and archive. From here on there is no way back."""
        why = None if reason is None else rules.reason(reason)
        asked = partial(self._has_asked, wanted)
        now = self._scope.clock()
        begun = erase.begin(
            self._store,
            self._scope.actor,
            now,
            wanted,
            why,
            keep_backups=keep_backups,
            anyway=asked,
        )
        if begun is None:
            raise _nothing(wanted)
        return begun

    def unfinished(self) -> list[StartedErasure]:
        """List interrupted erasures."""
        with self._store.database.moment() as connection:
            return erase.unfinished(self._store, connection)

    def problems(self) -> list[str]:
        with self._store.database.moment() as connection:
            return [erase_plan.UNFINISHED] if erase_plan.is_unfinished(connection) else []

    def certificates(self, number: int | None = None) -> list[Certificate]:
        """List certificates, or one of them, oldest first; raise if one contradicts the trail."""
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise InvalidInput(
                f"{words.shown(number)} is not the number of an erasure; see `lamina erasures`"
            )
        with self._store.database.moment() as connection:
            found = certificates.checked(connection, number)
        return [msgspec.convert(one, Certificate) for one in found]

    def clean(self, begun: StartedErasure, mirrors: Mapping[str, Any]) -> Certificate:
        """Do everything after the first transaction, repeating it if necessary, and certify it."""
        with _disk():
            return self._clean(begun, mirrors)

    def _clean(self, begun: StartedErasure, mirrors: Mapping[str, Any]) -> Certificate:
        now, known = self._scope.clock(), begun.known
        self._store.archive.filing.tidy()  # old files of the archive, in case that failed before
        outside = list(self._copies_elsewhere(begun))
        doomed = erase.is_doomed(begun.ids, known, begun.user)
        reads = self._store.reads.erase(self._scope.actor, now, doomed)
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
        """Store the certificate as a row and a file; drop the words that were searched for."""
        erase.finish(self._store, self._scope.actor, done.at, done.number, done.to_dict())
        self._store.database.fold()
        self.file_certificates()

    def file_certificates(self) -> None:
        """Write certificates that have no file yet, and drop the lists of finished erasures."""
        with self._store.database.moment() as connection:
            erase.tidy(self._store, connection)
            certificates.write_missing(connection, self._store.folder)

    # Files that contain what was erased.

    def _clean_files(
        self, begun: StartedErasure, now: datetime
    ) -> tuple[list[str], list[dict[str, str]]]:
        """Remove copies; return what was removed and what could not be."""
        copies = Copies(self._store, begun.ids, begun.known)
        backups = list(copies.backups())
        if backups and not begun.keep_backups:
            backup.make(self._store, now)  # there must always be a backup
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
        leftovers.masked(self._scope.home.violations, begun.known)
        return removed + self._clean_spool(begun) + self._clean_status(begun), unreached

    def _clean_spool(self, begun: StartedErasure) -> list[str]:
        """Clean the lines of the fail-safe: waiting, replayed, or set aside."""
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

    def _clean_status(self, begun: StartedErasure) -> list[str]:
        """Remove status files that contain erased text; they are rewritten when needed."""
        own = [
            path
            for path in leftovers.files([self._scope.home.status])
            if path.name.startswith(f"{self._store.agent}_")
        ]
        found = [path for path in own if leftovers.is_in(path, begun.known, begun.ids)]
        for path in found:
            path.unlink(missing_ok=True)
        return [self._name(path) for path in found]

    def _clean_neighbours(
        self, begun: StartedErasure, doomed: Callable[[Read], bool], now: datetime
    ) -> Iterator[dict[str, str]]:
        """Clean the trails of agents that read here, and count their memories about the user."""
        for agent in self._scope.home.agents():
            if agent == self._store.agent:
                continue
            try:
                store = attached(self._scope.home.agent_folder(agent), agent, self._store.settings)
                if store is None:
                    continue
                with closing(store):
                    store.reads.erase(
                        self._scope.actor,
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

    def _copies_elsewhere(self, begun: StartedErasure) -> Iterator[dict[str, str]]:
        """List copies made outside the home since the first erased record was created.

        The trail of reads names exports and backups; data that a migration left on a server counts.
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
        ):  # an altered certificate must not stop an erasure
            yield from (one for one in earlier["unreached"] if one["why"].endswith(OUTSIDE))
        for path in begun.files:
            yield {"place": path, "why": "some of it was imported from there"}

    # Bytes that no longer belong to any row.

    def _purge(self, known: Signature) -> Iterator[dict[str, str]]:
        """Remove the words from index and logs; rewrite a file that may still contain any."""
        erase.purge(self._store)
        for database in filter(None, (self._store.database, self._store.reads.sound())):
            is_folded = database.fold()
            if not isinstance(database, SqliteDatabase):
                yield {"place": database.address, "why": ON_A_SERVER}
                continue
            if any(leftovers.is_sampled(one, known) for one in _with_log(database.path)):
                database.rewrite()  # what is found after this is in rows that were not to be erased
                is_folded = database.fold()
            if not is_folded:
                why = (
                    "another process is reading it;"
                    " it is emptied when that has ended and the store is written to"
                )
                yield {"place": self._name(database.path) + "-wal", "why": why}

    def _left(self, begun: StartedErasure, known: set[str]) -> Iterator[dict[str, str]]:
        """List any other file of the agent or the home that contains erased text."""
        beside = [path for path in sorted(self._scope.home.path.iterdir()) if path.is_file()]
        for path in Copies(self._store, (), begun.known).others([*beside, self._scope.home.status]):
            if known.isdisjoint(map(self._name, (path, *path.parents))):
                yield {"place": self._name(path), "why": "it holds words that nothing else has"}

    def _name(self, path: Path) -> str:
        """Shorten a path inside the home."""
        return (
            str(path.relative_to(self._scope.home.path))
            if path.is_relative_to(self._scope.home.path)
            else str(path)
        )


def _nothing(wanted: ErasureRequest) -> NotFound:
    if wanted.ids:
        return no_record(f"{', '.join(wanted.ids)}, or it is erased already")
    advice = NO_USER if wanted.user is not None else ""
    return NotFound(f"nothing of this {wanted.what} is here{advice}")


@contextmanager
def _disk() -> Iterator[None]:
    """Translate disk errors."""
    try:
        yield
    except OSError as error:
        why = f"{error.filename or 'a file'} cannot be reached: {error.strerror}"
        raise StoreUnavailable(f"{why}; `lamina erase --resume` finishes what was begun") from error


def _with_log(path: Path) -> list[Path]:
    return [one for one in (path, path.with_name(path.name + "-wal")) if one.exists()]


def _untold(mirrors: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """List mirrors that could not be reached, and mirrors on servers that we cannot inspect."""
    for name, told in mirrors.items():
        if "error" in told:
            yield {
                "place": f"mirror {name}",
                "why": f"it is updated later: {told['error']}",
            }
        elif "elsewhere" in told:
            why = "the server was asked to delete it; Lamina cannot see what its files still hold"
            yield {"place": f"mirror {name}: {told['elsewhere']}", "why": why}
