"""The part of a large store on a server that one search reads: candidates and their neighbours.

Its rows are numbered from 1 in the order of the records. What a ranker needs to know about all
other records comes as statistics.
"""

from __future__ import annotations

import functools
import itertools
import json
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina.model.record import Record, Trust
from lamina.store.engine.postgres.database import PostgresDatabase, Session
from lamina.store.engine.sql import Half, numbers, rows
from lamina.store.index import catalogue
from lamina.store.index.catalogue import COLUMNS, TRUSTS, Mask, Rows, Turns, days_of
from lamina.store.index.snapshot import Snapshot, Statistics
from lamina.store.tables import fulltext, records, vectors
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.postgres import candidates
from lamina.store.tables.postgres.candidates import Holders, Scale
from lamina.store.tables.records import Filter, Row
from lamina.store.tables.vectors import SignBits, Space, Vectors
from lamina.text import words

WHOLE = 2_000  # a scope with no more visible records is read completely, without statistics
CANDIDATES = 100  # of each kind: by words, by meaning for each embedder, by days
EVENLY = 400  # evenly spaced records that represent all
UNSEEN = 200


class Columns(Turns):
    """The columns of a sample's records; row 0 is unused."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: Rows = np.zeros(1, np.int64)  # the record of each row
        self.before = self.after = np.zeros(1, np.int32)
        self.days: list[tuple[int, int, int]] = []
        self.size = 1
        self._columns = {name: np.zeros(1, kind) for name, kind in COLUMNS.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    @property
    def has_stale(self) -> bool:
        return True  # some may be outside the sample

    def fill(self, values: Mapping[int, Row], pairs: Collection[tuple[int, int]]) -> None:
        """Store the values of all records of the sample, and the pairs of neighbours."""
        self.forget_derived()
        self.size = len(values) + 1
        numbers = sorted(values)
        self.numbers = np.array([0, *numbers], np.int64)
        in_order = list(zip(*(values[number] for number in numbers), strict=True))
        for (name, kind), column in zip(
            COLUMNS.items(), in_order or [()] * len(COLUMNS), strict=True
        ):
            self._columns[name] = np.array([0, *column], kind)
        self.before, self.after = (np.zeros(self.size, np.int32) for _ in range(2))
        earlier, later = self.rows_of(np.array([*pairs], np.int64).reshape(-1, 2)).T
        self.after[earlier], self.before[later] = later, earlier

    def numbers_of(self, wanted: Rows) -> Rows:
        return self.numbers[wanted]

    def rows_of(self, numbers: Rows) -> Rows:
        """Find the rows of some records, all of which are in the sample."""
        found: Rows = np.searchsorted(self.numbers, numbers)
        return found

    def last_row(self, number: int) -> int:
        """Find the last row of a record up to a number."""
        return int(np.searchsorted(self.numbers, number, "right")) - 1


class Sample(Snapshot):
    """A snapshot of some records of a store, to which more are added until it is ranked."""

    def __init__(self, store: RecordSource, connection: Session, wanted: Filter) -> None:
        self.catalogue = self._columns = Columns()  # type: ignore[assignment]
        self._store = store
        self._connection: Session = connection
        self._wanted = wanted
        self._past = None
        self.notes: list[str] = []
        self._rows: dict[int, Row] = {}
        self._values: dict[int, Row] = {}
        self._passing: set[int] = set()
        self._scale = Scale(0, 1.0, leaves_out=False)
        self._evenly: list[int] = []
        self._counted: dict[str, Holders] = {}
        self._holding: dict[str, Rows] = {}
        self._pairs: set[tuple[int, int]] = set()
        self._centres: set[int] = set()
        self._codes: dict[str, SignBits] = {}
        self._vectors: dict[str, dict[int, Vectors]] = {}
        self._fresh: dict[str, dict[int, Vectors]] = {}
        self._fresh_tokens: dict[str, dict[int, bytes]] = {}
        self.last = candidates.last(connection)
        self._sealed = candidates.sealed(connection)
        few = candidates.visible(connection, wanted, WHOLE + 1)
        if len(few) <= WHOLE:
            self.add(few)
            self.surround()
        else:
            self._estimate()

    @property
    def is_whole(self) -> bool:
        """True if every visible record is in the sample."""
        return self.statistics is None

    def _estimate(self) -> None:
        """Estimate statistics of all visible records from evenly spaced ones."""
        evenly = np.unique(np.linspace(1, self.last, EVENLY).astype(np.int64)).tolist()
        self._evenly = evenly
        self._read(evenly)
        self._fill()
        counted = self.counted(self._allowed)
        own = counted & (self._columns["trust"] != TRUSTS[Trust.EXTERNAL])
        lengths = self._columns["length"][own if own.any() else counted]
        usual = max(1.0, float(np.mean(lengths))) if len(lengths) else 1.0
        seen, others, owned = map(np.count_nonzero, (self._allowed, counted, own))
        each = self.last / len(evenly)
        # More than a scope that is read completely, however few others are in the sample.
        total = max(WHOLE, round(others * each))
        self._scale = Scale(self.last, seen / len(evenly), leaves_out=bool(others < seen))
        self.statistics = Statistics(total, min(total, round(owned * each)), usual, self._holders)

    # What is in the sample

    def add(self, numbers: Iterable[int]) -> None:
        """Add candidates."""
        new = set(numbers) - self._centres
        if new:
            self._centres |= new
            self._read(new)
            self._fill()

    def surround(self) -> None:
        """Add the turns around the candidates, after which the sample can be ranked."""
        chains: dict[int, list[int]] = {number: [number] for number in self._centres}
        for centre, neighbour in candidates.neighbours(self._connection, self._centres):
            chains[centre].append(neighbour)
        for chain in chains.values():
            self._pairs.update(itertools.pairwise(sorted(chain)))
        self._read({number for chain in chains.values() for number in chain})
        self._fill()

    def _read(self, numbers: Iterable[int]) -> None:
        """Read records that are not in the sample yet, and whether they pass the filter."""
        new = sorted(set(numbers) - self._rows.keys())
        query = f"{catalogue.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        for row in rows(self._connection, query, (json.dumps(new),)):
            self._rows[row[0]] = row
            self._values[row[0]] = catalogue.values_of(row)
            if row[0] >= self._sealed:
                self._columns.days += days_of(row)
        # In a query of its own: as a column of each row, a filter by tags would list all their
        # holders.
        self._passing.update(candidates.passing(self._connection, new, self._wanted))

    def _fill(self) -> None:
        self._columns.fill(self._values, self._pairs)
        self._codes.clear()
        self._holding.clear()
        self.__dict__.pop("_allowed", None)

    # Candidates

    def speakers(self, names: Collection[str]) -> tuple[str, ...]:
        """List the speakers in the sample who have one of these first names."""
        place = catalogue.POSITION["speaker"]
        found = {row[place] for row in self._rows.values()}
        return tuple(sorted(one for one in found if one and words.first_name(one) in names))

    def add_words(
        self, worth: Sequence[tuple[str, float]], number: int, speakers: Sequence[str] = ()
    ) -> None:
        """Add the records that contain the words worth most, of all or of some speakers."""
        counted = [(word, self.holders(word).visible, value) for word, value in worth]
        held = [one for one in counted if one[1]]
        agent, most = self._connection.agent, max(CANDIDATES, number)
        wanted = (held, self._wanted, speakers, self._scale, most)
        self.add(candidates.with_words(self._connection, agent, *wanted))

    def add_near(
        self,
        space: Space,
        vector: NDArray[np.float32],
        number: int,
        speakers: Sequence[str] = (),
    ) -> None:
        """Add the records that are nearest in meaning, and those that have no vector yet."""
        half = Half(vector.astype(np.float16).tobytes())
        most = max(CANDIDATES, number)
        self.add(candidates.near(self._connection, space, half, self._wanted, speakers, most))
        unseen = candidates.unseen(self._connection, self._wanted, space, UNSEEN)
        self.add(unseen)
        note = f"{space.name}: {UNSEEN:,} memories or more have no vector yet; run `lamina index`"
        if len(unseen) == UNSEEN and note not in self.notes:
            self.notes.append(note)

    def add_days(self, since: int, until: int, day: int) -> None:
        """Add records of some days, and records that mention them."""
        wanted = (self._connection, since, until, day, self._wanted, CANDIDATES)
        self.add(candidates.in_days(*wanted))

    # What rankers read

    @functools.cached_property
    def _allowed(self) -> Mask:
        return np.isin(self._columns.numbers, list(self._passing))

    def allowed(self, wanted: Filter) -> Mask:
        assert wanted == self._wanted
        return self._allowed

    def made_by_sleep(self) -> Mask:
        query = (
            "SELECT record FROM facets WHERE name = 'origin' AND value = 'sleep'"
            " AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        )
        listed = json.dumps(self._columns.numbers[1:].tolist())
        return np.isin(self._columns.numbers, numbers(self._connection, query, (listed,)))

    def count(self, words: Iterable[str]) -> None:
        """Count the visible records of the store that contain each of some words."""
        new = [word for word in words if word not in self._counted]
        if new:
            agent = self._connection.agent
            evenly = candidates.holding(self._connection, agent, new, self._evenly)
            shares = {
                word: len(held) / len(self._evenly) for word, held in zip(new, evenly, strict=True)
            }
            asked = (shares, self._wanted, self._scale)
            counted = candidates.holders(self._connection, agent, *asked)
            self._counted.update(zip(new, counted, strict=True))

    def holders(self, word: str) -> Holders:
        """Return how many records of the store contain a word."""
        self.count((word,))
        return self._counted[word]

    def _holders(self, word: str) -> tuple[int, int]:
        """Return how many counted records contain a word, and how many of them are own ones."""
        counted = self.holders(word)
        return counted.number, counted.own

    def holding(self, word: str, where: str = fulltext.SAID) -> Rows:
        assert where == fulltext.SAID
        if word not in self._holding:
            # Most likely, all the words that were counted will be needed.
            words = list(dict.fromkeys((word, *(one for one in self._counted))))
            asked = (self._connection.agent, words, self._columns.numbers[1:].tolist())
            for one, numbers in zip(
                words, candidates.holding(self._connection, *asked), strict=True
            ):
                self._holding[one] = self._columns.rows_of(np.array(numbers, np.int64))
        return self._holding[word]

    def records(self, numbers: Sequence[int], wanted: Filter) -> dict[int, Record]:
        where, parameters = wanted.where()
        is_listed = "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        listed = self._columns.numbers[list(numbers)].tolist()
        query = f"{records.SELECT} WHERE {is_listed} AND {where}"
        found = rows(self._connection, query, (json.dumps(listed), *parameters))
        row_of = dict(zip(listed, numbers, strict=True))
        return {row_of[row[0]]: self._store.record(row) for row in found}

    def with_facet(self, name: str, value: str) -> Rows:
        raise AssertionError("a sample is not searched for active and stale records at once")

    def speaking_of(self, since: int, until: int) -> Rows:
        listed = json.dumps(self._columns.numbers[1:].tolist())
        stored = candidates.speaking_of(self._connection, listed, since, until)
        told = [
            number for start, end, number in self._columns.days if start < until and end > since
        ]
        return self._columns.rows_of(np.unique(np.array([*stored, *told], np.int64)))

    def last_seen(self, space: Space) -> int:
        return self._columns.last_row(space.seen)

    def texts(self, first: int) -> list[tuple[int, str]]:
        numbers = self._columns.numbers[first:].tolist()
        place = catalogue.POSITION["content"]
        return [(first + n, self._rows[number][place]) for n, number in enumerate(numbers)]

    def codes(self, space: Space) -> SignBits:
        codes = self._codes.get(space.name)
        if codes is None:
            codes = self._codes[space.name] = SignBits(space.dimensions)
            self._fresh[space.name] = {}
            numbers, stored = self._stored(space)
            if len(numbers):
                bits = vectors.bits_of(space.centred(stored))
                codes.put(self._columns.rows_of(numbers), bits)
        return codes

    def _stored(self, space: Space) -> tuple[Rows, Vectors]:
        """Get the stored vectors of the sample; only new ones are read."""
        kept = self._vectors.setdefault(space.name, {})
        new = [number for number in self._columns.numbers[1:].tolist() if number not in kept]
        if new:
            numbers, read = vectors.exact(self._connection, space, new)
            kept.update(zip(numbers.tolist(), read, strict=True))
        known = sorted(kept)
        return np.array(known, np.int64), np.array([kept[number] for number in known], np.float16)

    def _known_bits(self, space: Space) -> SignBits:
        return self._codes[space.name]

    def fresh(self, space: Space) -> dict[int, Vectors]:
        return self._fresh[space.name]

    def fresh_tokens(self, space: Space) -> dict[int, bytes]:
        return self._fresh_tokens.setdefault(space.name, {})

    def exact(self, space: Space, wanted: Rows) -> tuple[NDArray[np.float32], Mask]:
        exact = np.zeros((len(wanted), space.dimensions), np.float32)
        has = np.zeros(len(wanted), np.bool_)
        kept, fresh = self._vectors[space.name], self._fresh[space.name]
        for place, row in enumerate(wanted.tolist()):
            vector = fresh.get(row, kept.get(int(self._columns.numbers[row])))
            if vector is not None:
                exact[place], has[place] = vector, True
        return exact, has


_READY: weakref.WeakSet[PostgresDatabase] = weakref.WeakSet()  # whose servers have all indexes


@contextmanager
def opened(store: RecordSource, wanted: Filter) -> Iterator[Sample]:
    """Open a sample of a store on a server, with only the visible records if they are few."""
    with _database(store).moment() as connection:
        sample = Sample(store, connection, wanted)
        try:
            yield sample
        finally:
            sample.statistics = None  # it refers back to the sample, which must not be kept alive


def is_large(store: RecordSource) -> bool:
    """Tell whether a store has so many records that a process should not read all of them."""
    above: int = store.settings["store.search_above"]
    with _database(store).moment() as connection:
        return candidates.last(connection) > above


def speaking(
    store: RecordSource, since: int, until: int, hints: Iterable[Sequence[Collection[str]]]
) -> set[int]:
    """List the records that mention a day in this span, or contain a word of each collection."""
    with _database(store).moment() as connection:
        found = set(candidates.told_of(connection, since, until))
        newer = (candidates.sealed(connection),)
        in_no_block = rows(connection, f"{catalogue.SELECT} WHERE seq >= ?", newer)
        days = (day for row in in_no_block for day in days_of(row))
        found.update(number for start, end, number in days if start < until and end > since)
        for hint in hints:
            found.update(candidates.hinting(connection, connection.agent, hint))
    return found


def is_served(store: RecordSource, names: Collection[str]) -> bool:
    """Tell whether a store is large, and the server is ready to search it."""
    database = _database(store)
    if database not in _READY:
        if not is_large(store):
            return False
        with database.moment() as connection:
            if not candidates.is_ready(connection, _spaces(connection, names)):
                return False
        _READY.add(database)
    return True


def prepare(store: RecordSource, names: Collection[str]) -> None:
    """Let the server build what it needs to search a large store."""
    if not is_large(store):
        return
    with _database(store).moment() as connection:
        spaces = _spaces(connection, names)
    candidates.prepare(_database(store), spaces)


def _spaces(connection: Session, names: Collection[str]) -> list[Space]:
    return [space for space in vectors.every(connection) if space.name in names]


def _database(store: RecordSource) -> PostgresDatabase:
    assert isinstance(store.database, PostgresDatabase)
    return store.database
