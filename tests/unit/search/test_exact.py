"""The ranker that prefers the same text: its formula, its states, its ties, and that it never
misses a record."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory, Operator
from lamina.model.clock import EPOCH
from lamina.model.record import Hits, Record, State
from lamina.text import words as text
from tests.cases import every
from tests.conftest import FULL, START, Desk, Ticking, contents, move
from tests.unit.search.queries import TEXTS, WORDS, random_queries, told

NOW = START + timedelta(days=1)
STATUS = {State.ACTIVE: 2.0, State.CONSTRAINED: 1.0, State.SUPERSEDED: 0.2, State.TOMBSTONED: 0.0}
ALL_STATES = [*State]
METADATA: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.none() | st.integers(0, 9) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["tea", "k", "книги"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def strings(value: Any) -> list[str]:
    """Every text among the values of some metadata."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [one for item in value.values() for one in strings(item)]
    return (
        [one for item in value for one in strings(item)] if isinstance(value, (list, tuple)) else []
    )


def by_hand(records: Sequence[Record], query: str, limit: int) -> list[tuple[str, float]]:
    """The answer of somebody who reads every record."""
    asked, normal = text.asked(query), text.normalise(query)
    found = []
    for record in records if asked else ():
        own, beside = text.tokens(record.content), text.tokens(" ".join(strings(record.metadata)))
        shared, others = (sum(word in some for word in asked) for some in (own, beside))
        if not shared and not others:
            continue
        content = text.normalise(record.content)
        same = 100 if content == normal else 50 if normal in content else 0
        age = max(0.0, (NOW - record.created_at).total_seconds() / 86_400)
        score = (
            same
            + 24 * shared / len(asked)
            + 8 * others / len(asked)
            + STATUS[record.state]
            + 0.25 / (1 + age)
        )
        found.append((record, round(score, 9)))
    found.sort(key=lambda one: (-one[1], EPOCH - one[0].created_at, one[0].id))
    return [(record.id, score) for record, score in found[:limit]]


def exactly(handle: Memory, query: str, limit: int = 100) -> Hits:
    return handle.search(query, limit, states=ALL_STATES, ranker="exact")


@every(
    ("query", "item", "score"),
    [
        ("green tea", {"content": "green tea"}, 100 + 24 + 2 + 0.25),
        ("  GREEN\n\ttea ", {"content": "Green  Tea"}, 100 + 24 + 2 + 0.25),
        ("ｇｒｅｅｎ te\u200ba", {"content": "green tea"}, 100 + 24 + 2 + 0.25),
        ("green tea", {"content": "I like green tea a lot"}, 50 + 24 + 2 + 0.25),
        ("green tea", {"content": "tea, mostly green"}, 24 + 2 + 0.25),
        ("green tea", {"content": "tea", "metadata": {"a": "milk"}}, 12 + 2 + 0.25),
        ("green tea", {"content": "milk", "metadata": {"a": "green"}}, 4 + 2 + 0.25),
        (
            "green tea",
            {"content": "milk", "metadata": {"a": {"b": ["x", {"c": "TEA"}]}, "n": 5}},
            4 + 2 + 0.25,
        ),
        ("green tea", {"content": "tea", "metadata": {"a": "green tea"}}, 12 + 8 + 2 + 0.25),
        ("tea", {"content": "milk", "metadata": {"a": "tea tea", "b": "tea"}}, 8 + 2 + 0.25),
        ("tea tea TEA milk", {"content": "tea"}, 12 + 2 + 0.25),
        ("een te", {"content": "green tea and te"}, 50 + 12 + 2 + 0.25),
        ("een and te", {"content": "green and tea"}, 8 + 50 + 2 + 0.25),
        (
            "n and t",
            {"content": "green and tea, and n", "metadata": {"a": "t"}},
            50 + 16 + 8 / 3 + 2 + 0.25,
        ),
        ("the is", {"content": "what the"}, 12 + 2 + 0.25),
        ("猫の手", {"content": "猫の手も借りたい"}, 50 + 24 + 2 + 0.25),
        ("猫の手", {"content": "猫の手"}, 100 + 24 + 2 + 0.25),
        ("café", {"content": "cafe"}, 24 + 2 + 0.25),
        ("😀", {"content": "😀"}, 100 + 24 + 2 + 0.25),
        ("книги", {"content": "КНИГИ"}, 100 + 24 + 2 + 0.25),
    ],
)
def test_the_formula(
    mem: Memory, clock: Ticking, query: str, item: dict[str, Any], score: float
) -> None:
    """Q2: 100 for the same text, 50 for a part of it, 24 and 8 for shares of words, the status, and
    0.25 for the day."""
    clock.set(NOW)
    clock.step = timedelta()
    mem.remember(**item)
    (hit,) = mem.search(query, ranker="exact")
    assert hit.score == pytest.approx(score, abs=1e-9)
    assert sum(hit.parts.values()) == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("tea", {"content": "teapot"}),
        ("ea", {"content": "tea"}),
        ("meetings", {"content": "meeting"}),
        ("tea", {"content": "milk", "tags": ["tea"]}),
        ("tea", {"content": "milk", "metadata": {"tea": "x"}}),
        ("5", {"content": "milk", "metadata": {"n": 5, "b": True}}),
        ("", {"content": "tea"}),
        ("?!", {"content": "?! tea"}),
    ],
)
def test_no_overlap_no_hit(mem: Memory, query: str, item: dict[str, Any]) -> None:
    """Q2, Q7: only whole words of the text and of string values count: no tag, no key, no number,
    no stem, no part."""
    mem.remember(**item)
    assert mem.search(query, ranker="exact").outcome == "nothing_relevant"


