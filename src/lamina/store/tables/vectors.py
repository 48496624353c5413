"""Vectors of records: exact ones in half precision, and two bits per number for a scan."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from lamina.store.engine.sql import Connection, Half, rows
from lamina.store.tables.blocks import BLOCK, SEAL, opened, sealed

HALF = np.dtype("<f2")
INFINITE = np.uint16(0x7C00)  # the bits that are all set only in values that are not finite
WORD = 64  # bits that are compared at a time
STEP = 32768  # rows of a scan that fit into the processor's cache
ALL = slice(None)
KEPT = 64 << 20  # the most bytes of a space's exact vectors that a process keeps
FEW = 32  # initial room for exact vectors: a process may have many small stores
# Vectors that are read one by one cost twenty times as much as a range of them. When a process has
# read one in so many singly, it reads all of them, in ranges of this size.
ONE_BY_ONE, RANGE = 256, 4096
PIECE = 1024  # vectors that are packed at a time
# A number is large if its square is above this share of the mean square of its vector: with one
# level for each half, these are the steps of a bell curve that lose least.
LARGE = 0.96
# The bits of each number of a query, and how far from 0 they reach, in mean squares.
ASKED_BITS, REACH = 3, 2.5
MEAN_SQUARE = 3.19  # of a step, for normally distributed numbers, reduced by what the steps lose
SELECT_SPACE = "SELECT number, name, dimensions, seen, mean FROM spaces"
PUT = (
    "INSERT INTO {0} (space, record, {1}) VALUES (?, ?, ?)"
    " ON CONFLICT (space, record) DO UPDATE SET {1} = excluded.{1}"
)

Vectors = NDArray[np.float16]
Numbers = NDArray[np.int64]
Bits = NDArray[np.uint64]


class Space(msgspec.Struct, frozen=True):
    """The vectors of one embedder, which has seen every record up to number `seen`.

    `mean`, in half precision, is subtracted from a vector before its signs become bits.
    """

    number: int
    name: str
    dimensions: int
    seen: int
    mean: bytes | None = None

    def centred(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Subtract the mean from some vectors, if there is one."""
        return vectors if self.mean is None else vectors - np.frombuffer(self.mean, HALF)


def find(connection: Connection, name: str) -> Space | None:
    row = connection.execute(f"{SELECT_SPACE} WHERE name = ?", (name,)).get
    return None if row is None else Space(*row)


def every(connection: Connection) -> list[Space]:
    return [Space(*row) for row in rows(connection, f"{SELECT_SPACE} ORDER BY number")]


def add_space(
    connection: Connection, name: str, dimensions: int, mean: bytes | None = None
) -> Space:
    """Find or create the space of that name; replace one with other dimensions or another mean."""
    space = find(connection, name)
    if space is not None and (space.dimensions, space.mean) != (dimensions, mean):
        drop_space(connection, space)
        space = None
    if space is None:
        insert = (
            "INSERT INTO spaces (number, name, dimensions, seen, mean)"
            " SELECT coalesce(max(number), 0) + 1, ?, ?, 0, ? FROM spaces"
        )
        connection.execute(insert, (name, dimensions, mean))
        space = find(connection, name)
    assert space is not None
    return space


def drop_space(connection: Connection, space: Space) -> None:
    for table in ("codes", "vectors", "tokens"):
        connection.execute(f"DELETE FROM {table} WHERE space = ?", (space.number,))
    connection.execute("DELETE FROM spaces WHERE number = ?", (space.number,))


def put(
    connection: Connection,
    space: Space,
    numbers: Sequence[int],
    vectors: Vectors,
    seen: int,
    tokens: Sequence[bytes] | None = None,
) -> None:
    """Store the vectors of some records, with their token codes if there are any.

    After this, the space has seen all records up to `seen`.
    """
    packed, size = vectors.tobytes(), vectors.shape[1] * HALF.itemsize
    stored = (
        (space.number, number, Half(packed[place * size : (place + 1) * size]))
        for place, number in enumerate(numbers)
    )
    connection.executemany(PUT.format("vectors", "vector"), stored)
    if tokens is not None:
        coded = zip(numbers, tokens, strict=True)
        rows_of_codes = [(space.number, number, codes) for number, codes in coded]
        connection.executemany(PUT.format("tokens", "codes"), rows_of_codes)
    connection.execute("UPDATE spaces SET seen = ? WHERE number = ?", (seen, space.number))


