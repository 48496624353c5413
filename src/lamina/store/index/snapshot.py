"""The snapshot that a search reads: all from one moment, and from memory where that pays off."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from lamina.model.clock import to_micros
from lamina.model.record import Outdated, Record
from lamina.store.engine.sql import Connection, rows
from lamina.store.index.cache import CACHE, place_of
from lamina.store.index.catalogue import Mask, Rows
from lamina.store.index.loaded import LoadedIndex
from lamina.store.index.scope import Scope, scopes_of
from lamina.store.index.scoped import ScopedIndex
from lamina.store.index.visible import Visible
from lamina.store.index.whole import WholeIndex
from lamina.store.tables import fulltext, lineage, outbox, records, vectors
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.outbox import Changes, Position
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import SignBits, Space, Vectors

if TYPE_CHECKING:
    from datetime import datetime


AT_ONCE = 500  # ids in one query
# Among some records, the pairs of which the second states what came after the first. A fact is
# stated by its own record and by the turns that are its evidence.
# A record does not come after one that states its fact itself; the fact does, since a corrected one
# rests on the turn that says something else.
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
AND (s.id = s.fact OR (l.id, l.fact) NOT IN (SELECT id, fact FROM stated))
"""
# A smaller store in memory answers sooner than a session that must be read first.
AT_HAND = 100_000
EVERYTHING = Filter()
MADE_BY_SLEEP = Filter(metadata=(("origin", "sleep"),))
ENOUGH = 4  # what sleep made counts unless one in so many visible records is something else


class Statistics(NamedTuple):
    """What a ranker needs to know about the counted records outside a snapshot."""

    total: int
    own: int  # how many of them are not external
    usual_length: float
    holders: Callable[[str], tuple[int, int]]  # with a word: all, and own ones


class Index:
    """The searches of a handle. What they load is shared by all handles of the process."""

    def __init__(self, store: RecordSource) -> None:
        self.store = store
        self._place = place_of(store.database.address, store.agent)
        CACHE.hold(self._place, store.settings["cache.megabytes"])
        self._release = weakref.finalize(self, CACHE.release, self._place)
        self._release.atexit = False
        self._large: dict[Scope, int] = {}  # scopes that are not small, and how large the store was

    @contextmanager
    def snapshot(
        self, known_at: datetime | None = None, wanted: Filter = EVERYTHING
    ) -> Iterator[Snapshot]:
        """Open a snapshot of the store as it is now, or as it was known at a time.

        For a large store it may have only the records of a user, a session or a project, if a
        filter lets no others through.
        """
        database = self.store.database
        # Before the lock, which another thread may have held at the time of a fork.
        database.check_usable()
        scope = next(filter(self._is_small, scopes_of(wanted)), None)
        loaded = CACHE.use(self._place, scope, lambda: _new_index(scope))
        try:
            with loaded.lock, database.moment() as connection:
                loaded.refresh(connection)
                look = Snapshot(self.store, loaded, connection)
                if known_at is not None:
                    look.go_back(to_micros(known_at))
                yield look
        finally:
            if CACHE.settle(self._place, scope, loaded):
                database.forget_pages()

    def _is_small(self, scope: Scope) -> bool:
        """Tell whether a scope is searched separately.

        A scope that is in memory stays there until it has grown. Others are counted; those that are
        not small are counted again when the store has doubled.
        """
        loaded = CACHE.get(self._place, scope)
        if loaded is not None:
            return scope.is_still_small(loaded.catalogue.size)
        whole, large = CACHE.get(self._place, None), self._large.get(scope, 0)
        if whole is not None:
            least = max(2 * large, AT_HAND if scope.is_narrow else 0)
            if whole.catalogue.size < least:
                return False
        with self.store.database.moment() as connection:
            last = connection.execute("SELECT max(seq) FROM records").get or 0
            if scope.is_small(connection, last):
                return True
            self._large[scope] = last
            return False

    @property
    def whole(self) -> WholeIndex:
        """What is kept of the whole store."""
        loaded = CACHE.use(self._place, None, WholeIndex)
        assert isinstance(loaded, WholeIndex)
        return loaded

    def close(self) -> None:
        """Release what is shared; when the last handle of a store does so, it is freed."""
        self._release()


def _new_index(scope: Scope | None) -> LoadedIndex:
    return WholeIndex() if scope is None else ScopedIndex(scope)


