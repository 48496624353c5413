"""No search tells anything of what its handle may not see: not a text, not a name, not a number."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory
from lamina.errors import InvalidInput, LaminaError
from lamina.model.record import State
from lamina.search import RANKERS
from lamina.store.index import scope, snapshot
from lamina.store.index.cache import CACHE
from tests.conftest import CONTRACTS, START, Desk, Ticking, contents, move
from tests.security.recalled import (
    FILTERS,
    QUERIES,
    SECRET,
    WORDS,
    everything,
    secrets,
    spoken,
    told,
)
from tests.unit.search.embedding_server import EmbeddingServer

every_filter = pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)


class Pair:
    """Two homes in which Ana has said the same; in the second, others have been busy."""

    def __init__(self, folder: Path, number: int) -> None:
        self.clock = Ticking(START, timedelta(0))
        self.alone, self.crowded = (
            Desk(folder / name, self.clock) for name in ("alone", "crowded")
        )
        for desk in (self.alone, self.crowded):
            ana = desk.operator("sky", "ana")
            ana.remember_many(spoken(number, 1))
            desk.operator("sky").remember_many(spoken(20, 2))

    def disturb(self) -> None:
        """Others write, are forgotten, replaced, and have open runs."""
        ben = self.crowded.operator("sky", "ben")
        made = ben.remember_many(secrets())
        for record, state in zip(
            made, (State.TOMBSTONED, State.CONSTRAINED, State.SUPERSEDED), strict=False
        ):
            move(ben, record.id, state=state)
        for layer in ("profile", "semantic", "procedural"):
            ben.remember(f"{SECRET} sister in the garden", layer=layer, metadata=CONTRACTS[layer])
        ben.run(f"{SECRET} sister in the garden").note(f"{SECRET} coffee")
        other = self.crowded.operator("milton")
        other.remember_many(secrets())

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.alone.__exit__(None, None, None)
        self.crowded.__exit__(None, None, None)


@pytest.mark.parametrize("number", [60, 420], ids=["few", "more than candidates"])
@pytest.mark.parametrize("indexed", [False, True], ids=["fresh", "indexed"])
@pytest.mark.parametrize("most", [0, 5000], ids=["whole store", "scope by itself"])
def test_others_change_nothing_in_what_a_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, indexed: bool, most: int
) -> None:
    """R12, Q6: hits, order, scores, parts and notes are the same bytes as if the others
    did not exist.

    Not even as numbers: how rare a word is, how long texts are and who speaks is counted over what
    the handle may see. In memory others' handles share what they can with this one.
    """
    monkeypatch.setattr(scope, "MOST", most)
    monkeypatch.setattr(scope, "SHARE", 1)
    with Pair(tmp_path, number) as pair:
        pair.disturb()
        if indexed:
            pair.alone.agent().index()
            pair.crowded.agent().index()
        alone, crowded = pair.alone.agent("sky", "ana"), pair.crowded.agent("sky", "ana")
        chosen = FILTERS if number < 100 else {"plain": {}, "many": {"limit": 300}}
        for name, filters in chosen.items():
            one, other = told(alone, filters), told(crowded, filters)
            assert [asked for asked in one if one[asked] != other[asked]] == [], name
            assert SECRET not in "".join(
                text for asked, text in other.items() if SECRET not in asked
            )
        assert everything(crowded) == everything(alone)


@pytest.mark.parametrize("room", [0, 256], ids=["no memory", "memory for all"])
def test_scopes_of_one_name_are_kept_apart(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """R12, P6: two users have sessions and projects of the same names, which are read alone. What
    one of them is told never has anything of the other, and stays the same bytes, however often
    the scopes of both leave memory and come back."""
    monkeypatch.setattr(scope, "SHARE", 1)
    monkeypatch.setattr(snapshot, "AT_HAND", 0)
    monkeypatch.setattr(snapshot, "scopes_of", lambda wanted: reversed([*scope.scopes_of(wanted)]))
    more = {"settings": {"cache.megabytes": room}}
    desk.agent(user="ben").remember_many({**item, "project": "p"} for item in secrets())
    desk.agent(user="ana").remember_many({**item, "project": "p"} for item in spoken(40, 1))
    desk.clock.step = timedelta(0)
    handles = [desk.agent(user=user, **more) for user in ("ben", "ana", "eve")]
    asked: list[tuple[str, dict[str, Any]]] = [
        (ranker, how)
        for ranker in RANKERS
        for how in ({"session": "s1"}, {"project": "p"}, {"session": "s1", "project": "p"})
    ]
    before: dict[tuple[str | None, int], str] = {}
    for _ in range(3):
        for number, (ranker, how) in enumerate(asked):
            for handle in handles:
                found = handle.search("sister in the garden", ranker=ranker, limit=50, **how)
                assert {hit.record.user for hit in found} <= {handle.user}
                said = json.dumps(found.to_dict())
                assert handle.user == "ben" or SECRET not in said
                assert before.setdefault((handle.user, number), said) == said
    if room == 0:
        assert CACHE.usage.scopes <= 1


@every_filter
def test_no_filter_lets_another_users_record_through(desk: Desk, filters: dict[str, Any]) -> None:
    """R12: by no ranker and no filter."""
    ben = desk.operator("sky", "ben")
    ben.remember_many({**item, "at": START - timedelta(days=3)} for item in secrets())
    ben.remember(
        f"{SECRET} sister in the garden",
        layer="semantic",
        metadata={**CONTRACTS["semantic"], "place": "office"},
    )
    own = desk.operator("sky", "ana").remember_many(spoken(5, 3))
    desk.clock.set(START + timedelta(days=2))
    ana = desk.agent("sky", "ana")
    seen = {record.id for record in own}
    for query in QUERIES:
        for ranker in RANKERS:
            assert {hit.record.id for hit in ana.search(query, ranker=ranker, **filters)} <= seen


@pytest.mark.parametrize("ranker", RANKERS)
def test_another_users_run_cannot_be_searched(desk: Desk, ranker: str) -> None:
    """R12, L10: the id of somebody's run opens nothing, and the answer is that to a run
    that never was."""
    run = desk.agent("sky", "ben").run(f"{SECRET} task")
    run.note(f"{SECRET} sister in the garden")
    desk.agent("sky", "ana").remember("sister in the garden")
    ana = desk.agent("sky", "ana")
    desk.clock.step = timedelta(0)
    for query in QUERIES:
        found = ana.search(query, ranker=ranker, run_id=run.id, layers=["working", "short_term"])
        never = ana.search(query, ranker=ranker, run_id="0" * 26, layers=["working", "short_term"])
        assert found.to_dict() == never.to_dict()
        assert SECRET not in "".join(contents(found))
    ben = desk.agent("sky", "ben")
    assert contents(
        ben.search("sister in the garden", ranker=ranker, run_id=run.id, layers=["working"])
    )


def test_the_past_belongs_to_whom_the_present_does(desk: Desk) -> None:
    """R12, Q10: `known_at` a time when another user's record was active shows it no
    more than now."""
    ben = desk.operator("sky", "ben")
    (record, *_) = ben.remember_many(secrets())
    then = desk.clock()
    move(ben, record.id, state=State.TOMBSTONED)
    ana = desk.agent("sky", "ana")
    for ranker in RANKERS:
        for query in QUERIES:
            assert not ana.search(
                query, ranker=ranker, known_at=then, states=[state.value for state in State]
            )
    assert ben.search(record.content, known_at=then)


def test_what_was_confirmed_for_all_is_seen_by_all(desk: Desk) -> None:
    """R12: records without a user are everybody's, so the tests here do not pass
    by finding nothing."""
    desk.operator("sky").remember("sister in the garden")
    for user in ("ana", "ben", None):
        for ranker in RANKERS:
            assert contents(
                desk.agent("sky", user).search("sister in the garden", ranker=ranker)
            ) == ["sister in the garden"]


def test_every_user_sees_all_of_theirs_and_the_store_all(desk: Desk) -> None:
    """R12: a handle without a user sees the records of all."""
    for user in ("ana", "ben"):
        desk.agent("sky", user).remember(f"sister in the garden of {user}")
    for ranker in RANKERS:
        assert len(desk.agent("sky").search("sister in the garden", ranker=ranker)) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.search(SECRET, ranker="magic"),
        lambda memory: memory.search(SECRET, run_id="not an id"),
        lambda memory: memory.search(SECRET, layers=["working"]),
        lambda memory: memory.search(SECRET, kinds=["poem"]),
        lambda memory: memory.search("x", metadata={"place": []}),
        lambda memory: memory.memory_context("x", {"attic": 1}),
        lambda memory: memory.memory_context("x", max_chars=1),
        lambda memory: memory.query_recent(hours=-1),
        lambda memory: memory.recall_similar("x", top_k=0),
    ],
)
def test_errors_name_what_was_given_and_nothing_that_is_stored(
    desk: Desk, call: Callable[[Memory], object]
) -> None:
    """R12, Q7: the message of an error is the same with and without the records of others."""
    ana = desk.agent("sky", "ana")
    with pytest.raises(InvalidInput) as before:
        call(ana)
    desk.operator("sky", "ben").remember_many(secrets())
    with pytest.raises(LaminaError) as after:
        call(ana)
    assert after.value.to_dict() == before.value.to_dict()


def test_others_do_not_choose_the_candidates(tmp_path: Path) -> None:
    """R12, Q6: in a large store, a text of another user that equals the question does not push out
    what is less like it."""
    chance = random.Random(5)
    items = [
        {
            "content": " ".join(chance.choices(WORDS, k=chance.choice([1, 2, 3, 60]))),
            "importance": chance.random(),
        }
        for _ in range(1500)
    ]
    clock = Ticking(START, timedelta(0))
    found = []
    for others in ([], [{"content": "garden river elephants"}]):
        with Desk(tmp_path / str(len(others)), clock) as desk:
            desk.agent("sky", "ana").remember_many(items)
            desk.agent("sky", "ben").remember_many(others)
            ana = desk.agent("sky", "ana")
            found.append(
                [
                    ana.search("garden river elephants", limit=limit).to_dict()
                    for limit in (10, 50, 300)
                ]
            )
    assert found[0] == found[1]
    assert len(found[0][2]["hits"]) == 300


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def test_notes_do_not_count_what_others_have(desk: Desk, server: EmbeddingServer) -> None:
    """R12, Q5: how many memories have no vector yet is told of one's own."""
    for user in ("ben", "ana"):
        desk.operator("sky", user, settings={"recall.embedders": ["none"]}).remember_many(
            spoken(50, 4)
        )
    ana, eve = (desk.agent("sky", user, settings=server.settings) for user in ("ana", "eve"))
    for ranker in ("hybrid", "semantic"):
        assert eve.search("sister in the garden", ranker=ranker).notes == ()
        (note,) = ana.search("sister in the garden", ranker=ranker).notes
        assert " 50 memories" in note


def test_notes_name_no_text(desk: Desk, server: EmbeddingServer) -> None:
    """R12, Q5: what a note says about an embedder holds no memory, whatever the embedder repeats in
    its answer."""
    ben = desk.operator("sky", "ben", settings={"recall.embedders": ["none"]})
    ben.remember_many(secrets())
    server.play = lambda handler, texts: handler.vectors([[1.0]] * (len(texts) + 1))
    ana = desk.agent("sky", "ana", settings=server.settings)
    for ranker in RANKERS:
        found = ana.search("sister in the garden", ranker=ranker)
        assert len(found) == 0
        assert SECRET not in "".join(found.notes)
