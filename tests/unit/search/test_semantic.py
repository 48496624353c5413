"""Nearness of meaning: exact cosines, a floor under them, and what happens without an embedder."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina import Memory, Operator
from lamina.embedders import wordllama
from lamina.embedders.wordllama import WordLlama
from lamina.model.record import State
from lamina.search import semantic
from tests.cases import every
from tests.conftest import START, Desk, contents, move
from tests.unit.search.queries import WORDS, random_queries

EMBEDDER = WordLlama()
TEXTS = [
    "a cat sleeps on the sofa",
    "the stock market fell by two percent",
    "Ana prefers green tea over coffee",
    "the train to Oslo leaves at nine",
    "my guitar needs new strings",
    "kittens like to play with wool",
    "shares and bonds lost value",
    "книги на полке",
    "猫がソファで寝ている",
]


def cosines(query: str, texts: list[str]) -> list[float]:
    """Nearness as half-precision vectors tell it."""
    vectors = EMBEDDER.embed([query, *texts]).astype(np.float16).astype(np.float64)
    return [float(value) for value in vectors[1:] @ vectors[0]]


@every("indexed", [False, True])
@every(
    "query", ["cat", "feline animals", "finance", "what does Ana drink?", "railway", "猫", "книга"]
)
def test_the_score_is_the_cosine(mem: Memory, query: str, indexed: bool) -> None:
    """Q4, Q6: every record that is near enough is a hit, with its cosine as score and only part;
    the others are none."""
    mem.remember_many([{"content": text} for text in TEXTS])
    if indexed:
        mem.index()
    near = {
        text: cosine
        for text, cosine in zip(TEXTS, cosines(query, TEXTS), strict=True)
        if cosine >= semantic.FLOOR
    }
    hits = mem.search(query, 20, ranker="semantic")
    assert {hit.record.content: hit.score for hit in hits} == pytest.approx(near, abs=1e-6)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(dict(hit.parts) == {"similarity": hit.score} for hit in hits)


def test_meaning_is_found_without_a_shared_word(mem: Memory) -> None:
    """Q4: what means the same is found, though no word is the same."""
    mem.remember_many([{"content": text, "layer": "episodic"} for text in TEXTS])
    assert contents(mem.recall_similar("kitten", 2))[0] == "kittens like to play with wool"
    assert contents(mem.recall_similar("investments", 1)) == ["shares and bonds lost value"]
    assert mem.search("investments", ranker="keyword").outcome == "nothing_relevant"


def test_what_is_far_is_nothing(mem: Memory) -> None:
    """Q7: when nothing is near, there is no answer, however few records there are."""
    mem.remember("the train to Oslo leaves at nine", layer="episodic")
    assert cosines("photosynthesis", ["the train to Oslo leaves at nine"])[0] < semantic.FLOOR
    assert mem.recall_similar("photosynthesis").outcome == "nothing_relevant"
    assert mem.search("photosynthesis", ranker="semantic").outcome == "nothing_relevant"


def test_recency_and_importance_do_not_count(mem: Memory) -> None:
    """Q4: nearness of meaning alone; among equals the more important, then the newer."""
    rome = {"content": "a cat sleeps", "at": START - timedelta(days=900)}
    made = mem.remember_many(
        [{**rome, "importance": 0.5}, {**rome, "importance": 0.9}, {**rome, "importance": 0.5}]
    )
    mem.remember("a cat", importance=0.0)
    mem.remember("a dog", importance=1.0)
    hits = mem.search("a cat sleeps", ranker="semantic")
    assert [hit.record.id for hit in hits[:3]] == [made[1].id, made[2].id, made[0].id]
    assert contents(hits[3:]) == ["a cat"]


@pytest.mark.parametrize("indexed", [False, True])
def test_the_nearest_of_thousands_is_found(mem: Memory, indexed: bool) -> None:
    """Q4: the bits choose candidates, the vectors decide: the nearest of three thousand is the
    first hit."""
    rnd = random.Random(3)
    words = [word for text in TEXTS[:7] for word in text.split() if len(word) > 3]
    texts = [" ".join(rnd.sample(words, 5)) for _ in range(3000)]
    mem.remember_many([{"content": text} for text in texts])
    if indexed:
        mem.index()
    for query in (
        "cat sofa sleeps",
        "market percent",
        "Oslo train",
        "guitar strings and wool",
        texts[77],
        texts[2950],
    ):
        best = max(cosines(query, texts))
        hits = mem.search(query, 5, ranker="semantic")
        assert len(hits) == 5
        assert hits[0].score == pytest.approx(best, abs=1e-5)


def test_only_what_may_be_seen_is_near(desk: Desk, op: Operator) -> None:
    """Q4, R12: hidden memories and those of others are not near, and two hundred of
    them hide nothing."""
    for record in op.remember_many([{"content": "a cat sleeps"}] * 250):
        move(op, record.id, state=State.TOMBSTONED)
    desk.agent(user="ben").remember_many([{"content": "a cat sleeps"}] * 250)
    ana = desk.agent(user="ana")
    ana.remember("kittens like to play with wool")
    assert contents(ana.search("a cat sleeps", 3, ranker="semantic")) == [
        "kittens like to play with wool"
    ]


def test_without_an_embedder_words_are_used(desk: Desk) -> None:
    """Q4: with `recall.embedders = none` the search goes by keywords, and says so."""
    mem = desk.agent(settings={"recall.embedders": ["none"]})
    mem.remember("a cat sleeps", layer="episodic")
    hits = mem.recall_similar("cat")
    assert contents(hits) == ["a cat sleeps"]
    assert "searched by keywords" in hits.notes[0]
    assert next(iter(hits[0].parts)) == "relevance"
    hits = mem.recall_similar("kitten")
    assert (hits.outcome, len(hits.notes)) == ("nothing_relevant", 1)
    assert mem.search("cat").notes == ()


def test_with_a_broken_embedder_words_are_used(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q4: an embedder that is not here is told in a note; the search goes on without it."""
    folder = tmp_path / "wordllama"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(wordllama, "shared", wordllama.WordLlama)
    mem = desk.agent()
    mem.remember("a cat sleeps")
    for ranker in ("semantic", "hybrid"):
        hits = mem.search("cat", ranker=ranker)
        assert contents(hits) == ["a cat sleeps"]
        assert "wordllama" in hits.notes[0]
        assert "searched without it" in hits.notes[0]
    for ranker in ("keyword", "overlap", "exact"):
        assert mem.search("cat", ranker=ranker).notes == ()


