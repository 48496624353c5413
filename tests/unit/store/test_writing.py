"""Indexing: vectors and blocks are written once, by whoever comes first, and again when they are
out of date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from lamina import Memory, Operator
from lamina.embedders import wordllama
from lamina.model.record import State
from lamina.store.engine.sql import rows
from lamina.store.index import writing
from lamina.store.tables import vectors
from lamina.store.tables.blocks import BLOCK, SEAL, sealed
from tests.conftest import Desk, move, tamper, verified

NAME = "wordllama-256"
TABLES = ("blocks", "codes", "vectors", "spaces", "days", "facets")


def table(handle: Memory, name: str) -> list[Any]:
    return sorted(handle._scope.store.database.reader().execute(f"SELECT * FROM {name}").fetchall())


def everything(handle: Memory) -> dict[str, list[Any]]:
    return {name: table(handle, name) for name in TABLES}


@pytest.mark.parametrize("number", [0, 1, 254, 255, 256, 511, 512, 1100])
def test_index_tells_how_many_were_missing(desk: Desk, mem: Memory, number: int) -> None:
    """Q4: `index` gives every record its vector, full blocks are written, and the second time there
    is nothing to do."""
    mem.remember_many([{"content": f"tea {n}"} for n in range(number)])
    assert mem.index() == number
    assert len(table(mem, "vectors")) == number
    full = (number + 1) // BLOCK
    assert (
        [row[0] for row in table(mem, "blocks")]
        == [row[1] for row in table(mem, "codes")]
        == [*range(full)]
    )
    before = everything(mem)
    assert mem.index() == 0
    assert desk.agent().index() == 0
    assert everything(mem) == before


def test_progress_is_shown(mem: Memory) -> None:
    """Q4: who indexes is told how far it is, up to the end."""
    mem.remember_many([{"content": f"tea {n}"} for n in range(1500)])
    steps: list[tuple[int, int]] = []
    assert mem.index(lambda done, total: steps.append((done, total))) == 1500
    assert steps == sorted(steps)
    assert steps[-1] == (1500, 1500)


def test_the_trail_and_the_records_stay_as_they_are(op: Operator) -> None:
    """P4, Q6: indexing is no event: it changes nothing that anybody has said or done."""
    op.remember_many([{"content": f"tea {n}"} for n in range(600)])
    head = op.audit_head()["events"]
    op.index()
    assert op.audit_head()["events"] == head
    assert verified(op)


def test_the_way_makes_no_difference(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Q6: indexed after every few records or once for all, by one handle or two in turn:
    the same bytes."""
    told = []
    for size in (900, 100, 37):
        with Desk(tmp_path_factory.mktemp("home")) as desk:
            handles = desk.agent(), desk.agent()
            for place, start in enumerate(range(0, 900, size)):
                handle = handles[place % 2]
                handle.remember_many(
                    [
                        {"content": f"tea {n} on 3 May 2026"}
                        for n in range(start, min(900, start + size))
                    ]
                )
                if size != 900:
                    handle.index()
            handles[0].index()
            found = everything(handles[0])
            times = [
                b"" for _ in found["blocks"]
            ]  # blocks hold when records were made, which batches decide
            told.append({**found, "blocks": times})
    assert told[0] == told[1] == told[2]
    assert len(told[0]["days"]) == 3 * BLOCK - 1


def test_only_the_first_of_two_stores_a_batch(mem: Memory) -> None:
    """Q4: two processes that embed the same records store their vectors once; the slower
    one's are dropped."""
    mem.remember_many([{"content": f"tea {n}"} for n in range(5)])
    database = mem._scope.store.database
    batch = writing.waiting(database, NAME, 3)
    assert (batch.seen, batch.records) == (0, [(1, "tea 0"), (2, "tea 1"), (3, "tea 2")])
    made = np.ones((3, 256), np.float16)
    assert not writing.embedded(database, structs.replace(batch, hash=bytes(32)), made)
    assert writing.embedded(database, batch, made)
    assert not writing.embedded(database, batch, made * 2)
    assert all(np.frombuffer(row[2], np.float16)[0] == 1 for row in table(mem, "vectors"))
    assert writing.backlog(database, (NAME,)) == 2
    assert writing.backlog(database, (NAME, "other")) == 7
    assert mem.index() == 2


