"""What users said, and what a search gives away of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from lamina import Memory
from lamina.model.record import State
from lamina.search import RANKERS
from tests.conftest import START
from tests.security.tally import probe

SECRET = "zanzibar"
WORDS = (
    "garden river bicycle coffee sister report office winter yesterday kitchen bread train "
    "music letter window"
).split()
FILTERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "many": {"limit": 10_000},
    "as_of": {"as_of": START + timedelta(days=1)},
    "known_at": {"known_at": START + timedelta(days=1)},
    "both times": {"as_of": START + timedelta(days=1), "known_at": START + timedelta(days=1)},
    "tags": {"tags": ["shared"]},
    "all tags": {"all_tags": ["shared", "more"]},
    "metadata": {"metadata": {"place": "office"}},
    "session": {"session": "s1"},
    "every state": {"states": [state.value for state in State]},
    "layers": {"layers": ["short_term", "episodic", "semantic"]},
    "since": {"since": START - timedelta(days=3000), "until": START + timedelta(days=3000)},
}


def spoken(number: int, seed: int, **more: Any) -> Iterator[dict[str, Any]]:
    chance = random.Random(seed)
    for n in range(number):
        yield {
            "content": " ".join(chance.choices(WORDS, k=chance.randint(3, 10)))
            + chance.choice(["", "?"]),
            "speaker": chance.choice(["Ana", "Eva", "assistant"]),
            "session": f"s{n // 12}",
            "tags": ["shared", "more"] if chance.random() < 0.5 else ["shared"],
            "metadata": {"place": chance.choice(["office", "garden"])},
            "importance": chance.random(),
            "at": START - timedelta(days=chance.randint(0, 500)),
            **more,
        }


def secrets(seed: int = 9) -> Iterator[dict[str, Any]]:
    """What another user says: about everything that is asked for here, and in the same sessions."""
    for item in spoken(40, seed, speaker="Zelda", importance=1.0):
        yield {**item, "content": f"{SECRET} {item['content']} on 7 May 2025"}
    for query in QUERIES:
        yield {
            "content": query,
            "speaker": "Zelda",
            "session": "s1",
            "tags": ["shared", "more"],
            "metadata": {"place": "office"},
        }


QUERIES = (
    *(
        "sister in the garden",
        "what did Zelda say about the garden",
        "Zelda's coffee",
        "zelda",
        "what happened on 7 May 2025",
    ),
    *(
        "who plays music in the kitchen?",
        "letter",
        SECRET,
        f"{SECRET} bicycle",
        "trains",
        "what did you recommend",
    ),
)


def told(memory: Memory, filters: dict[str, Any]) -> dict[str, str]:
    """Everything that all rankers say."""
    probe(len(QUERIES) * len(RANKERS))
    return {
        f"{query} {ranker}": json.dumps(memory.search(query, ranker=ranker, **filters).to_dict())
        for query in QUERIES
        for ranker in RANKERS
    }


def everything(memory: Memory) -> dict[str, str]:
    """What the other verbs that rank or list say."""
    probe(5 * len(QUERIES) + 1)
    limits = dict.fromkeys(
        ("profile", "procedural", "semantic", "episodic", "short_term", "world"), 5
    )
    said: dict[str, str] = {}
    for query in QUERIES:
        said[f"relevant {query}"] = json.dumps(
            [memory.query_relevant(query, recency_bias=bias).to_dict() for bias in (0, 0.35, 1)]
        )
        said[f"similar {query}"] = json.dumps(memory.recall_similar(query, 20).to_dict())
        said[f"context {query}"] = memory.memory_context(query, limits, 20_000).text
    said["recent"] = json.dumps(
        [record.to_dict() for record in memory.query_recent(hours=20_000, limit=1000)]
    )
    return said
