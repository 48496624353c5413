"""Keeping the index: one vector for each record and space, blocks for the next process, and nothing
changed by a read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.embedders import Embedder
from lamina.model.record import State
from lamina.search import RANKERS, indexing
from lamina.store.engine.sql import rows
from lamina.store.index.catalogue import Catalogue
from lamina.store.tables.blocks import BLOCK
from tests.conftest import CONTRACTS, START, Desk, contents, digest, move, size, tamper, verified
from tests.unit.search.speech import answers, spoken

TABLES = ("spaces", "vectors", "tokens", "codes", "blocks", "days")


def derived(memory: Memory) -> dict[str, list[Any]]:
    connection = memory._scope.store.database.reader()
    return {table: rows(connection, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}


# What is stored


def test_every_record_has_one_vector(desk: Desk, mem: Memory) -> None:
    """L2, B1: `index` says how many were missing, makes them once, and does nothing
    the second time."""
    mem.remember_many(spoken(BLOCK + 50))
    assert mem.index() == BLOCK + 50
    made = derived(mem)
    assert [(space, record) for space, record, _ in made["vectors"]] == [
        (1, n) for n in range(1, BLOCK + 51)
    ]
    assert [len(vector) for _, _, vector in made["vectors"]] == [512] * (BLOCK + 50)
    assert [row[:2] for row in made["codes"]] == [(1, 0)]
    assert [row[0] for row in made["blocks"]] == [0]
    assert mem.index() == 0
    assert desk.agent().index() == 0
    assert derived(mem) == made
    mem.remember("one more")
    assert mem.index() == 1


def test_it_takes_turns_with_the_thread(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """B1: `index` does each step while the thread behind the writers does none, so that no text is
    embedded twice."""
    made, held = indexing.passages, []

    def watched(embedder: Embedder, texts: Sequence[str]) -> Any:
        held.extend([mem._scope.recall.worker.busy.locked()] * len(texts))
        return made(embedder, texts)

    monkeypatch.setattr(indexing, "passages", watched)
    mem.remember_many(spoken(3 * BLOCK))
    mem.index()
    assert held == [True] * 3 * BLOCK


def test_an_empty_store_has_nothing_to_index(mem: Memory) -> None:
    """B1: no records, no vectors, no error; and searches find nothing."""
    assert mem.index() == 0
    assert derived(mem)["vectors"] == []
    assert not any(mem.search("anything", ranker=ranker) for ranker in RANKERS)
    assert not mem.recall_similar("anything")


def test_records_of_every_state_and_layer_have_vectors(op: Operator) -> None:
    """L2: whatever a record is now, it may become active; only the search decides who sees it."""
    made = [
        op.remember(f"tea {layer}", layer=layer, metadata=metadata)
        for layer, metadata in CONTRACTS.items()
    ]
    run = op.run("tea task")
    run.note("tea note")
    for record, state in zip(
        made, (State.CONSTRAINED, State.TOMBSTONED, State.SUPERSEDED), strict=False
    ):
        move(op, record.id, state=state)
    assert op.index() == len(made) + 2


def test_progress_goes_up_to_the_whole(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: whoever waits is told how far it is."""
    monkeypatch.setattr(indexing, "BATCH", 100)
    mem.remember_many(spoken(450))
    told: list[tuple[int, int]] = []
    assert mem.index(lambda done, total: told.append((done, total))) == 450
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {450}
    assert told[-1] == (450, 450)
    assert len(told) >= 5


