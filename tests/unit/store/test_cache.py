"""What the searches of a process keep in memory: shared, bounded, and freed with the last handle."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from lamina import Memory
from lamina.store.index import cache, scope, snapshot
from lamina.store.index.cache import CACHE, Cache, place_of
from lamina.store.index.scope import Scope
from lamina.store.index.scoped import ScopedIndex
from lamina.store.index.whole import WholeIndex
from lamina.store.tables.records import Filter
from tests.conftest import Desk, contents


@pytest.fixture
def crowd(desk: Desk) -> Desk:
    """A store in which each of nine users has some memories, and all share one."""
    for user in range(9):
        with desk.agent(user=f"user{user}") as handle:
            handle.remember_many([{"content": f"tea number {n} of {user}"} for n in range(10)])
    desk.agent().remember("tea for all")
    return desk


def loaded(handle: Memory, user: str | None = None, **narrow: str) -> object:
    """What is kept for the searches of a handle, of a user, a session or a project."""
    place = handle._scope.store.index._place
    return CACHE.get(place, Scope(user, **narrow) if user or narrow else None)


def test_handles_of_a_store_share_what_they_keep(desk: Desk) -> None:
    """Q6, P2: handles of one store use the same catalogue and vectors, what one writes the others
    find at once, and another agent's store has its own."""
    first, second, other = desk.agent(), desk.operator(), desk.agent("milton")
    for handle in (first, second, other):
        handle.remember("green tea")
        handle.search("tea")
    assert loaded(first) is loaded(second)
    assert loaded(first) is not loaded(other)
    second.remember("black tea")
    assert len(first.search("tea")) == 3
    assert contents(other.search("tea")) == ["green tea"]


def test_the_last_handle_frees_it(desk: Desk) -> None:
    """R9: closing a handle keeps what others use; closing the last, or losing it, frees all."""
    before = CACHE.usage.scopes
    first, second = desk.agent(), desk.agent()
    first.remember("green tea")
    for handle in (first, second):
        handle.search("tea")
    place = first._scope.store.index._place
    first.close()
    assert CACHE.get(place, None) is not None
    assert contents(second.search("tea")) == ["green tea"]
    second.close()
    assert CACHE.get(place, None) is None
    store = desk.agent()._scope.store
    with store.index.snapshot():
        pass
    assert CACHE.get(place, None) is not None
    del store.__dict__["index"]
    gc.collect()
    assert CACHE.get(place, None) is None
    assert CACHE.usage.scopes == before


def test_a_user_of_many_has_their_own(crowd: Desk) -> None:
    """R12: in a store with many users a search keeps the user's and the unscoped records alone."""
    handle = crowd.agent(user="user3")
    assert len(handle.search("tea", limit=50)) == 11
    kept = loaded(handle, "user3")
    assert isinstance(kept, ScopedIndex)
    assert kept.catalogue.size == 1 + 11
    assert loaded(handle) is None
    assert sorted(kept.catalogue.numbers[1:].tolist()) == [*range(31, 41), 91]


def test_a_context_reads_what_its_user_may_see(crowd: Desk) -> None:
    """C1, R12: what always applies is looked up in the scope of the search, not in the store."""
    with crowd.agent(user="user3") as handle:
        handle.context("which tea was it?")
        assert isinstance(loaded(handle, "user3"), ScopedIndex)
        assert loaded(handle) is None


def test_a_session_and_a_project_are_read_alone(desk: Desk) -> None:
    """Q1: in a store with many sessions and projects a search in one of them keeps its records
    alone; those of a project with the turns beside them in their conversations."""
    handle = desk.agent()
    for n in range(9):
        talk = {"session": f"s{n}", "project": f"p{n}"}
        handle.remember_many([{"content": f"tea {turn} of {n}", **talk} for turn in range(10)])
        handle.remember(f"tea of {n}, said aside", session=f"s{n}")
    assert len(handle.search("tea", limit=50, session="s3")) == 11
    assert len(handle.search("tea", limit=50, project="p4")) == 10
    for kept in (loaded(handle, session="s3"), loaded(handle, project="p4")):
        assert isinstance(kept, ScopedIndex)
        assert kept.catalogue.size == 1 + 11
    assert loaded(handle) is None