def exact(connection: Connection, space: Space, numbers: Sequence[int]) -> tuple[Numbers, Vectors]:
    """Read the exact vectors of some records, leaving out those without a vector."""
    query = (
        "SELECT record, vector FROM vectors"
        " WHERE space = ? AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    return unpacked(rows(connection, query, (space.number, json.dumps(list(numbers)))), space)


def codes_of_tokens(
    connection: Connection, space: Space, numbers: Sequence[int]
) -> dict[int, bytes]:
    """Read the token codes of some records, by number."""
    query = (
        "SELECT record, codes FROM tokens"
        " WHERE space = ? AND record IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    )
    return dict(rows(connection, query, (space.number, json.dumps(list(numbers)))))


def unpacked(stored: Sequence[tuple[int, bytes]], space: Space) -> tuple[Numbers, Vectors]:
    """Unpack stored vectors, leaving out those of the wrong size or with values not finite."""
    size = space.dimensions * HALF.itemsize
    sound = [pair for pair in stored if len(pair[1]) == size]
    numbers = np.array([number for number, _ in sound], np.int64)
    joined = b"".join([vector for _, vector in sound])
    vectors = np.frombuffer(joined, HALF).reshape(-1, space.dimensions)
    # Half-precision numbers are compared as integers, which is many times faster.
    finite = (vectors.view("<u2") & INFINITE != INFINITE).all(axis=1)
    if not finite.all():
        numbers, vectors = numbers[finite], vectors[finite]
    return numbers, vectors


def count_missing(connection: Connection, space: Space) -> int:
    """Count the records that a space has seen but that have no vector of the right size."""
    query = (
        "SELECT count(*) FROM records"
        " LEFT JOIN vectors ON vectors.space = ? AND vectors.record = records.seq"
        " WHERE records.seq <= ? AND length(vectors.vector) IS DISTINCT FROM ?"
    )
    size = space.dimensions * HALF.itemsize
    number = connection.execute(query, (space.number, space.seen, size)).get
    return number if isinstance(number, int) else 0


def bits_of(vectors: Vectors) -> Bits:
    """Pack two bits of each number: all signs, then whether it is the larger step of its sign.

    Together the two bits are one of four steps from -3 to 3. They are packed 64 to a word; the rest
    of the last word is zero.
    """
    pieces = [vectors[start : start + PIECE] for start in range(0, len(vectors), PIECE)]
    return np.concatenate([_steps(piece) for piece in pieces or [vectors]])


def _steps(vectors: Vectors) -> Bits:
    is_positive = vectors.view(np.int16) > 0
    # Squares of half-precision numbers, and their sum, are exact here, in whatever order.
    squares = np.square(singles(vectors), dtype=np.float64)
    is_large = squares > LARGE * squares.mean(axis=1, keepdims=True)
    return np.concatenate((_packed(is_positive), _packed(is_positive == is_large)), axis=1)


def _packed(marks: NDArray[np.bool_]) -> Bits:
    number, dimensions = marks.shape
    padded = np.zeros((number, words_of(dimensions) * WORD), np.bool_)
    padded[:, :dimensions] = marks
    packed: Bits = np.packbits(padded, axis=1).view("<u8")
    return packed


def words_of(dimensions: int) -> int:
    """Return how many words hold one bit for each number of a vector."""
    return -(-dimensions // WORD)


def packed_size(dimensions: int) -> int:
    """Return the size in bytes of one block of bits, without its checksum."""
    return BLOCK * (1 + 2 * 8 * words_of(dimensions))


def is_earlier(stored: bytes, dimensions: int) -> bool:
    """Tell whether a block has only signs, as an earlier version wrote it."""
    return len(stored) == SEAL + BLOCK * (1 + 8 * words_of(dimensions))


def singles(halves: Vectors) -> NDArray[np.float32]:
    """Convert finite numbers from half to single precision, exactly.

    numpy converts one number at a time, which takes five times as long.
    """
    bits = halves.view("<i2").astype(np.int32)
    bits <<= 13
    bits &= np.int32(-0x70002000)  # the sign, and exponent and fraction in their new places
    wide: NDArray[np.float32] = bits.view(np.float32)
    wide *= np.float32(2.0**112)  # the exponent has another bias
    return wide


class SignBits:
    """The bits of all vectors of a space, in memory.

    There is one array for every 64 signs, since these are scanned in order; the second bits are
    read selectively, and share one array. Row n is the record with number n.
    """

    def __init__(self, dimensions: int, kept: int | None = None) -> None:
        """Create room for bits; at most `kept` exact vectors are kept beside them."""
        self.dimensions = dimensions
        most = KEPT // (HALF.itemsize * dimensions) if kept is None else kept
        self.kept = RecentVectors(dimensions, most)
        self.known = np.zeros(BLOCK, np.bool_)
        self._number: int | None = None
        self._upto = 0  # the records below this number have been read
        self._one_by_one = 0  # how many exact vectors were read one by one
        self._exact_upto = 0  # the exact vectors below this number have been read
        self._signs = [np.zeros(BLOCK, np.uint64) for _ in range(words_of(dimensions))]
        self._seconds = np.zeros((BLOCK, len(self._signs)), np.uint64)

    @property
    def footprint(self) -> int:
        """The memory it takes, including recently read exact vectors."""
        return (1 + 2 * 8 * len(self._signs)) * len(self.known) + self.kept.footprint

    def are_of(self, space: Space) -> bool:
        """Tell whether these bits belong to this space: another one may have taken its name."""
        is_same = self._number in (None, space.number) and self.dimensions == space.dimensions
        return is_same and self._upto <= space.seen + 1

    def refresh(self, connection: Connection, space: Space) -> None:
        """Read the vectors that were stored since the last refresh, by any process."""
        self._number = space.number
        if space.seen < self._upto:
            return
        query = "SELECT block, bits FROM codes WHERE space = ? AND block >= ? ORDER BY block"
        blocks = rows(connection, query, (space.number, -(-self._upto // BLOCK)))
        for block, packed in blocks:
            # After a missing or damaged block, the bits are computed from the vectors.
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

    def read(self, stored: Sequence[tuple[int, bytes]], space: Space, first: int = 0) -> None:
        """Add stored vectors; record `first` becomes row 0."""
        numbers, vectors = unpacked(stored, space)
        if len(numbers):
            self.put(numbers - first, bits_of(space.centred(vectors)))

    def put(self, numbers: NDArray[np.int64], bits: Bits) -> None:
        self._reserve(int(numbers[-1]) + 1)
        self.known[numbers] = True
        for column, word in enumerate(self._signs):
            word[numbers] = bits[:, column]
        self._seconds[numbers] = bits[:, len(self._signs) :]

    def pack(self, size: int) -> bytes:
        """Pack the first rows: a byte for each that says whether it is known, then the bits."""
        bits = self._bits(size)
        return sealed(self.known[:size].tobytes() + bits.astype("<u8").tobytes())

    def differ(self, stored: bytes, space: Space) -> bool:
        """Tell whether a packed block differs from these bits.

        It may still have bits of records that were archived since.
        """
        packed = opened(stored, packed_size(space.dimensions))
        if packed is None:
            return True
        known = self.known[:BLOCK]
        if not np.frombuffer(packed, np.bool_, BLOCK)[known].all():
            return True
        actual = np.frombuffer(packed, "<u8", offset=BLOCK).reshape(BLOCK, -1)
        return not np.array_equal(actual[known], self._bits(BLOCK)[known])

    def _bits(self, size: int) -> Bits:
        signs = np.stack([word[:size] for word in self._signs], axis=1)
        return np.concatenate((signs, self._seconds[:size]), axis=1)

    def known_of(self, size: int) -> NDArray[np.bool_]:
        """Mark which of the first `size` records have bits."""
        self._reserve(size)
        return self.known[:size]

    def distances(
        self, vector: NDArray[np.float32], size: int, some: slice | Numbers = ALL
    ) -> NDArray[np.uint16]:
        """Count, for some of the first `size` records, the signs that differ from the query's."""
        self._reserve(size)
        query_bits = _packed(vector[None, :].astype(np.float16) > 0)[0]
        words = [word[:size][some] for word in self._signs]
        distances = np.zeros(len(words[0]), np.uint16)
        for start in range(0, len(distances), STEP):
            end = start + STEP
            for word, query_word in zip(words, query_bits, strict=True):
                distances[start:end] += np.bitwise_count(word[start:end] ^ query_word)
        return distances

    def likeness(self, vector: NDArray[np.float32], some: Numbers) -> NDArray[np.float32]:
        """Estimate the cosines between some records and a query from both bits of each number.

        The query has more bits than the records. Every product of bits is 1 or -1, so each sum is a
        count of bits that differ.
        """
        planes, length = _asked(vector)
        number = len(self._signs)
        words = np.empty((2 * number, 1, len(some)), np.uint64)
        for place, word in enumerate(self._signs):
            words[place, 0] = word.take(some)
        words[number:, 0] = self._seconds.take(some, axis=0).T
        differ = np.bitwise_count(words ^ np.tile(planes, 2).T[:, :, None])
        differ = differ.reshape(-1, len(some))
        levels = np.float32(1 << np.arange(len(planes)))
        weights = np.concatenate((np.tile(2 * levels, number), np.tile(levels, number)))
        # Integers, so that the sum is the same in whatever order.
        total: NDArray[np.float32] = weights @ differ.astype(np.float32)
        most = np.float32(3 * ((1 << ASKED_BITS) - 1) * self.dimensions)
        return (most - 2 * total) / np.float32(length * math.sqrt(self.dimensions * MEAN_SQUARE))

    def read_ahead(self, connection: Connection, space: Space, wanted: int) -> bool:
        """Read all exact vectors if that pays now that more are wanted, and if they fit in memory.

        False if not, or if all have been read before.
        """
        # Before these are counted: a process that asks once should not read all of them.
        is_worth = ONE_BY_ONE * self._one_by_one >= space.seen - self._exact_upto
        self._one_by_one += wanted
        if not is_worth or self._exact_upto > space.seen or space.seen >= self.kept.most:
            return False
        self.kept.make_room(space.seen)
        query = (
            "SELECT record, vector FROM vectors WHERE space = ? AND record >= ? AND record < ?"
            " ORDER BY record"
        )
        for first in range(self._exact_upto, space.seen + 1, RANGE):
            stored = rows(connection, query, (space.number, first, first + RANGE))
            numbers, vectors = unpacked(stored, space)
            is_new = ~self.kept.find(numbers)[0]
            self.kept.put(numbers[is_new], vectors[is_new])
        self._one_by_one, self._exact_upto = 0, space.seen + 1
        return True

    def _reserve(self, size: int) -> None:
        length = len(self.known)
        if size > length:
            more = max(size, 2 * length) - length
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))
            wider = np.zeros(more, np.uint64)
            self._signs = [np.concatenate((word, wider)) for word in self._signs]
            wider = np.zeros((more, len(self._signs)), np.uint64)
            self._seconds = np.concatenate((self._seconds, wider))


def _asked(vector: NDArray[np.float32]) -> tuple[Bits, float]:
    """Quantize a query to odd numbers; return their bits, lowest first, and their length."""
    numbers = vector.astype(np.float64)
    reach = REACH * math.sqrt(float(np.vecdot(numbers, numbers)) / len(numbers))
    most = (1 << ASKED_BITS) - 1
    steps = np.clip(np.rint((numbers / reach + 1) / 2 * most), 0, most).astype(np.int64)
    levels = np.arange(ASKED_BITS)[:, None]
    odd = 2 * steps - most
    return _packed(steps >> levels & 1 > 0), math.sqrt(int(odd @ odd))


class RecentVectors:
    """A ring buffer of recently read exact vectors, for the next searches of this process."""

    def __init__(self, dimensions: int, most: int) -> None:
        self.most = most
        self._position = np.full(BLOCK, -1, np.int32)  # by record number; -1: not in the ring
        # By position; 0, which no record has: free. It grows up to its full length.
        self._record = np.zeros(min(most, FEW), np.int64)
        self._vectors = np.zeros((min(most, FEW), dimensions), HALF)
        self._next = 0

    @property
    def footprint(self) -> int:
        """The memory it takes, in bytes."""
        return self._position.nbytes + self._record.nbytes + self._vectors.nbytes

    def find(self, numbers: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Look up some records: a mask of those with a vector here, and these vectors."""
        self._reserve(int(numbers.max(initial=0)) + 1)
        positions = self._position[numbers]
        is_kept = positions >= 0
        found = positions if is_kept.all() else positions[is_kept]
        return is_kept, singles(self._vectors.take(found, axis=0))

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Add vectors that `find` did not find, replacing the oldest."""
        numbers, vectors = numbers[-self.most :], vectors[-self.most :]
        self._reserve(int(numbers.max(initial=0)) + 1)
        self.make_room(self._next + len(numbers))
        positions = (self._next + np.arange(len(numbers))) % self.most
        self._position[self._record[positions]] = -1
        self._position[numbers] = positions
        self._record[positions] = numbers
        self._vectors[positions] = vectors
        self._next = (self._next + len(numbers)) % self.most

    def make_room(self, size: int) -> None:
        """Make room for this many vectors, up to the maximum."""
        length, width = self._vectors.shape
        more = min(self.most, max(size, 2 * length)) - length
        if size > length and more > 0:
            self._record = np.concatenate((self._record, np.zeros(more, np.int64)))
            wider = np.zeros((more, width), HALF)
            self._vectors = np.concatenate((self._vectors, wider))

    def _reserve(self, size: int) -> None:
        length = len(self._position)
        if size > length:
            more = np.full(max(size - length, length), -1, np.int32)
            self._position = np.concatenate((self._position, more))
