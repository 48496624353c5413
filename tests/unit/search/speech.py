"""Conversations, questions about them, and the answers."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from lamina import Memory
from lamina.search import RANKERS
from tests.conftest import START

WORDS = (
    "garden river bicycle coffee sister report office winter yesterday last week on Monday in "
    "2023 on 7 May 2025"
).split()
QUERIES = ("sister in the garden", "who drank coffee last week", "report of 7 May 2025", "bicycle")


def spoken(number: int, seed: int = 1) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [
        {
            "content": " ".join(chance.choices(WORDS, k=chance.randint(3, 12))),
            "session": f"s{n // 10}",
            "speaker": chance.choice(["Ana", "Ben", "assistant"]),
            "tags": [chance.choice(["a", "b"])],
            "importance": chance.random(),
            "at": START - timedelta(days=chance.randint(0, 900)),
        }
        for n in range(number)
    ]


def answers(memory: Memory, **filters: Any) -> list[dict[str, Any]]:
    return [
        memory.search(query, ranker=ranker, **filters).to_dict()
        for query in QUERIES
        for ranker in RANKERS
    ]
