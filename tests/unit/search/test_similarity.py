"""Meaning, and what happens without it: every embedder may be away, slow or mad, and a search still
answers by words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import EmbedderFailed, InvalidInput
from lamina.model.record import Hits
from tests.cases import every
from tests.conftest import CONTRACTS, Desk, contents
from tests.unit.search.embedding_server import (
    EmbeddingHandler,
    EmbeddingServer,
    Play,
    good,
    hashed,
)

TEXTS = (
    "Ana keeps bees in the garden behind the house",
    "The quarterly report is due on Friday",
    "Ben repaired the old bicycle",
    "The server runs PostgreSQL",
)
RANKERS = ("hybrid", "keyword", "semantic", "overlap", "exact")
BY_WORDS = ("keyword", "overlap", "exact")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def fill(op: Operator) -> None:
    op.remember_many(
        {"content": text, "layer": "semantic", "metadata": CONTRACTS["semantic"]} for text in TEXTS
    )


@pytest.fixture
def filled(desk: Desk) -> Desk:
    fill(desk.operator(settings={"recall.embedders": ["none"]}))
    return desk


def spaces(memory: Memory) -> dict[str, tuple[int, int]]:
    """The dimensions of every space, and how many vectors it has."""
    query = (
        "SELECT name, dimensions, (SELECT count(*) FROM vectors WHERE space = number) FROM spaces"
    )
    return {
        name: (dimensions, count)
        for name, dimensions, count in memory._scope.store.database.reader().execute(query)
    }


def name_of(server: EmbeddingServer, model: str = "tiny") -> str:
    return f"openai:{server.settings['recall.endpoint']}:{model}"


def searched(memory: Memory, ranker: str, query: str = "who keeps bees in the garden") -> Hits:
    hits = memory.search(query, ranker=ranker)
    assert contents(hits)[0] == TEXTS[0], ranker
    return hits


# None


@pytest.mark.parametrize("value", [["none"], []])
def test_without_an_embedder_words_answer(filled: Desk, value: list[str]) -> None:
    """Q5, Q4: `recall.embedders = none` searches by words with every ranker; where meaning was
    asked for, a note says so."""
    memory = filled.agent(settings={"recall.embedders": value})
    for ranker in RANKERS:
        notes = searched(memory, ranker).notes
        assert bool(notes) == (ranker == "semantic")
    similar = memory.recall_similar("who keeps bees in the garden")
    assert contents(similar)[0] == TEXTS[0]
    assert "no embedder" in similar.notes[0]
    assert "relevance" in similar[0].parts
    assert memory.index() == 0
    assert spaces(memory) == {}


# One that works


def test_meaning_needs_no_shared_word(filled: Desk) -> None:
    """Q4: the usual embedder finds what is near in meaning; the parts add up, and nothing needs to
    be said."""
    memory = filled.agent()
    hits = memory.recall_similar("beekeeping backyard", top_k=1)
    assert contents(hits) == [TEXTS[0]]
    assert hits.notes == ()
    assert hits[0].parts == {"similarity": hits[0].score}
    assert memory.recall_similar("bicycle", top_k=2)[0].record.content == TEXTS[2]


def test_similar_memories_are_long_term(desk: Desk) -> None:
    """Q4: `recall_similar` looks at the long-term layers, and gives at most `top_k`."""
    op = desk.operator()
    for layer, metadata in CONTRACTS.items():
        op.remember(f"bees in the garden {layer}", layer=layer, metadata=metadata)
    found = {hit.record.layer for hit in op.recall_similar("bees in the garden", top_k=10)}
    assert found == {"episodic", "semantic", "procedural", "profile", "world"}
    assert len(op.recall_similar("bees in the garden", top_k=2)) == 2


def test_an_endpoint_is_asked_once_for_each_text(filled: Desk, server: EmbeddingServer) -> None:
    """Q4, Q5: a search embeds what is missing in memory and stores nothing; later ones ask for the
    question alone."""
    memory = filled.agent(settings=server.settings)
    assert searched(memory, "semantic").notes == ()
    assert sorted(text for texts in server.asked for text in texts if text in TEXTS) == sorted(
        TEXTS
    )
    assert spaces(memory) == {}
    server.asked.clear()
    searched(memory, "semantic")
    searched(memory, "hybrid")
    assert not [text for texts in server.asked for text in texts if text in TEXTS]


def test_two_embedders_are_fused(filled: Desk, server: EmbeddingServer) -> None:
    """Q5: with two embedders each has a part in the score, `semantic` takes the mean, and `index`
    makes vectors for both."""
    memory = filled.agent(
        settings={**server.settings, "recall.embedders": ["wordllama", "openai:tiny"]}
    )
    for _ in range(2):
        hybrid = searched(memory, "hybrid")
        assert {"words", "meaning", "model"} <= hybrid[0].parts.keys()
        assert hybrid.notes == ()
        both = searched(memory, "semantic")[0].score
        memory.index()
    assert spaces(memory) == {"wordllama-256": (256, 4), name_of(server): (24, 4)}
    alone = [
        searched(
            filled.agent(settings={**server.settings, "recall.embedders": [name]}), "semantic"
        )[0].score
        for name in ("wordllama", "openai:tiny")
    ]
    assert both == pytest.approx(sum(alone) / 2, abs=1e-9)


def test_another_process_sees_vectors_at_once(filled: Desk, server: EmbeddingServer) -> None:
    """Q6, B1: what one handle has indexed, another that was open before uses without
    embedding it again."""
    one, other = filled.agent(settings=server.settings), filled.agent(settings=server.settings)
    other.search("something", ranker="keyword")
    assert one.index() == 4
    server.asked.clear()
    query = "who keeps bees in the garden"
    assert (
        searched(other, "semantic").to_dict()["hits"] == searched(one, "semantic").to_dict()["hits"]
    )
    assert server.asked == [[query], [query]]
    assert other.index() == 0


def test_many_texts_without_a_vector_are_told(desk: Desk, server: EmbeddingServer) -> None:
    """Q5, Q7: a search embeds a few texts of a slow embedder by itself; more than that it leaves to
    `lamina index`."""
    desk.operator(settings={"recall.embedders": ["none"]}).remember_many(
        {"content": f"bees {n}"} for n in range(40)
    )
    memory = desk.agent(settings=server.settings)
    left = []
    for _ in range(4):
        hits = memory.search("bees", ranker="semantic")
        left.append([note for note in hits.notes if "lamina index" in note])
        assert len(hits) > 0
    assert all("40 memories" in "".join(notes) for notes in left)
    memory.index()
    assert memory.search("bees", ranker="semantic").notes == ()


# One that does not


def slow(handler: EmbeddingHandler, _: list[str]) -> None:
    handler.server.over.wait(60)


def not_a_number(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.answer(b'{"data": [%s]}' % b",".join([b'{"embedding": [1.0, NaN]}'] * len(texts)))


def infinite(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.vectors([[1e39, 1.0] for _ in texts])


def one_too_few(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.vectors([hashed(text) for text in texts][1:])


def one_too_many(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.vectors([hashed(text) for text in [*texts, "more"]])


def of_all_sizes(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.server.asked.append([])
    handler.vectors(
        [hashed(text, 3 + len(handler.server.asked) + place) for place, text in enumerate(texts)]
    )


def zeros(handler: EmbeddingHandler, texts: list[str]) -> None:
    handler.vectors([[0.0] * 4 for _ in texts])


def nonsense(handler: EmbeddingHandler, _: list[str]) -> None:
    handler.answer(b"<html>\x1b[31m no \xff</html>")


def broken(handler: EmbeddingHandler, _: list[str]) -> None:
    handler.answer(b'{"error": "out of memory"}', 500)


def cut_off(handler: EmbeddingHandler, _: list[str]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")


@pytest.mark.parametrize(
    "play",
    [
        slow,
        not_a_number,
        infinite,
        one_too_few,
        one_too_many,
        of_all_sizes,
        zeros,
        nonsense,
        broken,
        cut_off,
    ],
    ids=lambda play: str(play.__name__),
)
def test_a_mad_embedder_leaves_the_words(filled: Desk, server: EmbeddingServer, play: Play) -> None:
    """Q5, Q4: whatever an endpoint answers, a search finds by words and says in a note what
    it went without.

    `index` is a typed error that changes nothing; when the endpoint is well again, the same handle
    uses it.
    """
    memory = filled.agent(
        settings={**server.settings, "recall.timeout_ms": 100 if play is slow else 5000}
    )
    server.play = play
    for ranker in ("hybrid", "semantic"):
        (note,) = searched(memory, ranker).notes
        assert note.startswith(name_of(server))
        assert note.isprintable()
    similar = memory.recall_similar("who keeps bees in the garden")
    assert contents(similar)[0] == TEXTS[0]
    assert len(similar.notes) == 1
    assert "relevance" in similar[0].parts
    for ranker in BY_WORDS:
        assert searched(memory, ranker).notes == ()
    with pytest.raises(EmbedderFailed):
        memory.index()
    assert spaces(memory) == {}
    server.play = good
    memory = filled.agent(settings=server.settings)
    assert searched(memory, "hybrid").notes == ()
    assert memory.index() == 4


def test_an_embedder_that_is_away_leaves_the_words(filled: Desk) -> None:
    """Q5, Q4: nobody at the address: the words answer, and a note says so."""
    settings = {"recall.embedders": ["openai:tiny"], "recall.endpoint": "http://127.0.0.1:9/v1"}
    memory = filled.agent(settings=settings)
    for ranker in ("hybrid", "semantic"):
        (note,) = searched(memory, ranker).notes
        assert "cannot be reached" in note
    assert memory.memory_context("who keeps bees in the garden").items
    with pytest.raises(EmbedderFailed):
        memory.index()


def test_what_was_embedded_before_an_embedder_failed_stays(
    desk: Desk, server: EmbeddingServer
) -> None:
    """L2, B4: `index` stores batch by batch, so that after a failure the next one does what is
    left, and no text twice."""
    desk.operator(settings={"recall.embedders": ["none"]}).remember_many(
        {"content": f"bees {n}"} for n in range(200)
    )
    memory = desk.agent(settings=server.settings)
    batches = iter((good, good, broken))
    server.play = lambda handler, texts: next(batches, good)(handler, texts)
    with pytest.raises(EmbedderFailed):
        memory.index()
    assert spaces(memory) == {name_of(server): (24, 128)}
    server.asked.clear()
    assert memory.index() == 72
    assert spaces(memory) == {name_of(server): (24, 200)}
    assert sum(map(len, server.asked)) == 72


def test_one_of_two_embedders_may_be_away(filled: Desk, server: EmbeddingServer) -> None:
    """Q5: the other one still has its part."""
    server.play = broken
    memory = filled.agent(
        settings={**server.settings, "recall.embedders": ["openai:tiny", "wordllama"]}
    )
    hits = searched(memory, "hybrid")
    assert len(hits.notes) == 1
    assert "meaning" in hits[0].parts
    hits = searched(memory, "semantic")
    assert len(hits.notes) == 1
    assert hits[0].parts.keys() == {"similarity"}


def test_an_embedder_that_goes_away_later_leaves_the_words(
    filled: Desk, server: EmbeddingServer
) -> None:
    """Q5: vectors that are stored are of no use without that of the question; the words are."""
    memory = filled.agent(settings=server.settings)
    memory.index()
    assert searched(memory, "semantic").notes == ()
    server.play = broken
    assert len(searched(memory, "semantic").notes) == 1
    assert len(searched(memory, "hybrid").notes) == 1
    server.play = good
    assert searched(memory, "semantic").notes == ()


# Another one


def test_another_embedder_works_at_once(filled: Desk, server: EmbeddingServer) -> None:
    """Q5, B1: a handle with another embedder searches at once; `index` embeds anew and then drops
    the old vectors."""
    filled.agent().index()
    memory = filled.agent(settings=server.settings)
    assert searched(memory, "semantic").notes == ()
    assert spaces(memory) == {"wordllama-256": (256, 4)}
    assert memory.index() == 4
    assert spaces(memory) == {name_of(server): (24, 4)}
    assert searched(memory, "semantic").notes == ()
    # And back, with a handle that knew the old vectors.
    again = filled.agent()
    assert searched(again, "semantic").notes == ()
    assert again.index() == 4
    assert spaces(again) == {"wordllama-256": (256, 4)}


def test_the_same_name_with_other_dimensions_begins_anew(
    filled: Desk, server: EmbeddingServer
) -> None:
    """Q5: a model that was replaced behind its name is noticed by its dimensions."""
    filled.agent(settings=server.settings).index()
    server.play = lambda handler, texts: handler.vectors([hashed(text, 10) for text in texts])
    memory = filled.agent(settings=server.settings)
    assert searched(memory, "semantic").notes == ()
    memory.remember("one more text about something else")
    memory.index()
    assert spaces(memory) == {name_of(server): (10, 5)}
    assert searched(memory, "semantic").notes == ()


def test_embedders_in_another_order_keep_their_vectors_apart(
    desk: Desk, server: EmbeddingServer
) -> None:
    """Q5, Q6: whatever numbers spaces have after a reindex, an open handle takes no vector for one
    of another embedder."""
    server.play = lambda handler, texts: handler.vectors(
        [hashed(f"{handler.model}{text}") for text in texts]
    )
    settings = [
        {**server.settings, "recall.embedders": [f"openai:{name}" for name in names]}
        for names in ("ab", "ba")
    ]
    one, other = (desk.operator(settings=chosen) for chosen in settings)
    # More than are looked at exactly, and each far from all others.
    one.remember_many({"content": f"memory{n}"} for n in range(400))
    one.index()
    desk.clock.step = timedelta(0)
    queries = [f"memory{n}" for n in range(0, 400, 40)]
    expected = [one.search(query, ranker="semantic").to_dict()["hits"] for query in queries]
    assert [hits[0]["record"]["content"] for hits in expected] == queries
    other.reindex()
    for handle in (one, desk.operator(settings=settings[0])):
        assert [
            handle.search(query, ranker="semantic").to_dict()["hits"] for query in queries
        ] == expected


# Settings


def test_the_environment_names_the_embedders(
    filled: Desk, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q5: `LAMINA_RECALL_EMBEDDERS` and `LAMINA_RECALL_ENDPOINT` do what the settings do."""
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", "wordllama, openai:tiny")
    monkeypatch.setenv("LAMINA_RECALL_ENDPOINT", str(server.settings["recall.endpoint"]))
    memory = filled.agent()
    assert memory.index() == 8
    assert spaces(memory).keys() == {"wordllama-256", name_of(server)}
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", "none")
    assert "no embedder" in filled.agent().recall_similar("bees in the garden").notes[0]


@every(
    "value",
    [
        ["word2vec"],
        ["openai"],
        ["openai:"],
        ["openai:a b"],
        ["wordllama-256"],
        ["None"],
        [""],
        [1],
        "wordllama",
        None,
        ["minilm:x"],
    ],
)
def test_an_embedder_that_does_not_exist_is_an_error(desk: Desk, value: Any) -> None:
    """Q5: a wrong name is `InvalidInput` when the handle is opened, from settings
    and environment alike."""
    with pytest.raises(InvalidInput):
        desk.agent(settings={"recall.embedders": value})


def test_a_wrong_variable_is_an_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q5: the message names the variable."""
    monkeypatch.setenv("LAMINA_RECALL_EMBEDDERS", "wordllama,word2vec")
    with pytest.raises(InvalidInput, match="LAMINA_RECALL_EMBEDDERS"):
        desk.agent()
