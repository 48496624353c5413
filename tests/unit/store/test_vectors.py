"""Vectors in the store: half-precision rows, their signs as bits, and what is damaged or missing
among them."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory
from lamina.embedders.wordllama import WordLlama
from lamina.store.tables import vectors
from lamina.store.tables.blocks import BLOCK, opened
from lamina.store.tables.vectors import RecentVectors, SignBits, Space
from tests.conftest import START, Desk, contents, tamper

NAME = "wordllama-256"


def some(number: int, dimensions: int, seed: int = 1) -> vectors.Vectors:
    return np.random.default_rng(seed).standard_normal((number, dimensions)).astype(np.float16)


@pytest.mark.parametrize("dimensions", [1, 3, 63, 64, 65, 256, 384, 1000])
def test_distances_count_signs(dimensions: int) -> None:
    """Q4: the distance of two vectors is the number of dimensions in which their signs differ, for
    any dimension."""
    made, asked = some(300, dimensions), some(1, dimensions, 2)[0]
    codes = SignBits(dimensions)
    codes.put(np.arange(300), vectors.bits_of(made))
    expected = ((made > 0) != (asked > 0)).sum(axis=1)
    assert codes.distances(asked.astype(np.float32), 300).tolist() == expected.tolist()
    assert codes.known[:300].all()
    assert not codes.known[300:].any()


@pytest.mark.parametrize("dimensions", [3, 64, 65, 256, 384])
def test_two_bits_are_the_steps_of_a_number(dimensions: int) -> None:
    """Q4: the sign and the second bit of a number are one of four steps, the higher the number."""
    made = some(40, dimensions)
    bits = vectors.bits_of(made).view(np.uint8).reshape(40, 2, -1)
    sign, second = (
        np.unpackbits(bits, axis=2)[:, :, :dimensions].astype(np.int64).transpose(1, 0, 2)
    )
    steps = 4 * sign + 2 * second - 3
    assert ((steps > 0) == (made > 0)).all()
    for row, step in zip(made, steps, strict=True):
        order = np.argsort(row, kind="stable")
        assert (np.diff(step[order]) >= 0).all()


def test_likeness_is_near_the_cosine() -> None:
    """Q4: the estimate from two bits is three times as near to the cosine as that from signs, for
    few and for many dimensions, and depends on nothing but the row."""
    for dimensions in (64, 200, 256, 384):
        asked = some(1, dimensions, 2)[0].astype(np.float32)
        made = (some(400, dimensions) + np.linspace(0, 2, 400)[:, None] * asked).astype(np.float16)
        codes = SignBits(dimensions)
        codes.put(np.arange(400), vectors.bits_of(made))
        lengths = np.linalg.norm(made.astype(np.float64), axis=1) * np.linalg.norm(asked)
        cosines = made.astype(np.float64) @ asked / lengths
        likeness = codes.likeness(asked, np.arange(400))
        signs = np.cos(np.pi * codes.distances(asked, 400) / dimensions)
        assert np.std(likeness - cosines) < np.std(signs - cosines) / 2
        some_rows = np.array([399, 7, 8])
        assert codes.likeness(asked, some_rows).tolist() == likeness[some_rows].tolist()


def test_singles_are_exact() -> None:
    """Q4: every finite number of half precision comes back as itself."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    assert (vectors.singles(halves) == halves.astype(np.float32)).all()


def test_distances_of_rows_that_nobody_has() -> None:
    """Q4: rows beyond the last vector are not known, and asking for them is no error."""
    codes = SignBits(64)
    assert len(codes.distances(np.ones(64, np.float32), 5000)) == 5000
    assert not codes.known[:5000].any()
    codes.put(np.array([7]), vectors.bits_of(some(1, 64)))
    assert np.flatnonzero(codes.known).tolist() == [7]


