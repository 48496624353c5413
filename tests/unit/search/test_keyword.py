"""The keyword ranker: words, then relevance, recency and importance, and the courage
to say nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.model.record import State
from lamina.search import keyword
from tests.cases import every
from tests.conftest import CONTRACTS, START, STORE_ID, Ticking, contents, move

DAYS = [START - timedelta(days=n) for n in range(5)]


@pytest.fixture
def library(op: Operator) -> Operator:
    """A store in which every memory says `tea`, and differs otherwise."""
    made = op.remember_many(
        [
            {"content": "tea fact", "kind": "fact", "tags": ["Green", "hot"], "at": DAYS[0]},
            {"content": "tea crumb", "tags": ["black"], "at": DAYS[1]},
            {"content": "tea episode", "layer": "episodic", "at": DAYS[2]},
            {
                "content": "tea semantic",
                "layer": "semantic",
                "metadata": CONTRACTS["semantic"],
                "at": DAYS[3],
            },
            {"content": "tea hidden", "at": DAYS[4]},
            {"content": "tea proposal", "at": DAYS[4]},
        ]
    )
    move(op, made[4].id, state=State.TOMBSTONED)
    move(op, made[5].id, state=State.CONSTRAINED)
    return op


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"fact", "crumb", "episode", "semantic"}),
        ({"layers": ["short_term"]}, {"fact", "crumb"}),
        ({"layers": ["semantic", "episodic"]}, {"semantic", "episode"}),
        ({"layers": ["world"]}, set()),
        ({"kinds": ["fact"]}, {"fact"}),
        ({"kinds": ["fact", "crumb"]}, {"fact", "crumb", "episode", "semantic"}),
        ({"tags": ["green"]}, {"fact"}),
        ({"tags": [" GREEN ", "black"]}, {"fact", "crumb"}),
        ({"tags": ["white"]}, set()),
        ({"states": ["tombstoned"]}, {"hidden"}),
        (
            {"states": ["constrained", "active"]},
            {"fact", "crumb", "episode", "semantic", "proposal"},
        ),
        ({"since": DAYS[1]}, {"fact", "crumb"}),
        ({"until": DAYS[1]}, {"episode", "semantic"}),
        ({"since": DAYS[2], "until": DAYS[0]}, {"crumb", "episode"}),
        ({"since": DAYS[0], "until": DAYS[2]}, set()),
        (
            {"layers": ["short_term"], "kinds": ["crumb"], "tags": ["black"], "since": DAYS[1]},
            {"crumb"},
        ),
    ],
)
def test_filters(library: Operator, filters: dict[str, Any], expected: set[str]) -> None:
    """Q3: tag, layer, kind, state and time filters; tags match any; since counts,
    until does not."""
    found = contents(library.search("tea", **filters))
    assert {content.removeprefix("tea ") for content in found} == expected


def test_filters_apply_before_the_cut(mem: Memory) -> None:
    """Q3: a filter is part of the query: 200 better matches outside it do not push out
    the one inside."""
    mem.remember_many([{"content": "tea", "importance": 1.0}] * 200)
    mem.remember(
        "there is a little tea in this long sentence about something else",
        tags=["x"],
        importance=0.0,
    )
    assert len(mem.search("tea", tags=["x"], limit=1)) == 1


def test_the_parts_add_up(library: Operator) -> None:
    """Q6: every hit carries the named parts of its score, and they sum to it."""
    hits = library.search("tea fact", limit=10, ranker="keyword")
    assert len(hits) == 4
    for hit in hits:
        assert list(hit.parts) == ["relevance", "recency", "importance", "trust"]
        assert round(sum(hit.parts.values()), 9) == hit.score
        assert all(part >= 0 for part in hit.parts.values())
    assert max(hit.parts["relevance"] for hit in hits) == 1.0
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"importance": 0.9}, {"importance": 0.1}),
        ({"at": START}, {"at": START - timedelta(days=30)}),
        ({"at": START + timedelta(days=5)}, {"at": START - timedelta(days=30)}),
        ({}, {}),
    ],
    ids=["importance", "recency", "future", "newer number"],
)
@pytest.mark.parametrize("order", [1, -1])
def test_equal_matches_are_refined(
    mem: Memory, better: dict[str, Any], worse: dict[str, Any], order: int
) -> None:
    """Q3, Q6: among equal matches importance and recency decide, then the newer record; a time
    ahead is no advantage."""
    items = [
        {"content": "tea", "tags": ["better"], **better},
        {"content": "tea", "tags": ["worse"], **worse},
    ]
    mem.remember_many(items[::order] if better != worse else items[::-1])
    assert mem.search("tea")[0].record.tags == ("better",)


def test_recency_and_importance_make_no_match(mem: Memory) -> None:
    """Q5, Q7: what does not match is no hit, however new and important."""
    mem.remember("coffee", importance=1.0)
    assert mem.search("tea").outcome == "nothing_relevant"


def test_k_is_an_upper_bound(mem: Memory) -> None:
    """Q7: fewer matches, fewer hits; more matches, exactly k, and they are the best ones."""
    mem.remember_many([{"content": f"tea {n}", "importance": n / 30} for n in range(30)])
    everything = contents(mem.search("tea", limit=10_000))
    assert len(everything) == 30
    for limit in (1, 7, 30):
        assert contents(mem.search("tea", limit=limit)) == everything[:limit]
    assert len(mem.search("29", limit=10, ranker="keyword")) == 1


def test_the_best_of_many_equal_matches_is_found(mem: Memory) -> None:
    """Q3, Q7: the first hit is the best of all matches, also when more than a hundred
    match equally well."""
    mem.remember("tea", importance=1.0)
    mem.remember_many([{"content": "tea", "importance": 0.0}] * 150)
    assert mem.search("tea", limit=1)[0].record.importance == 1.0


@every("query", ["", " ", "?!", "…—", "\u200b", "*", '"', "\n\t", "()", "🏻"])
def test_a_query_without_words_finds_nothing(mem: Memory, query: str) -> None:
    """Q7: nothing to search for is `nothing_relevant`, not an error and not everything."""
    mem.remember("tea")
    hits = mem.search(query)
    assert (len(hits), hits.outcome) == (0, "nothing_relevant")


@pytest.mark.parametrize(
    "query", ["what is it", "the", "who are you?", "zebra", "quixotic teapots"]
)
def test_nothing_relevant(mem: Memory, query: str) -> None:
    """Q7: stop words and words that no memory has find nothing, never the k least bad."""
    mem.remember_many([{"content": "Ana drinks green tea"}, {"content": "Ben prefers coffee"}])
    assert mem.search(query).outcome == "nothing_relevant"


def test_stop_words_are_no_reason_to_match(mem: Memory) -> None:
    """Q7: a memory that shares only stop words with a query is no answer to it."""
    mem.remember("what is the time and where are you")
    assert mem.search("what is the capital of France?").outcome == "nothing_relevant"


def test_equal_scores_are_ordered_by_importance_then_number(mem: Memory, clock: Ticking) -> None:
    """Q6: of equal scores the more important comes first, then the newer number."""
    yesterday = START - timedelta(days=1)
    # A day's recency less is made up for by importance, to the last digit.
    older = mem.remember("tea", importance=0.5 + 0.05 / keyword.IMPORTANCE_WEIGHT, at=yesterday)
    newer, newest = (mem.remember("tea", importance=0.5, at=START) for _ in range(2))
    clock.set(START)
    hits = mem.search("tea", ranker="keyword")
    assert len({hit.score for hit in hits}) == 1
    assert [hit.record.id for hit in hits] == [older.id, newest.id, newer.id]


def test_a_search_changes_nothing_that_a_search_reads(mem: Memory, clock: Ticking) -> None:
    """Q6: asking again at the same time gives the same answer, however often it was asked."""
    mem.remember_many([{"content": f"tea {n % 3}"} for n in range(20)])
    answers: list[dict[str, Any]] = []
    for _ in range(3):
        clock.set(START + timedelta(days=1))
        answers.append(mem.search("tea 1").to_dict())
    assert answers[0] == answers[1] == answers[2]


CHILD = """
import json, sys
from datetime import UTC, datetime, timedelta
from lamina.memory.opening import connect
from lamina.model.record import Role
home, store_id, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
now = datetime(2026, 5, 1, tzinfo=UTC)
mem = connect(Role.AGENT, "sky", None, home, lambda: now, store_id=store_id)
items = [
    {"content": f"tea number {n} 猫 {'cup ' * (n % 5)}", "tags": {f"t{n % 3}": 0, "hot": 0}, "importance": n % 11 / 10,
     "metadata": {"b": n, "a": [n]}, "at": now - timedelta(hours=n % 7)}
    for n in range(60)
]
for start in range(0, len(items), size):
    mem.remember_many(items[start : start + size])
answers = [mem.search(query, limit=20).to_dict() for query in ("tea", "cup 猫", "number 7", "hot t1 tea")]
print(json.dumps([answers, [record.to_dict() for record in mem.list(limit=100)]]))
mem.close()
"""


def test_the_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    """Q6: same store id, texts and clock give the same bytes, whatever the process, insertion batch
    or hash seed."""
    answers = []
    for name, size, seed in (("a", 1, "0"), ("b", 7, "1"), ("c", 60, "424242")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", CHILD, str(tmp_path / name), STORE_ID, str(size)]
        answers.append(
            subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        )
    assert answers[0] == answers[1] == answers[2]
    assert json.loads(answers[0])[0][0]["outcome"] == "found"


def test_tags_given_as_a_set_have_one_order(tmp_path: Path) -> None:
    """Q6: a set of tags is stored in an order that does not depend on the hash seed,
    or is refused."""
    code = (
        "import sys; from lamina.model import rules; sys.stdout.write(' '.join(rules.tags({'a', "
        "'b', 'c', 'd', 'e', 'f'})))"
    )
    answers = set()
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        answers.add(
            subprocess.run(
                [sys.executable, "-c", code], env=environment, check=False, capture_output=True
            ).stdout
        )
    assert len(answers) == 1
