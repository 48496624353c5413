"""Vectors of the records: exact ones in half precision, and their signs as bits, which a scan over all of them reads."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.store.engine.sql import Connection, Half, rows
from lamina.store.tables.blocks import BLOCK, opened, sealed

HALF = np.dtype("<f2")
WORD = 64  # bits are compared so many at a time
STEP = 32768  # rows of a scan that fit into the processor's cache
ALL = slice(None)
KEPT = 16384  # exact vectors of a space that a process keeps, at most

Vectors = NDArray[np.float16]
Numbers = NDArray[np.int64]
Bits = NDArray[np.uint64]


class Space(msgspec.Struct, frozen=True):
    """The vectors of one embedder. It has seen every record up to `seen`."""

    number: int
    name: str
    dimensions: int
    seen: int


def find(connection: Connection, name: str) -> Space | None:
    row = connection.execute(
        "SELECT number, name, dimensions, seen FROM spaces WHERE name = ?", (name,)
    ).get
    return None if row is None else Space(*row)


def every(connection: Connection) -> list[Space]:
    return [
        Space(*row)
        for row in rows(
            connection, "SELECT number, name, dimensions, seen FROM spaces ORDER BY number"
        )
    ]


def add_space(connection: Connection, name: str, dimensions: int) -> Space:
    """The space of that name; one of another size is begun anew."""
    space = find(connection, name)
    if space is not None and space.dimensions != dimensions:
        drop_space(connection, space)
        space = None
    if space is None:
        insert = "INSERT INTO spaces (number, name, dimensions, seen) SELECT coalesce(max(number), 0) + 1, ?, ?, 0 FROM spaces"
        connection.execute(insert, (name, dimensions))
        space = find(connection, name)
    assert space is not None
    return space


def drop_space(connection: Connection, space: Space) -> None:
    for table in ("codes", "vectors"):
        connection.execute(f"DELETE FROM {table} WHERE space = ?", (space.number,))
    connection.execute("DELETE FROM spaces WHERE number = ?", (space.number,))


def put(
    connection: Connection, space: Space, numbers: Sequence[int], vectors: Vectors, seen: int
) -> None:
    """Vectors of records, and how far the space has come with them."""
    insert = (
        "INSERT INTO vectors (space, record, vector) VALUES (?, ?, ?)"
        " ON CONFLICT (space, record) DO UPDATE SET vector = excluded.vector"
    )
    connection.executemany(
        insert,
        [
            (space.number, number, Half(row.tobytes()))
            for number, row in zip(numbers, vectors, strict=True)
        ],
    )
    connection.execute("UPDATE spaces SET seen = ? WHERE number = ?", (seen, space.number))


def exact(connection: Connection, space: Space, numbers: Sequence[int]) -> tuple[Numbers, Vectors]:
    """The records, of some, that have a vector, and their vectors."""
    query = "SELECT record, vector FROM vectors WHERE space = ? AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    return unpacked(rows(connection, query, (space.number, json.dumps(list(numbers)))), space)


def unpacked(found: Sequence[tuple[int, bytes]], space: Space) -> tuple[Numbers, Vectors]:
    """Stored vectors as numbers. One of the wrong size, or of no numbers, is none."""
    size = space.dimensions * HALF.itemsize
    sound = [pair for pair in found if len(pair[1]) == size]
    numbers = np.array([number for number, _ in sound], np.int64)
    vectors = np.frombuffer(b"".join([vector for _, vector in sound]), HALF).reshape(
        -1, space.dimensions
    )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        numbers, vectors = numbers[finite], vectors[finite]
    return numbers, vectors


def count_missing(connection: Connection, space: Space) -> int:
    """How many records, of those that a space has seen, have no vector of the right size."""
    query = (
        "SELECT count(*) FROM records LEFT JOIN vectors ON vectors.space = ? AND vectors.record = records.seq"
        " WHERE records.seq <= ? AND length(vectors.vector) IS DISTINCT FROM ?"
    )
    number = connection.execute(
        query, (space.number, space.seen, space.dimensions * HALF.itemsize)
    ).get
    return number if isinstance(number, int) else 0


def bits_of(vectors: Vectors) -> Bits:
    """The signs of vectors, 64 to a number; what is missing at the end is zero for all."""
    number, dimensions = vectors.shape
    padded = np.zeros((number, -(-dimensions // WORD) * WORD), np.bool_)
    padded[:, :dimensions] = vectors > 0
    packed: Bits = np.packbits(padded, axis=1).view("<u8")
    return packed


def packed_size(dimensions: int) -> int:
    """The bytes of one block of bits, without its seal."""
    return BLOCK * (1 + 8 * -(-dimensions // WORD))


class Codes:
    """The bits of all vectors of a space in memory, one array for each 64 dimensions, a row for each record."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.kept = Kept(dimensions)
        self.known = np.zeros(BLOCK, np.bool_)
        self._number: int | None = None
        self._upto = 0  # the records below this were read
        self._words = [np.zeros(BLOCK, np.uint64) for _ in range(-(-dimensions // WORD))]

    def are_of(self, space: Space) -> bool:
        """Whether what was learned is of this space; another one may have taken its name."""
        own = self._number in (None, space.number) and self._upto <= space.seen + 1
        return own and self.dimensions == space.dimensions

    def refresh(self, connection: Connection, space: Space) -> None:
        """Learn the vectors that were stored since the last look, whoever did."""
        self._number = space.number
        if space.seen < self._upto:
            return
        query = "SELECT block, bits FROM codes WHERE space = ? AND block >= ? ORDER BY block"
        blocks = rows(connection, query, (space.number, -(-self._upto // BLOCK)))
        for block, packed in blocks:
            # A missing or damaged block ends them; from there on the vectors serve.
            bits = opened(packed, packed_size(self.dimensions))
            if block * BLOCK > self._upto or bits is None:
                break
            numbers = np.arange(block * BLOCK, (block + 1) * BLOCK)
            self.put(numbers, np.frombuffer(bits, "<u8", offset=BLOCK).reshape(BLOCK, -1))
            self.known[numbers] = np.frombuffer(bits, np.bool_, BLOCK)
            self._upto = (block + 1) * BLOCK
        query = "SELECT record, vector FROM vectors WHERE space = ? AND record >= ? ORDER BY record"
        self.read(rows(connection, query, (space.number, self._upto)), space)
        self._upto = space.seen + 1

    def read(self, found: Sequence[tuple[int, bytes]], space: Space, first: int = 0) -> None:
        """Take vectors in; the rows count from `first`."""
        numbers, vectors = unpacked(found, space)
        if len(numbers):
            self.put(numbers - first, bits_of(vectors))

    def put(self, numbers: NDArray[np.int64], bits: Bits) -> None:
        self._reserve(int(numbers[-1]) + 1)
        self.known[numbers] = True
        for place, word in enumerate(self._words):
            word[numbers] = bits[:, place]

    def pack(self, size: int) -> bytes:
        """The first bits, behind a byte for each row that says whether it has any."""
        bits = np.stack([word[:size] for word in self._words], axis=1)
        return sealed(self.known[:size].tobytes() + bits.astype("<u8").tobytes())

    def differ(self, stored: bytes, space: Space) -> bool:
        """Whether a packed block has other bits than these. It may still have some of records that
        were archived since."""
        bits = opened(stored, packed_size(space.dimensions))
        if bits is None:
            return True
        known = self.known[:BLOCK]
        there = np.frombuffer(bits, "<u8", offset=BLOCK).reshape(BLOCK, -1)
        meant = np.stack([word[:BLOCK] for word in self._words], axis=1)
        return not (
            np.frombuffer(bits, np.bool_, BLOCK)[known].all()
            and np.array_equal(there[known], meant[known])
        )

    def distances(
        self, vector: NDArray[np.float32], size: int, some: slice | Numbers = ALL
    ) -> NDArray[np.uint16]:
        """How many signs of each record's vector differ from those of a query's; or of some of the first so many."""
        self._reserve(size)
        asked = bits_of(vector[None, :].astype(np.float16))[0]
        words = [word[:size][some] for word in self._words]
        counted = np.zeros(len(words[0]), np.uint16)
        for start in range(0, len(counted), STEP):
            end = start + STEP
            for word, wanted in zip(words, asked, strict=True):
                counted[start:end] += np.bitwise_count(word[start:end] ^ wanted)
        return counted

    def _reserve(self, size: int) -> None:
        length = len(self.known)
        if size > length:
            more = max(size, 2 * length) - length
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))
            self._words = [
                np.concatenate((word, np.zeros(more, np.uint64))) for word in self._words
            ]


class Kept:
    """Exact vectors that searches of this process have read lately: the next search need not read them again."""

    def __init__(self, dimensions: int, most: int = KEPT) -> None:
        self._most = most
        self._place = np.full(BLOCK, -1, np.int32)  # of each record's vector; -1 for none
        self._owner = np.zeros(most, np.int64)  # the record at each place; none has the number 0
        self._vectors = np.zeros((most, dimensions), np.float32)
        self._next = 0

    def find(self, wanted: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which of some records have a vector here, and these vectors."""
        self._reserve(int(wanted.max(initial=0)) + 1)
        places = self._place[wanted]
        return places >= 0, self._vectors[places[places >= 0]]

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Take in vectors that were not found here, in the place of those that came first."""
        numbers, vectors = numbers[-self._most :], vectors[-self._most :]
        places = (self._next + np.arange(len(numbers))) % self._most
        self._place[self._owner[places]] = -1
        self._place[numbers] = places
        self._owner[places] = numbers
        self._vectors[places] = vectors
        self._next = (self._next + len(numbers)) % self._most

    def _reserve(self, size: int) -> None:
        more = size - len(self._place)
        if more > 0:
            self._place = np.concatenate(
                (self._place, np.full(max(more, len(self._place)), -1, np.int32))
            )
