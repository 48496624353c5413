"""One question to the store: what every ranker is given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lamina import Memory
from lamina.search import RANKERS
from tests.conftest import START, Desk
from tests.unit.search.speech import QUERIES, spoken

FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "a tag": {"tags": ["a"]},
    "a day": {"since": START - timedelta(days=30)},
    "nothing": {"tags": ["nobody has it"]},
}


@pytest.mark.parametrize("indexed", [True, False], ids=["with vectors", "before they are stored"])
def test_few_records_are_ranked_as_among_all(
    desk: Desk, mem: Memory, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    """Q6: whether the columns of visible records are picked or taken whole, the answers are the
    same to the last digit."""
    mem.remember_many(spoken(300))
    if indexed:
        mem.index()
    desk.clock.step = timedelta(0)
    answers = []
    for few in (0, 1 << 40):  # always, never
        monkeypatch.setattr("lamina.search.request.FEW", few)
        asked = [
            (query, ranker, chosen)
            for query in QUERIES
            for ranker in RANKERS
            for chosen in FILTERS.values()
        ]
        answers.append(
            [
                mem.search(query, ranker=ranker, **chosen).to_dict()
                for query, ranker, chosen in asked
            ]
        )
    assert answers[0] == answers[1]
