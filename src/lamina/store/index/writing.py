"""Writing what searches read: vectors as an embedder makes them, and full blocks of records."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from lamina.store.engine.sql import Connection, rows
from lamina.store.index import catalogue
from lamina.store.index.catalogue import Catalogue
from lamina.store.index.snapshot import unseen
from lamina.store.tables import events, meta, vectors
from lamina.store.tables.blocks import BLOCK, SEAL
from lamina.store.tables.vectors import Codes, Space, Vectors

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database

# How many blocks one transaction writes, so that nobody waits long for it.
AT_ONCE = 16
# Events that a new process reads beside the blocks; beyond, blocks whose records have changed are written anew.
STALE = 2000


class Batch(msgspec.Struct, frozen=True):
    """Records that wait for vectors of a space, and the history that they are of."""

    space: str
    seen: int
    records: list[tuple[int, str]]
    event: int
    hash: bytes


def waiting(database: Database, name: str, limit: int) -> Batch:
    """The next records that a space has not seen."""
    with database.moment() as connection:
        space = vectors.find(connection, name)
        seen = space.seen if space else 0
        event, hashed = connection.execute(
            "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
        ).get or (0, b"")
        return Batch(name, seen, unseen(connection, seen, limit), event, hashed)


def backlog(database: Database, names: Sequence[str]) -> int:
    """How many vectors are missing, of all spaces together."""
    query = "SELECT count(*) FROM records WHERE seq > ?"
    with database.moment() as connection:
        seen = {space.name: space.seen for space in vectors.every(connection)}
        return sum(int(connection.execute(query, (seen.get(name, 0),)).get or 0) for name in names)


def embedded(database: Database, batch: Batch, made: Vectors) -> bool:
    """Store the vectors of a batch, unless another process has been faster, or a backup was restored meanwhile."""
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        if (
            connection.execute("SELECT hash FROM events WHERE seq = ?", (batch.event,)).get
            != batch.hash
        ):
            return False
        space = vectors.add_space(connection, batch.space, made.shape[1])
        if space.seen != batch.seen:
            return False
        there = _there(
            connection, [number for number, _ in batch.records]
        )  # some may have left meanwhile
        kept = [place for place, (number, _) in enumerate(batch.records) if number in there]
        numbers = [batch.records[place][0] for place in kept]
        vectors.put(connection, space, numbers, made[kept], batch.records[-1][0])
    return True


def _there(connection: Connection, numbers: Sequence[int]) -> set[int]:
    query = "SELECT seq FROM records WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    return {number for (number,) in rows(connection, query, (json.dumps(numbers),))}


def forget_others(database: Database, names: Sequence[str]) -> list[str]:
    """Drop the spaces that no setting names any more, and say which."""
    with database.moment() as connection:
        others = [space for space in vectors.every(connection) if space.name not in names]
    if others:
        with database.atomic() as transaction:
            for space in others:
                vectors.drop_space(transaction.cursor.connection, space)
    return [space.name for space in others]


def seal(database: Database) -> bool:
    """Write blocks that are full and not there yet, and those in which records have changed; whether there is more."""
    with database.moment() as connection:
        if (
            not any(missing for _, missing in _missing(connection))
            and _head(connection) - _told(connection) < STALE
        ):
            return False
    with database.atomic() as transaction:
        return _seal(transaction.cursor.connection)


def repack(connection: Connection, numbers: Collection[int]) -> None:
    """Write the blocks anew in which records have gone for good: neither their columns nor their bits may stay."""
    for block in sorted({number // BLOCK for number in numbers}):
        if connection.execute("SELECT 1 FROM blocks WHERE block = ?", (block,)).get is not None:
            _write_block(connection, block)
        for space in vectors.every(connection):
            query = "SELECT 1 FROM codes WHERE space = ? AND block = ?"
            if connection.execute(query, (space.number, block)).get is not None:
                _write_codes(connection, space, block)


def differ(connection: Connection) -> list[int]:
    """The blocks whose fields or bits are not those of the records and vectors; damaged ones, too."""
    news = events.news(connection, _told(connection))
    find = "SELECT seq FROM records WHERE id = ?"
    fresh = {connection.execute(find, (record_id,)).get for record_id in news.changed} | set(
        news.vacated
    )
    wrong: set[int] = set()
    for block, stored in connection.execute("SELECT block, columns FROM blocks"):
        if catalogue.is_earlier(stored):
            continue
        first = block * BLOCK
        found = rows(
            connection, f"{catalogue.SELECT} WHERE seq >= ? AND seq < ?", (first, first + BLOCK)
        )
        wrong |= {block} if Catalogue.differs(stored, found, first, fresh) else set()
    for space in vectors.every(connection):
        for block, stored in connection.execute(
            "SELECT block, bits FROM codes WHERE space = ?", (space.number,)
        ):
            wrong |= {block} if _codes(connection, space, block).differ(stored, space) else set()
    return sorted(wrong)


def count_earlier(connection: Connection) -> int:
    """Count the blocks that an earlier version wrote, with fewer columns."""
    stored = connection.execute("SELECT columns FROM blocks")
    return sum(catalogue.is_earlier(columns) for (columns,) in stored)


def _last(connection: Connection) -> int:
    last = connection.execute("SELECT max(seq) FROM records").get
    return last if isinstance(last, int) else 0


def _head(connection: Connection) -> int:
    head = connection.execute("SELECT max(seq) FROM events").get
    return head if isinstance(head, int) else 0


def _told(connection: Connection) -> int:
    """The last event that the blocks know."""
    return int(meta.get(connection, "blocks") or 0)


def _missing(connection: Connection) -> Iterator[tuple[Space | None, list[int]]]:
    """The full blocks that are missing or damaged: of the records, and of each space's bits."""
    size = "SELECT block FROM blocks WHERE length(columns) = ?"
    yield (
        None,
        _absent(connection, _last(connection), size, (SEAL + BLOCK * catalogue.WIDTH,)),
    )
    for space in vectors.every(connection):
        size = "SELECT block FROM codes WHERE space = ? AND length(bits) = ?"
        parameters = (space.number, SEAL + vectors.packed_size(space.dimensions))
        yield space, _absent(connection, space.seen, size, parameters)


