"""Write what searches read: vectors that an embedder makes, and full blocks of records."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from lamina.store.engine.sql import Connection, rows
from lamina.store.index import catalogue
from lamina.store.index.catalogue import Catalogue
from lamina.store.index.whole import unseen
from lamina.store.tables import events, meta, vectors
from lamina.store.tables.blocks import BLOCK, SEAL
from lamina.store.tables.vectors import SignBits, Space, Vectors
from lamina.text.screening import Screen

if TYPE_CHECKING:
    from lamina.store.engine.sql import Database

# Blocks that one transaction writes, so that other writers do not wait long.
AT_ONCE = 16
# Events that a new process reads in addition to the blocks; with more, blocks are rewritten.
STALE = 2000
IN_BLOCK = f"{catalogue.SELECT} WHERE seq >= ? AND seq < ?"


class Batch(msgspec.Struct, frozen=True):
    """Records that wait for vectors of a space, and the history they belong to."""

    space: str
    seen: int
    records: list[tuple[int, str]]
    event: int
    hash: bytes


def waiting(database: Database, name: str, limit: int) -> Batch:
    """Read the next records that a space has not seen."""
    newest = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
    with database.moment() as connection:
        space = vectors.find(connection, name)
        seen = space.seen if space else 0
        event, digest = connection.execute(newest).get or (0, b"")
        return Batch(name, seen, unseen(connection, seen, limit), event, digest)


def backlog(database: Database, names: Sequence[str]) -> int:
    """Count the missing vectors of all spaces together."""
    query = "SELECT count(*) FROM records WHERE seq > ?"
    with database.moment() as connection:
        seen = {space.name: space.seen for space in vectors.every(connection)}
        return sum(int(connection.execute(query, (seen.get(name, 0),)).get or 0) for name in names)


def embedded(
    database: Database,
    batch: Batch,
    computed: Vectors,
    tokens: Sequence[bytes] | None = None,
    mean: bytes | None = None,
) -> bool:
    """Store the vectors of a batch, and its token codes.

    False if another process was faster or the history has changed.
    """
    with database.atomic() as transaction:
        connection = transaction.cursor.connection
        query = "SELECT hash FROM events WHERE seq = ?"
        if connection.execute(query, (batch.event,)).get != batch.hash:
            return False
        space = vectors.add_space(connection, batch.space, computed.shape[1], mean)
        if space.seen != batch.seen:
            return False
        numbers = [number for number, _ in batch.records]
        existing = _existing(connection, numbers)
        if len(existing) < len(numbers):  # some have left in the meantime
            kept = [position for position, number in enumerate(numbers) if number in existing]
            numbers, computed = [numbers[position] for position in kept], computed[kept]
            tokens = None if tokens is None else [tokens[position] for position in kept]
        vectors.put(connection, space, numbers, computed, batch.records[-1][0], tokens)
    return True


def _existing(connection: Connection, numbers: Sequence[int]) -> Collection[int]:
    query = "SELECT count(*) FROM records WHERE seq >= ? AND seq <= ?"
    if connection.execute(query, (numbers[0], numbers[-1])).get == len(numbers):
        return range(numbers[0], numbers[-1] + 1)  # none has left, and none is missing in between
    query = "SELECT seq FROM records WHERE seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
    return {number for (number,) in rows(connection, query, (json.dumps(numbers),))}


def forget_others(database: Database, names: Sequence[str]) -> list[str]:
    """Drop the spaces that no setting names any more, and return their names."""
    with database.moment() as connection:
        others = [space for space in vectors.every(connection) if space.name not in names]
    if others:
        with database.atomic() as transaction:
            for space in others:
                vectors.drop_space(transaction.cursor.connection, space)
    return [space.name for space in others]


def seal(database: Database) -> bool:
    """Write full blocks that are missing or have changed records. True if there are more."""
    with database.moment() as connection:
        is_stale = _head(connection) - _sealed_event(connection) >= STALE
        if not is_stale and not any(missing for *_, missing in _missing(connection)):
            return False
    with database.atomic() as transaction:
        return _seal(transaction.cursor.connection)


def repack(connection: Connection, numbers: Collection[int]) -> None:
    """Rewrite the blocks of erased records: neither their columns nor their bits may remain."""
    for block in sorted({number // BLOCK for number in numbers}):
        if connection.execute("SELECT 1 FROM blocks WHERE block = ?", (block,)).get is not None:
            _write_block(connection, block)
        for space in vectors.every(connection):
            query = "SELECT 1 FROM codes WHERE space = ? AND block = ?"
            if connection.execute(query, (space.number, block)).get is not None:
                _write_codes(connection, space, block)


def differ(connection: Connection) -> list[int]:
    """List the blocks that are damaged, or whose fields or bits differ from their records."""
    fresh = _changed_numbers(connection)
    wrong: set[int] = set()
    for block, stored in connection.execute("SELECT block, columns FROM blocks"):
        if catalogue.is_earlier(stored):
            continue
        first = block * BLOCK
        in_block = rows(connection, IN_BLOCK, (first, first + BLOCK))
        if Catalogue.differs(stored, in_block, first, fresh):
            wrong.add(block)
    query = "SELECT block, bits FROM codes WHERE space = ?"
    for space in vectors.every(connection):
        for block, stored in connection.execute(query, (space.number,)):
            is_earlier = vectors.is_earlier(stored, space.dimensions)
            if not is_earlier and _codes(connection, space, block).differ(stored, space):
                wrong.add(block)
    return sorted(wrong)


def count_earlier(connection: Connection) -> int:
    """Count the blocks that an earlier version wrote, with fewer columns or bits."""
    stored = connection.execute("SELECT columns FROM blocks")
    number = sum(catalogue.is_earlier(columns) for (columns,) in stored)
    query = "SELECT bits FROM codes WHERE space = ?"
    for space in vectors.every(connection):
        bits = connection.execute(query, (space.number,))
        number += sum(vectors.is_earlier(one, space.dimensions) for (one,) in bits)
    return number


def _last(connection: Connection) -> int:
    last = connection.execute("SELECT max(seq) FROM records").get
    return last if isinstance(last, int) else 0


def _head(connection: Connection) -> int:
    head = connection.execute("SELECT max(seq) FROM events").get
    return head if isinstance(head, int) else 0


def _sealed_event(connection: Connection) -> int:
    """Read the number of the last event that the blocks contain."""
    return int(meta.get(connection, "blocks") or 0)


def _missing(connection: Connection) -> Iterator[tuple[Space | None, bool, list[int]]]:
    """Yield the full blocks that are missing or of the wrong size: of records and of spaces.

    If some blocks are new, only those are listed, and the flag is true: checking all blocks takes
    time in proportion to the store, and is done when nothing is new.
    """
    size = SEAL + BLOCK * catalogue.WIDTH
    yield None, *_absent(connection, _last(connection), "blocks", "length(columns) = ?", (size,))
    for space in vectors.every(connection):
        size, right = SEAL + vectors.packed_size(space.dimensions), "length(bits) = ? AND space = ?"
        yield space, *_absent(connection, space.seen, "codes", right, (size, space.number))


def _absent(
    connection: Connection, last: int, table: str, right: str, parameters: tuple[int, ...]
) -> tuple[bool, list[int]]:
    """List the full blocks of a table that are new, or else those that are not right."""
    full = (last + 1) // BLOCK
    of_space = "WHERE space = ?" if table == "codes" else ""
    newest = f"SELECT coalesce(max(block) + 1, 0) FROM {table} {of_space}"
    (written,) = rows(connection, newest, parameters[1:])[0]
    if written < full:
        return True, list(range(written, full))
    query = f"SELECT block FROM {table} WHERE {right}"
    (number,) = rows(connection, f"SELECT count(*) FROM ({query}) AS found", parameters)[0]
    if number == full:  # the usual case, without a list of thousands
        return False, []
    present = {block for (block,) in rows(connection, query, parameters)}
    return False, [block for block in range(full) if block not in present]


def _seal(connection: Connection) -> bool:
    has_more = False
    for space, is_new, missing in _missing(connection):
        part = missing[:AT_ONCE]
        has_more |= is_new or len(missing) > len(part)
        if space is not None:
            for block in part:
                _write_codes(connection, space, block)
            continue
        for block in (*part, *(_changed(connection) - set(missing))):
            _write_block(connection, block)
        update = "UPDATE meta SET value = ? WHERE name = 'blocks'"
        connection.execute(update, (str(_head(connection)),))
    return has_more


def _changed_numbers(connection: Connection) -> set[int]:
    """Collect the numbers of records changed or removed since the blocks were written."""
    news = events.news(connection, _sealed_event(connection))
    query = "SELECT seq FROM records WHERE id = ?"
    changed = (connection.execute(query, (record_id,)).get for record_id in news.changed)
    return {*news.vacated, *(number for number in changed if isinstance(number, int))}


def _changed(connection: Connection) -> set[int]:
    """Collect the full blocks in which a record has changed since they were written."""
    written = int(connection.execute("SELECT coalesce(max(block) + 1, 0) FROM blocks").get)
    # If the newest records have left, there are more blocks than the records fill.
    full = max((_last(connection) + 1) // BLOCK, written)
    blocks = {number // BLOCK for number in _changed_numbers(connection)}
    return {block for block in blocks if block < full}


def _write_block(connection: Connection, block: int) -> None:
    first = block * BLOCK
    in_block = rows(connection, IN_BLOCK, (first, first + BLOCK))
    screen = Screen([row[catalogue.CONTENT] for row in in_block])
    insert = (
        "INSERT INTO blocks (block, columns) VALUES (?, ?)"
        " ON CONFLICT (block) DO UPDATE SET columns = excluded.columns"
    )
    connection.execute(insert, (block, Catalogue.packed(in_block, first, screen)))
    insert = "INSERT INTO days (since, until, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    connection.executemany(insert, catalogue.days_of_all(in_block, screen))


def _codes(connection: Connection, space: Space, block: int) -> SignBits:
    """Compute the bits of the vectors of one block, from its first record on."""
    codes = SignBits(space.dimensions)
    query = "SELECT record, vector FROM vectors WHERE space = ? AND record >= ? AND record < ?"
    stored = rows(connection, query, (space.number, block * BLOCK, (block + 1) * BLOCK))
    codes.read(stored, space, block * BLOCK)
    return codes


def _write_codes(connection: Connection, space: Space, block: int) -> None:
    insert = (
        "INSERT INTO codes (space, block, bits) VALUES (?, ?, ?)"
        " ON CONFLICT (space, block) DO UPDATE SET bits = excluded.bits"
    )
    connection.execute(insert, (space.number, block, _codes(connection, space, block).pack(BLOCK)))
