"""A Chroma server that is none, is too old, or says strange things. The real one
is in `tests/servers`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lamina.errors import LaminaError, Refused, StoreUnavailable
from lamina.mirrors import MirrorRequest
from lamina.mirrors.breaker import Breaker
from lamina.mirrors.chroma import MARK, VERSION, ChromaMirror
from lamina.mirrors.chroma_server import COLLECTIONS, ChromaServer
from tests.conftest import Ticking
from tests.contract.mirrors import FIRST, made
from tests.http_fakes import FakeServer, Handler

OURS = {MARK: VERSION, "store": "store", "space": "none", "event": 1, "hash": "aa"}
WHOLE = {"id": "c1", "metadata": {**OURS, "store": "store"}}


class Answering(Handler):
    """One request, answered by what the test says for its method and path."""

    server: Server

    def reply(self) -> None:
        self.body()
        name = f"{self.command} {self.path.removeprefix('/')}"
        self.server.seen.append(name)
        status, said = self.server.says.get(name, (404, {"error": "NotFoundError"}))
        self.answer(said if isinstance(said, bytes) else msgspec.json.encode(said), status)

    do_GET = do_POST = do_PUT = do_DELETE = reply  # noqa: N815 - the names that the library calls


class Server(FakeServer):
    """A server that says what a test wants."""

    def __init__(self) -> None:
        super().__init__(Answering)
        self.says: dict[str, tuple[int, Any]] = {"GET api/v2/version": (200, "1.0.0")}
        self.seen: list[str] = []

    def mirror(self, breaker: Breaker | None = None) -> ChromaMirror:
        return ChromaMirror(ChromaServer(self.url, "sky_memory", breaker), "store", None)

    def say(self, name: str, said: Any, status: int = 200) -> None:
        self.says[name] = (status, said)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.mark.parametrize("version", ["0.6.3", "", "none", "٣.1"])
def test_an_old_version(server: Server, version: str) -> None:
    """B2: the error says which version is there and which is needed; nothing else is asked."""
    server.say("GET api/v2/version", version)
    with pytest.raises(StoreUnavailable, match=r"1\.0 or later is needed"):
        server.mirror().position()
    assert server.seen == ["GET api/v2/version"]


def test_no_chroma_at_all(server: Server) -> None:
    """B2: a server that does not know the question is another kind of server."""
    server.says.clear()
    with pytest.raises(StoreUnavailable, match="does not speak version 2"):
        server.mirror().position()


@pytest.mark.parametrize(
    "said", [b"<html>", b"\xff", [], {}, {"id": 7}, {"id": None, "metadata": {}}]
)
def test_a_collection_that_is_none(server: Server, said: Any) -> None:
    """B2: whatever else comes is not taken for a collection."""
    server.say(f"GET {COLLECTIONS}/sky_memory", said)
    with pytest.raises(StoreUnavailable, match="it is not a Chroma server"):
        server.mirror().position()


@pytest.mark.parametrize("metadata", [None, [], "x", {}, {"lamina": "1"}, {"lamina": None}])
def test_a_collection_of_others(server: Server, metadata: Any) -> None:
    """B2: one that does not say that it is ours is not."""
    server.say(f"GET {COLLECTIONS}/sky_memory", {"id": "c1", "metadata": metadata})
    with pytest.raises(Refused, match="Lamina has not made"):
        server.mirror().position()


@pytest.mark.parametrize(
    "changes", [{"event": "1"}, {"event": 1.5}, {"hash": None}, {"space": "other"}, {"event": None}]
)
def test_a_position_that_is_none(server: Server, changes: dict[str, Any]) -> None:
    """B7: one of ours that does not say how far it goes, or is of another embedder,
    is made anew."""
    server.say(f"GET {COLLECTIONS}/sky_memory", {"id": "c1", "metadata": OURS | changes})
    assert server.mirror().position() is None


def test_an_id_stays_in_its_place(server: Server) -> None:
    """P2: whatever a server calls a collection, requests go to collections alone."""
    server.say(f"GET {COLLECTIONS}/sky_memory", {"id": "../../reset?", "metadata": OURS})
    with pytest.raises(StoreUnavailable):
        list(server.mirror().entries())
    assert server.seen[-1] == f"POST {COLLECTIONS}/..%2F..%2Freset%3F/get"


@pytest.mark.parametrize(
    "said", [{}, {"ids": None}, {"ids": []}, {"ids": [None]}, {"ids": {"a": 1}}, []]
)
def test_candidates_of_no_form(server: Server, said: Any) -> None:
    """B2: an answer without ids names nobody."""
    server.say(f"GET {COLLECTIONS}/sky_memory", WHOLE)
    server.say(f"POST {COLLECTIONS}/c1/query", said)
    assert server.mirror().candidates(MirrorRequest("tea", [1.0], 5)) == []


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"layer": 3},
        {"seq": "x"},
        {"extra": 1},
        {"tags": "abc", "seq": 1, "layer": "x", "kind": "y", "importance": 1, "occurred_at": 1},
    ],
)
def test_entries_that_are_no_copies(server: Server, metadata: Any) -> None:
    """B7: what is no copy of ours is listed, with a digest that fits to nothing."""
    server.say(f"GET {COLLECTIONS}/sky_memory", WHOLE)
    page = {"ids": ["x"], "documents": ["d"], "metadatas": [metadata]}
    server.say(f"POST {COLLECTIONS}/c1/get", page)
    entries = server.mirror().entries()
    assert next(entries) == ("x", "")


@pytest.mark.parametrize(
    "page",
    [
        {"ids": 5},
        {"ids": {"a": 1}, "documents": ["d"], "metadatas": [{}]},
        {"ids": ["x", "y"], "documents": ["d"], "metadatas": [{}]},
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_pages_of_no_form(server: Server, page: Any) -> None:
    """B2: what is no page of a collection is told as that, and is no end of the comparison."""
    server.say(f"GET {COLLECTIONS}/sky_memory", WHOLE)
    server.say(f"POST {COLLECTIONS}/c1/get", page)
    with pytest.raises(StoreUnavailable, match="it is not a Chroma server"):
        list(server.mirror().entries())


def test_errors_of_the_server(server: Server) -> None:
    """B2: what the server refuses is told with its status, not with its words: they may
    quote a memory."""
    server.say(f"GET {COLLECTIONS}/sky_memory", {"error": "secret tea"}, 500)
    with pytest.raises(StoreUnavailable, match="HTTP 500") as caught:
        server.mirror().position()
    assert "secret" not in caught.value.message


def down(mirror: ChromaMirror) -> str:
    with pytest.raises(LaminaError) as caught:
        mirror.position()
    return caught.value.message


def test_a_server_that_is_down_is_left_in_peace(tmp_path: Path, server: Server) -> None:
    """B2: after a failure nobody in the home asks for a moment; one that answers is there again,
    whatever it says."""
    clock = Ticking(step=timedelta(0))
    breaker = Breaker(tmp_path / "chroma.outage", clock)
    gone = ChromaMirror(ChromaServer("http://127.0.0.1:9", "sky_memory", breaker), "store", None)
    assert "cannot be reached" in down(gone)
    other = server.mirror(Breaker(tmp_path / "chroma.outage", clock))
    assert "tried again in a moment" in down(other)
    assert server.seen == []
    clock.jump(timedelta(seconds=1))
    assert other.position() is None
    assert not (tmp_path / "chroma.outage").exists()


def test_a_commit_that_is_refused(server: Server) -> None:
    """B7: what a server does not take is not committed: it waits, and is put again."""
    server.say(f"GET {COLLECTIONS}/sky_memory", WHOLE)
    mirror = server.mirror()
    assert mirror.position() is not None
    mirror.put([made(1)])
    server.say(f"POST {COLLECTIONS}/c1/upsert", {}, 503)
    with pytest.raises(StoreUnavailable, match="HTTP 503"):
        mirror.commit(FIRST)
    server.say(f"POST {COLLECTIONS}/c1/upsert", {}, 201)
    server.say(f"PUT {COLLECTIONS}/c1", {})
    mirror.commit(FIRST)
    assert server.seen[-2:] == [f"POST {COLLECTIONS}/c1/upsert", f"PUT {COLLECTIONS}/c1"]
