"""Change the memory: rows, tags, links, words and the event that records it, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from msgspec import structs

from lamina.errors import NotFound, StoreUnavailable
from lamina.home.folder import user_name
from lamina.model import rules
from lamina.model.clock import is_id, to_micros
from lamina.model.record import Actor, Change, Draft, Event, Layer, Record, State
from lamina.store.archive.files import Laid
from lamina.store.core.guard import Guard
from lamina.store.engine.sql import Atomic, Connection
from lamina.store.tables import (
    archived,
    derived,
    events,
    fulltext,
    lineage,
    record_lines,
    records,
    rejections,
    sleep,
    users,
)
from lamina.store.tables.events import ChangedRecord, NewRecords
from lamina.store.tables.reads import Read
from lamina.store.tables.record_lines import Written
from lamina.store.tables.records import COLUMN, Filter, Row

if TYPE_CHECKING:
    from lamina.store.core.store import Store

CHANGES_PER_EVENT = 500
EVERY = records.EVERY


class Transaction(Atomic):
    """Collects changes of one action; at the end it writes their event and commits."""

    def __init__(
        self,
        store: Store,
        actor: Actor,
        action: str,
        now: datetime,
        note: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        undivided: bool = False,
    ) -> None:
        self.now = now
        self._micros = to_micros(now)
        self._store = store
        self._actor = actor
        self._action = action
        self._note = note
        self._details = details
        self._changes_per_event = EVERY if undivided else CHANGES_PER_EVENT
        super().__init__(store.database)
        self._made: list[NewRecords] = []
        self._changes: list[ChangedRecord] = []
        self._pending = 0
        self._guard: Guard | None = None
        self._users: dict[str, str | None] = {}  # as they are spelled here

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._store.check_not_moved(self.cursor)
            self._head = events.head(self.cursor, self._store.seed)
            if self._head.seq == 0:
                # The first event refers to the store's identity, which an import may have changed.
                self._store.identify(self.db)
                self._head = events.head(self.cursor, self._store.seed)
            self._store.witness.check(self.cursor, self._head)
        except BaseException as error:
            super().__exit__(type(error), error, error.__traceback__)
            raise
        self._last_record = self._head.records
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                if self._guard is not None:
                    self._guard.check_slots()
                self._write_event()
            except BaseException as failure:
                super().__exit__(type(failure), failure, failure.__traceback__)
                raise
        try:
            super().__exit__(kind, error, trace)
        except StoreUnavailable as failure:
            if error is None:
                # It may have been committed all the same: it was if the trail has this event.
                failure.details["unless"] = {"event": self._head.seq, "hash": self._head.hash.hex()}
            raise
        if error is None:
            self._store.witness.note(self._head)
        if self._guard is not None and self._guard.refused:
            # They are listed with the reads, because these records themselves did not change.
            refused, note = tuple(self._guard.refused), {"by": self._action}
            self._store.reads.add(Read(self.now, self._actor, "refused", refused, note))

    @property
    def db(self) -> Connection:
        """The connection that reads the tables as this transaction sees them."""
        connection: Connection = self.cursor.connection
        return connection

    @property
    def number(self) -> int:
        """The number of the event that describes the current changes."""
        return self._head.seq + 1

    @property
    def guard(self) -> Guard:
        """The guard over everything that becomes active; most transactions need none."""
        if self._guard is None:
            self._guard = Guard(self._store, self._actor, self._micros, self.cursor)
        return self._guard

    # Reads that need more than one table

    def settled_events(self, record_ids: Sequence[str]) -> dict[str, int]:
        """Find the last event about each record that was not undone; 0 where there is none."""
        book = events.Book(self.db)
        return {
            record_id: events.settled(book, record_id, records.last_event(self.db, record_id))
            for record_id in record_ids
        }

    def tainted(self, source: str, user: str | None) -> tuple[list[Row], set[str]]:
        """Find the active rows that go back to a source, and the ids of all records that do."""
        active, _, ids = lineage.tainted(self._store, self.db, source, user)
        return active, ids

    def unresolved(self, draft: Draft) -> list[str]:
        """List the evidence of a draft that leads to no record that its user may see."""
        return records.unresolved(self.db, filter(is_id, draft.evidence), draft.user)

    def check_evidence(self, draft: Draft, note_crossing: Callable[[str], object]) -> None:
        """Raise if evidence leads to no record that the user may see; note each attempt."""
        unknown = self.unresolved(draft)
        if unknown:
            for record_id in unknown:
                note_crossing(record_id)
            raise NotFound(f"evidence {unknown[0]} leads to no record", unknown=unknown)

    def derived(self, draft: Draft) -> Draft:
        """Give a draft no more trust than the evidence it rests on."""
        ids = list(filter(is_id, draft.evidence))
        if not ids:
            return draft
        trusts = lineage.trusts(self._store, self.db, ids)
        return structs.replace(draft, trust=rules.lowest_trust((draft.trust, *trusts)))

    def sleep_until(self, marks: sleep.Marks) -> None:
        """Store how far sleep has read, together with its results."""
        since = sleep.marks(self.db).seq
        sleep.advance(self.cursor, marks)
        if since != marks.seq:
            self.say({sleep.SLEPT: {"since": since, "until": marks.seq}})

    # Writing

    def next_id(self) -> str:
        """Return the id that the next new record will have."""
        return self._store.ids.make(self._store.ids.prefix(self.now), self._last_record + 1)

    def user(self, given: object) -> str | None:
        """Return the name of a user as the store spells it or will spell it; look it up once."""
        if not isinstance(given, str):
            return user_name(given)
        if given not in self._users:
            self._users[given] = users.resolved(given, lambda: self.db)
        return self._users[given]

    def find_key(self, key: str, user: str | None) -> Record | None:
        """Find what an earlier call with the same idempotency key stored, archived or not."""
        row = records.by_key(self.db, key, user)
        if row is not None:
            return self._store.record(row)
        place = archived.find_key(self.db, key, user)
        return None if place is None else self._store.archive.read(place)

    def insert(self, drafts: Sequence[Draft]) -> list[Record]:
        """Give drafts their identity and store them; refuse those that rest on erased records."""
        if evidence := [target for draft in drafts for target in draft.evidence if is_id(target)]:
            self.guard.check_there(evidence)
        made: list[Record] = []
        for start in range(0, len(drafts), CHANGES_PER_EVENT):
            made += self._insert_some(drafts[start : start + CHANGES_PER_EVENT])
        return made

    def _insert_some(self, drafts: Sequence[Draft]) -> list[Record]:
        """Store as many drafts as fit into one event."""
        # Every write goes through this loop, so everything it needs is looked up before it.
        store, now, now_micros = self._store, self.now, self._micros
        event, prefix = self._next_event(len(drafts)), store.ids.prefix(now)
        agent, make_id = store.agent, store.ids.make
        next_salt, row_hash = store.salts.next, records.row_hash
        layer: Layer | None = None
        state: State | None = None
        hashes: list[tuple[str, bytes]] = []
        made: list[Record] = []
        rows: list[Row] = []
        for seq, draft in enumerate(drafts, self._last_record + 1):
            record = records.new_record(draft, make_id(prefix, seq), seq, agent, now)
            if draft.supersedes or draft.promoted_at is not None or draft.valid_from is not None:
                record = records.with_history(record, draft)
                fields = records.fields_of(record, draft.key)
            else:
                fields = records.fields_of_new(record, draft.key, now_micros)
            salt = next_salt()
            if record.layer is not layer or record.state is not state:
                layer, state, hashes = record.layer, record.state, self._hashes_like(record)
            if layer in rules.BELIEVED:
                self.guard.check_new(record)
            hashes.append((record.id, row_hash(fields, salt)))
            made.append(record)
            rows.append((*fields, event, salt))
        self._last_record += len(drafts)
        self.cursor.executemany(records.INSERT, rows)
        derived.follow(self.cursor, made)
        return made

    def replace(self, replaced: Sequence[Row], draft: Draft, *, never_true: bool = False) -> Record:
        """Store a draft in place of records that are no longer true, or never were."""
        ids = tuple(row[COLUMN["id"]] for row in replaced)
        (made,) = self.insert([structs.replace(draft, supersedes=ids)])
        valid_to = None if never_true else self.now
        for row in replaced:
            self.update(row, state=State.SUPERSEDED, superseded_by=made.id, valid_to=valid_to)
        return made

    def adopt(self, arrivals: Sequence[Record], keys: Sequence[str | None] = ()) -> None:
        """Store records that bring their id, history and perhaps key; here they begin now."""
        rows: list[Row] = []
        for record, key in zip_longest(arrivals, keys):
            self._last_record += 1
            event = self._next_event()
            own = structs.replace(record, seq=self._last_record, agent=self._store.agent)
            own = structs.replace(own, state=self.guard.arriving(own))
            salt = self._store.salts.next()
            fields = records.fields_of(own, key)
            self._hashes_like(own).append((own.id, records.row_hash(fields, salt)))
            rows.append((*fields, event, salt))
        self.put(rows)

    def put(self, rows: Sequence[Row]) -> None:
        """Store rows that may refer to each other, and everything derived from them.

        The caller writes the event.
        """
        self.cursor.executemany(records.INSERT, rows)
        stored = [records.record_of(row, self._store.agent) for row in rows]
        derived.follow(self.cursor, stored)

    def archive(self, leaving: Sequence[Row], file: str, why: str, laid: Laid) -> None:
        """Remove rows from the store whose lines are now in a file."""
        number = self._new_archive(file, why, laid)
        user, key, last = COLUMN["user"], COLUMN["key"], COLUMN["event"]
        after = {"archived": number, "seq": None}
        places = []
        for line, (row, (start, size)) in enumerate(zip(leaving, laid.places, strict=True), 1):
            seq, record_id, event = row[0], row[1], self._next_event()
            digest = records.row_hash(row[:-2], row[-1])
            self._changes.append(
                ChangedRecord(record_id, digest, {"archived": None, "seq": seq}, after, row[last])
            )
            places.append(
                (record_id, row[user], row[key], number, line, start, size, digest, event)
            )
        self.cursor.executemany(archived.INSERT, places)
        derived.forget(self.cursor, leaving)
        self.cursor.executemany("DELETE FROM records WHERE seq = ?", [(row[0],) for row in leaving])

    def unarchive(
        self,
        back: Sequence[Written],
        kept: Sequence[Written],
        old: str,
        new: str,
        laid: Laid | None,
    ) -> list[Record]:
        """Restore records; the others go to a new file, and the old one becomes a stray."""
        number = archived.number_of(self.cursor, old)
        archived.doom(self.cursor, old)
        if laid is None:
            archived.drop_file(self.cursor, number)
            self._say_archive(number, file=None, lines=0, sha256=None)
        else:
            archived.clear_stray(self.cursor, new)
            archived.replace_file(self.cursor, number, new, len(kept), laid.sha256)
            self._say_archive(number, file=new, lines=len(kept), sha256=laid.sha256.hex())
            places = enumerate(zip(kept, laid.places, strict=True), 1)
            moved = [(line, start, size, written.id) for line, (written, (start, size)) in places]
            self.cursor.executemany(archived.MOVE, moved)
        return [self._put_back(written, number) for written in back]

    def _put_back(self, written: Written, number: int) -> Record:
        _, event = archived.take_out(self.cursor, written.id)
        self._last_record += 1
        row = list(record_lines.row_of(written))
        row[COLUMN["seq"]] = self._last_record
        row[COLUMN["updated_at"]] = row[COLUMN["last_verified"]] = self._micros
        row[COLUMN["event"]] = self._next_event()
        digest = records.row_hash(tuple(row[:-2]), row[-1])
        after = {"archived": None, "seq": self._last_record, "last_verified": self._micros}
        before = {
            "archived": number,
            "seq": None,
            "last_verified": records.stored("last_verified", written.last_verified),
        }
        self._changes.append(ChangedRecord(written.id, digest, before, after, event))
        self.put([tuple(row)])
        back = records.record_of(tuple(row), self._store.agent)
        self.guard.take_slot(back)
        return back

    def _new_archive(self, file: str, why: str, laid: Laid) -> int:
        number = archived.next_number(self.cursor)
        lines, sha256 = len(laid.places), laid.sha256
        self.cursor.execute(archived.INSERT_FILE, (number, file, why, lines, sha256, self._micros))
        archived.clear_stray(self.cursor, file)
        self._say_archive(number, file=file, lines=lines, sha256=sha256.hex(), why=why)
        return number

    def _say_archive(self, number: int, **said: Any) -> None:
        """Add to the event what happened to a file of the archive."""
        self.tell("archives", {"archive": number, **said})

    def tell(self, name: str, said: Mapping[str, Any]) -> None:
        """Add an entry to a list of the event. It is never deleted, so it must hold no text."""
        self.say({name: [*(self._details or {}).get(name, ()), said]})

    def say(self, details: Mapping[str, Any]) -> None:
        """Add details to the event, or replace those with the same names."""
        self._details = {**(self._details or {}), **details}

    def update(self, row: Row, **fields: Any) -> Record:
        """Change open fields of a record. Its text is fixed; metadata and evidence only grow."""
        before = records.STATES[row[COLUMN["state"]]]
        if fields.get("state", before) is not before:
            rules.check_move(before, fields["state"], self._actor.role)
        fields["updated_at"] = self.now
        changed = {name: records.stored(name, value) for name, value in fields.items()}
        after = list(row)
        for name, value in changed.items():
            after[COLUMN[name]] = value
        event = self._next_event()
        after[COLUMN["event"]] = event
        open_fields = [name for name in records.TRACKED if name in changed]
        digest = records.row_hash(tuple(after[:-2]), row[-1])
        after_fields = {name: after[COLUMN[name]] for name in open_fields}
        before_fields = {name: row[COLUMN[name]] for name in open_fields}
        self._changes.append(
            ChangedRecord(
                row[COLUMN["id"]], digest, before_fields, after_fields, row[COLUMN["event"]]
            )
        )
        settings = ", ".join(f"{name} = ?" for name in (*changed, "event"))
        self.cursor.execute(
            f"UPDATE records SET {settings} WHERE seq = ?",
            (*changed.values(), event, row[COLUMN["seq"]]),
        )
        record = records.record_of(tuple(after), self._store.agent)
        if record.state is State.ACTIVE and not fields.keys().isdisjoint(("layer", "state")):
            self.guard.check_active(record)
        if not fields.keys().isdisjoint(("metadata", "evidence", "supersedes")):
            self._index_anew(row, record)
        return record

    def undo(self, change: Change) -> Record:
        """Restore the open fields of a record to their values before a change."""
        row = records.by_id(self.db, change.record)
        assert row is not None, "the caller has looked"
        before = {name: records.loaded(name, value) for name, value in change.before.items()}
        return self.update(row, **before)

    def bar(self, record: Record, fingerprints: Sequence[bytes]) -> None:
        """Refuse these values from now on; the event's note lists them."""
        self.guard.bar(record, fingerprints)
        note = dict(self._note or {})
        barred = {record.id: [fingerprint.hex() for fingerprint in fingerprints]}
        self._note = {**note, rejections.BARRED: {**note.get(rejections.BARRED, {}), **barred}}

    def _index_anew(self, row: Row, record: Record) -> None:
        """Update the index of a record that has grown: its tags, links, facets and words."""
        derived.forget_turned(self.cursor, [row])
        derived.turn(self.cursor, [record])
        entry = fulltext.entry(record.seq, record.content, record.tags, record.metadata)
        fulltext.words(self.cursor).replace(self.cursor, entry)

    def _next_event(self, number: int = 1) -> int:
        """Return the event of the next changes; write the current one first if it is full."""
        if self._pending + number > self._changes_per_event:
            self._write_event()
        self._pending += number
        return self._head.seq + 1

    def _hashes_like(self, record: Record) -> list[tuple[str, bytes]]:
        """Return the event's list for a new record: one for each layer and state."""
        last = self._made[-1] if self._made else None
        if last is None or last.layer != record.layer or last.state != record.state:
            last = NewRecords(record.layer, record.state, [])
            self._made.append(last)
        return last.records

    def _write_event(self) -> None:
        if not self._pending and self._details is None:
            return
        if self._guard is not None and (counted := self._guard.count()) is not None:
            self.say({"proposed": counted})
        self._head = events.append(
            self.cursor,
            self._head,
            self._micros,
            self._actor,
            self._action,
            records=self._last_record,
            made=self._made,
            changes=self._changes,
            details=self._details,
            notes=[self._note] if self._note else (),
        )
        self._made, self._changes, self._pending, self._details = [], [], 0, None

    # Reads of one table; `records.by_id(transaction.db, record_id)` does the same.

    def find(self, record_id: str) -> Row | None:
        return records.by_id(self.db, record_id)

    def holds(self, record_ids: Iterable[str]) -> bool:
        """Tell whether all of these records are in the store: none is archived or erased."""
        return records.holds(self.db, set(record_ids))

    def exists(self, record_id: str) -> bool:
        return records.exists(self.db, record_id)

    def listed(self, chosen: Filter) -> list[Row]:
        return records.listed(self.db, chosen, EVERY)

    def event(self, seq: int) -> Event | None:
        return events.read(self.db, seq)

    def events(self, numbers: Collection[int]) -> dict[int, Event | None]:
        return {seq: events.read(self.db, seq) for seq in numbers}

    def unchanged(self, wanted: Sequence[tuple[int, int]]) -> list[Row]:
        return records.unchanged(self.db, wanted)

    def run(self, run_id: str, user: str | None) -> list[Row]:
        return records.in_run(self.db, run_id, user)

    def is_open(self, run_id: str, user: str | None) -> bool:
        return records.count_notes(self.db, run_id, user) > 0

    def slept(self) -> sleep.Marks:
        return sleep.marks(self.db)

    def has_heard(self, marks: sleep.Marks) -> bool:
        return sleep.has_heard(self.db, marks.promoted)

    def sum_up(self, turns: Sequence[str]) -> None:
        sleep.hear(self.cursor, turns, "summary")

    def age(self, aged: Sequence[tuple[str, float, float]]) -> None:
        sleep.age(self.cursor, aged)

    def changed_facts(self, known: Mapping[int, int]) -> tuple[dict[int, int], list[Record]]:
        versions, changed = sleep.changed_facts(self.db, known)
        return versions, [self._store.record(row) for row in changed]

    def facts_about(self, subject: str, attributes: Sequence[str]) -> list[Record]:
        found = sleep.about(self.db, subject, attributes)
        return [self._store.record(row) for row in found]