def test_spaces_that_no_setting_names_are_dropped(desk: Desk, mem: Memory) -> None:
    """Q4: after the embedder was changed in the settings, `index` drops the old vectors; without
    any, it keeps them."""
    mem.remember_many([{"content": f"tea {n}"} for n in range(300)])
    with mem._scope.store.database.atomic() as transaction:
        vectors.add_space(transaction.cursor.connection, "another", 8)
    other = desk.agent(settings={"recall.embedders": ["none"]})
    other.index()
    assert [name for _, name, *_ in everything(other)["spaces"]] == ["another"]
    assert mem.index() == 300
    assert [name for _, name, *_ in everything(mem)["spaces"]] == ["wordllama-256"]
    assert len(everything(mem)["vectors"]) == 300


def test_blocks_with_changes_are_written_again(op: Operator) -> None:
    """Q6: when a new block is full, those in which a record changed since are written with it, and
    only those."""
    made = op.remember_many([{"content": f"tea {n}"} for n in range(600)])
    op.index()
    before = table(op, "blocks")
    move(op, made[300].id, state=State.TOMBSTONED)
    op.index()
    assert table(op, "blocks") == before
    op.remember_many([{"content": f"tea {n}"} for n in range(300)])
    op.index()
    after = table(op, "blocks")
    assert [one == other for one, other in zip(before, after, strict=False)] == [True, False]
    assert len(after) == 3


def test_a_missing_end_is_written_again(desk: Desk, mem: Memory) -> None:
    """Q6: when the last blocks are gone, the next indexing writes them as they were."""
    mem.remember_many([{"content": f"tea {n} on 3 May 2026"} for n in range(800)])
    mem.index()
    before = everything(mem)
    tamper(
        desk.folder() / "memory.db",
        "DELETE FROM blocks WHERE block > 0",
        "DELETE FROM codes WHERE block > 1",
    )
    assert desk.agent().index() == 0
    assert everything(mem) == before


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM codes WHERE block = 0",
        "DELETE FROM blocks WHERE block = 1",
        "UPDATE codes SET bits = x'00' WHERE block = 1",
        "UPDATE blocks SET columns = x'00' WHERE block = 0",
        "DELETE FROM codes; DELETE FROM blocks",
    ],
)
def test_a_hole_is_filled(desk: Desk, mem: Memory, damage: str) -> None:
    """Q6: a block that is missing or of the wrong size is written again by the next indexing,
    wherever it was."""
    mem.remember_many([{"content": f"tea {n} on 3 May 2026"} for n in range(800)])
    mem.index()
    before = everything(mem)
    tamper(desk.folder() / "memory.db", *damage.split("; "))
    assert desk.agent().index() == 0
    assert everything(mem) == before


@pytest.mark.parametrize("embedder", ["wordllama", "none"])
def test_a_hole_is_filled_when_others_are_new(desk: Desk, embedder: str) -> None:
    """Q6: a block that is missing is written again also when new ones are written after it, with an
    embedder and without."""
    op = desk.operator(settings={"recall.embedders": [embedder]})
    op.remember_many([{"content": f"tea {n} on 3 May 2026"} for n in range(800)])
    op.index()
    before = table(op, "blocks")
    tamper(desk.folder() / "memory.db", "DELETE FROM blocks WHERE block = 1")
    op.remember_many([{"content": f"milk {n}"} for n in range(800)])
    op.index()
    after = table(op, "blocks")
    assert after[: len(before)] == before
    assert len(after) == 1601 // 256


def test_closing_twice_is_closing_once(desk: Desk) -> None:
    """Q4: a handle may be closed again, also when it has left an index behind."""
    mem = desk.agent()
    mem.remember_many([{"content": f"tea {n}"} for n in range(300)])
    mem.close()
    mem.close()


