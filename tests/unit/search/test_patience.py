"""A search never waits for a sentence model longer than `recall.wait_ms` says: Q5."""

from __future__ import annotations

import pytest

from lamina.embedders import Asked
from lamina.embedders.wordllama import shared
from lamina.errors import EmbedderFailed
from lamina.search.patience import Patient
from tests.conftest import Desk, contents
from tests.unit.search.toy_model import ToyModel

TEXTS = ("Ana keeps bees", "Ben repaired the bicycle")


def test_a_search_goes_on_without_a_slow_model(desk: Desk) -> None:
    """Q5: with no time to wait, the answer comes from words and word vectors, and a note says what
    is missing; when the model is ready, the next search has its part."""
    model = ToyModel()
    memory = desk.agent(settings={"recall.wait_ms": 0})
    memory._scope.recall.__dict__["embedders"] = (shared(), model)
    memory.remember_many({"content": text} for text in TEXTS)
    memory.index()
    model.ready.clear()
    hits = memory.search("who repaired the bicycle")
    assert contents(hits)[0] == TEXTS[1]
    assert "model" not in hits[0].parts
    assert any("not ready within 0 ms (recall.wait_ms)" in note for note in hits.notes)
    model.ready.set()
    later = desk.agent(settings={"recall.wait_ms": 600_000})
    later._scope.recall.__dict__["embedders"] = (shared(), model)
    assert dict(later.search("who repaired the bicycle")[0].parts)["model"] > 0


def test_time_is_shared_by_all_that_is_asked_of_a_model() -> None:
    """Q5: the seconds are for a whole search; an error of the model itself is raised as it is."""
    model = ToyModel()
    patient = Patient(model, 600)
    assert patient.ask("tea").vector.tolist() == model.ask("tea").vector.tolist()
    assert patient.embed(["tea"]).shape == (1, model.dimensions)
    hasty = Patient(model, 0)
    model.ready.clear()
    with pytest.raises(EmbedderFailed, match="not ready within 0 ms"):
        hasty.read(["tea"])
    model.ready.set()

    class Broken(ToyModel):
        def ask(self, question: str) -> Asked:
            raise EmbedderFailed("its weights are gone")

    with pytest.raises(EmbedderFailed, match="weights are gone"):
        Patient(Broken(), 600).ask("tea")
