"""Erase records from every table for good, in one transaction with the event that records it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lamina.errors import Conflict, Corrupt, NotFound, Refused
from lamina.home.folder import make_private_folder, write_private
from lamina.model import erased_words, hashing
from lamina.model.erased_words import Signature, Trace
from lamina.model.record import Actor
from lamina.store.core.transaction import Transaction
from lamina.store.engine.sql import Connection, rows
from lamina.store.index import writing
from lamina.store.tables import (
    archived,
    derived,
    erased,
    events,
    fulltext,
    grants,
    learned,
    meta,
    records,
    rejections,
    sleep,
    trail_check,
)
from lamina.store.tables.events import ChangedRecord
from lamina.store.tables.reads import Read
from lamina.store.tables.record_lines import Written
from lamina.store.tables.records import COLUMN, Row
from lamina.store.upkeep import erase_plan
from lamina.store.upkeep.erase_plan import ErasureRequest, Plan

if TYPE_CHECKING:
    from lamina.store.core.store import Store

ACTION = trail_check.ERASE
STUBBED = ("layer", "content", "key")


class StartedErasure(msgspec.Struct, frozen=True):
    """An erasure whose records are no longer in the tables: what is left to clean elsewhere."""

    number: int
    what: str
    actor: str
    ids: list[str]
    chosen: int
    kept: list[dict[str, str]]
    user: str | None
    notes: int
    reread: int
    files: list[str] = []  # from which they had been imported
    keep_backups: bool = False
    # The signature of the erased texts: kept in a separate file, and in no copy of the store.
    known: Signature = Signature()
    salt: str = ""  # so that the hash of this in the trail reveals nothing once this is gone


class Removal(Transaction):
    """A transaction that erases."""

    def erase(
        self, plan: Plan, number: int, files: Mapping[str, str], user: str | None
    ) -> Signature:
        """Remove records from every table; return the signature that recognises their texts.

        `files` maps archive files that are rewritten to their new names.
        """
        going = plan.goes
        traced = erase_plan.texts_of(self.db, self._store, going)
        about = erase_plan.events_about(self.db, going)
        live = [row for one in going if (row := records.by_id(self.db, one)) is not None]
        for old, new in files.items():
            self._leave_file(old, new, set(going), number)
        self._leave(live, number)
        about |= self._end_grants(live, user)
        named = [Trace("", (), (user,))] if user is not None else []
        known = erase_plan.signature(self._store, self.db, [*traced, *named])
        self._forget_notes(about, known, set(going))
        self._forget_outcomes(known)
        self._forget_work(going)
        return known

    def _leave(self, leaving: Sequence[Row], number: int) -> None:
        for row in leaving:
            digest = records.row_hash(row[:-2], row[-1])
            private = row[COLUMN["user"]] is not None
            after = {"erased": number, "private": private, "seq": None}
            before = {"erased": None, "private": None, "seq": row[0]}
            event = self._next_event()
            self._changes.append(ChangedRecord(row[1], digest, before, after, row[COLUMN["event"]]))
            stubbed = (row[COLUMN[name]] for name in STUBBED)
            self._leave_stub(row[1], row[COLUMN["user"]], number, event, *stubbed)
        derived.forget(self.cursor, leaving)
        self.cursor.executemany("DELETE FROM records WHERE seq = ?", [(row[0],) for row in leaving])
        writing.repack(self.db, [row[0] for row in leaving])

    def _leave_file(self, old: str, new: str, going: Collection[str], number: int) -> None:
        """Rewrite an archive file without some of its lines."""
        gone, kept, laid = self._store.archive.parted(self.db, old, new, going)
        for line in gone:
            self._leave_line(line, number)
        self.unarchive((), kept, old, new, laid)

    def _leave_line(self, line: Written, number: int) -> None:
        place = archived.find(self.db, line.id)
        assert place is not None, "the file has just been compared with it"
        at, _ = archived.take_out(self.cursor, line.id)
        after = {"archived": None, "erased": number, "private": line.user is not None}
        before = {"archived": at, "erased": None, "private": None}
        event = self._next_event()
        self._changes.append(ChangedRecord(line.id, place.hash, before, after, place.event))
        self._leave_stub(line.id, line.user, number, event, line.layer, line.content, line.key)

    def _leave_stub(
        self,
        record_id: str,
        user: str | None,
        number: int,
        event: int,
        layer: str,
        content: str,
        key: str | None,
    ) -> None:
        known = erased.content_print(self._store.id, user, content)
        keyed = None if key is None else erased.fingerprint(self._store.id, user, key)
        stub = (record_id, layer, user is not None, number, event, known, keyed)
        self.cursor.execute(erased.INSERT, stub)

    def _end_grants(self, gone: Sequence[Row], user: str | None) -> set[int]:
        """End grants of erased records, of tags no longer used, and of the user.

        Return the events about these grants.
        """
        tags = {tag for row in gone for tag in records.texts(row[COLUMN["tags"]])}
        left = "SELECT 1 FROM tags WHERE tag = ? LIMIT 1"
        alone = [tag for tag in tags if self.cursor.execute(left, (tag,)).get is None]
        numbers = grants.remove(self, [row[1] for row in gone], alone, user)
        return {*numbers, *grants.ending(self.db, numbers)}

    def _forget_notes(
        self, about: Collection[int], known: Signature, going: Collection[str]
    ) -> None:
        """Remove notes about what is erased, or with its words; values they bar stay barred."""
        gone = erase_plan.notes_about(self.db, about, known)
        barred: dict[str, list[str]] = {}
        for event, position in gone:
            note = events.notes_of(self.db, event)[position]
            if rejections.BARRED in note:
                barred |= rejections.barred_by(self._changes_of(event), note)
            barred |= note.get(rejections.STILL_BARRED, {})
        barred = {record: prints for record, prints in barred.items() if record not in going}
        self.cursor.executemany("DELETE FROM notes WHERE event = ? AND position = ?", gone)
        self._details = {**(self._details or {}), events.ERASED_NOTES: gone}
        if barred:
            self._note = {**(self._note or {}), rejections.STILL_BARRED: barred}
        self.erased_notes = len(gone)

    def _changes_of(self, seq: int) -> list[tuple[str, Mapping[str, Any]]]:
        event = events.read(self.db, seq)
        changes = () if event is None else event.changes
        return [(change.record, change.before) for change in changes]

    def _forget_work(self, going: Sequence[str]) -> None:
        """Remove data about the records: marks of sleep, barred values, and what was learned."""
        sleep.forget(self.cursor, going)
        rejections.forget(self.cursor, going)
        learned.forget(self.cursor)

    def _forget_outcomes(self, known: Signature) -> None:
        """Remove the reports of jobs about their last run, except whether it succeeded."""
        query = "SELECT name, outcome FROM jobs WHERE outcome IS NOT NULL"
        for job, outcome in rows(self.db, query):
            report = hashing.decode(outcome)
            if known.is_among(erased_words.strings(report)):
                kept = hashing.encode({"ok": bool(report.get("ok"))}).decode()
                self.cursor.execute("UPDATE jobs SET outcome = ? WHERE name = ?", (kept, job))

    def read_again(self, turns: Collection[str]) -> int:
        """Let sleep read turns again from which something erased was derived; count them."""
        there = [turn for turn in turns if records.by_id(self.db, turn) is not None]
        sleep.read_again(self.cursor, there)
        return len(there)

    def keep(self, begun: StartedErasure) -> None:
        """Store what is left to do until it is done."""
        write_private(todo_file(self._store.folder, begun.number), _packed(begun.known))
        fields, salt = msgspec.structs.asdict(begun), self._store.salts.next().hex()
        todo = hashing.encode({**fields, "known": {}, "salt": salt}).decode()
        self.tell(trail_check.ERASURES, {"erasure": begun.number, "todo": trail_check.digest(todo)})
        self.cursor.execute(erased.INSERT_ERASURE, (begun.number, self._micros, todo))


def begin(
    store: Store,
    actor: Actor,
    now: datetime,
    wanted: ErasureRequest,
    reason: str | None = None,
    *,
    keep_backups: bool = False,
    anyway: Callable[[], bool] = lambda: False,
    after: int = 0,
) -> StartedErasure | None:
    """Erase the records requested, and others that say the same, from database and archive.

    Return None if there are none, unless `anyway` says that there is something to clean elsewhere.
    The erasure gets a number greater than `after`.
    """

    def change(who: Actor, action: str, at: datetime) -> Removal:
        return Removal(store, who, action, at, None if reason is None else {"reason": reason})

    def fill(transaction: Removal, new: Sequence[str]) -> StartedErasure:
        connection = transaction.cursor.connection
        plan = erase_plan.plan(store, connection, wanted)
        if not plan.chosen and planned.chosen:
            raise NotFound("somebody else has erased this just now")
        if erase_plan.archives_of(connection, plan.goes) != old:
            raise Conflict("the archive was written to meanwhile; try again")
        number = max(erased.last_erasure(connection), last_number(store.folder), after) + 1
        files, turns = _files(connection, plan.goes), _turns(connection, store, plan)
        known = transaction.erase(plan, number, dict(zip(old, new, strict=True)), wanted.user)
        if reason is not None and known.is_in(reason):
            raise Refused("the reason repeats words of what is to be erased; say it without them")
        begun = StartedErasure(
            number,
            wanted.what,
            str(actor),
            plan.goes,
            len(plan.chosen),
            [{"id": one.id, "why": one.why} for one in plan.kept],
            wanted.user,
            transaction.erased_notes,
            transaction.read_again(turns),
            files,
            keep_backups,
            known,
        )
        transaction.keep(begun)
        meta.delete(connection, meta.ERASE_AGAIN)  # opening the store has done so
        return begun

    with store.database.moment() as connection:
        planned = erase_plan.plan(store, connection, wanted)
        old = erase_plan.archives_of(connection, planned.goes)
    if not planned.chosen and not anyway():
        return None
    make_private_folder(store.folder / erase_plan.CERTIFICATES)
    begun = store.archive.filing.filled(
        change, actor, ACTION, now, [name.removesuffix(".jsonl") for name in old], fill
    )
    store.archive.filing.tidy()
    return begun


def _turns(connection: Connection, store: Store, plan: Plan) -> set[str]:
    """Find other turns from which sleep derived what is erased."""
    goes = {verdict.id for verdict in plan.verdicts if verdict.goes}
    traces = erase_plan.texts_of(connection, store, goes)
    asleep = [trace for trace in traces if trace.origin == erased_words.SLEEP]
    return {source for trace in asleep for source in trace.sources}.difference(plan.goes)


def _files(connection: Connection, ids: Collection[str]) -> list[str]:
    """List the files from which some records were imported, according to the import events."""
    found: set[str] = set()
    for seq in erase_plan.events_about(connection, ids):
        event = events.read(connection, seq)
        if event is not None and event.action == "import" and "file" in event.note:
            found.add(event.note["file"])
    return sorted(found)


def unfinished(store: Store, connection: Connection) -> list[StartedErasure]:
    """List the erasures that have something left to clean up, oldest first."""
    begun = [msgspec.json.decode(todo, type=StartedErasure) for todo in erased.todos(connection)]
    return [
        msgspec.structs.replace(erasure, known=_read(todo_file(store.folder, erasure.number)))
        for erasure in begun
    ]


def erase_again(store: Store, actor: Actor, now: datetime) -> None:
    """Erase what an import or an older version's restore brought back, before anybody reads it.

    Only what a certificate names is erased: a mark that another program wrote has no effect.
    """
    with store.database.moment() as connection:
        marked = erase_plan.brought_back(connection)
        certified = erase_plan.everything(store.folder, None) if marked else set()
        back = erase_plan.held_of(connection, certified.intersection(marked))
    if back:
        begin(store, actor, now, ErasureRequest(tuple(back)))
    elif marked:
        with store.database.atomic() as transaction:
            meta.delete(transaction.cursor, meta.ERASE_AGAIN)


def last_number(folder: Path) -> int:
    """Return the highest number of an erasure that left a file below an agent's folder."""
    names = (
        path.stem.removeprefix(".todo-") for path in (folder / erase_plan.CERTIFICATES).glob("*")
    )
    return max((int(name) for name in names if name.isascii() and name.isdigit()), default=0)


