"""The mirror on a real Chroma server: the same promises, and whatever may happen to a server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from lamina import Operator
from lamina.embedders import Embedder, wordllama
from lamina.errors import Refused, StoreUnavailable
from lamina.home.http_client import Service
from lamina.mirrors import Mirror, MirrorRequest
from lamina.mirrors.chroma import ChromaMirror
from lamina.mirrors.chroma_server import COLLECTIONS, ChromaServer
from lamina.model.record import Layer
from lamina.search.mirror import PAUSE
from tests.conftest import Desk
from tests.contract.mirrors import FIRST, STEPS, SearchContract, check_any_history, made
from tests.servers.chroma import Chroma
from tests.servers.proxy import Proxy


def ask(server: Chroma, method: str, path: str, question: Mapping[str, Any] | None = None) -> Any:
    """What the server says to anybody."""
    service = Service(server.url, None, 10.0, 1 << 28, StoreUnavailable)
    return msgspec.json.decode(
        service.ask(method, path, None if question is None else msgspec.json.encode(question))
    )


class TestChromaServer(SearchContract):
    """B2: a collection on a Chroma server; a folder stands for its name."""

    server: Chroma

    @pytest.fixture(autouse=True)
    def _server(self, chroma: Chroma) -> None:
        self.server = chroma

    def open_with(self, folder: Path, embedder: Embedder | None) -> Mirror:
        return ChromaMirror(ChromaServer(self.server.url, self.name(folder)), "store", embedder)

    def name(self, folder: Path) -> str:
        return hashlib.sha256(str(folder).encode()).hexdigest()[:16] + "_memory"

    def held(self, folder: Path) -> dict[str, str]:
        try:
            collection = ask(self.server, "GET", f"{COLLECTIONS}/{self.name(folder)}")["id"]
        except StoreUnavailable:
            return {}
        found = ask(
            self.server, "POST", f"{COLLECTIONS}/{collection}/get", {"include": ["documents"]}
        )
        return dict(zip(found["ids"], found["documents"], strict=True))


@settings(max_examples=10)
@given(steps=STEPS)
def test_any_history(
    chroma: Chroma,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int, Layer | None]],
) -> None:
    """B2: whatever is put, dropped, cleared, committed and lost, a mirror holds what was committed
    and knows where it is."""
    contract = TestChromaServer()
    contract.server = chroma
    check_any_history(contract, tmp_path_factory.mktemp("mirror"), steps)


def opened(
    server: Chroma, agent: str, store: str = "store", port: int | None = None, timeout: float = 10.0
) -> ChromaMirror:
    url = server.url if port is None else f"http://127.0.0.1:{port}"
    return ChromaMirror(
        ChromaServer(url, f"{agent}_memory", timeout=timeout), store, wordllama.shared()
    )


def test_a_collection_of_somebody_else(chroma: Chroma, fresh_agent: str) -> None:
    """B2: a collection that Lamina has not made is neither read nor written, and the error says
    what to do."""
    name = f"{fresh_agent}_memory"
    ask(chroma, "POST", COLLECTIONS, {"name": name, "metadata": {"owner": "me"}})
    mirror = opened(chroma, fresh_agent)
    with pytest.raises(Refused, match="rename or delete it"):
        mirror.position()
    mirror.clear()
    with pytest.raises(Refused, match="rename or delete it"):
        mirror.commit(FIRST)
    assert ask(chroma, "GET", f"{COLLECTIONS}/{name}")["metadata"] == {"owner": "me"}


def test_a_collection_of_another_store(chroma: Chroma, fresh_agent: str) -> None:
    """B2: two homes with an agent of the same name do not overwrite each other."""
    first = opened(chroma, fresh_agent, "store")
    first.put([made(1)])
    first.commit(FIRST)
    second = opened(chroma, fresh_agent, "another")
    second.clear()
    with pytest.raises(Refused, match="belongs to another store"):
        second.commit(FIRST)
    assert [record_id for record_id, _ in first.entries()] == [made(1).id]


@pytest.mark.parametrize("path", ["/nowhere", ""])
def test_something_that_is_no_chroma(weaviate: Any, path: str) -> None:
    """B2: a server that speaks something else is told from one that is down."""
    mirror = ChromaMirror(ChromaServer(weaviate.url + path, "sky_memory"), "store", None)
    with pytest.raises(StoreUnavailable, match=r"Chroma 1\.0 or later is needed|redirects"):
        mirror.position()


def test_what_was_tampered_with_is_found(desk: Desk, chroma: Chroma, fresh_agent: str) -> None:
    """B2: a text that was changed, a memory that was deleted and one that was added there:
    each is named."""
    op = desk.operator(fresh_agent, settings=through(chroma))
    records = op.remember_many([{"content": f"tea {number}"} for number in range(5)])
    op.sync_mirrors()
    collection = ask(chroma, "GET", f"{COLLECTIONS}/{fresh_agent}_memory")["id"]
    vectors = [[0.1] * 256]
    ask(
        chroma,
        "POST",
        f"{COLLECTIONS}/{collection}/update",
        {"ids": [records[0].id], "documents": ["mud"], "embeddings": vectors},
    )
    ask(chroma, "POST", f"{COLLECTIONS}/{collection}/delete", {"ids": [records[1].id]})
    ask(
        chroma,
        "POST",
        f"{COLLECTIONS}/{collection}/add",
        {"ids": ["x"], "documents": ["mud"], "embeddings": vectors},
    )
    found = op.verify_mirrors()["chroma"]
    assert found.ids == {"missing": [records[1].id], "outdated": [records[0].id], "unknown": ["x"]}
    hits = op.search("mud")
    assert "no id" in hits.notes[0] or not hits
    op.rebuild_mirrors()
    assert op.verify_mirrors()["chroma"].ok


def through(server: Chroma, port: int | None = None) -> dict[str, Any]:
    url = server.url if port is None else f"http://127.0.0.1:{port}"
    return {"mirrors.chroma": url, "recall.via": "chroma"}


def check_recovered(op: Operator) -> None:
    """Everything is there once, and searches go through the mirror again."""
    mirror: Any = op._scope.copies["chroma"]
    mirror._engine._breaker.answered()  # instead of waiting until it is asked again
    op.sync_mirrors()
    assert op.verify_mirrors()["chroma"].ok
    assert op.search("tea").notes == ()


def test_searches_go_through_it(desk: Desk, chroma: Chroma, fresh_agent: str) -> None:
    """B2: the answer is the one of the store, with the parts of its scores."""
    desk.clock.step = timedelta(0)
    op = desk.operator(fresh_agent, settings=through(chroma))
    op.remember_many(
        [{"content": text} for text in ("green tea in the morning", "the car", "a violin")]
    )
    op.sync_mirrors()
    plain = desk.operator(fresh_agent)
    for question in ("what is in the morning?", "car", "music"):
        found = op.search(question)
        assert found.notes == ()
        assert [(hit.record, hit.parts) for hit in found] == [
            (hit.record, hit.parts) for hit in plain.search(question)
        ]


@pytest.mark.parametrize("trouble", ["stop", "kill", "pause"])
def test_an_outage(desk: Desk, own_chroma: Chroma, trouble: str) -> None:
    """B2: nothing is lost and nobody waits; the status tells of it, and the mirror
    catches up afterwards."""
    op = desk.operator(settings=through(own_chroma))
    mirror: Any = op._scope.copies["chroma"]
    mirror._engine._service.timeout = 0.5  # a paused server is waited for that long
    op.remember("green tea in the morning")
    op.sync_mirrors()
    getattr(own_chroma, trouble)()
    op.remember("black tea in the evening")
    assert "error" in op.sync_mirrors()["chroma"]
    found = op.search("tea")
    assert (len(found), "the store has answered" in found.notes[0]) == (2, True)
    assert any("chroma is not up to date" in problem for problem in op.problems)
    own_chroma.resume() if trouble == "pause" else own_chroma.start()
    desk.clock.jump(PAUSE)
    check_recovered(op)


@pytest.mark.parametrize("size", [0, 200, 2_000, 20_000])
def test_a_connection_that_breaks(desk: Desk, chroma: Chroma, fresh_agent: str, size: int) -> None:
    """B2: wherever a request or an answer is cut off, the next sync repeats it, and everything is
    there once."""
    with Proxy(chroma.port) as proxy:
        op = desk.operator(fresh_agent, settings=through(chroma, proxy.port))
        op.remember_many([{"content": f"tea {number}"} for number in range(40)])
        op.sync_mirrors()
        proxy.cut_after(size)
        op.forget(op.list(limit=1)[0].id)
        op.remember_many([{"content": f"more tea {number}"} for number in range(40)])
        op.sync_mirrors()
        proxy.heal()
        desk.clock.jump(PAUSE)
        check_recovered(op)


def test_an_erasure_names_the_server(desk: Desk, chroma: Chroma, fresh_agent: str) -> None:
    """P5: the object is deleted there; that its bytes are out of our hands is
    in the certificate."""
    op = desk.operator(fresh_agent, settings=through(chroma))
    record = op.remember("the zebraquark is under floorplank seventeen")
    op.sync_mirrors()
    done = op.erase(record.id)
    assert done.mirrors == {"chroma": "told"}
    assert [one["place"] for one in done.unreached] == [
        f"mirror chroma: {chroma.url} ({fresh_agent}_memory)"
    ]
    mirror: Any = op._scope.copies["chroma"]
    assert list(mirror.entries()) == []


def test_an_address_with_nobody(fresh_agent: str) -> None:
    """B2: the error says what could not be reached."""
    mirror = ChromaMirror(
        ChromaServer("http://127.0.0.1:9", f"{fresh_agent}_memory"), "store", wordllama.shared()
    )
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        mirror.candidates(MirrorRequest("tea", [0.0] * 256, 1))