def test_the_status_of_every_state(op: Operator, clock: Ticking) -> None:
    """Q2: active 2, constrained 1, superseded 0.2, tombstoned 0; who asks for all states sees all
    of them."""
    clock.step = timedelta()
    for state in State:
        move(op, op.remember(f"tea {state}").id, state=state)
    hits = exactly(op, "tea milk")
    assert {hit.record.state: hit.score for hit in hits} == {
        state: 50 * 0 + 12 + 0.25 + STATUS[state] for state in State
    }
    assert [hit.record.state for hit in hits] == [
        "active",
        "constrained",
        "superseded",
        "tombstoned",
    ]
    assert contents(op.search("tea milk", ranker="exact")) == ["tea active"]


def test_age_is_counted_from_storing(mem: Memory, clock: Ticking) -> None:
    """Q2: days since the record was made, whenever it happened; one from the future is
    of age zero."""
    clock.step = timedelta()
    clock.set(NOW - timedelta(days=3))
    mem.remember("old tea", at=NOW)
    clock.set(NOW + timedelta(days=3))
    mem.remember("new tea", at=NOW - timedelta(days=900))
    clock.set(NOW)
    assert {
        hit.record.content: hit.parts["recency"] for hit in mem.search("tea", ranker="exact")
    } == {
        "old tea": 0.0625,
        "new tea": 0.25,
    }


def test_ties_go_to_the_later_made_then_to_the_smaller_id(mem: Memory, clock: Ticking) -> None:
    """Q2: of equal scores the one made later comes first, then the smaller id, also
    across the cut."""
    clock.step = timedelta()
    made = []
    for days in (0, 2, 1):  # all in the future of the question, so that their age is the same
        clock.set(NOW + timedelta(days=days))
        made += mem.remember_many([{"content": "tea", "importance": n / 300} for n in range(300)])
    clock.set(NOW)
    expected = [
        record.id for record in sorted(made, key=lambda one: (EPOCH - one.created_at, one.id))
    ]
    for limit in (1, 10, 299, 301, 900):
        hits = mem.search("tea", limit, ranker="exact")
        assert [hit.record.id for hit in hits] == expected[:limit]


ITEMS = st.fixed_dictionaries(
    {"content": TEXTS.map(lambda content: f"{content} .") | TEXTS.filter(text.is_visible)},
    optional={
        "metadata": st.dictionaries(st.sampled_from(["a", "b"]), METADATA, max_size=2),
        "tags": st.just(["tea"]),
    },
)


@given(st.lists(st.tuples(ITEMS, st.sampled_from(ALL_STATES)), min_size=1, max_size=12), st.data())
@settings(max_examples=400 if FULL else 15)
def test_it_equals_reading_everything(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[tuple[dict[str, Any], State]],
    data: st.DataObject,
) -> None:
    """Q2, Q8: in every script and state the answer is that of somebody who reads all records, parts
    of texts included."""
    with Desk(tmp_path_factory.mktemp("home"), Ticking(step=timedelta())) as desk:
        op = desk.operator()
        made = []
        for item, state in items:
            desk.clock.jump(timedelta(hours=9))
            made.append(move(op, op.remember(**item).id, state=state))
        desk.clock.set(NOW)
        for _ in range(4):
            source = data.draw(st.sampled_from([*(record.content for record in made), *WORDS]))
            start = data.draw(st.integers(0, len(source)))
            query = source[start : data.draw(st.integers(start, len(source)))]
            limit = data.draw(st.sampled_from([1, 3, 100]))
            assert told(exactly(op, query, limit)) == by_hand(made, query, limit)


@pytest.mark.parametrize("seed", range(3))
def test_it_stops_reading_in_time_and_not_too_early(mem: Memory, clock: Ticking, seed: int) -> None:
    """Q2: records are read from the highest bound down; among two thousand none that belongs to the
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
    made = []
    for _ in range(4):
        clock.jump(timedelta(hours=rnd.randint(1, 9)))
        made += mem.remember_many(
            [
                {
                    "content": " ".join(rnd.choices(words, k=rnd.randint(1, 6))),
                    "metadata": {"note": " ".join(rnd.choices(words, k=rnd.randint(0, 3)))},
                    "tags": rnd.choices(words, k=1),
                }
                for _ in range(500)
            ]
        )
    clock.step = timedelta()
    clock.set(NOW)
    for _ in range(25):
        query = " ".join(rnd.choices(words, k=rnd.randint(1, 5)))
        cut = query[rnd.randint(0, 3) : len(query) - rnd.randint(0, 3)]
        limit = rnd.choice([1, 10, 300])
        assert told(mem.search(cut, limit, ranker="exact")) == by_hand(made, cut, limit)


def test_a_part_that_cuts_two_words_is_found_behind_better_bounds(
    mem: Memory, clock: Ticking
) -> None:
    """Q2: a text that contains the query counts 50 though its outer words are cut; many that share
    more words hide it not."""
    clock.step = timedelta()
    mem.remember_many(
        [{"content": "een drinks tea and and", "metadata": {"note": "een and te"}}] * 400
    )
    mem.remember("he likes green and teas")
    (hit,) = mem.search("een and te", 1, ranker="exact")
    assert (hit.record.content, hit.parts["same"], hit.parts["text"]) == (
        "he likes green and teas",
        50.0,
        8.0,
    )


def test_two_thousand_random_queries(mem: Memory) -> None:
    """Q7: whatever is asked, there is an answer or none, and never an error."""
    mem.remember_many(
        [{"content": word, "metadata": {"a": word}} for word in WORDS if text.is_visible(word)]
    )
    for query in random_queries(2000, seed=8):
        assert mem.search(query, 3, ranker="exact").outcome in ("found", "nothing_relevant")