def is_doomed(
    ids: Collection[str],
    known: Signature,
    user: str | None = None,
) -> Callable[[Read], bool]:
    """Choose the notes of reads to remove: on what is erased, with its words, or of its user."""
    gone = set(ids)

    def is_about(read: Read) -> bool:
        if user is not None and read.note.get("user") == user:
            return True
        if not gone.isdisjoint(read.records):
            return True
        return known.is_among(erased_words.strings(read.note))

    return is_about


def todo_file(folder: Path, number: int) -> Path:
    """Return the path of an erasure's signature, which is kept until the erasure is done."""
    return folder / erase_plan.CERTIFICATES / f".todo-{number:04d}"


def tidy(store: Store, connection: Connection) -> None:
    """Remove signatures of erasures that are done or that never began."""
    open_ = {todo_file(store.folder, number) for number in erased.open_erasures(connection)}
    for path in (store.folder / erase_plan.CERTIFICATES).glob(".todo-*"):
        if path not in open_:
            path.unlink(missing_ok=True)


def _packed(known: Signature) -> bytes:
    """Pack a signature so that a search of files for its words does not find it."""
    packed = zlib.compress(hashing.encode([sorted(known.words), sorted(known.runs)]))
    return base64.b85encode(packed)


def _read(path: Path) -> Signature:
    """Read a signature; an empty one if its file was removed or damaged."""
    try:
        words, runs = hashing.decode(zlib.decompress(base64.b85decode(path.read_bytes())))
    except (OSError, ValueError, zlib.error, Corrupt):
        return Signature()
    return Signature(frozenset(words), frozenset(runs))


def purge(store: Store) -> bool:
    """Remove words of erased records from the index, and empty the log; False if it must wait."""
    with store.database.atomic() as transaction:
        fulltext.words(transaction.cursor).purge(transaction.cursor)
    return store.database.fold()


def finish(
    store: Store, actor: Actor, now: datetime, number: int, certificate: Mapping[str, Any]
) -> None:
    """Store the certificate of a finished erasure; its hash is in the trail."""
    body = hashing.encode(certificate)
    details = {"erasure": number, "certificate": trail_check.digest(body)}
    with store.change(actor, trail_check.CERTIFIED, now, details=details) as transaction:
        erased.certify(transaction.cursor, number, body.decode())
    todo_file(store.folder, number).unlink(missing_ok=True)
