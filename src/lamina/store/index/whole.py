"""The index of a whole store in memory: columns and bits of all records, and searched words."""

from __future__ import annotations

import numpy as np

from lamina.store.engine.sql import Connection, rows
from lamina.store.index.catalogue import Catalogue, Rows, Since
from lamina.store.index.distinct import distinct
from lamina.store.index.loaded import LoadedIndex
from lamina.store.index.postings import Postings


class WholeIndex(LoadedIndex):
    """What searches need to know about all records. Row n is the record with the number n."""

    def __init__(self) -> None:
        super().__init__(Catalogue())
        self.postings = Postings()

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        return super().footprint + self.postings.footprint

    def refresh(self, connection: Connection) -> None:
        """Read what happened since the last refresh."""
        since = self.catalogue.refresh(connection)
        if since is not Since.MORE:
            self.postings.clear()
        if since is Since.ANEW:
            self.forget_vectors()

    def holding(self, connection: Connection, word: str, where: str) -> Rows:
        """List the rows that contain a word in this part."""
        return self.postings.holding(connection, word, where, self.catalogue.size)

    def speaking_of(self, connection: Connection, since: int, until: int) -> Rows:
        """List the rows whose text mentions a day in this span."""
        query = "SELECT record FROM days WHERE since < ? AND until > ?"
        numbers = [number for (number,) in rows(connection, query, (until, since))]
        in_no_block = self.catalogue.days(connection)
        numbers += [number for start, end, number in in_no_block if start < until and end > since]
        return distinct(np.array(numbers, np.int64))

    def texts(self, connection: Connection, first: int) -> list[tuple[int, str]]:
        """List the rows from `first` on that exist, and their texts."""
        return unseen(connection, first - 1, self.catalogue.size - first)


def unseen(connection: Connection, seen: int, limit: int) -> list[tuple[int, str]]:
    """List number and text of the next records that an embedder has not seen."""
    query = "SELECT seq, content FROM records WHERE seq > ? ORDER BY seq LIMIT ?"
    return rows(connection, query, (seen, limit))