@given(
    st.integers(1, 130),
    st.lists(st.integers(0, BLOCK - 1), min_size=1, max_size=20, unique=True).map(sorted),
)
def test_a_block_of_bits_holds_what_the_vectors_tell(dimensions: int, rows: list[int]) -> None:
    """Q6: bits that were packed say the same as bits that are read from the
    vectors, gaps included."""
    made = some(len(rows), dimensions, len(rows))
    codes = SignBits(dimensions)
    codes.read(
        [(row, vector.tobytes()) for row, vector in zip(rows, made, strict=True)],
        Space(1, "x", dimensions, 0),
    )
    packed = opened(codes.pack(BLOCK), vectors.packed_size(dimensions))
    assert packed is not None
    assert len(packed) == BLOCK * (1 + 16 * -(-dimensions // 64))
    assert np.flatnonzero(np.frombuffer(packed, np.bool_, BLOCK)).tolist() == rows
    bits = np.frombuffer(packed, "<u8", offset=BLOCK).reshape(BLOCK, -1)
    assert (bits[rows] == vectors.bits_of(made)).all()


def test_vectors_of_the_wrong_size_are_none() -> None:
    """Q4: a row that cannot be a vector of its space is left out."""
    good = some(2, 4)
    found = [
        (1, good[0].tobytes()),
        (2, b""),
        (3, b"\0" * 7),
        (4, good[1].tobytes()),
        (5, b"\0" * 16),
    ]
    numbers, made = vectors.unpacked(found, Space(1, "x", 4, 5))
    assert numbers.tolist() == [1, 4]
    assert (made == good).all()
    codes = SignBits(4)
    codes.read(found, Space(1, "x", 4, 5))
    assert np.flatnonzero(codes.known).tolist() == [1, 4]
    assert vectors.unpacked([], Space(1, "x", 4, 5))[1].shape == (0, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_of_no_numbers_are_none(value: float) -> None:
    """Q4: a row of the right size with something in it that is no number is left out."""
    made = some(3, 4)
    made[1, 2] = value
    found = [(number, row.tobytes()) for number, row in enumerate(made)]
    numbers, kept = vectors.unpacked(found, Space(1, "x", 4, 5))
    assert numbers.tolist() == [0, 2]
    assert (kept == made[[0, 2]]).all()


def test_a_space_of_another_size_is_begun_anew(mem: Memory) -> None:
    """Q4: an embedder that makes vectors of another length has seen nothing yet, and nothing of the
    old ones stays."""
    mem.remember_many([{"content": "tea"}] * 3)
    with mem._scope.store.database.atomic() as transaction:
        connection = transaction.cursor.connection
        space = vectors.add_space(connection, "x", 4)
        vectors.put(connection, space, [1, 2], some(2, 4), 2)
        assert vectors.add_space(connection, "x", 4).seen == 2
        anew = vectors.add_space(connection, "x", 5)
        assert (anew.dimensions, anew.seen) == (5, 0)
        assert vectors.exact(connection, anew, [1, 2])[0].tolist() == []
        assert [one.name for one in vectors.every(connection)] == ["x"]


def test_stored_vectors_come_back(mem: Memory) -> None:
    """Q6: a stored vector is that of its text in half precision, whoever made it."""
    made = mem.remember_many([{"content": f"tea number {n}"} for n in range(300)])
    mem.index()
    connection = mem._scope.store.database.reader()
    space = vectors.find(connection, NAME)
    assert space is not None
    assert (space.dimensions, space.seen) == (256, 300)
    numbers, stored = vectors.exact(connection, space, [1, 150, 300, 301])
    assert numbers.tolist() == [1, 150, 300]
    expected = WordLlama().embed([made[n - 1].content for n in (1, 150, 300)]).astype(np.float16)
    assert (stored == expected).all()


def near(handle: Memory, desk: Desk, query: str, limit: int = 20) -> dict[str, Any]:
    desk.clock.step = timedelta()
    desk.clock.set(START)
    return handle.search(query, limit, ranker="semantic").to_dict()


@pytest.mark.parametrize(
    "blob",
    [
        "x''",
        "x'00'",
        "zeroblob(511)",
        "zeroblob(513)",
        "zeroblob(1024)",
        "CAST('é' AS BLOB)",
        "zeroblob(100000)",
    ],
)
def test_a_damaged_vector_is_told(desk: Desk, blob: str) -> None:
    """Q4, Q6: a vector of the wrong size is not used, the answer says so, and all other records are
    found as before."""
    mem = desk.agent()
    mem.remember_many([{"content": f"tea number {n}"} for n in range(20)])
    mem.index()
    before = near(mem, desk, "tea number 4")
    mem.close()  # what is in memory stays there until the last handle is closed
    tamper(desk.folder() / "memory.db", f"UPDATE vectors SET vector = {blob} WHERE record = 5")
    for ranker in ("semantic", "hybrid"):
        hits = desk.agent().search("tea number 4", 20, ranker=ranker)
        assert any("vectors of memories are missing or damaged" in note for note in hits.notes)
        assert "notes" in hits.to_dict()
    after = near(desk.agent(), desk, "tea number 4")
    assert after["hits"] == [hit for hit in before["hits"] if hit["record"]["seq"] != 5]
    desk.operator().reindex()
    assert near(desk.agent(), desk, "tea number 4") == before


NOT_A_NUMBER = f"x'{'ff7f' * 256}'"


@pytest.mark.parametrize("blob", ["x'00'", NOT_A_NUMBER], ids=["wrong size", "no numbers"])
def test_a_damaged_vector_behind_sealed_bits_is_told(desk: Desk, blob: str) -> None:
    """Q4: also when the bits of a vector are still there, a search that needs the vector says that
    it is damaged."""
    mem = desk.agent()
    mem.remember_many([{"content": f"tea number {n}"} for n in range(600)])
    mem.index()
    tamper(desk.folder() / "memory.db", f"UPDATE vectors SET vector = {blob} WHERE record = 5")
    for ranker in ("semantic", "hybrid"):
        hits = desk.agent().search("tea number 4", 20, ranker=ranker)
        assert any("damaged" in note for note in hits.notes)
        assert all(np.isfinite(hit.score) for hit in hits)


def test_vectors_that_another_process_stored_are_used(desk: Desk, mem: Memory) -> None:
    """Q6: a handle that has made vectors for itself goes over to the stored ones, with the same
    answer, and keeps none."""
    mem.remember_many([{"content": f"tea number {n}"} for n in range(700)])
    before = near(mem, desk, "tea number 4")
    (fresh,) = mem._scope.store.index.whole.fresh.values()
    assert len(fresh) == 700
    desk.agent().index()
    assert near(mem, desk, "tea number 4") == before
    assert not mem._scope.store.index.whole.fresh[NAME]
    mem.remember("tea number 4, again")
    assert (
        contents(mem.search("tea number 4, again", ranker="semantic"))[0] == "tea number 4, again"
    )
    assert [*mem._scope.store.index.whole.fresh[NAME]] == [701]


def test_codes_follow_while_others_index(desk: Desk) -> None:
    """Q6: a handle that looks after every step of another's indexing knows the bits that a new
    handle reads at once."""
    writer, watcher = desk.agent(), desk.agent()
    rnd = random.Random(2)
    for step in range(6):
        writer.remember_many(
            [{"content": f"tea {rnd.random()}"} for _ in range(rnd.choice([1, 100, 300]))]
        )
        if step % 2:
            writer.index()
        watcher.search("tea", ranker="semantic")
    writer.index()
    told = []
    for handle in (watcher, None):
        if handle is None:
            writer.close()
            watcher.close()
            handle = desk.agent()
        handle.search("tea", ranker="semantic")
        codes, size = (
            handle._scope.store.index.whole.codes[NAME],
            handle._scope.store.index.whole.catalogue.size,
        )
        told.append((codes.known[:size].tolist(), codes._bits(size).tolist()))
    assert told[0] == told[1]


@given(asked=st.lists(st.lists(st.integers(1, 3 * BLOCK), unique=True, max_size=12), max_size=20))
def test_kept_vectors_are_those_of_their_records(asked: list[list[int]]) -> None:
    """Whatever was asked before, and however much had to make place: a vector that is found is the
    record's own (Q6)."""
    kept = RecentVectors(2, most=8)
    for wanted in asked:
        numbers = np.array(sorted(wanted), np.int64)
        has, found = kept.find(numbers)
        assert found.tolist() == [[number, -number] for number in numbers[has].tolist()]
        missing = numbers[~has]
        kept.put(missing, np.stack((missing, -missing), axis=1).astype(np.float16))
        newest = missing[-8:]
        assert kept.find(newest)[0].all()


def test_a_search_reads_no_vector_twice(mem: Memory) -> None:
    """What one search has read exactly, the next one has in memory, and both give the
    same scores (Q6)."""
    mem.remember_many({"content": f"the kettle number {number} whistles"} for number in range(300))
    mem.index()
    first, second = (mem.search("which kettle whistles?") for _ in range(2))
    assert [(hit.record.id, hit.parts["meaning"]) for hit in first] == [
        (hit.record.id, hit.parts["meaning"]) for hit in second
    ]
    with mem._scope.store.index.snapshot() as look:
        space = look.space("wordllama-256")
        assert space is not None
        has, _ = look.codes(space).kept.find(np.array([hit.record.seq for hit in first], np.int64))
    assert has.all()


def test_many_single_reads_make_a_process_read_all(mem: Memory) -> None:
    """Q6: a process that has read enough vectors one by one reads all the others at once, and later
    ones when they come; every search gives the same."""
    mem.remember_many({"content": f"the kettle number {number} whistles"} for number in range(900))
    mem.index()
    index = mem._scope.store.index
    numbers = np.arange(1, 901)

    def kept() -> int:
        with index.snapshot() as look:
            space = look.space(NAME)
            assert space is not None
            return int(look.codes(space).kept.find(numbers)[0].sum())

    first = mem.search("which kettle whistles?", ranker="semantic")
    assert list(mem.search("which kettle whistles?", ranker="semantic")) == list(first)
    mem.search("number five hundred", ranker="semantic")
    assert kept() == 900
    mem.remember_many({"content": f"the pot number {number} boils"} for number in range(100))
    mem.index()
    numbers = np.arange(1, 1001)
    mem.search("which pot boils?", ranker="semantic")
    assert kept() == 1000


def test_what_does_not_fit_is_read_one_by_one(mem: Memory, monkeypatch: Any) -> None:
    """Q6: of a store whose vectors are too many for memory a process keeps the latest it read."""
    monkeypatch.setattr(vectors, "KEPT", 2 * 256 * 250)
    mem.remember_many({"content": f"the kettle number {number} whistles"} for number in range(600))
    mem.index()
    found = [mem.search(f"kettle number {n}", ranker="semantic") for n in (3, 200, 400, 3)]
    assert list(found[0]) == list(found[3])
    with mem._scope.store.index.snapshot() as look:
        space = look.space(NAME)
        assert space is not None
        kept = look.codes(space).kept
        assert kept.most == 250
        assert 200 <= kept.find(np.arange(1, 601))[0].sum() <= 250