@pytest.mark.parametrize("batch", [1, 7, 256, 1000])
def test_the_bytes_do_not_depend_on_the_batches(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Q6: stored at once or bit by bit, indexed at once or in between: the same bytes in every
    derived table."""
    whole = desk.agent()
    whole.remember_many(spoken(BLOCK + 20))
    whole.index()
    other = Desk(tmp_path / "other", desk.clock)
    with other:
        memory = other.agent()
        items = spoken(BLOCK + 20)
        monkeypatch.setattr(indexing, "BATCH", batch)
        # The same moment for all of it, so that only the batches differ.
        for start in range(0, len(items), 33):
            desk.clock.set(START)
            memory.remember_many(items[start : start + 33])
            if start % 2:
                memory.index()
        memory.index()
        assert without_created(derived(memory)) == without_created(derived(whole))


def without_created(made: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The clock ticks with every look; all but the times of storing must be the same."""
    blocks = [(block, blanked(packed)) for block, packed in made["blocks"]]
    return {**made, "blocks": blocks}


def blanked(packed: bytes) -> bytes:
    import numpy as np

    from lamina.store.index.catalogue import COLUMNS
    from lamina.store.tables.blocks import SEAL

    packed, start = packed[SEAL:], 0
    for name, kind in COLUMNS.items():
        end = start + BLOCK * np.dtype(kind).itemsize
        if name == "created":
            return packed[:start] + packed[end:]
        start = end
    raise AssertionError


def test_an_empty_vector_is_one_too(mem: Memory) -> None:
    """L2, Q8: a text that no embedder knows a token of does not hold up the others."""
    mem.remember_many(
        [{"content": "…"}, {"content": "\u3164a\u3164"}, {"content": "🫠"}, {"content": "tea"}]
    )
    assert mem.index() == 4
    assert mem.index() == 0
    assert contents(mem.search("tea", ranker="semantic"))[0] == "tea"


# What the next process makes of it


@pytest.mark.parametrize("number", [1, BLOCK - 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_an_indexed_store_answers_as_one_that_is_not(desk: Desk, number: int) -> None:
    """Q6: blocks, stored vectors and what is read record by record give the same answers, to old
    handles and new ones."""
    old = desk.agent()
    old.remember_many(spoken(number))
    desk.clock.set(START + timedelta(days=1))
    desk.clock.step = timedelta(0)
    expected = answers(old)
    assert answers(desk.agent()) == expected
    assert old.index() == number
    assert answers(old) == expected
    assert answers(desk.agent()) == expected
    assert verified(desk.operator())


def test_a_change_after_the_block_was_written_is_seen(desk: Desk, op: Operator) -> None:
    """Q6, Q10: a record that is forgotten after its block was written is gone for new handles and
    old ones alike."""
    made = op.remember_many([*spoken(BLOCK + 5), {"content": "zebra in the bath"}])
    early = op.remember("walrus at the door")
    op.index()
    old = desk.agent()
    assert old.search("walrus", ranker="keyword")
    move(op, early.id, state=State.TOMBSTONED)
    move(op, made[3].id, state=State.TOMBSTONED)
    desk.clock.step = timedelta(0)
    expected = answers(old)
    assert answers(desk.agent()) == expected
    for handle in (old, desk.agent()):
        assert not handle.search("walrus", ranker="keyword")
        assert made[3].id not in {
            hit.record.id for hit in handle.search(made[3].content, limit=10_000, ranker="keyword")
        }
    op.remember_many(spoken(BLOCK, 2))
    op.index()
    expected = answers(old)
    assert answers(desk.agent()) == expected
    move(op, made[3].id, state=State.ACTIVE)
    assert made[3].id in {
        hit.record.id
        for hit in desk.agent().search(made[3].content, limit=10_000, ranker="keyword")
    }


def test_a_handle_learns_what_another_wrote(desk: Desk) -> None:
    """Q6, B1: between two searches of one handle, another may write, index, and change; the next
    search knows."""
    one, other = desk.agent(), desk.agent()
    one.remember_many(spoken(100))
    desk.clock.step = timedelta(0)
    for round_ in range(3):
        assert answers(one) == answers(other)
        other.remember_many(spoken(90, seed=round_))
        if round_ % 2:
            other.index()
        assert answers(one) == answers(other) == answers(desk.agent())


# Damage


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM blocks WHERE block = 0",
        "DELETE FROM blocks",
        "DELETE FROM codes",
        "DELETE FROM codes WHERE block = 0",
        "UPDATE blocks SET columns = x'00' WHERE block = 1",
        "UPDATE codes SET bits = x'00' WHERE block = 1",
        "UPDATE codes SET bits = CAST(bits || x'00' AS BLOB) WHERE block = 0",
    ],
)
def test_a_damaged_block_is_not_believed(desk: Desk, damage: str) -> None:
    """Q6, B1: what is missing or has the wrong size is read from the records instead;
    no answer changes."""
    memory = desk.agent()
    memory.remember_many(spoken(3 * BLOCK))
    memory.index()
    desk.clock.step = timedelta(0)
    expected = answers(memory)
    tamper(desk.folder() / "memory.db", damage)
    assert answers(desk.agent()) == expected
    memory.index()
    assert answers(desk.agent()) == expected


def test_damaged_vectors_are_told(desk: Desk) -> None:
    """Q5, B1: vectors of the wrong size are left out, a note says what to do, and
    `reindex` does it."""
    op = desk.operator()
    op.remember_many(spoken(50))
    op.index()
    desk.clock.step = timedelta(0)
    expected = answers(op)
    op.close()
    tamper(
        desk.folder() / "memory.db", "UPDATE vectors SET vector = x'0000' WHERE record IN (3, 4)"
    )
    handle = desk.operator()
    (note,) = handle.search("sister in the garden", ranker="semantic").notes
    assert "damaged" in note
    assert "lamina reindex" in note
    handle.reindex()
    assert answers(desk.agent()) == expected
    assert verified(handle)


@pytest.mark.parametrize("indexed", [False, True], ids=["fresh", "indexed"])
def test_a_restored_store_has_its_own_vectors(desk: Desk, indexed: bool) -> None:
    """Q6, B1: after a restore, other records have the old numbers; no handle takes the old vectors
    for theirs."""
    op, other = desk.operator(), desk.agent()
    op.remember_many(spoken(10))
    saved = op.backup()
    for seed in (2, 3):
        op.remember_many(spoken(BLOCK + 20, seed))
        if indexed:
            op.index()
        desk.clock.step = timedelta(0)
        assert answers(op) == answers(other) == answers(desk.agent())
        if seed == 2:
            op.restore(saved)


def test_reindexing_makes_everything_anew(op: Operator) -> None:
    """L2, P4: `reindex` ends with the bytes that were there, in the trail, with
    the chain intact."""
    op.remember_many(spoken(2 * BLOCK))
    op.index()
    before = derived(op)
    op.reindex()
    assert derived(op) == before
    assert op.audit_log(1)[0].action == "reindex"
    assert verified(op)


# Reading changes nothing


def reads(memory: Memory) -> dict[str, Callable[[], object]]:
    return {
        **{
            f"search {ranker}": partial(memory.search, "sister in the garden", ranker=ranker)
            for ranker in RANKERS
        },
        "as_of": lambda: memory.search("coffee", as_of=START),
        "known_at": lambda: memory.search("coffee", known_at=START),
        "tags": lambda: memory.search("coffee", tags=["a"], all_tags=["a"], metadata={"x": 1}),
        "nothing": lambda: memory.search("zebra"),
        "memory_context": lambda: memory.memory_context("sister in the garden"),
        "query_recent": memory.query_recent,
        "query_relevant": lambda: memory.query_relevant("coffee"),
        "recall_similar": lambda: memory.recall_similar("coffee"),
        "list": memory.list,
        "status": memory.status,
    }


@pytest.mark.parametrize("indexed", [0, 150, 300])
def test_a_read_changes_no_byte(desk: Desk, indexed: int) -> None:
    """P4, Q6: no search of any kind changes a byte of `memory.db` or its log, whether all vectors
    are there or none."""
    writer = desk.agent()
    for start in (0, 150):
        writer.remember_many(spoken(150, seed=start))
        if start < indexed:
            writer.index()
    files = [desk.folder() / name for name in ("memory.db", "memory.db-wal")]
    before, held = [digest(path) for path in files], size(writer)
    for handle in (writer, desk.agent()):
        for name, read in reads(handle).items():
            read()
            assert [digest(path) for path in files] == before, name
    writer._parts.derived.unindexed = 0  # nothing is left to be indexed by closing
    assert size(writer) == held


def test_a_read_of_a_closed_store_changes_no_byte(desk: Desk) -> None:
    """P4: the same for a store that nobody has open: opening, searching and closing leave
    `memory.db` as it was."""
    with desk.agent(settings={"recall.embedders": ["none"]}) as memory:
        memory.remember_many(spoken(100))
    path = desk.folder() / "memory.db"
    before = digest(path)
    with desk.agent() as memory:
        for read in reads(memory).values():
            read()
    assert digest(path) == before


def test_the_past_is_seen_with_and_without_blocks(desk: Desk, op: Operator) -> None:
    """Q10: `known_at` answers alike before and after the index was brought up to date."""
    op.remember_many(spoken(BLOCK))
    then = desk.clock()
    late = op.remember("walrus in the garden")
    move(op, op.list(limit=1)[0].id, importance=0.9)
    desk.clock.step = timedelta(0)
    expected = answers(op, known_at=then)
    op.index()
    assert answers(op, known_at=then) == expected
    assert answers(desk.agent(), known_at=then) == expected
    assert late.id not in {
        hit.record.id for hit in op.search("walrus in the garden", known_at=then, limit=1000)
    }


def test_a_catalogue_is_the_same_however_it_is_learned(desk: Desk, op: Operator) -> None:
    """Q6: record by record, from blocks, or both: every column and every neighbour is the same."""
    import numpy as np

    connection = op._scope.store.database.reader()
    slow = Catalogue()
    for seed in range(3):
        op.remember_many(spoken(200, seed))
        slow.refresh(connection)
        op.index()
    fast = Catalogue()
    fast.refresh(connection)
    assert fast.size == slow.size == 601
    for name in (
        "state",
        "kind",
        "user",
        "session",
        "speaker",
        "occurred",
        "created",
        "valid_to",
        "importance",
        "length",
        "signs",
    ):
        assert np.array_equal(fast[name], slow[name]), name
    for name in ("before", "after"):
        assert np.array_equal(getattr(fast, name)[:601], getattr(slow, name)[:601]), name
