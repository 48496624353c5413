"""The catalogue: what a search needs to know about every record, as columns in memory.

Row n of a column is the record with the sequence number n. A new process reads packed blocks and
the records after them; a process that has the catalogue reads only what later events changed.
"""

from __future__ import annotations

import copy
import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date
from enum import Enum
from hashlib import blake2b
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamina.errors import Corrupt
from lamina.model.clock import EPOCH, from_micros, to_micros
from lamina.model.record import Layer, State, Trust
from lamina.store.engine.sql import Connection, numbers, rows
from lamina.store.index.reached import Reached
from lamina.store.tables import events, meta
from lamina.store.tables.blocks import BLOCK, SEAL, opened, sealed
from lamina.store.tables.records import EVER, MADE_BY_SLEEP, OF_OTHERS, SHARED, Filter, marks
from lamina.text import cues, dates, words
from lamina.text.screening import Screen

if TYPE_CHECKING:
    from lamina.store.index.visible import Visible

# With more new records than this, reading the blocks again is faster.
MANY = 20_000
# If more than this fraction of the records have left, joining all anew is faster.
PART = 100
# Results of filters to keep: this many, and more if all of them together take little room.
KEPT, ROOM = 8, 1 << 20
MOST_SEEN = 1 << 24  # bytes of what follows from the results of filters
DERIVED = 32  # and other arrays derived from the columns
COLUMNS = {
    "state": "u1", "layer": "u1", "kind": "u4", "user": "u8", "session": "u8", "speaker": "u8",
    "run": "u8", "occurred": "i8", "created": "i8", "valid_from": "i8", "valid_to": "i8",
    "importance": "f8", "trust": "u1", "length": "u4", "signs": "u4",
}  # fmt: skip
FIELDS = 13  # the first columns depend only on fields; the last two on the words of the text
WIDTH = sum(np.dtype(kind).itemsize for kind in COLUMNS.values())
EARLIER_WIDTHS = frozenset((86,))  # before there was a column for trust
# The fields of a record from which the columns are made.
READ = (
    "seq", "state", "layer", "kind", "user", "session", "speaker", "run_id", "occurred_at",
    "created_at", "valid_from", "valid_to", "importance", "content", "tags", "trust",
)  # fmt: skip
POSITION = {name: position for position, name in enumerate(READ)}
SPEAKER, OCCURRED, CONTENT, TAGS = (
    POSITION[name] for name in ("speaker", "occurred_at", "content", "tags")
)
SELECT = f"SELECT {', '.join(READ)} FROM records"
STATES = {state.value: number for number, state in enumerate(State, 1)}
LAYERS = {layer.value: number for number, layer in enumerate(Layer, 1)}
# The most trusted has the lowest number.
TRUSTS = {trust.value: number for number, trust in enumerate(Trust, 1)}
FIRST_DAY = EPOCH.date()

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Days = list[tuple[int, int, int]]  # first day, last day, record


@functools.lru_cache(65536)
def mark(name: str | None) -> int:
    """Hash a name to the number that represents it in a column; 0 for None."""
    if name is None:
        return 0
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") | 1


@functools.lru_cache(4096)
def _speaker(name: str | None) -> int:
    """Return the number of a speaker, who is named by the word that a question would use."""
    return mark(words.first_name(name))


def day_number(day: date) -> int:
    return (day - FIRST_DAY).days


def is_earlier(stored: bytes) -> bool:
    """Tell whether a block has an earlier version's columns; the next sealing rewrites it."""
    return (len(stored) - SEAL) / BLOCK in EARLIER_WIDTHS


class Since(Enum):
    """What a refresh has found since the one before."""

    MORE = "nothing, or new records"
    CHANGED = "known records have changed or left"
    ANEW = "another history, or all that is derived was made anew"


