"""Weaviate, held to the contract of mirrors, and what is its own: tenants, what is unsettled, and
who else is there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from lamina.embedders import Embedder
from lamina.errors import Refused, StoreUnavailable
from lamina.mirrors import Mirror, MirrorRequest
from lamina.mirrors.breaker import Breaker
from lamina.mirrors.required import Turns
from lamina.mirrors.weaviate import WeaviateMirror, tenant_of
from lamina.mirrors.weaviate_server import COLLECTION, WeaviateServer
from lamina.model.clock import system_clock
from lamina.model.record import Layer
from tests.conftest import Desk
from tests.contract.mirrors import (
    FIRST,
    SECOND,
    STEPS,
    SearchContract,
    check_any_history,
    embedder,
    made,
)
from tests.servers.tenants import asked, memories
from tests.servers.weaviate import Weaviate

KEY = "a-key-of-the-tests"


def mirror(
    url: str, folder: Path, agent: str, store: str = "store", used: Embedder | None = None
) -> WeaviateMirror:
    folder.mkdir(exist_ok=True)
    server = WeaviateServer(
        url, None, tenant_of(agent, store), Breaker(folder / "outage", system_clock)
    )
    return WeaviateMirror(server, store, lambda: used, Turns(folder / "lock"))


class TestWeaviate(SearchContract):
    """B3: one tenant on a Weaviate server."""

    @pytest.fixture(autouse=True)
    def _server(self, weaviate: Weaviate) -> None:
        self.url = weaviate.url

    def open_with(self, folder: Path, embedder: Embedder | None) -> Mirror:
        return mirror(self.url, folder, agent_of(folder), used=embedder)

    def held(self, folder: Path) -> dict[str, str]:
        return {
            one["record"]: one["content"]
            for one in memories(self.url, tenant_of(agent_of(folder), "store"))
        }


def agent_of(folder: Path) -> str:
    return "test-" + hashlib.sha256(str(folder).encode()).hexdigest()[:12]


@settings(max_examples=10)
@given(steps=STEPS)
def test_any_history(
    weaviate: Weaviate,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int, Layer | None]],
) -> None:
    """B3: whatever is put, dropped, cleared, committed and lost, it holds what was committed and
    knows where it is."""
    contract = TestWeaviate()
    contract.url = weaviate.url
    check_any_history(contract, tmp_path_factory.mktemp("weaviate"), steps)


def test_agents_and_stores_are_apart(weaviate: Weaviate, tmp_path: Path, fresh_agent: str) -> None:
    """B3: one tenant per agent; homes share it when they have the same store, and only then."""
    url = weaviate.url
    for store, text in (("one", "tea"), ("two", "coffee")):
        filled = mirror(url, tmp_path, fresh_agent, store)
        filled.put([made(1, text)])
        filled.commit(FIRST_OF[store])
    shared = mirror(url, tmp_path / "other home", fresh_agent, "one")
    assert shared.position() == FIRST_OF["one"]
    assert [one["content"] for one in memories(url, tenant_of(fresh_agent, "one"))] == ["tea"]
    assert [one["content"] for one in memories(url, tenant_of(fresh_agent, "two"))] == ["coffee"]
    assert mirror(url, tmp_path, "another", "one").position() is None


FIRST_OF = {store: type(FIRST)(store, 1, "aa") for store in ("one", "two")}


def test_who_fills_anew_is_noticed(weaviate: Weaviate, tmp_path: Path, fresh_agent: str) -> None:
    """B3: two homes that share a tenant: who follows does not complete what the
    other is filling."""
    from lamina.mirrors import Damaged

    one, other = (mirror(weaviate.url, tmp_path, fresh_agent) for _ in range(2))
    one.put([made(1)])
    one.commit(FIRST)
    assert other.position() == FIRST
    one.clear()
    one.put([made(2)])
    one.commit(SECOND)
    other.put([made(3)])
    with pytest.raises(Damaged):
        other.commit(SECOND)


def test_what_the_store_never_had_is_taken_out(
    weaviate: Weaviate, tmp_path: Path, fresh_agent: str
) -> None:
    """B4: what was put before a commit that never came is no candidate, and is gone once it is
    settled; the rest stays."""
    url, tenant = weaviate.url, tenant_of(fresh_agent, "store")
    one = mirror(url, tmp_path, fresh_agent)
    one.put_now([made(1), made(2), made(3)], 5)
    assert len(memories(url, tenant)) == 3
    assert one.candidates(MirrorRequest("tea", None, 10)) == []
    one.put([made(1)])
    one.commit(FIRST)
    assert one.candidates(MirrorRequest("tea", None, 10)) == [made(1).id]
    one.settle(lambda record_id: record_id == made(2).id)
    assert {said["record"] for said in memories(url, tenant)} == {made(1).id, made(2).id}
    one.settle(lambda _: False)
    assert [said["record"] for said in memories(url, tenant)] == [made(1).id]


def test_one_that_is_not_taken_is_an_error(
    weaviate: Weaviate, tmp_path: Path, fresh_agent: str
) -> None:
    """B3: an error about one object of a batch is raised, though the server answers well; what was
    there is there still."""
    one = mirror(weaviate.url, tmp_path, fresh_agent, used=embedder())
    one.put([made(1)])
    one.commit(FIRST)
    bad = {
        "id": "1b9c7f6e-6a43-5c0f-9b0d-3f0a5d1e7c42",
        "properties": {"record": "bad"},
        "vector": [1.0, 2.0],
    }
    good = {"id": "1b9c7f6e-6a43-5c0f-9b0d-3f0a5d1e7c43", "properties": {"record": "good"}}
    server = WeaviateServer(
        weaviate.url, None, tenant_of(fresh_agent, "store"), Breaker(tmp_path / "b", system_clock)
    )
    with pytest.raises(StoreUnavailable, match="did not take 1 of 2 records, such as 'bad'"):
        server.put([bad, good])
    assert one.position() == FIRST


def test_other_programs_read_it(weaviate: Weaviate, tmp_path: Path, fresh_agent: str) -> None:
    """B3: the client of Weaviate itself finds memories by words, filters and vectors."""
    client = pytest.importorskip("weaviate")
    one = mirror(weaviate.url, tmp_path, fresh_agent, used=embedder())
    one.put([made(1, "a cup of green tea", tags=("drink",)), made(2, "the car broke down")])
    one.commit(FIRST)
    with client.connect_to_local(
        port=weaviate.port, grpc_port=weaviate.grpc_port, skip_init_checks=True
    ) as connected:
        held = connected.collections.get(COLLECTION).with_tenant(tenant_of(fresh_agent, "store"))
        by_words = held.query.bm25("green", query_properties=["words"]).objects
        by_vector = held.query.near_vector(
            embedder().embed(["automobile"])[0].tolist(), limit=1
        ).objects
        tagged = held.query.fetch_objects(
            filters=client.classes.query.Filter.by_property("tags").contains_any(["drink"])
        )
    assert [found.properties["content"] for found in by_words] == ["a cup of green tea"]
    assert [found.properties["content"] for found in by_vector] == ["the car broke down"]
    assert [found.properties["record"] for found in tagged.objects] == [made(1).id]


def test_a_handle_feeds_it(weaviate: Weaviate, tmp_path: Path, fresh_agent: str) -> None:
    """B3: what is remembered, forgotten and changed is so in Weaviate, and `verify`
    finds no difference."""
    with Desk(tmp_path) as desk:
        agent = desk.agent(fresh_agent, settings={"mirrors.weaviate": weaviate.url})
        agent.remember("a cup of green tea")
        agent.remember("the car broke down", kind="fact", tags=["car"])
        assert agent.sync_mirrors()["weaviate"]["put"] >= 0
        tenant = tenant_of(fresh_agent, "5" * 32)
        assert {one["content"] for one in memories(weaviate.url, tenant)} == {
            "a cup of green tea",
            "the car broke down",
        }


@pytest.mark.parametrize("limit", [1, 5])
def test_searches_go_through_it(
    weaviate: Weaviate, tmp_path: Path, fresh_agent: str, limit: int
) -> None:
    """B3: with `recall.via` the answers are those of the store: same memories, same parts
    of their scores."""
    with Desk(tmp_path) as desk:
        here = desk.agent(fresh_agent, settings={"mirrors.weaviate": weaviate.url})
        here.remember_many(
            {"content": f"tea number {number}", "tags": ["tea"]} for number in range(20)
        )
        here.remember("the car broke down")
        here.sync_mirrors()
        there = desk.agent(
            fresh_agent, settings={"mirrors.weaviate": weaviate.url, "recall.via": "weaviate"}
        )
        for query in ("tea number 7", "car", "what broke?"):
            expected, found = here.search(query, limit=limit), there.search(query, limit=limit)
            assert [hit.record.id for hit in found] == [hit.record.id for hit in expected]
            assert found.notes == ()
        there.remember("a brand new umbrella")
        assert there.search("umbrella")[0].record.content == "a brand new umbrella"


def test_unknown_and_foreign_ids(weaviate: Weaviate, tmp_path: Path, fresh_agent: str) -> None:
    """B3: what somebody else lays into the tenant is never an answer, and is told;
    `verify` names it."""
    settings_ = {"mirrors.weaviate": weaviate.url, "recall.via": "weaviate"}
    with Desk(tmp_path) as desk:
        agent = desk.agent(fresh_agent, settings=settings_)
        agent.remember("a cup of green tea")
        agent.sync_mirrors()
        tenant = tenant_of(fresh_agent, "5" * 32)
        foreign = {
            "record": made(9).id,
            "content": "green tea",
            "words": "green tea",
            "layer": "short_term",
            "seq": 9,
        }
        bad = {"class": COLLECTION, "tenant": tenant, "properties": foreign}
        asked(weaviate.url, "POST", "batch/objects", {"objects": [bad]})
        assert [hit.record.content for hit in agent.search("green tea")] == ["a cup of green tea"]
        assert any("weaviate" in problem for problem in agent.status()["problems"])


def test_a_collection_of_somebody_else(own_weaviate: Weaviate, tmp_path: Path) -> None:
    """B3: one that we did not make is not touched: the memories are in the store, and `status` says
    what to do."""
    asked(
        own_weaviate.url,
        "POST",
        "schema",
        {"class": COLLECTION, "properties": [{"name": "a", "dataType": ["text"]}]},
    )
    before = asked(own_weaviate.url, "GET", f"schema/{COLLECTION}")
    with Desk(tmp_path) as desk:
        agent = desk.agent(settings={"mirrors.weaviate": own_weaviate.url})
        agent.remember("tea")
        assert "will not touch" in agent.sync_mirrors()["weaviate"]["error"]
        assert any("will not touch" in problem for problem in agent.status()["problems"])
        assert [hit.record.content for hit in agent.search("tea")] == ["tea"]
    with pytest.raises(Refused):
        mirror(own_weaviate.url, tmp_path, "sky").put_now([made(1)], 5)
    assert asked(own_weaviate.url, "GET", f"schema/{COLLECTION}") == before
    asked(own_weaviate.url, "DELETE", f"schema/{COLLECTION}")
    with Desk(tmp_path) as desk:
        assert desk.agent(settings={"mirrors.weaviate": own_weaviate.url}).sync_mirrors()[
            "weaviate"
        ]["rebuilt"]


@pytest.fixture
def keyed() -> Iterator[Weaviate]:
    reason = Weaviate.missing()
    if reason is not None:
        pytest.skip(f"not run: weaviate ({reason})")
    with Weaviate(KEY) as server:
        yield server


def test_keys(keyed: Weaviate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B3: the right key opens it; a wrong one and none are told by the setting, and no key is in
    any message."""
    with Desk(tmp_path) as desk:
        given = {
            "mirrors.weaviate": keyed.url,
            "mirrors.weaviate_key_variable": "TEST_WEAVIATE_KEY",
        }
        for wrong in ("", "a-wrong-key"):
            monkeypatch.setenv("TEST_WEAVIATE_KEY", wrong)
            agent = desk.agent(settings=given)
            agent.remember("tea")
            told = agent.sync_mirrors()["weaviate"]["error"]
            assert "refuses the key" in told
            assert "wrong-key" not in str(agent.status())
        monkeypatch.setenv("TEST_WEAVIATE_KEY", KEY)
        assert "error" not in desk.agent(settings=given).sync_mirrors()["weaviate"]
