"""The same store, question and clock give the same bytes: whatever the process, the batches, the
index or the hash seed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from lamina import Operator
from lamina.memory.opening import connect
from lamina.model.record import Role
from lamina.search import RANKERS
from tests.conftest import FULL, STORE_ID

ROOT = Path(__file__).parents[3]
BUILT = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)
ASKED = datetime(2026, 5, 20, 9, 30, tzinfo=UTC)
RECORDS = 700 if FULL else 380  # more than the candidates of a search, and more than one block
SUBJECTS = "Ana Ben Chiara Dmitri the-cat our-sister the-team somebody".split()
VERBS = "bought repaired painted lost found planted cooked wrote sold borrowed".split()
THINGS = (
    *(
        "a bicycle",
        "the garden fence",
        "two red chairs",
        "an old radio",
        "tomato soup",
        "the quarterly report",
    ),
    *("a blue car", "自転車", "café crème"),
)
TIMES = "yesterday,last week,on 7 May 2025,in 2023,on Monday,two days ago,,,,".split(",")
QUERIES = (
    *(
        "who bought a bicycle",
        "what did Ana say about the garden fence",
        "when did Ben cook tomato soup",
        "old radio",
    ),
    *(
        "what happened on 7 May 2025",
        "what happened last week",
        "how many red chairs",
        "where is the blue car",
        "自転車",
    ),
    *(
        "café crème",
        "cafe",
        "quarterly report",
        "Chiara",
        "what did Dmitri and Ana paint",
        "the",
        "sold",
        "cat",
        "sister",
    ),
    *(
        "who repaired the fence in 2023",
        "yesterday",
        "what did you recommend",
        "who lost the radio?",
        "planted",
        "team wrote",
    ),
    *(
        "borrowed red chairs two days ago",
        "tomatoes",
        "reports of the quarter",
        "vehicles",
        "zebra",
        "Ana Ana Ana",
    ),
)


class Plan(NamedTuple):
    """How a store is built: how many memories at a time, and whether it is indexed and opened anew
    in between."""

    batch: int
    in_between: bool
    reopen: bool
    index_at_end: bool


PLANS = [
    Plan(batch, index, reopen, index_at_end)
    for batch, index, reopen in (
        *(
            (RECORDS, False, False),
            (7, True, False),
            (100, False, True),
            (100, True, True),
            (1, False, False),
        ),
        *(
            (7, False, True),
            (RECORDS, False, True),
            (100, True, False),
            (350, True, True),
            (257, False, False),
        ),
    )
    for index_at_end in (True, False)
]
QUICK = [PLANS[1], PLANS[3], PLANS[6], PLANS[9]]


def memories() -> Iterator[dict[str, Any]]:
    chance = random.Random(20261115)
    for n in range(RECORDS):
        words = (
            chance.choice(SUBJECTS),
            chance.choice(VERBS),
            chance.choice(THINGS),
            chance.choice(TIMES),
        )
        yield {
            "content": " ".join(words).strip() + chance.choice([".", "!", "?", ""]),
            "speaker": chance.choice(["Ana", "Ben", "Chiara Rossi", "user", "assistant", None]),
            "session": f"s{n // 25 % 9}",
            "tags": chance.sample(["home", "work", "bicycle", "garden"], chance.randint(0, 2)),
            "importance": chance.choice([0.2, 0.5, 0.5, 0.9]),
            "at": BUILT - timedelta(days=chance.randint(0, 1000), minutes=chance.randint(0, 3)),
            "metadata": chance.choice([{}, {"place": "the garden"}, {"n": n}]),
            "layer": chance.choice(["short_term", "episodic"]),
        }


def opened(home: Path, now: datetime) -> Operator:
    # Without a word about it, closing indexes what has piled up; here the plan alone says when that
    # happens.
    handle = connect(Role.OPERATOR, "sky", None, home, lambda: now, "tester", store_id=STORE_ID)
    assert isinstance(handle, Operator)
    return handle


def built(home: Path, plan: Plan) -> None:
    items = [
        {name: value for name, value in item.items() if value is not None} for item in memories()
    ]
    handle = opened(home, BUILT)
    for number, start in enumerate(range(0, RECORDS, plan.batch)):
        handle.remember_many(items[start : start + plan.batch])
        if plan.in_between and number % 3 == 0:
            handle.index()
        if plan.reopen and number % 2 == 0:
            handle._parts.derived.unindexed = 0
            handle.close()
            handle = opened(home, BUILT)
    if plan.index_at_end:
        handle.index()
    handle._parts.derived.unindexed = 0
    handle.close()


def answers(home: Path) -> Iterator[str]:
    """Every query by every ranker, and the other verbs that rank, as JSON."""
    with opened(home, ASKED) as handle:
        for query in QUERIES:
            for ranker in RANKERS:
                found = handle.search(query, ranker=ranker)
                yield json.dumps([query, ranker, found.to_dict()])
            yield json.dumps(
                [query, "relevant", handle.query_relevant(query, recency_bias=1).to_dict()]
            )
            yield json.dumps([query, "similar", handle.recall_similar(query).to_dict()])
            context = handle.memory_context(query, {"episodic": 4, "short_term": 4})
            yield json.dumps([query, "context", context.text])
        for query in QUERIES[:6]:
            for filters in (
                {"tags": ["home"]},
                {"limit": 600},
                {"as_of": BUILT},
                {"known_at": BUILT},
                {"metadata": {"place": "the garden"}},
            ):
                yield json.dumps([query, str(filters), handle.search(query, **filters).to_dict()])


def hashed(answer: str) -> str:
    return hashlib.sha256(answer.encode()).hexdigest()


def main(*chosen: str) -> None:
    """Build the stores of some plans in this process, and print for each a line with the hash of
    every answer."""
    for number in chosen:
        with tempfile.TemporaryDirectory() as folder:
            built(Path(folder), PLANS[int(number)])
            print(json.dumps([hashed(answer) for answer in answers(Path(folder))]))


def printed(plans: list[Plan], seed: int) -> list[list[str]]:
    """What another process says about the stores of some plans."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("LAMINA_") or name == "LAMINA_FAULTS"
    }
    environment["PYTHONHASHSEED"] = str(seed)
    command = [
        sys.executable,
        "-m",
        "tests.unit.search.test_determinism",
        *(str(PLANS.index(plan)) for plan in plans),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    """Q6: stores of the same memories, built in other processes, batches and orders of indexing,
    answer in the same bytes."""
    plans = PLANS if FULL else QUICK
    split = 5 if FULL else 2
    built(tmp_path, PLANS[0])
    texts = list(answers(tmp_path))
    here = [hashed(text) for text in texts]
    for seed, start in enumerate(range(0, len(plans), split), 1):
        for plan, there in zip(
            plans[start : start + split], printed(plans[start : start + split], seed), strict=True
        ):
            different = [
                text[:300]
                for text, one, other in zip(texts, here, there, strict=True)
                if one != other
            ]
            assert different == [], plan


def test_a_search_changes_nothing_that_a_search_reads(tmp_path: Path) -> None:
    """Q6: asked again, in another order, by the same handle, the answers are the same."""
    built(tmp_path, PLANS[1])
    with opened(tmp_path, ASKED) as handle:
        asked = [(query, ranker) for query in QUERIES for ranker in RANKERS]
        first = {pair: handle.search(pair[0], ranker=pair[1]).to_dict() for pair in asked}
        random.Random(1).shuffle(asked)
        handle.index()
        assert {pair: handle.search(pair[0], ranker=pair[1]).to_dict() for pair in asked} == first


def test_parts_add_up(tmp_path: Path) -> None:
    """Q6: every hit carries the parts of its score, each rounded, and the hits are in the order of
    their scores."""
    built(tmp_path, PLANS[0])
    with opened(tmp_path, ASKED) as handle:
        for query in QUERIES:
            for ranker in RANKERS:
                hits = handle.search(query, ranker=ranker, limit=50)
                scores = [hit.score for hit in hits]
                assert scores == sorted(scores, reverse=True)
                assert all(abs(sum(hit.parts.values()) - hit.score) < 1e-8 for hit in hits)
                assert all(score == round(score, 9) for score in scores)


if __name__ == "__main__":
    main(*sys.argv[1:])
