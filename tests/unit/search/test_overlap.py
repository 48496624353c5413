"""The ranker of shared words: its formula to the last digit, its ties, and that it never
misses a record."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory
from lamina.model.clock import EPOCH
from lamina.model.record import Record
from lamina.text import words as text
from tests.cases import every
from tests.conftest import FULL, START, Desk, Ticking, contents
from tests.unit.search.queries import TEXTS, WORDS, random_queries, told

NOW = START + timedelta(days=1)
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
TIMES = st.sampled_from(
    [NOW, NOW + timedelta(days=9), *(NOW - timedelta(hours=n) for n in (1, 5, 400))]
)
ITEMS = st.fixed_dictionaries(
    {
        "content": TEXTS.map(lambda content: f"{content} ."),
        "importance": st.sampled_from([0.0, 0.5, 0.9]) | st.floats(0, 1),
        "at": TIMES,
        "tags": st.lists(
            st.sampled_from([word for word in WORDS if text.is_visible(word)]), max_size=2
        ),
    }
)


def scored(record: Record, query: str, bias: float, now: datetime) -> float | None:
    """The formula of the Milton document, word for word."""
    asked = text.asked(query)
    found = text.tokens(" ".join([record.content, *record.tags]))
    share = sum(word in found for word in asked) / len(asked)
    if share == 0 and bias < 1:
        return None
    hours = max(0.0, (now - record.occurred_at).total_seconds() / 3600)
    return round(share * (1 - bias) + bias / (1 + hours) + record.importance * 0.15, 9)


def by_hand(
    records: Sequence[Record], query: str, bias: float, limit: int, now: datetime = NOW
) -> list[tuple[str, float]]:
    """The answer of somebody who reads every record."""
    if not text.asked(query):
        return []
    found = [
        (record, score)
        for record in records
        if (score := scored(record, query, bias, now)) is not None
    ]
    found.sort(key=lambda one: (-one[1], -one[0].importance, EPOCH - one[0].occurred_at, one[0].id))
    return [(record.id, score) for record, score in found[:limit]]


@every(
    ("query", "bias", "item", "score"),
    [
        ("tea", 0.35, {"content": "green tea"}, 0.65 + 0.35 + 0.075),
        (
            "tea",
            0.35,
            {"content": "green tea", "at": NOW - timedelta(hours=3)},
            0.65 + 0.35 / 4 + 0.075,
        ),
        (
            "tea coffee",
            0.35,
            {"content": "green tea", "at": NOW - timedelta(minutes=30)},
            0.325 + 0.35 / 1.5 + 0.075,
        ),
        ("tea coffee milk", 0.0, {"content": "milk", "importance": 0.0}, 1 / 3),
        ("tea tea TEA coffee", 0.0, {"content": "Tea", "importance": 1.0}, 0.5 + 0.15),
        ("tea", 0.0, {"content": "milk", "tags": ["Tea"], "importance": 0.2}, 1 + 0.03),
        (
            "tea coffee",
            0.5,
            {"content": "milk", "tags": ["tea", "coffee"], "at": NOW - timedelta(hours=1)},
            0.5 + 0.25 + 0.075,
        ),
        ("tea", 0.5, {"content": "tea", "at": NOW + timedelta(days=300)}, 0.5 + 0.5 + 0.075),
        ("the tea", 0.0, {"content": "the milk", "importance": 0.0}, 0.5),
        ("user_name", 0.0, {"content": "user", "importance": 0.0}, 0.5),
        ("猫の手", 0.0, {"content": "黒猫の", "importance": 0.0}, 0.5),
        ("CAFÉ", 0.0, {"content": "cafe", "importance": 0.0}, 1.0),
        ("😀 tea", 0.0, {"content": "so 😀!", "importance": 0.0}, 0.5),
        ("42 4", 0.0, {"content": "42.", "importance": 0.0}, 0.5),
        ("tea", 1.0, {"content": "milk", "at": NOW - timedelta(hours=9)}, 0.1 + 0.075),
        ("tea", 7.0, {"content": "tea", "at": NOW - timedelta(hours=9)}, 0.1 + 0.075),
        ("tea milk", -3.0, {"content": "tea", "importance": 0.0}, 0.5),
        ("tea milk", 1, {"content": "tea", "importance": 0.0}, 1.0),
    ],
)
def test_the_formula(
    mem: Memory, clock: Ticking, query: str, bias: float, item: dict[str, Any], score: float
) -> None:
    """Q1: `text_score*(1-bias) + recency*bias + importance*0.15`; distinct tokens, tags too, age ≥
    0, the bias clamped."""
    clock.set(NOW)
    clock.step = timedelta()
    mem.remember(**item)
    (hit,) = mem.query_relevant(query, recency_bias=bias)
    assert hit.score == pytest.approx(score, abs=1e-9)
    assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-9)
    assert list(hit.parts) == ["text", "recency", "importance"]


def test_the_bias_is_the_documents_own_without_another(mem: Memory, clock: Ticking) -> None:
    """Q1, I: `query_relevant` has a bias of 0.35, and `ranker="overlap"` is the same ranker."""
    mem.remember_many([{"content": "tea", "at": NOW - timedelta(hours=n)} for n in range(5)])
    clock.step = timedelta()
    clock.set(NOW)
    answers = [
        mem.query_relevant("tea"),
        mem.query_relevant("tea", 10, 0.35),
        mem.search("tea", ranker="overlap"),
    ]
    assert answers[0].to_dict() == answers[1].to_dict() == answers[2].to_dict()


@every(
    "query", ["meeting", "meetings meet", "кошка", "teapot", "猫の", "the", "", "?!", "_", "\u200b"]
)
def test_without_a_shared_word_there_is_no_match(mem: Memory, query: str) -> None:
    """Q1, Q7: no stem, no part of a word and no neighbour makes a match, however new and important
    a memory is."""
    mem.remember_many(
        [
            {"content": "meetingroom tea 猫 кошки", "importance": 1.0},
            {"content": "tea", "tags": ["met"]},
        ]
    )
    hits = mem.query_relevant(query)
    assert (len(hits), hits.outcome) == (0, "nothing_relevant")


def test_a_bias_of_one_lets_everything_through(mem: Memory, clock: Ticking) -> None:
    """Q1: at a bias of 1 words do not count: every visible memory is there, by
    recency and importance."""
    made = mem.remember_many(
        [{"content": f"thing {n}", "at": NOW - timedelta(hours=n)} for n in range(40)]
    )
    mem.run("task").note("tea")
    clock.set(NOW)
    assert [hit.record.id for hit in mem.query_relevant("tea", 100, 1.0)] == [
        record.id for record in made
    ]
    assert mem.query_relevant("tea", 100, 0.999999).outcome == "nothing_relevant"
    assert mem.query_relevant("?!", 100, 1.0).outcome == "nothing_relevant"


def test_ties_go_to_the_more_important(mem: Memory, clock: Ticking) -> None:
    """Q1: of equal scores the more important comes first, though it shares fewer words."""
    words = [f"w{n}" for n in range(10)]
    mem.remember_many(
        [
            {"content": " ".join(words[:7]), "importance": 0.0, "at": NOW},
            {"content": " ".join(words[:6]), "importance": 2 / 3, "at": NOW - timedelta(days=5)},
        ]
    )
    clock.set(NOW)
    hits = mem.query_relevant(" ".join(words), recency_bias=0.0)
    assert hits[0].score == hits[1].score
    assert [hit.record.importance for hit in hits] == [2 / 3, 0.0]


def test_ties_go_to_the_newer_then_to_the_smaller_id(mem: Memory, clock: Ticking) -> None:
    """Q1: of equal scores and importance the newer comes first, then the smaller id, also across
    the cut."""
    ages = [5, 1, 1, 3, 1, 1, 1, 5]
    made = mem.remember_many([{"content": "tea", "at": NOW - timedelta(hours=age)} for age in ages])
    clock.set(NOW)
    expected = [
        record.id for record in sorted(made, key=lambda one: (EPOCH - one.occurred_at, one.id))
    ]
    assert expected != [record.id for record in made]
    for limit in (1, 3, 8, 100):
        assert [hit.record.id for hit in mem.query_relevant("tea", limit, 0.0)] == expected[:limit]


def test_ids_decide_among_many_equals(mem: Memory, clock: Ticking) -> None:
    """Q1, Q6: a thousand equal memories are ordered by id, and the cut takes the first
    of that order."""
    clock.step = timedelta()
    made = mem.remember_many([{"content": "tea", "at": NOW}] * 1000)
    expected = sorted(record.id for record in made)
    assert [hit.record.id for hit in mem.query_relevant("tea", 7)] == expected[:7]
    assert [hit.record.id for hit in mem.query_relevant("tea", 1000)] == expected


@given(
    st.lists(ITEMS, min_size=1, max_size=14),
    st.lists(QUERIES, min_size=1, max_size=4),
    st.sampled_from([0.0, 0.35, 0.9, 1.0]) | st.floats(0, 1),
    st.sampled_from([1, 3, 100]),
)
@settings(max_examples=400 if FULL else 15)
def test_it_equals_reading_everything(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[dict[str, Any]],
    queries: list[str],
    bias: float,
    limit: int,
) -> None:
    """Q1, Q8: in every script the answer is that of somebody who reads all records, to the score
    and the order."""
    with Desk(tmp_path_factory.mktemp("home"), Ticking(step=timedelta())) as desk:
        desk.clock.set(NOW)
        mem = desk.agent()
        made = mem.remember_many(items)
        for query in queries:
            assert told(mem.query_relevant(query, limit, bias)) == by_hand(made, query, bias, limit)


@pytest.mark.parametrize("seed", range(3))
def test_it_stops_reading_in_time_and_not_too_early(mem: Memory, clock: Ticking, seed: int) -> None:
    """Q1: records are read from the highest bound down; among two thousand none that belongs to the
    best is missed."""
    rnd = random.Random(seed)
    words = [f"word{n}" for n in range(12)] + [
        "meeting",
        "meetings",
        "meets",
        "книга",
        "книги",
        "猫",
        "黒猫",
    ]
    clock.step = timedelta()
    clock.set(NOW)
    items = [
        {
            "content": " ".join(rnd.choices(words, k=rnd.randint(1, 6))),
            "importance": rnd.choice([0.0, 0.5, rnd.random()]),
            "at": NOW - timedelta(minutes=rnd.randint(-50, 9000)),
        }
        for _ in range(2000)
    ]
    made = mem.remember_many(items)
    for _ in range(25):
        query = " ".join(rnd.choices(words, k=rnd.randint(1, 6)))
        bias, limit = rnd.choice([0.0, 0.35, 0.7, 1.0]), rnd.choice([1, 10, 300])
        assert told(mem.query_relevant(query, limit, bias)) == by_hand(made, query, bias, limit)


def test_stems_raise_the_bound_and_not_the_score(mem: Memory, clock: Ticking) -> None:
    """Q1: five hundred memories that share only a stem are no match, and hide none that
    shares the word."""
    mem.remember(
        "one meeting about something else entirely", importance=0.0, at=NOW - timedelta(days=900)
    )
    mem.remember_many([{"content": "meetings", "importance": 1.0, "at": NOW}] * 500)
    clock.set(NOW)
    assert contents(mem.query_relevant("meeting", 3)) == [
        "one meeting about something else entirely"
    ]


def test_only_what_is_active_is_relevant(desk: Desk) -> None:
    """Q1, R12: `query_relevant` sees active memories of its own user and of
    nobody in particular."""
    ana, ben, everybody = desk.agent(user="ana"), desk.agent(user="ben"), desk.agent()
    ana.remember("tea of ana")
    ben.remember("tea of ben")
    everybody.remember("tea of all")
    assert set(contents(ana.query_relevant("tea"))) == {"tea of ana", "tea of all"}
    assert set(contents(everybody.query_relevant("tea"))) == {
        "tea of ana",
        "tea of ben",
        "tea of all",
    }


def test_two_thousand_random_queries(mem: Memory) -> None:
    """Q7: whatever is asked, there is an answer or none, and never an error."""
    mem.remember_many([{"content": word} for word in WORDS if text.is_visible(word)])
    for query in random_queries(2000):
        assert mem.query_relevant(query, 3).outcome in ("found", "nothing_relevant")
