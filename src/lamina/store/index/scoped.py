"""The index of one scope in memory: of a user, a session or a project, and of nothing else.

A store may have a million records of thousands of users. Everything a question may find is read
from the records themselves, by an index, so that the cost depends on the scope and not on the
store. Rows are positions among these records in the order of their numbers; row 0 is unused.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.model import asked_words, hashing
from lamina.store.engine.sql import Connection, numbers, rows
from lamina.store.index import catalogue
from lamina.store.index.catalogue import (
    COLUMNS,
    CONTENT,
    TAGS,
    Catalogue,
    Days,
    Mask,
    Rows,
    Since,
    days_of,
    mark,
    values_of,
)
from lamina.store.index.distinct import distinct
from lamina.store.index.loaded import LoadedIndex
from lamina.store.index.scope import Scope
from lamina.store.tables import fulltext, vectors
from lamina.store.tables.blocks import BLOCK
from lamina.store.tables.records import texts
from lamina.store.tables.tsvectors import cut
from lamina.store.tables.vectors import SignBits, Space
from lamina.text import words

# Bytes that are taken by a word, by each of its rows, and by a day that a text mentions.
TOKEN, HOLDER, DAY = 150, 8, 120
SELECT = f"SELECT {', '.join((*catalogue.READ, 'metadata'))} FROM records"
LISTED = "(SELECT CAST(value AS BIGINT) FROM json_each(?))"


class ScopedCatalogue(Catalogue):
    """The columns of a scope's records, and the words they contain."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope
        # Queries for the scope's records that are new or have changed since an event; and for all.
        self._since = " UNION ALL ".join(
            f"{SELECT} WHERE {part.where} AND event > ?" for part in scope.parts()
        )
        self._count = " + ".join(
            f"(SELECT count(*) FROM records WHERE {part.where})" for part in scope.parts()
        )
        self.said: dict[str, list[int]] = defaultdict(list)  # the rows that contain each word
        self._numbers = np.zeros(BLOCK, np.int64)  # the number of each row's record
        self._asked: dict[int, str] = {}  # the words that ask for the fact in a row
        self._holders = 0
        self._is_changed = False

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        held = TOKEN * len(self.said) + HOLDER * self._holders
        return super().footprint + self._numbers.nbytes + held

    @property
    def numbers(self) -> Rows:
        """The numbers of all rows' records, ascending."""
        return self._numbers[: self.size]

    def rows_of(self, numbers: Rows) -> Rows:
        """Convert numbers of records to rows, leaving out records that are not here."""
        places = np.searchsorted(self.numbers, numbers)
        places[places == self.size] = 0
        found: Rows = places[(self.numbers[places] == numbers) & (places > 0)]
        return found

    def numbers_of(self, rows: Rows) -> Rows:
        """Convert rows to numbers of records."""
        return self._numbers[rows]

    def selected(self, connection: Connection, query: str, parameters: Sequence[Any]) -> Rows:
        """Run a query for numbers of records, in the column `record`; return their rows."""
        # Restricted to this scope's records: there may be very many others.
        query = f"SELECT record FROM ({query}) AS chosen WHERE record IN {LISTED} ORDER BY record"
        return self.rows_of(numbers(connection, query, (*parameters, self.listed())))

    def listed(self, rows: Rows | None = None) -> str:
        """Write the record numbers of all or some rows as JSON, for a query."""
        return json.dumps((self.numbers[1:] if rows is None else self.numbers[rows]).tolist())

    def last_row(self, number: int) -> int:
        """Find the last row of a record up to this number."""
        return int(np.searchsorted(self.numbers, number, "right")) - 1

    def _reset(self) -> None:
        self.__init__(self.scope)  # type: ignore[misc]

    def _learn(self, connection: Connection, seq: int, digest: bytes) -> Since:
        """Read what is new or has changed in the scope, whatever happened elsewhere."""
        self.forget_derived()
        known = connection.execute("SELECT hash FROM events WHERE seq = ?", (self.event,)).get
        self._is_changed = False
        if not self.event or known != self.hash or not self._follow(connection):
            self._reset()
            self._follow(connection)
            self.event, self.hash = seq, digest
            return Since.ANEW
        self.event, self.hash = seq, digest
        return Since.CHANGED if self._is_changed else Since.MORE

    def _follow(self, connection: Connection) -> bool:
        """Read what later events changed in the scope.

        Return False if a record has left it, or has other words since it became a fact.
        """
        parts = [part.parameters for part in self.scope.parts()]
        since = [value for parameters in parts for value in (*parameters, self.event)]
        found = rows(connection, self._since, since)
        first, last = self.size, int(self.numbers[-1])
        known = [row for row in found if row[0] <= last]
        places = self.rows_of(np.array([row[0] for row in known], np.int64))
        if len(places) < len(known):
            return False
        for place, row in zip(places.tolist(), known, strict=True):
            if _asked(row) != self._asked.get(place, ""):
                return False
            self._set(place, row[:-1])
        self._is_changed = bool(known)
        self._append(sorted(row for row in found if row[0] > last))
        self._join(first)
        every = [value for parameters in parts for value in parameters]
        return bool(self.size - 1 == connection.execute(f"SELECT {self._count}", every).get)

    def _append(self, found: Sequence[Sequence[Any]]) -> None:
        if not found:
            return
        first, end = self.size, self.size + len(found)
        self._reserve(end)
        self._numbers[first:end] = [row[0] for row in found]
        analysed = [words.analyse(row[CONTENT]) for row in found]
        for place, (row, text) in enumerate(zip(found, analysed, strict=True), first):
            self._hear(place, text, row)
        columns = zip(*map(values_of, (row[:-1] for row in found), analysed), strict=True)
        for name, values in zip(COLUMNS, columns, strict=True):
            self._columns[name][first:end] = values
        self.size = end

    def _hear(self, place: int, analysed: str, row: Sequence[Any]) -> None:
        """Note the words of a text, and those beside it, as the full-text index does."""
        if asked := _asked(row):
            self._asked[place] = asked
        if asked or row[TAGS] != "[]":
            analysed = f"{analysed} {fulltext.words_beside(texts(row[TAGS]), asked)}"
        tokens = set(cut(analysed))
        for token in tokens:
            self.said[token].append(place)
        self._holders += len(tokens)

    def _reserve(self, size: int) -> None:
        super()._reserve(size)
        more = len(self.before) - len(self._numbers)
        if more:
            self._numbers = np.concatenate((self._numbers, np.zeros(more, np.int64)))

    def _in_session(self, connection: Connection, session: str) -> Mask:
        """Mark the records of a session by the column: to a user, only two owners are visible."""
        if self.scope.user is None:
            return super()._in_session(connection, session)
        column = self["session"]
        own, unscoped = (np.uint64(mark(f"{user}\0{session}")) for user in (self.scope.user, ""))
        passed: Mask = (column == own) | (column == unscoped)
        return passed