def test_a_store_in_memory_serves_its_sessions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q1: a session is not read once more when all of a store that is not large is in memory."""
    handle = desk.agent()
    for n in range(9):
        handle.remember_many([{"content": f"tea {n}", "session": f"s{n}"}] * 10)
    assert len(handle.search("tea", limit=100)) == 90
    assert len(handle.search("tea", limit=50, session="s3")) == 10
    assert loaded(handle, session="s3") is None
    monkeypatch.setattr(snapshot, "AT_HAND", 0)
    assert len(handle.search("tea", limit=50, session="s3")) == 10
    assert isinstance(loaded(handle, session="s3"), ScopedIndex)


def test_a_user_with_little_needs_no_scope_of_a_session(crowd: Desk) -> None:
    """Q6: what is in memory for all questions of a user serves those within a session, too."""
    handle = crowd.agent(user="ana")
    handle.remember("tea of a session", session="s1")
    assert len(handle.search("tea", session="s1")) == 1
    assert isinstance(loaded(handle, "ana"), ScopedIndex)
    assert loaded(handle, "ana", session="s1") is None


def test_a_user_who_has_most_of_a_store_has_all_of_it(desk: Desk) -> None:
    """Q1: a scope that is no small part of its store is searched with the blocks of the store."""
    desk.agent().remember("tea for all")
    handle = desk.agent(user="ana")
    handle.remember_many([{"content": "tea"}] * 20)
    handle.search("tea")
    assert loaded(handle, "ana") is None
    assert isinstance(loaded(handle), WholeIndex)


def test_a_scope_that_has_grown_is_searched_with_the_store(
    crowd: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q1: a scope is read record by record for as long as it is small."""
    handle = crowd.agent(user="user3")
    assert len(handle.search("tea", limit=50)) == 11
    monkeypatch.setattr(scope, "MOST", 10)
    handle.remember_many([{"content": "more tea"}] * 10)
    assert len(handle.search("tea", limit=50)) == 21
    assert len(handle.search("tea", limit=50)) == 21
    assert isinstance(loaded(handle), WholeIndex)


def test_the_budget_holds_for_all_handles(crowd: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """P6, R12: beyond the budget the scope that was used longest ago goes; whoever comes back finds
    their own memories and nobody else's."""
    monkeypatch.setattr(cache, "MEGABYTE", 250_000)
    handles = [crowd.agent(user=f"user{n}", settings={"cache.megabytes": 1}) for n in range(1, 9)]
    for _ in range(2):
        for handle in handles:
            found = handle.search("tea", limit=50)
            assert {hit.record.user for hit in found} == {handle.user, None}
            usage = CACHE.usage
            assert usage.budget == 250_000
            assert usage.bytes <= usage.budget
            assert loaded(handle, handle.user) is not None
    kept = [loaded(handle, handle.user) is not None for handle in handles]
    assert kept == sorted(kept)
    assert 1 < sum(kept) < len(kept)


def test_what_is_used_stays(crowd: Desk) -> None:
    """Q6: no search loses what it is reading to another one's need of memory."""
    first = crowd.agent(user="user1", settings={"cache.megabytes": 0})
    second = crowd.agent(user="user2", settings={"cache.megabytes": 0})
    with first._scope.store.index.snapshot(wanted=Filter("user1")) as look:
        assert len(second.search("tea", limit=50)) == 11
        assert loaded(first, "user1") is not None
        assert len(look.holding("tea")) == 11
    second.search("tea")
    assert loaded(first, "user1") is None


def test_threads_share_it(crowd: Desk) -> None:
    """Q6: threads that search and write for several users at once all find what is theirs."""
    handles = [crowd.agent(user=f"user{n}") for n in range(1, 5)] + [crowd.agent(user="user1")]
    wrong: list[object] = []

    def work(handle: Memory) -> None:
        try:
            for n in range(10):
                made = handle.remember(f"tea once more {n}")
                found = handle.search("tea once more", limit=100, ranker="keyword")
                if made.id not in {hit.record.id for hit in found}:
                    wrong.append(made)
                if {hit.record.user for hit in found} - {handle.user, None}:
                    wrong.append(found)
        except Exception as error:  # noqa: BLE001 - it is told below
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(handle,)) for handle in handles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_its_own(crowd: Desk) -> None:
    """R9: a child shares nothing with its parent, also when a search was under way at the fork."""
    handle = crowd.agent(user="user1")
    handle.search("tea")
    kept = loaded(handle, "user1")
    assert isinstance(kept, ScopedIndex)
    with kept.lock:
        child = os.fork()
        if not child:
            code = 1
            try:
                own = Desk(crowd.home, crowd.clock).agent(user="user1")
                code = 0 if len(own.search("tea", limit=50)) == 11 else 2
                code = code or (3 if loaded(own, "user1") is kept else 0)
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_status_says_how_much_is_kept(crowd: Desk) -> None:
    """P2, P6: `status` names the budget of the process and what of it this store uses, and nothing
    of other agents."""
    handle = crowd.agent(settings={"cache.megabytes": 7})
    for other in (crowd.agent(user="user1"), crowd.agent("milton"), handle):
        other.search("tea")
    told = handle.status()["cache"]
    assert told["scopes"] == 2
    assert 0 < told["bytes"] < CACHE.usage.bytes
    assert told["budget"] == CACHE.usage.budget
    assert "cache" not in crowd.agent(user="user1").status()


def test_releasing_what_nobody_holds_changes_nothing() -> None:
    """R9: a handle that a parent has left behind may end at any time."""
    own = Cache()
    place = place_of("nowhere", "sky")
    own.release(place)
    own.hold(place, 1)
    used = own.use(place, None, WholeIndex)
    assert own.settle(place, None, used)
    assert not own.settle(place, None, used)
    assert own.usage.bytes == used.footprint
    own.release(place)
    assert own.usage.bytes == own.usage.scopes == 0
    assert not own.settle(place, None, used)
