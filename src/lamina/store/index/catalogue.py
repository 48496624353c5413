"""What a search must know of every record, as columns in memory: row n is the record with the sequence number n.

A new process reads packed blocks and the records after them; a process that has the catalogue reads what events tell.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.errors import Corrupt
from lamina.model.clock import EPOCH, from_micros, to_micros
from lamina.model.record import Layer, State, Trust
from lamina.store.engine.sql import Connection, numbers, rows
from lamina.store.tables import events, meta
from lamina.store.tables.blocks import BLOCK, SEAL, opened, sealed
from lamina.store.tables.records import EVER, SHARED, Filter, marks
from lamina.text import cues, dates, words

# Rather read the blocks again than so many records one by one.
MANY = 20_000
KEPT = 8  # filters whose result is kept
COLUMNS = {
    "state": "u1", "layer": "u1", "kind": "u4", "user": "u8", "session": "u8", "speaker": "u8", "run": "u8",
    "occurred": "i8", "created": "i8", "valid_from": "i8", "valid_to": "i8", "importance": "f8", "trust": "u1", "length": "u4",
    "signs": "u4",
}  # fmt: skip
FIELDS = 13  # the first columns follow from fields alone; the last two from the words of a text
WIDTH = sum(np.dtype(kind).itemsize for kind in COLUMNS.values())
EARLIER_WIDTHS = frozenset((86,))  # before there was a column for trust
SELECT = (
    "SELECT seq, state, layer, kind, user, session, speaker, run_id, occurred_at, created_at, valid_from, valid_to,"
    " importance, content, tags, trust FROM records"
)
STATES = {state.value: number for number, state in enumerate(State, 1)}
LAYERS = {layer.value: number for number, layer in enumerate(Layer, 1)}
TRUSTS = {
    trust.value: number for number, trust in enumerate(Trust, 1)
}  # the most trusted has the lowest number
FIRST_DAY = EPOCH.date()

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Days = list[tuple[int, int, int]]


@functools.lru_cache(65536)
def mark(name: str | None) -> int:
    """A number for a name, so that a column of names is one of numbers; 0 for none."""
    return (
        int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") | 1
        if name is not None
        else 0
    )


def day_number(day: date) -> int:
    return (day - FIRST_DAY).days


def is_earlier(stored: bytes) -> bool:
    """Whether a block has the columns of an earlier version: it is written anew behind the next write."""
    return (len(stored) - SEAL) / BLOCK in EARLIER_WIDTHS


class Since(Enum):
    """What a look has learned since the one before."""

    MORE = "nothing, or records that are new"
    CHANGED = "records that were there are others now, or gone"
    ANEW = "another history"


class Catalogue:
    """The columns, and for every record its neighbours in its conversation."""

    def __init__(self) -> None:
        self.event = 0
        self.size = 1
        self.days: Days = []  # of the records that are in no block yet
        self.before = np.zeros(BLOCK, np.int32)
        self.after = np.zeros(BLOCK, np.int32)
        self.hash = b""
        self._columns = {name: np.zeros(BLOCK, kind) for name, kind in COLUMNS.items()}
        self._last: dict[int, int] = {}
        self._passed: dict[Filter, Mask] = {}  # what filters let through, until something changes

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.size]

    def refresh(self, connection: Connection) -> Since:
        """Learn what happened since the last look. The caller's connection is in a transaction, so it is one moment."""
        seq, hashed = connection.execute(
            "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
        ).get or (0, b"")
        if seq == self.event and hashed == self.hash:
            return Since.MORE
        try:
            return self._learn(connection, seq, hashed)
        except BaseException as error:
            self.__init__()  # type: ignore[misc] # half of it learned is worse than nothing: the next look begins anew
            if isinstance(error, (KeyError, ValueError, TypeError, OverflowError)):
                raise Corrupt("a record is damaged; run `lamina audit verify`") from error
            raise

    def _learn(self, connection: Connection, seq: int, hashed: bytes) -> Since:
        self._passed.clear()
        known = connection.execute("SELECT hash FROM events WHERE seq = ?", (self.event,)).get
        last = connection.execute("SELECT max(seq) FROM records").get or 0
        # Another history, such as that of a backup that was restored; or more news than is worth telling one by one.
        anew = not self.event or known != self.hash or last - self.size > MANY
        if anew:
            self._load(connection)
        news = events.news(connection, self.event)
        first = self.size
        self._put(
            rows(connection, f"{SELECT} WHERE seq >= ? ORDER BY seq", (first,)), tell_days=True
        )
        for start in range(0, len(news.changed), 500):
            part = news.changed[start : start + 500]
            self._put(
                rows(
                    connection, f"{SELECT} WHERE id IN ({marks(part)}) AND seq < ?", (*part, first)
                )
            )
        for number in news.vacated:
            if number < self.size:
                self._leave(number)
        self._join(first)
        self.event, self.hash = seq, hashed
        return Since.ANEW if anew else Since.MORE if news.only_made else Since.CHANGED

    def allowed(self, chosen: Filter, connection: Connection) -> Mask:
        """Which records pass a filter. An agent asks with the same one again and again, so some are kept."""
        if chosen.guest is not None:  # what is granted ends by the clock, too
            return self._pass(chosen, connection)
        passed = self._passed.get(chosen)
        if passed is None:
            if len(self._passed) >= KEPT:
                self._passed.clear()
            passed = self._passed[chosen] = self._pass(chosen, connection)
        return passed

    def _pass(self, chosen: Filter, connection: Connection) -> Mask:
        """A name stands as its number here, so what is found is asked again in SQL."""
        layer, state = self["layer"], self["state"]
        passed: Mask = state > 0
        if chosen.states:
            passed &= _is_in(state, [STATES[value] for value in chosen.states])
        if chosen.layers:
            passed &= _is_in(layer, [LAYERS[value] for value in chosen.layers])
        if chosen.run_id is not None:
            passed &= (layer != LAYERS[Layer.WORKING]) | (self["run"] == mark(chosen.run_id))
        elif Layer.WORKING not in chosen.layers:
            passed &= layer != LAYERS[Layer.WORKING]
        if chosen.user is not None:
            passed &= _is_in(self["user"], [0, mark(chosen.user)])
        if chosen.kinds:
            passed &= _is_in(self["kind"], [mark(kind) & 0xFFFFFFFF for kind in chosen.kinds])
        if chosen.since is not None:
            passed &= self["occurred"] >= to_micros(chosen.since)
        if chosen.until is not None:
            passed &= self["occurred"] < to_micros(chosen.until)
        if chosen.as_of is not None:
            moment = to_micros(chosen.as_of)
            passed &= (self["valid_from"] <= moment) & (self["valid_to"] > moment)
        for query, parameters in chosen.indexed():
            passed &= self._listed(connection, query, parameters)
        if chosen.guest is not None:
            passed &= self._listed(
                connection, f"SELECT seq AS record FROM records WHERE {SHARED}", chosen.guest
            )
        return passed

    def as_known(
        self, connection: Connection, moment: int
    ) -> tuple[Catalogue, dict[int, dict[str, Any]]]:
        """The catalogue as it was at a time, and the fields of the records that have changed since."""
        past = events.fields_before(connection, moment)
        then = Catalogue()
        then.size, then.before, then.after, then.days = (
            self.size,
            self.before,
            self.after,
            self.days,
        )
        then._columns = {name: self[name].copy() for name in COLUMNS}
        then["state"][self["created"] > moment] = 0
        was: dict[int, dict[str, Any]] = {}
        for record_id, fields in past.items():
            row = connection.execute(f"{SELECT} WHERE id = ?", (record_id,)).get
            if row is not None and row[0] < self.size:
                was[row[0]] = fields
                then._put_past(row, fields)
        then["state"][self["created"] > moment] = 0
        return then, was

    @staticmethod
    def packed(found: Sequence[Sequence[Any]], first: int) -> bytes:
        """One block of records that begins at a number, as its row in the database holds it."""
        columns = {name: np.zeros(BLOCK, kind) for name, kind in COLUMNS.items()}
        places = [row[0] - first for row in found]
        for column, values in zip(
            columns.values(), zip(*map(_values, found), strict=True), strict=False
        ):
            column[places] = values
        return sealed(b"".join(column.tobytes() for column in columns.values()))

    @staticmethod
    def differs(
        stored: bytes, found: Sequence[Sequence[Any]], first: int, fresh: Collection[int]
    ) -> bool:
        """Whether a block holds other fields than its records have; `fresh` ones have changed since
        it was written."""
        packed = opened(stored, BLOCK * WIDTH)
        if packed is None:
            return True
        compared = np.array([number not in fresh for number in range(first, first + BLOCK)])
        meant = list(zip(*map(_fields, found), strict=True)) or [()] * FIELDS
        places, start = [row[0] - first for row in found], 0
        for kind, values in zip([*COLUMNS.values()][:FIELDS], meant, strict=True):
            column = np.zeros(BLOCK, kind)
            column[places] = values
            there = np.frombuffer(packed, kind, BLOCK, start)
            if not np.array_equal(there[compared], column[compared]):
                return True
            start += there.nbytes
        return False

    def _load(self, connection: Connection) -> None:
        """Begin with the blocks; one that is missing or damaged ends them, and the records serve from there on."""
        self.__init__()  # type: ignore[misc]
        whole = list(_whole(rows(connection, "SELECT block, columns FROM blocks ORDER BY block")))
        if not whole:
            return
        self._reserve(len(whole) * BLOCK)
        start = 0
        for name, kind in COLUMNS.items():
            end = start + BLOCK * np.dtype(kind).itemsize
            joined = b"".join([packed[start:end] for packed in whole])
            self._columns[name][: len(whole) * BLOCK] = np.frombuffer(joined, kind)
            start = end
        self.size = len(whole) * BLOCK
        self.event = int(meta.get(connection, "blocks") or 0)
        self._join(0)

    def _put(self, found: Iterable[Sequence[Any]], *, tell_days: bool = False) -> None:
        """Take rows of records in."""
        for row in found:
            seq = row[0]
            self._reserve(seq + 1)
            self.size = max(self.size, seq + 1)
            for name, value in zip(COLUMNS, _values(row), strict=True):
                self._columns[name][seq] = value
            if tell_days:
                self.days += days_of(row)

    def _put_past(self, row: Sequence[Any], fields: dict[str, Any]) -> None:
        if fields.get("archived") is not None:  # it was in the archive then
            self["state"][row[0]] = 0
            return
        names = {"state": 1, "layer": 2, "valid_from": 10, "valid_to": 11, "importance": 12}
        old = list(row)
        for name, place in names.items():
            if name in fields:
                old[place] = fields[name]
        self._put([old])

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
        """Tell records from `first` on who stands before them in their conversation, and those that they come after."""
        sessions = self["session"][first:]
        turns = np.flatnonzero(sessions) + first
        if not len(turns):
            return
        order = turns[np.argsort(self["session"][turns], kind="stable")]
        marks_ = self["session"][order]
        same = np.flatnonzero(marks_[1:] == marks_[:-1])
        self.before[order[same + 1]] = order[same]
        self.after[order[same]] = order[same + 1]
        starts = np.concatenate(([0], np.flatnonzero(marks_[1:] != marks_[:-1]) + 1))
        ends = np.concatenate((starts[1:] - 1, [len(order) - 1]))
        for start, end in zip(order[starts].tolist(), order[ends].tolist(), strict=True):
            session = int(self["session"][start])
            previous = self._last.get(session)
            if previous is not None:
                self.before[start], self.after[previous] = previous, start
            self._last[session] = end

    def _leave(self, number: int) -> None:
        """Forget a record that has left: those that it stood between in its conversation are neighbours now."""
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

    def _listed(self, connection: Connection, query: str, parameters: Sequence[Any]) -> Mask:
        passed = np.zeros(self.size, np.bool_)
        found = numbers(connection, query, parameters)
        passed[found[found < self.size]] = True
        return passed


