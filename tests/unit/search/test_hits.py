"""From parts to hits: rounded, added up, ordered, cut, and read from a bound downwards
without a miss."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory
from lamina.model.record import Record
from lamina.search import RANKERS
from lamina.search import hits as ranked
from lamina.search.request import Request
from lamina.store.tables.records import Filter
from tests.conftest import FULL, START, Desk

NOW = START + timedelta(days=1)
NUMBER = 700


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One store for every example of a property."""
    with Desk(tmp_path_factory.mktemp("shelf")) as desk:
        mem = desk.agent()
        mem.remember_many([{"content": f"tea {n}", "importance": n % 7 / 7} for n in range(NUMBER)])
        yield mem


@contextmanager
def asking(
    handle: Memory, limit: int, query: str = "tea", chosen: Filter | None = None
) -> Iterator[Request]:
    with handle._scope.store.index.snapshot() as look:
        yield Request(look, query, chosen or Filter(), NOW, limit)


def by_seq(record: Record) -> int:
    return -record.seq


@given(
    st.integers(0, 2**32),
    st.integers(1, NUMBER + 5),
    st.sampled_from([0.0, 0.01, 0.5, 5.0]),
    st.integers(1, 50),
)
@settings(max_examples=300 if FULL else 40)
def test_a_bound_loses_nobody(
    shelf: Memory, seed: int, limit: int, slack: float, levels: int
) -> None:
    """Q1, Q2: whatever scores lie below their bounds, the best by score are found, ties in their
    order, and no more."""
    rnd = random.Random(seed)
    score = {
        n: None if rnd.random() < 0.2 else rnd.randint(0, levels) / levels
        for n in range(1, NUMBER + 1)
    }
    rows = np.arange(1, NUMBER + 1)
    bound = np.array([(score[n] or 0.0) + slack * rnd.random() for n in range(1, NUMBER + 1)])

    def parts_of(record: Record) -> ranked.Parts | None:
        own = score[record.seq]
        return None if own is None else {"a": own, "b": 0.0}

    with asking(shelf, limit) as request:
        hits = ranked.bounded(request, rows, bound, parts_of, by_seq)
    expected = sorted(
        (n for n in score if score[n] is not None), key=lambda n: (-(score[n] or 0.0), -n)
    )
    assert [hit.record.seq for hit in hits] == expected[:limit]


@given(st.integers(0, 2**32), st.integers(1, NUMBER + 5))
@settings(max_examples=300 if FULL else 40)
def test_the_best_come_first(shelf: Memory, seed: int, limit: int) -> None:
    """Q6, Q7: of some rows the highest sums come first, exactly as many as asked for, whatever
    their order was."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.arange(1, NUMBER + 1))
    parts = {"a": rng.random(NUMBER), "b": rng.random(NUMBER)}
    with asking(shelf, limit) as request:
        hits = ranked.hits(request, rows, parts)
    total = dict(
        zip(
            rows.tolist(),
            np.round(np.round(parts["a"], 9) + np.round(parts["b"], 9), 9).tolist(),
            strict=True,
        )
    )
    expected = sorted(total, key=lambda n: -total[n])[:limit]
    assert [hit.record.seq for hit in hits] == expected
    assert [hit.score for hit in hits] == [total[n] for n in expected]


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_equals_are_ordered(shelf: Memory, limit: int) -> None:
    """Q6: of equal scores the more important come first, then the newer, as long as two hundred
    share the last place."""
    rows = np.arange(1, 201)
    with asking(shelf, limit) as request:
        hits = ranked.hits(request, rows, {"a": np.ones(200)})
        expected = sorted(range(1, 201), key=lambda n: (-((n - 1) % 7), -n))
        assert [hit.record.seq for hit in hits] == expected[:limit]


@pytest.mark.parametrize("ranker", ["hybrid", "keyword", "semantic", "overlap"])
def test_the_best_of_many_equals_is_found(mem: Memory, ranker: str) -> None:
    """Q6, Q7: of two thousand equal matches the most important is the first hit,
    whatever the limit."""
    mem.remember("green tea", importance=1.0)
    mem.remember_many([{"content": "green tea", "importance": 0.0}] * 2000)
    for limit in (1, 10, 10_000):
        assert mem.search("green tea", limit, ranker=ranker)[0].record.importance == 1.0


def test_scores_are_rounded_before_they_are_compared(shelf: Memory) -> None:
    """Q6: what differs behind the ninth digit is equal, so that no machine orders it otherwise."""
    rows = np.arange(1, 8)
    parts = {"a": np.array([1 / 3 + n * 1e-12 for n in range(7)])}
    with asking(shelf, 7) as request:
        hits = ranked.hits(request, rows, parts)
    assert {hit.score for hit in hits} == {0.333333333}
    assert [hit.record.seq for hit in hits] == [7, 6, 5, 4, 3, 2, 1]


def test_no_rows_no_hits(shelf: Memory) -> None:
    """Q7: nothing in, nothing out; what was noted on the way is told."""
    with asking(shelf, 5) as request:
        request.notes.append("something was down")
        empty = np.zeros(0, np.int64)
        for hits in (
            ranked.hits(request, empty, {"a": np.zeros(0)}),
            ranked.bounded(request, empty, np.zeros(0), lambda record: {"a": 1.0}, by_seq),
        ):
            assert (hits.outcome, hits.notes) == ("nothing_relevant", ("something was down",))
            assert hits.to_dict() == {
                "outcome": "nothing_relevant",
                "hits": [],
                "notes": ["something was down"],
            }


def test_the_filter_is_asked_again(shelf: Memory) -> None:
    """Q3: a row that the filter hides is no hit, whoever handed it over."""
    with asking(shelf, 5, chosen=Filter(kinds=("fact",))) as request:
        rows = np.arange(1, 50)
        assert not ranked.hits(request, rows, {"a": np.ones(49)})
        assert not ranked.bounded(request, rows, np.ones(49), lambda record: {"a": 1.0}, by_seq)


@pytest.mark.parametrize("ranker", RANKERS)
def test_parts_add_up_and_scores_descend(shelf: Memory, ranker: str) -> None:
    """Q6: the named parts of every hit sum to its score, which has nine digits, and no later hit
    has a higher one."""
    for query in ("tea", "tea 5", "what is 12?"):
        hits = shelf.search(query, 60, ranker=ranker)
        assert len(hits)
        for hit in hits:
            assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-8)
            assert round(hit.score, 9) == hit.score
            assert all(type(part) is float for part in (hit.score, *hit.parts.values()))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("ranker", RANKERS)
def test_fewer_are_the_first_of_more(shelf: Memory, ranker: str) -> None:
    """Q7: a smaller limit gives the beginning of what a larger one gives."""
    answers = [
        shelf._scope.recall.search("tea 5", limit, Filter(), ranker, NOW).to_dict()["hits"]
        for limit in (60, 7, 1)
    ]
    assert answers[0][:7] == answers[1]
    assert answers[0][:1] == answers[2]


@given(st.integers(0, 2**32), st.integers(1, 4000), st.integers(1, 300), st.integers(1, 2000))
@settings(max_examples=300 if FULL else 60)
def test_the_foremost_are_the_highest(seed: int, size: int, number: int, levels: int) -> None:
    """Q1: the highest scores with all that equal the least of them, however many there are and
    wherever they stand."""
    scores = np.random.default_rng(seed).integers(0, levels, size).astype(np.float32)
    for score in (scores, np.sort(scores), np.sort(scores)[::-1]):
        least = np.sort(score)[-min(number, size)]
        assert ranked.foremost(score, number).tolist() == np.flatnonzero(score >= least).tolist()