class Turns(ABC):
    """What can be derived from the columns of all records, computed once until they change."""

    before: NDArray[np.int32]  # the turn before each record in its conversation; 0 for none
    after: NDArray[np.int32]

    def __init__(self) -> None:
        self._derived: dict[tuple[str, object], NDArray[Any]] = {}
        self.reached = Reached()

    def visible(self, _: Filter, find: Callable[[], Visible]) -> Visible:
        """Find what a filter lets through."""
        return find()

    @abstractmethod
    def __getitem__(self, name: str) -> NDArray[Any]: ...

    @property
    @abstractmethod
    def has_stale(self) -> bool:
        """False when all records are active: then none has replaced another."""

    @property
    def has_neighbours(self) -> bool:
        """True when some record is a turn of a conversation with others."""
        return len(self.once("neighbours", None, lambda: np.flatnonzero(self.before)[:1])) > 0

    def spoken_by(self, name: str) -> Rows:
        """List the rows of a speaker, by the word that a question would use."""
        speaker = np.uint64(mark(name))
        return self.once("speaker", name, lambda: np.flatnonzero(self["speaker"] == speaker))

    def showing(self, sign: int) -> Rows:
        """List the rows that show a sign."""
        return self.once("sign", sign, lambda: np.flatnonzero(self["signs"] & sign))

    def once(self, what: str, which: object, find: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Compute something that depends only on the columns, and keep it for later."""
        found = self._derived.pop((what, which), None)
        if found is None:
            found = find()
            if len(self._derived) >= DERIVED:
                del self._derived[next(iter(self._derived))]
        self._derived[what, which] = found
        return found

    def forget_derived(self) -> None:
        """Forget what was derived from the columns, since they change."""
        self._derived.clear()
        self.reached.clear()


class Catalogue(Turns):
    """The columns, and for every record its neighbours in its conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.event = 0  # the last event that was read, and its hash
        self.hash = b""
        self.size = 1
        self._days: Days = []  # of the records that are not in a block yet
        self._dated = self.size  # up to this row
        self.before = np.zeros(BLOCK, np.int32)
        self.after = np.zeros(BLOCK, np.int32)
        self._columns = {name: np.zeros(BLOCK, kind) for name, kind in COLUMNS.items()}
        self._last: dict[int, int] = {}  # the last record of each session
        # The results of filters, and what follows from them, until something changes.
        self._passed: dict[Filter, Mask] = {}
        self._visible: dict[Filter, Visible] = {}
        self._filtered = self._seen = 0  # the memory that they take

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.size]

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        derived = sum([rows.nbytes for rows in self._derived.values()]) + self.reached.size
        columns = (WIDTH + self.before.itemsize + self.after.itemsize) * len(self.before)
        return columns + self._filtered + self._seen + derived

    @property
    def has_stale(self) -> bool:
        """False when all records are active: then none has replaced another."""
        return bool(self["state"].max() > STATES[State.ACTIVE])

    def rows_of(self, numbers: Rows) -> Rows:
        """Convert numbers of records to rows, leaving out records that are not here."""
        return numbers[numbers < self.size]

    def numbers_of(self, rows: Rows) -> Rows:
        """Convert rows to numbers of records."""
        return rows

    def selected(self, connection: Connection, query: str, parameters: Sequence[Any]) -> Rows:
        """Run a query for numbers of records, in the column `record`; return their rows."""
        return self.rows_of(numbers(connection, query, parameters))

    def last_row(self, number: int) -> int:
        """Find the last row of a record up to this number."""
        return number

    def refresh(self, connection: Connection) -> Since:
        """Read what happened since the last refresh.

        The caller's connection is in a transaction, so that everything is from one moment.
        """
        newest = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
        seq, digest = connection.execute(newest).get or (0, b"")
        if seq == self.event and digest == self.hash:
            return Since.MORE
        try:
            return self._learn(connection, seq, digest)
        except BaseException as error:
            # A partial refresh is worse than none: start over the next time.
            self._reset()
            if isinstance(error, (KeyError, ValueError, TypeError, OverflowError)):
                raise Corrupt("a record is damaged; run `lamina audit verify`") from error
            raise

    def _reset(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]

    def forget_derived(self) -> None:
        """Forget what was derived from the columns, since they change."""
        super().forget_derived()
        self._forget_filters()

    def _learn(self, connection: Connection, seq: int, digest: bytes) -> Since:
        self.forget_derived()
        known = connection.execute("SELECT hash FROM events WHERE seq = ?", (self.event,)).get
        last = connection.execute("SELECT max(seq) FROM records").get or 0
        # The history is another one after a backup was restored, for example.
        anew = not self.event or known != self.hash or last - self.size > MANY
        news = events.news(connection, self.event) if not anew else None
        if news is None or news.reindexed:
            anew = True
            self._load(connection)
            news = events.news(connection, self.event)
        first = self.size
        new = rows(connection, f"{SELECT} WHERE seq >= ? ORDER BY seq", (first,))
        self._put(new)
        for start in range(0, len(news.changed), 500):
            ids = news.changed[start : start + 500]
            query = f"{SELECT} WHERE id IN ({marks(ids)}) AND seq < ?"
            self._put(rows(connection, query, (*ids, first)))
        vacated = [number for number in news.vacated if number < self.size]
        if len(vacated) > self.size // PART:
            self._leave_together(vacated)
        else:
            for number in vacated:
                self._leave(number)
            self._join(first)
        self.event, self.hash = seq, digest
        if anew:
            return Since.ANEW
        return Since.MORE if news.only_made else Since.CHANGED

    def days(self, connection: Connection) -> Days:
        """List the days mentioned by records that are not in a block yet.

        Their texts are read when a question first mentions a day, which most never do.
        """
        if self._dated < self.size:
            query = f"{SELECT} WHERE seq >= ? ORDER BY seq"
            for row in rows(connection, query, (self._dated,)):
                self._days += days_of(row)
            self._dated = self.size
        return self._days

    def allowed(self, wanted: Filter, connection: Connection) -> Mask:
        """Mark the records that pass a filter; results are kept, as agents repeat their filters."""
        if wanted.guest is not None:  # never kept, because grants also expire
            return self._pass(wanted, connection)
        passed = self._passed.get(wanted)
        if passed is None:
            if len(self._passed) >= max(KEPT, ROOM // self.size):
                self._forget_filters()
            passed = self._passed[wanted] = self._pass(wanted, connection)
            self._filtered += len(passed)
        return passed

    def visible(self, wanted: Filter, find: Callable[[], Visible]) -> Visible:
        """Find what a filter lets through; it is kept as long as the result of the filter."""
        if wanted.guest is not None:
            return find()
        visible = self._visible.get(wanted)
        if visible is None:
            visible = find()
            if self._seen + visible.footprint > MOST_SEEN:
                self._visible.clear()
                self._seen = 0
            self._visible[wanted] = visible
            self._seen += visible.footprint
        return visible

    def _forget_filters(self) -> None:
        self._passed.clear()
        self._visible.clear()
        self._filtered = self._seen = 0

    def _pass(self, wanted: Filter, connection: Connection) -> Mask:
        """Apply a filter: to the columns, and then to the few rows that an index finds."""
        narrow = [*wanted.indexed()]
        if not narrow:
            return self._pass_columns(wanted, connection)
        passed = self.allowed(wanted.unindexed(), connection)
        for query, parameters in narrow:
            rows = self.selected(connection, query, parameters)
            wider, passed = passed, np.zeros(self.size, np.bool_)
            passed[rows] = wider[rows]
        return passed

    def _pass_columns(self, wanted: Filter, connection: Connection) -> Mask:
        """Apply a filter to the columns. Names are hashes here, so SQL checks the hits again."""
        layer, state = self["layer"], self["state"]
        passed: Mask = state > 0
        if wanted.states:
            passed &= _is_in(state, [STATES[value] for value in wanted.states])
        if wanted.layers:
            passed &= _is_in(layer, [LAYERS[value] for value in wanted.layers])
        if wanted.run_id is not None:
            passed &= (layer != LAYERS[Layer.WORKING]) | (self["run"] == mark(wanted.run_id))
        elif Layer.WORKING not in wanted.layers:
            passed &= layer != LAYERS[Layer.WORKING]
        if wanted.user is not None:
            passed &= _is_in(self["user"], [0, mark(wanted.user)])
        if wanted.kinds:
            passed &= _is_in(self["kind"], [mark(kind) & 0xFFFFFFFF for kind in wanted.kinds])
        if wanted.since is not None:
            passed &= self["occurred"] >= to_micros(wanted.since)
        if wanted.until is not None:
            passed &= self["occurred"] < to_micros(wanted.until)
        if wanted.as_of is not None:
            moment = to_micros(wanted.as_of)
            passed &= (self["valid_from"] <= moment) & (self["valid_to"] > moment)
        if wanted.session is not None:
            passed &= self._in_session(connection, wanted.session)
        if wanted.beside is not None:
            passed &= ~self._are_in(connection, OF_OTHERS, (wanted.beside,))
        if wanted.as_said:
            is_made = self._are_in(connection, MADE_BY_SLEEP, ())
            is_made &= _is_in(layer, [LAYERS[Layer.EPISODIC], LAYERS[Layer.SEMANTIC]])
            passed &= ~is_made | (self["trust"] == TRUSTS[Trust.OPERATOR])
        if wanted.guest is not None:
            query = f"SELECT seq AS record FROM records WHERE {SHARED}"
            passed &= self._are_in(connection, query, wanted.guest)
        return passed

    def as_known(
        self, connection: Connection, moment: int
    ) -> tuple[Catalogue, dict[int, dict[str, Any]]]:
        """Return the catalogue as it was at a time, and the changed fields by record number."""
        past = events.fields_before(connection, moment)
        then: Catalogue = copy.copy(self)
        then._columns = {name: self[name].copy() for name in COLUMNS}
        then._passed, then._visible = {}, {}
        then._filtered = then._seen = 0
        then._derived, then.reached = {}, Reached()
        by_number: dict[int, dict[str, Any]] = {}
        for record_id, fields in past.items():
            row = connection.execute(f"{SELECT} WHERE id = ?", (record_id,)).get
            if row is not None and len(self.rows_of(np.array(row[:1]))):
                by_number[row[0]] = fields
                then._put_past(row, fields)
        then["state"][self["created"] > moment] = 0
        then["length"][then["state"] == 0] = 0  # as for all records that are not there
        return then, by_number

    @staticmethod
    def packed(block: Sequence[Sequence[Any]], first: int, screen: Screen) -> bytes:
        """Pack the rows of one block, which begins at number `first`, for the table `blocks`.

        `screen` holds their texts.
        """
        columns = [np.zeros(BLOCK, kind) for kind in COLUMNS.values()]
        positions = np.array([row[0] - first for row in block], np.int64)
        for column, values in zip(columns, values_of_all(block, screen), strict=True):
            column[positions] = values
        return sealed(b"".join(column.tobytes() for column in columns))

    @staticmethod
    def differs(
        stored: bytes, block: Sequence[Sequence[Any]], first: int, fresh: Collection[int]
    ) -> bool:
        """Tell whether the fields in a stored block differ from its rows.

        Records in `fresh` have changed since it was written, and are not compared.
        """
        packed = opened(stored, BLOCK * WIDTH)
        if packed is None:
            return True
        compared = np.array([number not in fresh for number in range(first, first + BLOCK)])
        positions = [row[0] - first for row in block]
        start = 0
        for kind, values in zip([*COLUMNS.values()][:FIELDS], _fields(block), strict=True):
            column = np.zeros(BLOCK, kind)
            column[positions] = values
            actual = np.frombuffer(packed, kind, BLOCK, start)
            if not np.array_equal(actual[compared], column[compared]):
                return True
            start += actual.nbytes
        return False

    def _load(self, connection: Connection) -> None:
        """Load the blocks up to the first one that is missing or damaged."""
        self._reset()
        whole = list(_whole(rows(connection, "SELECT block, columns FROM blocks ORDER BY block")))
        if not whole:
            return
        size = len(whole) * BLOCK
        self._reserve(size)
        start = 0
        for name, kind in COLUMNS.items():
            end = start + BLOCK * np.dtype(kind).itemsize
            joined = b"".join([packed[start:end] for packed in whole])
            self._columns[name][:size] = np.frombuffer(joined, kind)
            start = end
        self.size = self._dated = size
        self.event = int(meta.get(connection, "blocks") or 0)
        self._join(0)

    def _put(self, found: Iterable[Sequence[Any]]) -> None:
        """Store rows of records, replacing what was known about them."""
        for row in found:
            seq = row[0]
            self._reserve(seq + 1)
            self.size = max(self.size, seq + 1)
            self._set(seq, row)

    def _set(self, place: int, row: Sequence[Any]) -> None:
        for name, value in zip(COLUMNS, values_of(row), strict=True):
            self._columns[name][place] = value

    def _put_past(self, row: Sequence[Any], fields: dict[str, Any]) -> None:
        """Store a row as it was in the past, with the fields of that time."""
        (place,) = self.rows_of(np.array(row[:1]))
        if fields.get("archived") is not None:  # it was archived at that time
            self["state"][place] = 0
            return
        old = list(row)
        for name in ("state", "layer", "valid_from", "valid_to", "importance"):
            if name in fields:
                old[POSITION[name]] = fields[name]
        self._set(int(place), old)

    def _reserve(self, size: int) -> None:
        length = len(self.before)
        if size <= length:
            return
        more = max(size, 2 * length) - length
        self.before = np.concatenate((self.before, np.zeros(more, np.int32)))
        self.after = np.concatenate((self.after, np.zeros(more, np.int32)))
        for name, column in self._columns.items():
            self._columns[name] = np.concatenate((column, np.zeros(more, column.dtype)))

    def _join(self, first: int) -> None:
        """Link the records from `first` on with their neighbours in their conversations."""
        turns = np.flatnonzero(self["session"][first:]) + first
        if not len(turns):
            return
        order = turns[np.argsort(self["session"][turns], kind="stable")]
        sessions = self["session"][order]
        same = np.flatnonzero(sessions[1:] == sessions[:-1])
        self.before[order[same + 1]] = order[same]
        self.after[order[same]] = order[same + 1]
        # The first turn of each session follows the last one known before.
        starts = np.concatenate(([0], np.flatnonzero(sessions[1:] != sessions[:-1]) + 1))
        ends = np.concatenate((starts[1:] - 1, [len(order) - 1]))
        for start, end in zip(order[starts].tolist(), order[ends].tolist(), strict=True):
            session = int(self["session"][start])
            previous = self._last.get(session)
            if previous is not None:
                self.before[start], self.after[previous] = previous, start
            self._last[session] = end

    def _leave(self, number: int) -> None:
        """Forget a record that has left, and link its neighbours in its conversation."""
        before, after = int(self.before[number]), int(self.after[number])
        session = int(self["session"][number])
        if before:
            self.after[before] = after
        if after:
            self.before[after] = before
        elif session and self._last.get(session) == number:
            if before:
                self._last[session] = before
            else:
                del self._last[session]
        self.before[number] = self.after[number] = 0
        for column in self._columns.values():
            column[number] = 0

    def _leave_together(self, vacated: Sequence[int]) -> None:
        """Forget many records that have left, and link all the others anew."""
        for column in self._columns.values():
            column[vacated] = 0
        self.before[: self.size] = self.after[: self.size] = 0
        self._last.clear()
        self._join(0)

    def _in_session(self, connection: Connection, session: str) -> Mask:
        """Mark the records of a session. Its column includes the user, who is not known here."""
        query = "SELECT seq AS record FROM records WHERE session = ?"
        return self._are_in(connection, query, (session,))

    def _are_in(self, connection: Connection, query: str, parameters: Sequence[Any]) -> Mask:
        passed = np.zeros(self.size, np.bool_)
        passed[self.selected(connection, query, parameters)] = True
        return passed


def _whole(blocks: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """Yield the blocks from the first on, up to one that is missing or damaged."""
    for expected, (block, stored) in enumerate(blocks):
        packed = opened(stored, BLOCK * WIDTH)
        if block != expected or packed is None:
            return
        yield packed


def days_of(row: Sequence[Any]) -> Days:
    """List the days that the text of a row mentions."""
    mentions = dates.find(row[CONTENT], from_micros(row[OCCURRED]))
    return [(day_number(mention.start), day_number(mention.end), row[0]) for mention in mentions]


def days_of_all(block: Sequence[Sequence[Any]], screen: Screen) -> Days:
    """List the days that the texts of many rows mention."""
    found = compress(block, dates.may_hold(screen).tolist())
    return [day for row in found for day in days_of(row)]


def values_of_all(block: Sequence[Sequence[Any]], screen: Screen) -> list[Sequence[Any]]:
    """Convert many rows to columns; the words of all texts are searched for at once."""
    texts, speakers = [row[CONTENT] for row in block], [row[SPEAKER] for row in block]
    tags = [_tag_count(row[TAGS]) for row in block]
    lengths = [*map(operator.add, words.lengths(texts, screen), tags)]
    return [*_fields(block), lengths, cues.of_all(texts, speakers, screen)]


def values_of(row: Sequence[Any], analysed: str | None = None) -> tuple[Any, ...]:
    """Convert the row of a record to the values of all columns, in order."""
    content = row[CONTENT]
    if analysed is None:
        analysed = words.analyse(content)
    length = len(analysed.split()) + _tag_count(row[TAGS])
    return (*(value for (value,) in _fields([row])), length, cues.of(content, row[SPEAKER]))


def _tag_count(tags: str) -> int:
    return tags.count(",") + 1 if tags != "[]" else 0


def _fields(block: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Convert rows to the columns that do not depend on the words of the text."""
    _, states, layers, kinds, users, sessions, speakers, runs, occurred, created, *rest = (
        zip(*block, strict=True) if block else [()] * len(READ)
    )
    valid_from, valid_to, importance, _, _, trusts = rest
    # Two users may give their sessions the same name.
    conversations = [
        None if session is None else f"{user or ''}\0{session}"
        for user, session in zip(users, sessions, strict=True)
    ]
    began = [at if time is None else time for time, at in zip(valid_from, occurred, strict=True)]
    ended = [
        (-EVER if state == State.SUPERSEDED else EVER) if time is None else time
        for time, state in zip(valid_to, states, strict=True)
    ]
    return [
        [STATES[state] for state in states], [LAYERS[layer] for layer in layers],
        [mark(kind) & 0xFFFFFFFF for kind in kinds], [*map(mark, users)],
        [*map(mark, conversations)], [*map(_speaker, speakers)], [*map(mark, runs)],
        occurred, created, began, ended, importance, [TRUSTS[trust] for trust in trusts],
    ]  # fmt: skip


def _is_in(column: NDArray[Any], values: Sequence[int]) -> Mask:
    passed: Mask = column == column.dtype.type(values[0])
    for value in values[1:]:
        passed |= column == column.dtype.type(value)
    return passed
