"""A sentence model beside word vectors: a server and a mirror answer as a file does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Operator
from lamina.embedders.models import is_here
from tests.conftest import Ticking
from tests.contract.stores import StoreDesk
from tests.servers.chroma import Chroma
from tests.servers.everywhere import Copied
from tests.servers.weaviate import Weaviate

MODEL = {"recall.embedders": ["wordllama", "e5"], "recall.wait_ms": 60_000}
TURNS = (
    ("Ana", "We finally put three hives behind the shed"),
    ("Ben", "Are you not afraid of being stung?"),
    ("Ana", "A little, but the honey is worth it"),
    ("Ben", "My flight to Lisbon was cancelled, so I took the night train"),
    ("Ana", "How long did that take?"),
    ("Ben", "Eleven hours, and the heating was broken"),
    ("Ana", "The dentist says that I grind my teeth"),
    ("Ben", "You could ask for a splint"),
    ("Ana", "I sold the old bicycle and bought a cargo bike for the children"),
    ("Ben", "My sister paints portraits of dogs now"),
)
QUESTIONS = (
    "Which insects does Ana keep?",
    "How did Ben travel when his plane did not leave?",
    "what is wrong with her mouth",
    "Hi! Sorry to ask again. How do the kids get to school? Thanks a lot!",
)
Found = list[list[tuple[str, float, Mapping[str, float]]]]


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[Any]:
    """Open a new home in which the model is, with some settings."""
    models = Path(os.environ["LAMINA_MODELS"]) / "models"
    if not is_here("e5", models):
        pytest.skip(f"e5 is not in {models}; `make model-e5` fetches it")
    desks: list[StoreDesk] = []

    def home(agent: str, **settings: Any) -> Operator:
        path = tmp_path / f"home{len(desks)}"
        path.mkdir()
        (path / "models").symlink_to(models)
        clock = Ticking()
        clock.step = timedelta(0)
        desks.append(StoreDesk(path, {**MODEL, **settings}, clock).__enter__())
        return desks[-1].operator(agent)

    yield home
    for desk in desks:
        desk.__exit__(None, None, None)


def found(handle: Operator) -> Found:
    """Tell the conversation and ask about it."""
    handle.remember_many(
        {"content": text, "speaker": name, "session": "talk", "at": 1_700_000_000 + 60 * place}
        for place, (name, text) in enumerate(TURNS)
    )
    handle.index()
    handle.sync_mirrors()
    answers = [handle.search(question) for question in QUESTIONS]
    assert [answer.notes for answer in answers] == [()] * len(QUESTIONS)
    assert any("late" in hit.parts for answer in answers for hit in answer)
    return [[(hit.record.content, hit.score, hit.parts) for hit in one] for one in answers]


def test_postgres_answers_as_a_file_does(homes: Any, quick_postgres: Copied) -> None:
    """B3, Q5: the same hits with the same parts, whether it sends rows or finds candidates."""
    expected = found(homes("sky"))
    for served in ({}, {"store.search_above": 0}):
        url = quick_postgres.url(quick_postgres.copy())
        assert found(homes("sky", **{"store.url": url, **served})) == expected


def test_chroma_answers_as_the_store_does(homes: Any, chroma: Chroma, fresh_agent: str) -> None:
    """B2, Q5: through the mirror, the model and its tokens count as they do without it."""
    through = {"mirrors.chroma": chroma.url, "recall.via": "chroma"}
    assert found(homes(fresh_agent, **through)) == found(homes(fresh_agent))


def test_weaviate_answers_as_the_store_does(
    homes: Any, weaviate: Weaviate, fresh_agent: str
) -> None:
    """B2, Q5: through the mirror, the model and its tokens count as they do without it."""
    through = {"mirrors.weaviate": weaviate.url, "recall.via": "weaviate"}
    assert found(homes(fresh_agent, **through)) == found(homes(fresh_agent))