class Snapshot:
    """A snapshot as rankers read it. Rows are sequence numbers of records."""

    statistics: Statistics | None = None  # of a snapshot that has only some records
    notes: Sequence[str] = ()  # about what is not in it

    def __init__(self, store: RecordSource, loaded: LoadedIndex, connection: Connection) -> None:
        self.catalogue = loaded.catalogue
        self._store = store
        self._loaded = loaded
        self._connection = connection
        self._past: dict[int, dict[str, Any]] | None = None
        # The records that were read, by filter and row; None for one that does not pass.
        self._records: dict[Filter, dict[int, Record | None]] = {}

    def go_back(self, moment: int) -> None:
        self.catalogue, self._past = self.catalogue.as_known(self._connection, moment)

    @property
    def is_past(self) -> bool:
        return self._past is not None

    def allowed(self, wanted: Filter) -> Mask:
        """Mark the rows that a filter lets through."""
        return self.catalogue.allowed(wanted, self._connection)

    def visible(self, wanted: Filter) -> Visible:
        """Get the rows that a filter lets through, with what follows from them."""

        def seen() -> Visible:
            allowed = self.allowed(wanted)
            # Statistics, if there are any, say what counts.
            counted = self.counted(allowed) if self.statistics is None else allowed
            return Visible(self.catalogue, allowed, counted)

        return self.catalogue.visible(wanted, seen)

    def made_by_sleep(self) -> Mask:
        """Mark the rows that sleep has made from other memories."""
        return self.allowed(MADE_BY_SLEEP)

    def counted(self, allowed: Mask) -> Mask:
        """Mark the visible rows from which the frequency of a word is counted.

        What sleep has made repeats the words of other memories: if it counted, a night would change
        the ranking of what was said (C3). It counts if little else is visible.
        """
        told: Mask = allowed & ~self.made_by_sleep()
        number, visible = np.count_nonzero(told), np.count_nonzero(allowed)
        return told if number < visible <= number * ENOUGH else allowed

    def holding(self, word: str, where: str = fulltext.SAID) -> Rows:
        """List the rows whose text contains a word."""
        return self._loaded.holding(self._connection, word, where)

    def hinting(self, hints: Sequence[Collection[str]]) -> Rows:
        """List the rows whose text contains a word of each collection."""
        passed = np.ones(self.catalogue.size, np.bool_)
        for words in hints:
            held = np.zeros_like(passed)
            for word in words:
                held[self.holding(word)] = True
            passed &= held
        return np.flatnonzero(passed)

    def with_facet(self, name: str, value: str) -> Rows:
        """List the rows that have a facet, such as a slot."""
        query = "SELECT record FROM facets WHERE name = ? AND value = ? ORDER BY record"
        return self.catalogue.selected(self._connection, query, (name, value))

    def speaking_of(self, since: int, until: int) -> Rows:
        """List the rows whose text mentions a day in this span."""
        return self._loaded.speaking_of(self._connection, since, until)

    def space(self, name: str) -> Space | None:
        return vectors.find(self._connection, name)

    def last_seen(self, space: Space) -> int:
        """Find the last row of a record that an embedder has seen."""
        return self.catalogue.last_row(space.seen)

    def texts(self, first: int) -> list[tuple[int, str]]:
        """List the rows from `first` on that exist, and their texts."""
        return self._loaded.texts(self._connection, first)

    def codes(self, space: Space) -> SignBits:
        """Get the bits of a space's vectors, including those this process has not stored yet."""
        return self._loaded.bits(self._connection, space)

    def keep(
        self,
        space: Space,
        rows: Sequence[int],
        embedded: Vectors,
        tokens: Sequence[bytes] | None = None,
    ) -> None:
        """Keep vectors that this process has made and that are not stored yet."""
        bits = vectors.bits_of(space.centred(embedded))
        self._known_bits(space).put(np.array(rows), bits)
        self.fresh(space).update(zip(rows, embedded, strict=True))
        if tokens is not None:
            self.fresh_tokens(space).update(zip(rows, tokens, strict=True))

    def _known_bits(self, space: Space) -> SignBits:
        """Get the bits of a space as they were last read."""
        return self._loaded.codes[space.name]

    def fresh(self, space: Space) -> dict[int, Vectors]:
        """Get the vectors, by row, that this process has made and that are not stored yet."""
        return self._loaded.fresh[space.name]

    def fresh_tokens(self, space: Space) -> dict[int, bytes]:
        """Get the token codes, by row, that this process has made and that are not stored yet."""
        return self._loaded.fresh_tokens[space.name]

    def exact(self, space: Space, wanted: Rows) -> tuple[NDArray[np.float32], Mask]:
        """Get the vectors of some rows, ascending, and a mask of those that have one.

        The others get zeros.
        """
        codes = self._loaded.codes[space.name]
        has, found = codes.kept.find(wanted)
        if has.all():
            return found, has
        if self._store.database.is_near and codes.read_ahead(
            self._connection, space, len(wanted) - len(found)
        ):
            has, found = codes.kept.find(wanted)
        exact = np.zeros((len(wanted), space.dimensions), np.float32)
        exact[has] = found
        if fresh := self.fresh(space):
            for position in np.flatnonzero(~has).tolist():
                if (vector := fresh.get(int(wanted[position]))) is not None:
                    exact[position], has[position] = vector, True
        self._read_exact(space, wanted, exact, has)
        return exact, has

    def _read_exact(
        self, space: Space, wanted: Rows, exact: NDArray[np.float32], has: Mask
    ) -> None:
        """Read the vectors of the rows that have none yet, and keep them."""
        missing = wanted[~has]
        if not len(missing):
            return
        listed = self.catalogue.numbers_of(missing).tolist()
        numbers, stored = vectors.exact(self._connection, space, listed)
        found = self.catalogue.rows_of(numbers)
        self._loaded.codes[space.name].kept.put(found, stored)
        positions = np.searchsorted(wanted, found)
        exact[positions], has[positions] = stored, True

    def tokens(self, space: Space, wanted: Rows) -> dict[int, bytes]:
        """Get the token codes of some rows, leaving out rows without any."""
        numbers = self.catalogue.numbers_of(wanted).tolist()
        stored = vectors.codes_of_tokens(self._connection, space, numbers)
        fresh, own = self.fresh_tokens(space), wanted.tolist()
        known = {
            row: stored[number]
            for row, number in zip(own, numbers, strict=True)
            if number in stored
        }
        return known | {row: fresh[row] for row in own if row in fresh}

    def records(self, wanted_rows: Sequence[int], wanted: Filter) -> dict[int, Record]:
        """Read the records of those rows that pass a filter according to the table itself."""
        known = self._records.setdefault(wanted, {})
        if len(known) > AT_ONCE:
            known.clear()
        new = [row for row in wanted_rows if row not in known]
        if new:
            numbers = self.catalogue.numbers_of(np.array(new, np.int64)).tolist()
            query, parameters = _checked(wanted, is_past=self.is_past)
            found = rows(self._connection, query, (json.dumps(numbers), *parameters))
            read = {row[0]: self._as_known(self._store.record(row)) for row in found}
            known.update(zip(new, map(read.get, numbers), strict=True))
        chosen = ((row, known[row]) for row in wanted_rows)
        return {row: record for row, record in chosen if record is not None}

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """Map the ids of records to their numbers, leaving out ids that do not exist."""
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
        """Collect the ids of records changed since this snapshot, unless there are too many."""
        store = self._store
        here = Position(store.id, self.catalogue.event, self.catalogue.hash.hex())
        with store.database.snapshot() as connection:
            changes = outbox.changes(connection, here, AT_ONCE)
        if changes is None:
            return set()
        return {*changes.gone, *(row[records.COLUMN["id"]] for row in changes.rows)}

    def successions(self, ids: Sequence[str], moment: datetime) -> set[tuple[str, str]]:
        """Pair records with those that state what came after them, if that had begun by then.

        Only the present has such pairs: a snapshot of the past has none.
        """
        if self._past is not None or not ids or not self.catalogue.has_stale:
            return set()
        return set(rows(self._connection, SUCCESSIONS, (json.dumps(ids), to_micros(moment))))

    def outdated(self, ids: Sequence[str], user: str | None) -> dict[str, Outdated]:
        """Map records to what they say that does not hold; nothing in a snapshot of the past."""
        if self._past is not None or not ids or not self.catalogue.has_stale:
            return {}
        return lineage.outdated(self._connection, ids, user)

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


@functools.lru_cache(256)
def _checked(wanted: Filter, *, is_past: bool) -> tuple[str, list[Any]]:
    """Write the query for records by number, with the checks that columns cannot make."""
    # These need no second check, since the catalogue takes them from tables, unhashed. Sessions do:
    # they are hashes in the catalogue.
    wanted = structs.replace(wanted, tags=(), all_tags=(), metadata=(), project=None, beside=None)
    if is_past:
        # State and layer were different then; the catalogue has checked them.
        wanted = structs.replace(wanted, layers=(), states=(), as_of=None)
    where, parameters = wanted.where()
    is_listed = "seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    return f"{records.SELECT} WHERE {is_listed} AND {where}", parameters