def _asked(row: Sequence[Any]) -> str:
    """Return the words that ask for the fact in a row; its metadata comes last."""
    return asked_words.of(hashing.decode(row[-1])) if '"attribute"' in row[-1] else ""


class ScopedBits(SignBits):
    """The bits of a scope's vectors, which are read one by one."""

    def __init__(self, space: Space, scope: ScopedCatalogue) -> None:
        super().__init__(space.dimensions, max(BLOCK, 2 * scope.size))
        self._scope = scope

    def refresh(self, connection: Connection, space: Space) -> None:
        """Read the vectors that were stored since the last refresh, by any process."""
        self._number, self._upto = space.number, space.seen + 1
        self._reserve(self._scope.size)
        last = self._scope.last_row(space.seen)
        missing = self._scope.numbers[1 : last + 1][~self.known[1 : last + 1]]
        if not len(missing):
            return
        found, stored = vectors.exact(connection, space, missing.tolist())
        if len(found):
            order = np.argsort(found)
            places = self._scope.rows_of(found[order])
            self.put(places, vectors.bits_of(space.centred(stored[order])))
            self.kept.put(places, stored[order])

    def read_ahead(self, connection: Connection, space: Space, wanted: int) -> bool:
        """Do nothing: the vectors of a scope are far apart, and are kept once read."""
        return False


class ScopedIndex(LoadedIndex):
    """What searches need to know about the records of one scope."""

    catalogue: ScopedCatalogue

    def __init__(self, scope: Scope) -> None:
        super().__init__(ScopedCatalogue(scope))
        self._days: Days = []
        self._dated = 1  # the texts of rows below this were searched for days
        self._metadata: dict[str, list[int]] | None = None

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        held = sum(TOKEN + HOLDER * len(places) for places in (self._metadata or {}).values())
        return super().footprint + DAY * len(self._days) + held

    def refresh(self, connection: Connection) -> None:
        """Read what happened in the scope since the last refresh."""
        size = self.catalogue.size
        since = self.catalogue.refresh(connection)
        if since is Since.ANEW:
            self.forget_vectors()
            self._days, self._dated = [], 1
        if since is not Since.MORE or size != self.catalogue.size:
            self._metadata = None

    def holding(self, connection: Connection, word: str, where: str) -> Rows:
        """List the rows that contain a word in this part."""
        tokens = cut(word)
        if len(tokens) > 1:  # a phrase, which only the index of the store can find
            return self.catalogue.rows_of(fulltext.holding(connection, word, where))
        held = self.catalogue.said if where == fulltext.SAID else self._in_metadata(connection)
        return np.array(held.get(tokens[0], ()) if tokens else (), np.int64)

    def speaking_of(self, connection: Connection, since: int, until: int) -> Rows:
        """List the rows whose text mentions a day in this span."""
        new = np.arange(self._dated, self.catalogue.size)
        if len(new):
            query = f"{catalogue.SELECT} WHERE seq IN {LISTED}"
            for row in rows(connection, query, (self.catalogue.listed(new),)):
                (place,) = self.catalogue.rows_of(np.array(row[:1]))
                self._days += [(start, end, int(place)) for start, end, _ in days_of(row)]
            self._dated = self.catalogue.size
        speaking = [place for start, end, place in self._days if start < until and end > since]
        return distinct(np.array(speaking, np.int64))

    def texts(self, connection: Connection, first: int) -> list[tuple[int, str]]:
        """List the rows from `first` on, and their texts."""
        query = f"SELECT seq, content FROM records WHERE seq IN {LISTED} ORDER BY seq"
        new = np.arange(first, self.catalogue.size)
        found = rows(connection, query, (self.catalogue.listed(new),))
        return [(place, text) for place, (_, text) in zip(new.tolist(), found, strict=True)]

    def _new_bits(self, space: Space) -> SignBits:
        return ScopedBits(space, self.catalogue)

    def _in_metadata(self, connection: Connection) -> dict[str, list[int]]:
        """Collect the words of the metadata, which few questions ask for."""
        if self._metadata is None:
            self._metadata = {}
            query = f"SELECT seq, metadata FROM records WHERE seq IN {LISTED} ORDER BY seq"
            found = rows(connection, query, (self.catalogue.listed(),))
            for place, (_, metadata) in enumerate(found, 1):
                said = fulltext.metadata_words(hashing.decode(metadata))
                for token in dict.fromkeys(cut(said)):
                    self._metadata.setdefault(token, []).append(place)
        return self._metadata
