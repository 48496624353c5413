"""One search's look at the store: everything it reads is of one moment, and already in memory where that pays."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from lamina.model.clock import to_micros
from lamina.model.record import Record
from lamina.store.engine.sql import Connection, rows
from lamina.store.index.catalogue import Catalogue, Mask, Rows, Since
from lamina.store.index.postings import Postings
from lamina.store.tables import fulltext, outbox, records, vectors
from lamina.store.tables.interfaces import RecordSource
from lamina.store.tables.outbox import Changes, Position
from lamina.store.tables.records import Filter
from lamina.store.tables.vectors import Codes, Space, Vectors

if TYPE_CHECKING:
    from datetime import datetime


AT_ONCE = 500  # ids in one query
# Of some records, which tell what came after what others tell: a fact tells itself, and the turns that it rests on tell it.
SUCCESSIONS = """
WITH RECURSIVE told(id, fact) AS (
    SELECT value, value FROM json_each(?1)
    UNION SELECT e.target, f.id FROM json_each(?1) JOIN links e ON e.target = value AND e.relation = 'evidence'
    JOIN records f ON f.seq = e.record
    WHERE f.layer = 'semantic' AND f.state IN ('active', 'superseded') AND f.metadata ->> 'attribute' IS NOT NULL
),
later(id, fact) AS (
    SELECT t.id, f.superseded_by FROM told t JOIN records f ON f.id = t.fact WHERE f.superseded_by IS NOT NULL
    UNION SELECT l.id, f.superseded_by FROM later l JOIN records f ON f.id = l.fact WHERE f.superseded_by IS NOT NULL
)
SELECT l.id, t.id FROM later l JOIN told t ON t.fact = l.fact JOIN records f ON f.id = l.fact
WHERE coalesce(f.valid_from, f.occurred_at) <= ?2 AND (l.id, l.fact) NOT IN (SELECT id, fact FROM told)
"""


class Index:
    """What searches of this process keep between them. One at a time uses it."""

    def __init__(self, store: RecordSource) -> None:
        self.store = store
        self.catalogue = Catalogue()
        self.postings = Postings()
        self.codes: dict[str, Codes] = {}  # by the name of the space
        self.fresh: dict[
            str, dict[int, Vectors]
        ] = {}  # vectors that are not stored yet, by space and record
        self._lock = threading.Lock()

    @contextmanager
    def look(self, known_at: datetime | None = None) -> Iterator[Look]:
        """A look at the store as it is now, or as it was known at a time."""
        database = self.store.database
        database.check_usable()  # before the lock: another thread may have held it when we were forked
        with self._lock, database.moment() as connection:
            since = self.catalogue.refresh(connection)
            if since is not Since.MORE:
                self.postings.clear()
            if since is Since.ANEW:
                self.codes.clear()
                self.fresh.clear()
            look = Look(self, connection)
            if known_at is not None:
                look.go_back(to_micros(known_at))
            yield look


class Look:
    """What rankers ask. Rows are sequence numbers of records."""

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

    def allowed(self, chosen: Filter) -> Mask:
        """Which rows a filter lets through."""
        return self.catalogue.allowed(chosen, self._connection)

    def holding(self, word: str, where: str = fulltext.SAID) -> Rows:
        """The rows whose text holds a word."""
        return self._index.postings.holding(self._connection, word, where, self.catalogue.size)

    def speaking_of(self, since: int, until: int) -> Rows:
        """The rows whose text speaks of a day in this span."""
        query = "SELECT record FROM days WHERE since < ? AND until > ?"
        found = [record for (record,) in rows(self._connection, query, (until, since))]
        found += [
            record for start, end, record in self.catalogue.days if start < until and end > since
        ]
        return np.unique(np.array(found, np.int64))

    def space(self, name: str) -> Space | None:
        return vectors.find(self._connection, name)

    def unseen(self, seen: int, limit: int) -> list[tuple[int, str]]:
        """Records that an embedder has not seen: their numbers and texts."""
        return unseen(self._connection, seen, limit)

    def codes(self, space: Space) -> Codes:
        """The bits of a space's vectors, those of this process that are not stored yet among them."""
        codes = self._index.codes.get(space.name)
        if codes is None or not codes.are_of(space):
            codes = self._index.codes[space.name] = Codes(space.dimensions)
            self._index.fresh[space.name] = {}
        codes.refresh(self._connection, space)
        fresh = self._index.fresh[space.name]
        for number in [number for number in fresh if number <= space.seen]:
            del fresh[number]
        return codes

    def keep(self, space: Space, numbers: Sequence[int], made: Vectors) -> None:
        """Vectors that this process has made and nobody has stored yet."""
        self._index.codes[space.name].put(np.array(numbers), vectors.bits_of(made))
        self._index.fresh[space.name].update(zip(numbers, made, strict=True))

    def fresh(self, space: Space) -> dict[int, Vectors]:
        return self._index.fresh[space.name]

    def exact(self, space: Space, wanted: Rows) -> tuple[NDArray[np.float32], Mask]:
        """The vectors of some rows, ascending, and which of them have one; zeros for the others."""
        made = np.zeros((len(wanted), space.dimensions), np.float32)
        kept = self._index.codes[space.name].kept
        has, made_before = kept.find(wanted)
        made[has] = made_before
        if not has.all():
            found, stored = vectors.exact(self._connection, space, wanted[~has].tolist())
            kept.put(found, stored)
            places = np.searchsorted(wanted, found)
            made[places], has[places] = stored, True
        fresh = self._index.fresh[space.name]
        if fresh:
            for place, number in enumerate(wanted.tolist()):
                if number in fresh:
                    made[place], has[place] = fresh[number], True
        return made, has

    def records(self, wanted: Sequence[int], chosen: Filter) -> dict[int, Record]:
        """The records of some rows, as far as the filter lets them through: asked of the records themselves."""
        chosen = structs.replace(
            chosen, tags=(), all_tags=(), metadata=()
        )  # these the catalogue has by number, not by name
        if (
            self._past is not None
        ):  # their state and layer are those of another time; the catalogue has looked at them
            chosen = structs.replace(chosen, layers=(), states=(), as_of=None)
        where, parameters = chosen.where()
        query = f"{records.SELECT} WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND {where}"
        found = rows(
            self._connection, query, (json.dumps([int(number) for number in wanted]), *parameters)
        )
        return {row[0]: self._as_known(self._index.store.record(row)) for row in found}

    def numbers(self, ids: Sequence[str]) -> dict[str, int]:
        """The rows of some records, as far as they are there."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            found |= dict(
                rows(
                    self._connection,
                    f"SELECT id, seq FROM records WHERE id IN ({records.marks(some)})",
                    some,
                )
            )
        return found

    def changes(self, position: Position, limit: int) -> Changes | None:
        """What happened after a position, as `feed` tells it."""
        return outbox.changes(self._connection, position, limit)

    def later(self) -> set[str]:
        """The ids of what has changed since this moment, as far as that is not much."""
        store = self._index.store
        here = Position(store.id, self.catalogue.event, self.catalogue.hash.hex())
        with store.database.snapshot() as connection:
            changes = outbox.changes(connection, here, AT_ONCE)
        return (
            set()
            if changes is None
            else {*changes.gone, *(row[records.COLUMN["id"]] for row in changes.rows)}
        )

    def successions(self, ids: Sequence[str], moment: datetime) -> set[tuple[str, str]]:
        """Pairs of records of which the second tells what came after what the first tells, as far as it had begun then.

        They are known of the present alone: a look back has none.
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
    return rows(
        connection,
        "SELECT seq, content FROM records WHERE seq > ? ORDER BY seq LIMIT ?",
        (seen, limit),
    )