def test_more_than_can_be_embedded_at_once_is_told(desk: Desk) -> None:
    """Q4: when too many new records wait for a vector, the answer says how many were not looked at,
    until they have one."""
    writer = desk.agent(settings={"recall.embedders": ["none"]})
    writer.remember_many([{"content": f"a cat sleeps {n}"} for n in range(4500)])
    mem = desk.agent()
    hits = mem.search("cat", ranker="semantic")
    assert hits.notes == ("wordllama-256: 4,500 memories have no vector yet; run `lamina index`",)
    assert mem.search("cat", ranker="semantic").notes == hits.notes
    assert desk.agent().index() == 4500
    assert desk.agent().search("cat", ranker="semantic").notes == ()


@pytest.mark.parametrize("known_at", [None, START + timedelta(hours=1)])
def test_a_record_is_near_at_once(mem: Memory, known_at: Any) -> None:
    """Q4: what was just remembered is found by meaning by the next search, without any indexing."""
    for number, text in enumerate(TEXTS):
        mem.remember(text)
        hits = mem.search(text, 1, ranker="semantic", known_at=known_at)
        assert hits[0].record.seq == number + 1
        assert hits[0].score == pytest.approx(1, abs=2e-3)


def test_two_thousand_random_queries(mem: Memory) -> None:
    """Q7: whatever is asked, there is an answer or none, and never an error."""
    mem.remember_many([{"content": f"{word}."} for word in WORDS])
    for query in random_queries(2000, seed=9):
        hits = mem.search(query, 3, ranker="semantic")
        assert all(semantic.FLOOR <= hit.score <= 1.001 for hit in hits)


def test_nearly_all_true_neighbours_are_found(mem: Memory) -> None:
    """Q4: of the ten nearest records by exact cosines at least 95 % are found, though few are
    compared exactly."""
    chance = random.Random(3)
    texts = [" ".join(chance.choices(WORDS, k=8)) + f" {n}" for n in range(6000)]
    mem.remember_many([{"content": text} for text in texts])
    mem.index()
    found, total = 0, 0
    for query in [" ".join(chance.choices(WORDS, k=4)) for _ in range(20)]:
        exact = np.array(cosines(query, texts))
        least = np.sort(exact)[-10]
        hits = mem.search(query, ranker="semantic")
        found += sum(hit.score >= least - 1e-6 for hit in hits)
        total += 10
    assert found >= 0.95 * total
