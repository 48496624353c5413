"""Late interaction and sentence models in a score: Q4, Q5; their codes go when a record goes: P5."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Memory
from lamina.embedders.encoder import DIRECTIONS, WHOLE
from lamina.embedders.wordllama import shared
from lamina.search import late
from lamina.store.tables import vectors
from tests.conftest import CONTRACTS, Desk, contents
from tests.unit.search.toy_model import ToyModel, direction

TEXTS = (
    "Ana keeps bees in the garden behind the house",
    "The quarterly report is due on Friday and everybody waits for it",
    "Ben repaired the old bicycle in the cellar",
    "The server runs PostgreSQL on the second machine",
)
CODE = late.CODE


def with_model(memory: Memory, model: ToyModel) -> Memory:
    memory._scope.recall.__dict__["embedders"] = (shared(), model)
    return memory


@pytest.fixture
def model() -> ToyModel:
    return ToyModel()


@pytest.fixture
def filled(desk: Desk, model: ToyModel) -> Memory:
    memory = with_model(desk.operator(), model)
    memory.remember_many(
        {"content": text, "layer": "semantic", "metadata": CONTRACTS["semantic"]} for text in TEXTS
    )
    memory.index()
    return memory


def stored(memory: Memory) -> dict[int, bytes]:
    found = memory._scope.store.database.reader().execute("SELECT record, codes FROM tokens")
    return dict(found)


def likenesses(memory: Memory) -> list[tuple[str, float | None, float | None]]:
    """The hits of a question, with what the model gave them."""
    hits = memory.search("bees of Ana")
    return [(hit.record.id, hit.parts.get("model"), hit.parts.get("late")) for hit in hits]


def test_the_parts_of_a_sentence_model_are_named(filled: Memory) -> None:
    """Q5: a hit says what the model and the tokens gave it, and they lift what holds the words."""
    hits = filled.search("who repaired the bicycle")
    assert contents(hits)[0] == TEXTS[2]
    parts = dict(hits[0].parts)
    assert parts["late"] > 0
    assert parts["model"] > 0
    assert sum(parts.values()) == pytest.approx(hits[0].score)


def test_tokens_are_stored_beside_the_vectors(filled: Memory) -> None:
    """Q4: 16 bytes for each token of each record, and the mean that is taken off before the
    signs."""
    codes = stored(filled)
    assert [len(codes[number]) for number in sorted(codes)] == [
        CODE * len(text.split()) for text in TEXTS
    ]
    with filled._scope.store.index.snapshot() as look:
        space = look.space(ToyModel.name)
        assert space is not None
        assert space.mean is not None
        assert len(space.mean) == 2 * DIRECTIONS


def test_what_is_not_indexed_yet_is_found_the_same(desk: Desk, model: ToyModel) -> None:
    """B1: a search makes the codes that are missing for itself, stores nothing, and answers as it
    will when they are stored."""
    memory = with_model(desk.agent(), model)
    model.ready.set()
    memory._scope.recall.worker.stop()
    for text in TEXTS:
        memory.remember(text)
    memory._scope.recall.worker.stop()
    before = likenesses(memory)
    memory.index()
    assert likenesses(memory) == before


def test_an_erased_record_leaves_no_codes(desk: Desk, filled: Memory) -> None:
    """P5: the codes of the tokens of an erased memory are gone from the table and from every
    file."""
    record = filled.search("bees in the garden")[0].record
    gone = stored(filled)[record.seq]
    desk.operator().erase(record.id, reason="asked for")
    assert record.seq not in stored(filled)
    files = [path for path in desk.home.rglob("*") if path.is_file()]
    assert [path for path in files if gone in path.read_bytes()] == []


def test_codes_are_rebuilt_with_the_vectors(desk: Desk, filled: Memory) -> None:
    """B1: a reindex drops them, and the next indexing makes the same bytes."""
    before = stored(filled)
    desk.operator()._scope.store.reindex(filled.actor, desk.clock(), vectors=True)
    assert stored(filled) == {}
    filled.index()
    assert stored(filled) == before


def test_codes_go_with_their_embedder(filled: Memory) -> None:
    """B1: indexing drops the codes of an embedder that no setting names any more."""
    filled._scope.recall.__dict__["embedders"] = (shared(),)
    filled._scope.recall.__dict__.pop("indexer", None)
    filled._scope.recall.__dict__.pop("worker", None)
    filled.index()
    assert stored(filled) == {}


def test_damaged_codes_count_nothing(filled: Memory) -> None:
    """B1: a search goes on when codes were cut off, and their record has no part of them."""
    with filled._scope.store.database.atomic() as transaction:
        transaction.cursor.connection.execute("UPDATE tokens SET codes = ?", (b"\1\2",))
    hits = filled.search("who repaired the bicycle")
    assert contents(hits)[0] == TEXTS[2]
    assert "late" not in hits[0].parts


def test_a_model_without_scale_learns_it_from_the_store(desk: Desk, model: ToyModel) -> None:
    """Q4: what the cosines of a user's own model mean is learned from memories, so that a question
    about nothing in the store is near to none of them."""
    model.scale, model.matches = None, None
    memory = desk.agent()
    memory._scope.recall.__dict__["embedders"] = (model,)
    memory.remember_many(
        {"content": f"Note {number} about {word} things", "layer": "episodic"}
        for number, word in enumerate(
            "red blue green old new long short thin thick odd".split() * 3
        )
    )
    memory.index()
    hits = memory.search("blue things", ranker="semantic", limit=30)
    assert "blue" in hits[0].record.content
    assert len(hits) < 30


tokens = st.lists(st.integers(0, 40), min_size=1, max_size=6)


@given(tokens, st.lists(st.one_of(st.just([]), tokens), min_size=1, max_size=6))
def test_a_match_is_the_best_of_each_token(asked: list[int], rows: list[list[int]]) -> None:
    """Q5: the matrix of all matches says what comparing token with token says."""
    question = np.round(
        np.stack([direction(str(n)) for n in asked]) * np.float32(WHOLE / DIRECTIONS**0.5)
    )
    codes = {
        number: b"".join(np.packbits(direction(str(n)) > 0).tobytes() for n in row)
        for number, row in enumerate(rows)
        if row
    }
    best = late._best(question, codes, np.arange(len(rows)))
    for number, row in enumerate(rows):
        for place, token in enumerate(question):
            plain = max((float(token @ direction(str(n))) for n in row), default=-np.inf)
            assert best[number, place] == plain


def test_codes_of_no_record_are_none(filled: Memory) -> None:
    """Q4: asking for rows without codes answers for the others."""
    with filled._scope.store.index.snapshot() as look:
        space = look.space(ToyModel.name)
        assert space is not None
        found = vectors.codes_of_tokens(look._connection, space, [1, 999])
    assert list(found) == [1]