def _whole(blocks: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """The blocks from the first on, up to one that is missing or damaged."""
    for place, (block, stored) in enumerate(blocks):
        packed = opened(stored, BLOCK * WIDTH)
        if block != place or packed is None:
            return
        yield packed


def days_of(row: Sequence[Any]) -> Days:
    """The days that the text of a row speaks of."""
    found = dates.find(row[13], from_micros(row[8]))
    return [(day_number(mention.start), day_number(mention.end), row[0]) for mention in found]


def _values(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row of a record as the columns hold it, in their order."""
    speaker, content, tags = row[6], row[13], row[14]
    length = len(words.analyse(content).split()) + (tags.count(",") + 1 if tags != "[]" else 0)
    return (*_fields(row), length, cues.of(content, speaker))


def _fields(row: Sequence[Any]) -> tuple[Any, ...]:
    """The columns that follow from fields of a record, and not from the words of its text."""
    (
        _,
        state,
        layer,
        kind,
        user,
        session,
        speaker,
        run_id,
        occurred,
        created,
        since,
        until,
        importance,
        *_,
        trust,
    ) = row
    return (
        STATES[state],
        LAYERS[layer],
        mark(kind) & 0xFFFFFFFF,
        mark(user),
        mark(
            None if session is None else f"{user or ''}\0{session}"
        ),  # two users may call theirs the same
        mark(words.first_name(speaker)),
        mark(run_id),
        occurred,
        created,
        occurred if since is None else since,
        until if until is not None else (-EVER if state == State.SUPERSEDED else EVER),
        importance,
        TRUSTS[trust],
    )


def _is_in(column: NDArray[Any], values: Sequence[int]) -> Mask:
    passed: Mask = column == column.dtype.type(values[0])
    for value in values[1:]:
        passed |= column == column.dtype.type(value)
    return passed