def _absent(
    connection: Connection, last: int, query: str, parameters: tuple[int, ...]
) -> list[int]:
    full = (last + 1) // BLOCK
    (number,) = rows(connection, f"SELECT count(*) FROM ({query}) AS found", parameters)[0]
    if number == full:  # the usual case, without a list of thousands
        return []
    there = {block for (block,) in rows(connection, query, parameters)}
    return [block for block in range(full) if block not in there]


def _seal(connection: Connection) -> bool:
    more = False
    for space, missing in _missing(connection):
        some = missing[:AT_ONCE]
        more |= len(missing) > len(some)
        if space is None:
            for block in some:
                _write_block(connection, block)
            for block in _changed(connection) - set(missing):
                _write_block(connection, block)
            connection.execute(
                "UPDATE meta SET value = ? WHERE name = 'blocks'", (str(_head(connection)),)
            )
        else:
            for block in some:
                _write_codes(connection, space, block)
    return more


def _changed(connection: Connection) -> set[int]:
    """The full blocks in which a record has changed since they were written."""
    news = events.news(connection, _told(connection))
    find = "SELECT seq FROM records WHERE id = ?"
    numbers = {connection.execute(find, (record_id,)).get for record_id in news.changed} | set(
        news.vacated
    )
    # Where the newest have left, more blocks are there than records fill.
    full = max(
        (_last(connection) + 1) // BLOCK,
        int(connection.execute("SELECT coalesce(max(block) + 1, 0) FROM blocks").get),
    )
    return {
        block for number in numbers if isinstance(number, int) and (block := number // BLOCK) < full
    }


def _write_block(connection: Connection, block: int) -> None:
    first = block * BLOCK
    found = rows(
        connection, f"{catalogue.SELECT} WHERE seq >= ? AND seq < ?", (first, first + BLOCK)
    )
    packed = Catalogue.packed(found, first)
    connection.execute(
        "INSERT INTO blocks (block, columns) VALUES (?, ?) ON CONFLICT (block) DO UPDATE SET columns = excluded.columns",
        (block, packed),
    )
    days = [day for row in found for day in catalogue.days_of(row)]
    connection.executemany(
        "INSERT INTO days (since, until, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", days
    )


def _codes(connection: Connection, space: Space, block: int) -> Codes:
    """The bits of the vectors of one block, which begin at its first record."""
    codes = Codes(space.dimensions)
    query = "SELECT record, vector FROM vectors WHERE space = ? AND record >= ? AND record < ?"
    found = rows(connection, query, (space.number, block * BLOCK, (block + 1) * BLOCK))
    codes.read(found, space, block * BLOCK)
    return codes


def _write_codes(connection: Connection, space: Space, block: int) -> None:
    insert = "INSERT INTO codes (space, block, bits) VALUES (?, ?, ?) ON CONFLICT (space, block) DO UPDATE SET bits = excluded.bits"
    connection.execute(insert, (space.number, block, _codes(connection, space, block).pack(BLOCK)))