def test_closing_without_its_embedder(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q4: a handle that cannot index is closed all the same, and what it has stored is there."""
    folder = tmp_path / "wordllama"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    with Desk(desk.home, desk.clock) as earlier:
        earlier.agent().remember_many([{"content": f"tea {n}"} for n in range(300)])
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(wordllama, "shared", wordllama.WordLlama)
    monkeypatch.undo()
    mem = desk.agent()
    assert len(mem.list(limit=1000)) == 300
    assert mem.index() == 300


def test_closing_indexes_what_has_piled_up(desk: Desk) -> None:
    """Q4: a handle that has remembered much leaves an index behind; one that has remembered little
    is closed at once."""
    for number, expected in ((255, 0), (256, 511)):
        with Desk(desk.home, desk.clock) as earlier:
            earlier.agent().remember_many([{"content": f"tea {n}"} for n in range(number)])
        space = vectors.find(desk.agent()._scope.store.database.reader(), NAME)
        assert (space.seen if space else 0) == expected


def test_the_worker_indexes_behind_the_writers(desk: Desk) -> None:
    """Q4: thousands of new records are indexed in the background, and an answer does not depend on
    how far that is."""
    with Desk(desk.home, desk.clock) as earlier:
        mem = earlier.agent()
        for start in range(0, 5000, 500):
            mem.remember_many([{"content": f"tea number {n}"} for n in range(start, start + 500)])
            last = f"tea number {start + 499}"
            assert mem.search(last, 1, ranker="semantic")[0].record.content == last
        assert mem._parts.derived.worked
    reader = desk.agent()
    assert reader.index() == 0
    assert len(table(reader, "vectors")) == 5000
    assert len(table(reader, "blocks")) == 5001 // BLOCK


def test_blocks_do_not_fall_far_behind(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q6: when much has changed, blocks are written anew though none is missing, so that a new
    process need not catch up."""
    monkeypatch.setattr(writing, "STALE", 5)
    mem = desk.agent()
    made = mem.remember_many([{"content": f"tea {n}"} for n in range(300)])
    mem.index()
    told = (
        mem._scope.store.database.reader()
        .execute("SELECT value FROM meta WHERE name = 'blocks'")
        .get
    )
    for record in made[:6]:
        move(mem, record.id, importance=0.9)
    mem.index()
    assert (
        mem._scope.store.database.reader()
        .execute("SELECT value FROM meta WHERE name = 'blocks'")
        .get
        != told
    )
    with desk.agent()._scope.store.index.snapshot() as look:
        assert look.catalogue["importance"][1:8].tolist() == [0.9] * 6 + [0.5]


def resealed(op: Operator, table_: str, column: str, place: int) -> None:
    """Change one byte of the first packed block of a table, behind a checksum that fits."""
    with op._scope.store.database.atomic() as transaction:
        connection = transaction.cursor.connection
        packed = bytearray(
            rows(connection, f"SELECT {column} FROM {table_} WHERE block = 0")[0][0][SEAL:]
        )
        packed[place] ^= 1
        connection.execute(
            f"UPDATE {table_} SET {column} = ? WHERE block = 0", (sealed(bytes(packed)),)
        )


@pytest.mark.parametrize(
    ("table_", "column", "place"), [("blocks", "columns", 7), ("codes", "bits", 256 + 90)]
)
def test_blocks_that_say_something_else_are_named(
    op: Operator, table_: str, column: str, place: int
) -> None:
    """Q3: packed fields and bits are compared with the records, also where somebody has made the
    checksum fit."""
    made = op.remember_many([{"content": f"tea {n}"} for n in range(300)])
    op.index()
    move(op, made[20].id, state=State.TOMBSTONED)  # blocks may be behind the events
    with op._scope.store.database.moment() as connection:
        assert writing.differ(connection) == []
    resealed(op, table_, column, place)
    with op._scope.store.database.moment() as connection:
        assert writing.differ(connection) == [0]
    op.reindex()
    with op._scope.store.database.moment() as connection:
        assert writing.differ(connection) == []


def test_archived_records_leave_their_bits(op: Operator) -> None:
    """Q3: bits of records that were archived stay until their block is written again, which is no
    damage."""
    op.remember_many(
        [{"content": f"tea {n}", "tags": ["old"] if n % 2 else []} for n in range(300)]
    )
    op.index()
    op.prune(tags=["old"])
    with op._scope.store.database.moment() as connection:
        assert writing.differ(connection) == []
