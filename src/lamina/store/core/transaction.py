"""One change of the memory: rows, tags, links, words and the event that says so, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
from lamina.store.archive import archive
from lamina.store.archive.files import Laid
from lamina.store.engine.sql import Atomic
from lamina.store.index import derived
from lamina.store.tables import events, fulltext, record_lines, records, users
from lamina.store.tables.events import Changed, Made
from lamina.store.tables.reads import Read
from lamina.store.tables.record_lines import Written
from lamina.store.tables.records import COLUMN, Filter, Row

if TYPE_CHECKING:
    from lamina.store.core.guard import Guard
    from lamina.store.core.store import Store
    from lamina.store.tables import sleep

CHANGES_PER_EVENT = 500
EVERY = 1 << 31


class Transaction(Atomic):
    """Collects changes under one action; at the end it writes their event and commits."""

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
        self._made: list[Made] = []
        self._changes: list[Changed] = []
        self._pending = 0
        self._guard: Guard | None = None
        self._users: dict[str, str | None] = {}  # as they are spelled here

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._store.check_place(self.cursor)
            self._head = events.head(self.cursor, self._store.seed)
            if (
                self._head.seq == 0
            ):  # the first event hangs on the store's identity, which an import may have changed
                self._store.identify(self.cursor.connection)
                self._head = events.head(self.cursor, self._store.seed)
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
                    self._guard.check_places()
                self._write_event()
            except BaseException as failure:
                super().__exit__(type(failure), failure, failure.__traceback__)
                raise
        try:
            super().__exit__(kind, error, trace)
        except StoreUnavailable as failure:
            if (
                error is None
            ):  # nobody knows whether it was kept: it was if the trail has this event
                failure.details["unless"] = {"event": self._head.seq, "hash": self._head.hash.hex()}
            raise
        if (
            self._guard is not None and self._guard.refused
        ):  # told where reads are: whether or not anything else was changed, these were not
            self._store.reads.add(
                Read(
                    self.now,
                    self._actor,
                    "refused",
                    tuple(self._guard.refused),
                    {"by": self._action},
                )
            )

    @property
    def guard(self) -> Guard:
        """What watches over everything that would be believed; most transactions need none."""
        if self._guard is None:
            from lamina.store.core.guard import Guard

            self._guard = Guard(self._store, self._actor, self._micros, self.cursor)
        return self._guard

    def find(self, record_id: str) -> Row | None:
        return records.by_id(self.cursor.connection, record_id)

    def exists(self, record_id: str) -> bool:
        """Whether there is such a record, in the store or in its archive, or was until it was erased."""
        return records.last_event(self.cursor.connection, record_id) is not None

    def listed(self, chosen: Filter) -> list[Row]:
        """The rows that match, as they are now, newest first."""
        return records.listed(self.cursor.connection, chosen, EVERY)

    def event(self, seq: int) -> Event | None:
        return events.read(self.cursor.connection, seq)

    def events(self, numbers: Collection[int]) -> dict[int, Event | None]:
        """Some events by their numbers, each read once."""
        return {seq: self.event(seq) for seq in numbers}

    def settled_events(self, record_ids: Sequence[str]) -> dict[str, int]:
        """The last event about each of some records that nobody has taken back; 0 for none."""
        connection = self.cursor.connection
        book = events.Book(connection)
        return {
            one: events.settled(book, one, records.last_event(connection, one))
            for one in record_ids
        }

    def unchanged(self, wanted: Sequence[tuple[int, int]]) -> list[Row]:
        """The rows with these numbers, as far as the event that is given with each is still its last."""
        return records.unchanged(self.cursor.connection, wanted)

    def run(self, run_id: str, user: str | None) -> list[Row]:
        """The live notes of a run that this user may see, in their order."""
        return records.in_run(self.cursor.connection, run_id, user)

    def is_open(self, run_id: str, user: str | None) -> bool:
        """Whether a run is still open to this user."""
        return records.count_notes(self.cursor.connection, run_id, user) > 0

    def tainted(self, source: str, user: str | None) -> tuple[list[Row], set[str]]:
        """What is active and came from a source or was derived from what did; and the ids of all that did, in any state."""
        from lamina.store.tables import lineage

        found, _, ids = lineage.tainted(self._store, self.cursor.connection, source, user)
        return found, ids

    def unresolved(self, draft: Draft) -> list[str]:
        """The evidence of a draft that leads to no record which its user may see."""
        return records.unresolved(self.cursor.connection, filter(is_id, draft.evidence), draft.user)

    def check_evidence(self, draft: Draft, note_crossing: Callable[[str], object]) -> None:
        """Raise when evidence of a draft leads to no record which its user may see; each attempt is noted."""
        unknown = self.unresolved(draft)
        if unknown:
            for record_id in unknown:
                note_crossing(record_id)
            raise NotFound(f"evidence {unknown[0]} leads to no record", unknown=unknown)

    def derived(self, draft: Draft) -> Draft:
        """A draft that is trusted as little as what it rests on."""
        from lamina.store.tables import lineage

        ids = [one for one in draft.evidence if is_id(one)]
        if not ids:
            return draft
        trusts = lineage.trusts(self._store, self.cursor.connection, ids)
        return structs.replace(draft, trust=rules.lowest_trust((draft.trust, *trusts)))

    def slept(self) -> sleep.Marks:
        """How far sleep has read."""
        from lamina.store.tables import sleep

        return sleep.marks(self.cursor.connection)

    def has_heard(self, marks: sleep.Marks) -> bool:
        """Whether somebody has read one of these meanwhile that were promoted."""
        from lamina.store.tables import sleep

        return sleep.has_heard(self.cursor.connection, marks.promoted)

    def sleep_until(self, marks: sleep.Marks) -> None:
        """Keep how far sleep has read, with what came of it."""
        from lamina.store.tables import sleep

        since = sleep.marks(self.cursor.connection).seq
        sleep.advance(self.cursor, marks)
        if since != marks.seq:
            self.say({sleep.SLEPT: {"since": since, "until": marks.seq}})

    def sum_up(self, turns: Sequence[str]) -> None:
        """Keep that a summary stands for some turns, wherever it may go."""
        from lamina.store.tables import sleep

        sleep.hear(self.cursor, turns, "summary")

    def age(self, aged: Sequence[tuple[str, float, float]]) -> None:
        """Keep what the importance of records was before it was adjusted, and what it became."""
        from lamina.store.tables import sleep

        sleep.age(self.cursor, aged)

    def facts(self) -> list[Record]:
        """The facts of all users, in every state."""
        from lamina.store.tables import sleep

        return [
            self._store.record(row)
            for row in sleep.facts(self.cursor.connection, tuple(State), None)
        ]

    def next_id(self) -> str:
        """The id that the next new record will have."""
        return self._store.ids.make(self._store.ids.prefix(self.now), self._last_record + 1)

    def user(self, given: object) -> str | None:
        """The name of a user as the store has it, or may have it from now on; looked up once."""
        if not isinstance(given, str):
            return user_name(given)
        if given not in self._users:
            self._users[given] = users.resolved(given, lambda: self.cursor.connection)
        return self._users[given]

    def find_key(self, key: str, user: str | None) -> Record | None:
        """What an earlier call with the same idempotency key stored, wherever it is now."""
        row = records.by_key(self.cursor.connection, key, user)
        if row is not None:
            return self._store.record(row)
        place = archive.find_key(self.cursor.connection, key, user)
        return None if place is None else self._store.archive.read(place)

    def insert(self, drafts: Sequence[Draft]) -> list[Record]:
        """Give drafts their identity and store them. None rests on what was erased meanwhile."""
        if evidence := [one for draft in drafts for one in draft.evidence if is_id(one)]:
            self.guard.check_there(evidence)
        made: list[Record] = []
        for start in range(0, len(drafts), CHANGES_PER_EVENT):
            made += self._insert_some(drafts[start : start + CHANGES_PER_EVENT])
        return made

    def _insert_some(self, drafts: Sequence[Draft]) -> list[Record]:
        """As many as fit into one event."""
        event, now, now_micros = self._next_event(len(drafts)), self.now, self._micros
        prefix, agent, make_id = (
            self._store.ids.prefix(now),
            self._store.agent,
            self._store.ids.make,
        )
        next_salt, row_hash = self._store.salts.next, records.row_hash
        layer: Layer | None = None
        state: State | None = None
        told: list[tuple[str, bytes]] = []
        made: list[Record] = []
        rows: list[Row] = []
        for seq, draft in enumerate(drafts, self._last_record + 1):
            record = records.minted(draft, make_id(prefix, seq), seq, agent, now)
            if draft.supersedes or draft.promoted_at is not None or draft.valid_from is not None:
                record = records.with_history(record, draft)
                fields = records.fields_of(record, draft.key)
            else:
                fields = records.fields_of_new(record, draft.key, now_micros)
            salt = next_salt()
            if record.layer is not layer or record.state is not state:
                layer, state, told = record.layer, record.state, self._told(record)
            if layer in rules.BELIEVED:
                self.guard.check_new(record)
            told.append((record.id, row_hash(fields, salt)))
            made.append(record)
            rows.append((*fields, event, salt))
        self._last_record += len(drafts)
        self.cursor.executemany(records.INSERT, rows)
        derived.follow(self.cursor, made)
        return made

    def replace(self, replaced: Sequence[Row], draft: Draft, *, never_true: bool = False) -> Record:
        """Store a draft in the place of records that were true until now, or that had been a mistake."""
        ids = tuple(row[COLUMN["id"]] for row in replaced)
        (made,) = self.insert([structs.replace(draft, supersedes=ids)])
        for row in replaced:
            self.update(
                row,
                state=State.SUPERSEDED,
                superseded_by=made.id,
                valid_to=None if never_true else self.now,
            )
        return made

    def adopt(self, arrivals: Sequence[Record], keys: Sequence[str | None] = ()) -> None:
        """Store records that bring their id and history, and may bring their key; here they begin with this event."""
        rows: list[Row] = []
        for record, key in zip_longest(arrivals, keys):
            self._last_record += 1
            event = self._next_event()
            own = structs.replace(record, seq=self._last_record, agent=self._store.agent)
            own = structs.replace(own, state=self.guard.arriving(own))
            salt = self._store.salts.next()
            fields = records.fields_of(own, key)
            self._told(own).append((own.id, records.row_hash(fields, salt)))
            rows.append((*fields, event, salt))
        self.put(rows)

    def put(self, rows: Sequence[Row]) -> None:
        """Rows with all that follows from them, and no event: the caller has that. They may refer to each other."""
        self.cursor.executemany(records.INSERT, rows)
        stored = [records.record_of(row, self._store.agent) for row in rows]
        derived.follow(self.cursor, stored)

    def archive(self, leaving: Sequence[Row], file: str, why: str, laid: Laid) -> None:
        """Take rows out of the store, whose lines lie in a file now."""
        number = self._new_archive(file, why, laid)
        user, key, last = COLUMN["user"], COLUMN["key"], COLUMN["event"]
        after = {"archived": number, "seq": None}
        places = []
        for line, (row, (start, size)) in enumerate(zip(leaving, laid.places, strict=True), 1):
            seq, record_id, event = row[0], row[1], self._next_event()
            digest = records.row_hash(row[:-2], row[-1])
            self._changes.append(
                Changed(record_id, digest, {"archived": None, "seq": seq}, after, row[last])
            )
            places.append(
                (record_id, row[user], row[key], number, line, start, size, digest, event)
            )
        self.cursor.executemany(archive.INSERT, places)
        derived.forget(self.cursor, leaving)
        self.cursor.executemany("DELETE FROM records WHERE seq = ?", [(row[0],) for row in leaving])

    def is_archived(self, record_id: str, file: str) -> bool:
        """Whether a record still lies in this file."""
        place = archive.find(self.cursor.connection, record_id)
        return place is not None and place.file == file

    def unarchive(
        self,
        back: Sequence[Written],
        kept: Sequence[Written],
        old: str,
        new: str,
        laid: Laid | None,
    ) -> list[Record]:
        """Put records back into the store; a new file holds the others, and the old one is a stray from now on."""
        number = self.cursor.execute("SELECT number FROM archives WHERE file = ?", (old,)).get
        self.cursor.execute("INSERT INTO strays (file, doomed) VALUES (?, 1)", (old,))
        if laid is None:
            self.cursor.execute("DELETE FROM archives WHERE number = ?", (number,))
            self._tell_archive(number, file=None, lines=0, sha256=None)
        else:
            self.cursor.execute("DELETE FROM strays WHERE file = ?", (new,))
            moved = "UPDATE archives SET file = ?, lines = ?, sha256 = ? WHERE number = ?"
            self.cursor.execute(moved, (new, len(kept), laid.sha256, number))
            self._tell_archive(number, file=new, lines=len(kept), sha256=laid.sha256.hex())
            moved = "UPDATE archived SET line = ?, start = ?, bytes = ? WHERE id = ?"
            places = enumerate(zip(kept, laid.places, strict=True), 1)
            self.cursor.executemany(
                moved, [(line, start, size, one.id) for line, (one, (start, size)) in places]
            )
        return [self._put_back(one, number) for one in back]

    def _put_back(self, one: Written, number: Any) -> Record:
        event = self.cursor.execute("SELECT event FROM archived WHERE id = ?", (one.id,)).get
        assert isinstance(event, int)
        self.cursor.execute("DELETE FROM archived WHERE id = ?", (one.id,))
        self._last_record += 1
        row = list(record_lines.row_of(one))
        row[COLUMN["seq"]] = self._last_record
        row[COLUMN["updated_at"]] = row[COLUMN["last_verified"]] = self._micros
        row[COLUMN["event"]] = self._next_event()
        digest = records.row_hash(tuple(row[:-2]), row[-1])
        after = {"archived": None, "seq": self._last_record, "last_verified": self._micros}
        before = {
            "archived": number,
            "seq": None,
            "last_verified": records.stored("last_verified", one.last_verified),
        }
        self._changes.append(Changed(one.id, digest, before, after, event))
        self.put([tuple(row)])
        back = records.record_of(tuple(row), self._store.agent)
        self.guard.take_place(back)
        return back

    def _new_archive(self, file: str, why: str, laid: Laid) -> int:
        number = self.cursor.execute("SELECT coalesce(max(number), 0) + 1 FROM archives").get
        assert isinstance(number, int)
        self.cursor.execute(
            archive.INSERT_FILE, (number, file, why, len(laid.places), laid.sha256, self._micros)
        )
        self.cursor.execute("DELETE FROM strays WHERE file = ?", (file,))
        self._tell_archive(
            number, file=file, lines=len(laid.places), sha256=laid.sha256.hex(), why=why
        )
        return number

    def _tell_archive(self, number: Any, **said: Any) -> None:
        """What the event says about a file of the archive."""
        self.tell("archives", {"archive": number, **said})

    @property
    def number(self) -> int:
        """The number of the event that tells of what is done now."""
        return self._head.seq + 1

    def tell(self, name: str, said: Mapping[str, Any]) -> None:
        """Let the event say more, in one of its lists. It is there for good, so it holds no words."""
        self.say({name: [*(self._details or {}).get(name, ()), said]})

    def say(self, details: Mapping[str, Any]) -> None:
        """Let the event say more, or something else under the same names."""
        self._details = {**(self._details or {}), **details}

    def update(self, row: Row, **fields: Any) -> Record:
        """Change open fields of a record; what it says never changes. Metadata and evidence may only grow."""
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
            Changed(row[COLUMN["id"]], digest, before_fields, after_fields, row[COLUMN["event"]])
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
        """Put the open fields of a record back to what they were before a change."""
        row = self.find(change.record)
        assert row is not None, "the caller has looked"
        return self.update(
            row, **{name: records.loaded(name, value) for name, value in change.before.items()}
        )

    def bar(self, record: Record, fingerprints: Sequence[bytes]) -> None:
        """Keep values out from now on; the event tells which."""
        from lamina.store.tables import rejections

        self.guard.bar(record, fingerprints)
        self._note = {**(self._note or {}), rejections.BARRED: [one.hex() for one in fingerprints]}

    def _index_anew(self, row: Row, record: Record) -> None:
        """What is turned round, for a record that has grown."""
        derived.forget_turned(self.cursor, [row])
        derived.turn(self.cursor, [record])
        entry = fulltext.entry(record.seq, record.content, record.tags, record.metadata)
        fulltext.words(self.cursor).replace(self.cursor, entry)

    def _next_event(self, number: int = 1) -> int:
        """The number of the event that the next changes belong to; one that they would overfill is written first."""
        if self._pending + number > self._changes_per_event:
            self._write_event()
        self._pending += number
        return self._head.seq + 1

    def _told(self, record: Record) -> list[tuple[str, bytes]]:
        """Where the event says that this record was made: beside others that began alike."""
        last = self._made[-1] if self._made else None
        if last is None or last.layer != record.layer or last.state != record.state:
            last = Made(record.layer, record.state, [])
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
