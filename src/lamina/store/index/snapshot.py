"""The snapshot that a search reads: all of one moment, and from memory where that pays."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, numbers, rows
from lamina.store.index.catalogue import Catalogue, Mask, Rows, Since
from lamina.store.index.postings import Postings
from lamina.store.tables import fulltext, outbox, records, vectors
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.outbox import Changes, Position
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import SignBits, Space, Vectors

if TYPE_CHECKING:
    from datetime import datetime


AT_ONCE = 500  # ids in one query
# Among some records, the pairs of which the second states what came after what the first states.
# A fact is stated by itself and by the turns that are its evidence.
SUCCESSIONS = """
WITH RECURSIVE stated(id, fact) AS (
    SELECT value, value FROM json_each(?1)
    UNION SELECT e.target, f.id FROM json_each(?1)
    JOIN links e ON e.target = value AND e.relation = 'evidence'
    JOIN records f ON f.seq = e.record
    WHERE f.layer = 'semantic' AND f.state IN ('active', 'superseded')
    AND f.metadata ->> 'attribute' IS NOT NULL
),
later(id, fact) AS (
    SELECT s.id, f.superseded_by FROM stated s JOIN records f ON f.id = s.fact
    WHERE f.superseded_by IS NOT NULL
    UNION SELECT l.id, f.superseded_by FROM later l JOIN records f ON f.id = l.fact
    WHERE f.superseded_by IS NOT NULL
)
SELECT l.id, s.id FROM later l JOIN stated s ON s.fact = l.fact JOIN records f ON f.id = l.fact
WHERE coalesce(f.valid_from, f.occurred_at) <= ?2
AND (l.id, l.fact) NOT IN (SELECT id, fact FROM stated)
"""


class Statistics(NamedTuple):
    """What a ranker must know of the visible records that are not in a snapshot."""

    total: int
    own: int  # how many of them are not from outside
    usual_length: float
    holders: Callable[[str], tuple[int, int]]  # how many hold a word, and how many own ones


class Index:
    """The memory that searches of this process share; one search at a time uses it."""

    def __init__(self, store: RecordSource) -> None:
        self.store = store
        self.catalogue = Catalogue()
        self.postings = Postings()
        self.codes: dict[str, SignBits] = {}  # by the name of the space
        # Vectors that are not stored yet, by the name of the space and the record.
        self.fresh: dict[str, dict[int, Vectors]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def snapshot(self, known_at: datetime | None = None) -> Iterator[Snapshot]:
        """Open a snapshot of the store as it is now, or as it was known at a time."""
        database = self.store.database
        # Before the lock, which another thread may have held when we were forked.
        database.check_usable()
        with self._lock, database.moment() as connection:
            since = self.catalogue.refresh(connection)
            if since is not Since.MORE:
                self.postings.clear()
            if since is Since.ANEW:
                self.codes.clear()
                self.fresh.clear()
            look = Snapshot(self, connection)
            if known_at is not None:
                look.go_back(to_micros(known_at))
            yield look


class Snapshot:
    """A snapshot as rankers read it. Rows are sequence numbers of records."""

    statistics: Statistics | None = None  # of a snapshot that has some records alone
    notes: Sequence[str] = ()  # on what is not in it

    def __init__(self, index: Index, connection: Connection) -> None:
        self.catalogue = index.catalogue
        self._index = index
        self._connection = connection
        self._past: dict[int, dict[str, Any]] | None = None

    def go_back(self, moment: int) -> None:
        self.catalogue, self._past = self.catalogue.as_known(self._connection, moment)

    @property
    def is_past(self) -> bool:
        return self._past is not None

    def allowed(self, wanted: Filter) -> Mask:
        """Mark the rows that a filter lets through."""
        return self.catalogue.allowed(wanted, self._connection)

    def holding(self, word: str, where: str = fulltext.SAID) -> Rows:
        """List the rows whose text holds a word."""
        return self._index.postings.holding(self._connection, word, where, self.catalogue.size)

    def hinting(self, hints: Sequence[Collection[str]]) -> Rows:
        """List the rows whose text holds a word of each collection."""
        rows = [
            functools.reduce(np.union1d, map(self.holding, words), np.zeros(0, np.int64))
            for words in hints
        ]
        return functools.reduce(np.intersect1d, rows)

    def with_facet(self, name: str, value: str) -> Rows:
        """List the rows that have a facet, such as a slot."""
        query = "SELECT record FROM facets WHERE name = ? AND value = ? ORDER BY record"
        found = numbers(self._connection, query, (name, value))
        return found[found < self.catalogue.size]

    def speaking_of(self, since: int, until: int) -> Rows:
        """List the rows whose text speaks of a day in this span."""
        query = "SELECT record FROM days WHERE since < ? AND until > ?"
        numbers = [number for (number,) in rows(self._connection, query, (until, since))]
        in_no_block = self.catalogue.days
        numbers += [number for start, end, number in in_no_block if start < until and end > since]
        return np.unique(np.array(numbers, np.int64))

    def space(self, name: str) -> Space | None:
        return vectors.find(self._connection, name)

    def last_seen(self, space: Space) -> int:
        """Find the last row of a record that an embedder has seen."""
        return space.seen

    def texts(self, first: int) -> list[tuple[int, str]]:
        """List the rows from `first` on that are there, and their texts."""
        return unseen(self._connection, first - 1, self.catalogue.size - first)

    def codes(self, space: Space) -> SignBits:
        """Get the bits of a space's vectors, with those of this process that are not stored yet."""
        codes = self._index.codes.get(space.name)
        if codes is None or not codes.are_of(space):
            codes = self._index.codes[space.name] = SignBits(space.dimensions)
            self._index.fresh[space.name] = {}
        codes.refresh(self._connection, space)
        fresh = self._index.fresh[space.name]
        for number in [number for number in fresh if number <= space.seen]:
            del fresh[number]
        return codes

    def keep(self, space: Space, numbers: Sequence[int], embedded: Vectors) -> None:
        """Take in vectors that this process has made and that are not stored yet."""
        self._index.codes[space.name].put(np.array(numbers), vectors.bits_of(embedded))
        self._index.fresh[space.name].update(zip(numbers, embedded, strict=True))

    def fresh(self, space: Space) -> dict[int, Vectors]:
        return self._index.fresh[space.name]

    def exact(self, space: Space, wanted: Rows) -> tuple[NDArray[np.float32], Mask]:
        """Get the vectors of some rows, ascending, and a mask of those that have one.

        The others get zeros.
        """
        exact = np.zeros((len(wanted), space.dimensions), np.float32)
        kept = self._index.codes[space.name].kept
        has, kept_vectors = kept.find(wanted)
        exact[has] = kept_vectors
        if not has.all():
            numbers, stored = vectors.exact(self._connection, space, wanted[~has].tolist())
            kept.put(numbers, stored)
            positions = np.searchsorted(wanted, numbers)
            exact[positions], has[positions] = stored, True
        fresh = self._index.fresh[space.name]
        if fresh:
            for position, number in enumerate(wanted.tolist()):
                if number in fresh:
                    exact[position], has[position] = fresh[number], True
        return exact, has

    def records(self, numbers: Sequence[int], wanted: Filter) -> dict[int, Record]:
        """Read the records of some rows that a filter lets through, as the table itself says."""
        # These need no second check: the catalogue takes them from tables, unhashed.
        wanted = structs.replace(wanted, tags=(), all_tags=(), metadata=(), session=None)
        if self._past is not None:
            # State and layer were others then; the catalogue has looked at them.
            wanted = structs.replace(wanted, layers=(), states=(), as_of=None)
        where, parameters = wanted.where()
        is_listed = "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
        query = f"{records.SELECT} WHERE {is_listed} AND {where}"
        listed = json.dumps([int(number) for number in numbers])
        found = rows(self._connection, query, (listed, *parameters))
        return {row[0]: self._as_known(self._index.store.record(row)) for row in found}

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Map the ids of records to their numbers, without ids that are not there."""
        by_id: dict[str, int] = {}
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            query = f"SELECT id, seq FROM records WHERE id IN ({records.marks(part)})"
            by_id |= dict(rows(self._connection, query, part))
        return by_id

    def changes(self, position: Position, limit: int) -> Changes | None:
        """Read what happened after a position, as `outbox` does."""
        return outbox.changes(self._connection, position, limit)

    def later(self) -> set[str]:
        """Collect the ids of what has changed since this snapshot, unless that is too much."""
        store = self._index.store
        here = Position(store.id, self.catalogue.event, self.catalogue.hash.hex())
        with store.database.snapshot() as connection:
            changes = outbox.changes(connection, here, AT_ONCE)
        if changes is None:
            return set()
        return {*changes.gone, *(row[records.COLUMN["id"]] for row in changes.rows)}

    def successions(self, ids: Sequence[str], moment: datetime) -> set[tuple[str, str]]:
        """Pair records with those that state what came after them, if that had begun by then.

        Only the present has them: a snapshot of the past has none.
        """
        if self._past is not None:
            return set()
        return set(rows(self._connection, SUCCESSIONS, (json.dumps(ids), to_micros(moment))))

    def _as_known(self, record: Record) -> Record:
        fields = (self._past or {}).get(record.seq)
        if not fields:
            return record
        then = {
            name: records.loaded(name, value)
            for name, value in fields.items()
            if name not in ("seq", "archived")
        }
        return structs.replace(record, **then)


def unseen(connection: Connection, seen: int, limit: int) -> list[tuple[int, str]]:
    query = "SELECT seq, content FROM records WHERE seq > ? ORDER BY seq LIMIT ?"
    return rows(connection, query, (seen, limit))
