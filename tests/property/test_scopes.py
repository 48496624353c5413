"""Whatever users do, and whatever memory is short: a scope that is read by itself, of a user, a
session or a project, answers as the whole store does, and shows nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Memory
from lamina.model.record import Hits, State
from lamina.search import RANKERS
from lamina.store.index import cache, scope, scoped, snapshot
from lamina.store.index.scope import scopes_of as scopes_of_filter
from lamina.store.tables.records import Filter
from tests.conftest import FULL, START, Desk, move

USERS = ("ana", "ben", None)
WORDS = ("tea", "coffee", "gardens", "piano", "猫の手", "книги", "yesterday", "getUserName", "½⃝x")
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"tags": ["a"]},
    {"session": "s1"},
    {"project": "p1"},
    {"metadata": {"place": "tea house"}},
    {"states": [*State], "kinds": ["fact"]},
    {"known_at": START + timedelta(seconds=20)},
)
ASKED = ["hybrid"] * len(FILTERS) + [*RANKERS, *RANKERS][-len(FILTERS) :]
ITEMS = st.fixed_dictionaries(
    {
        "content": st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
        "kind": st.sampled_from(["fact", "crumb"]),
        "tags": st.lists(st.sampled_from(["a", "tea"]), max_size=2, unique=True),
        "metadata": st.sampled_from([{}, {"place": "tea house"}, {"attribute": "employer"}]),
        "session": st.sampled_from([None, "s1", "s2"]),
        "project": st.sampled_from([None, "p1", "p2"]),
        "speaker": st.sampled_from([None, "Ana", "assistant"]),
        "trust": st.sampled_from([None, "external"]),
        "at": st.integers(0, 3).map(lambda days: START - timedelta(days=days)),
    }
)
STEPS = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(USERS), st.lists(ITEMS, max_size=4)),
    st.tuples(st.sampled_from(["index", "prune", "nothing"]), st.none(), st.none()),
    st.tuples(
        st.sampled_from(["supersede", "erase", "bring back", "grow"]), st.none(), st.integers(0, 9)
    ),
)


@contextmanager
def scopes_of(most: int) -> Iterator[None]:
    """Read scopes of up to so many records by themselves, however large the store is.

    A session or a project goes first, so that it is read alone also where its user has little.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scope, "MOST", most)
        patch.setattr(scope, "SHARE", 1)
        patch.setattr(snapshot, "AT_HAND", 0)
        patch.setattr(snapshot, "scopes_of", lambda wanted: reversed([*scopes_of_filter(wanted)]))
        yield


def told(handle: Memory, ranker: str, how: dict[str, Any]) -> Any:
    hits: Hits = handle.search(
        "Ana: yesterday tea 猫の手 get ½⃝x company", limit=20, ranker=ranker, **how
    )
    return [hit.to_dict() for hit in hits], hits.notes, hits.confidence


def act(desk: Desk, step: str, user: str | None, what: Any) -> None:
    """One thing that somebody does to the store."""
    op = desk.operator()
    records = op.list(states=None, limit=100)
    if step == "remember":
        desk.agent(user=user).remember_many(what)
    elif step == "index":
        op.index()
    elif step == "prune":
        op.prune(tags=["a"])
    elif step == "bring back":
        with op._scope.store.read() as db:
            ids = [row for (row,) in db.execute("SELECT id FROM archived ORDER BY id")]
        if ids:
            op.restore_archived(ids[what % len(ids)])
    elif records and step != "nothing":
        chosen = records[what % len(records)]
        if step == "erase":
            op.erase(chosen.id, reason="asked for")
        elif step == "grow":
            more = {"place": "tea house", "attribute": "employer"}
            move(op, chosen.id, metadata={**chosen.metadata, **more})
        elif chosen.state is State.ACTIVE:
            move(op, chosen.id, state=State.SUPERSEDED)


@given(st.lists(STEPS, min_size=2, max_size=8), st.sampled_from([0, 256]))
@settings(max_examples=150 if FULL else 12)
def test_a_scope_answers_as_the_whole_store_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str | None, Any]], room: int
) -> None:
    """R12, Q6: after whatever users and operators do in turn, with memory for all scopes or for
    none, a user is told the same bytes from the scope's own index and from the whole store's."""
    with Desk(tmp_path_factory.mktemp("home")) as desk:
        more = {"settings": {"cache.megabytes": room}}
        handles = [desk.agent(user=user, **more) for user in ("ana", None)]
        for step, user, what in steps:
            act(desk, step, user, what)
            for handle in handles:
                for ranker, how in zip(ASKED, FILTERS * 2, strict=True):
                    desk.clock.step = timedelta()
                    with scopes_of(1000):
                        own = told(handle, ranker, how)
                        narrow = {key: how[key] for key in ("session", "project") if key in how}
                        wanted = Filter(handle.user, **narrow)
                        with handle._scope.store.index.snapshot(wanted=wanted) as look:
                            is_own = isinstance(look.catalogue, scoped.ScopedCatalogue)
                            assert is_own is (wanted != Filter())
                    with scopes_of(0):
                        assert own == told(handle, ranker, how), (handle.user, ranker, how)
                    handle._scope.store.index._large.clear()
                    desk.clock.step = timedelta(seconds=1)
                    if handle.user is not None:
                        assert {hit["record"]["user"] for hit in own[0]} <= {handle.user, None}
        if room == 0:
            assert cache.CACHE.usage.scopes <= 1
