"""What answers where a Weaviate should: none of it is believed unseen. The servers are real ones,
and none is Weaviate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina.errors import InvalidInput, LaminaError, Refused, StoreUnavailable
from lamina.mirrors import Damaged, MirrorRequest
from lamina.mirrors.breaker import Breaker
from lamina.mirrors.required import Turns
from lamina.mirrors.weaviate import WeaviateMirror, tenant_of
from lamina.mirrors.weaviate_server import COLLECTION, DEFINITION, WeaviateServer
from tests.conftest import Desk, Ticking
from tests.contract.mirrors import FIRST, made
from tests.http_fakes import KEY, FakeServer, Handler

VERSION = json.dumps({"version": "1.38.11"})
OURS = json.dumps(DEFINITION)


class Answering(Handler):
    """One request, answered as the test says for its path."""

    server: Pretender

    def reply(self) -> None:
        self.body()
        said = self.server.answers.get(self.path.split("?")[0].removeprefix("/v1/"), (404, ""))
        if said is None:
            self.server.over.wait()
            return
        status, body = said
        self.answer(body.encode(), status)

    do_GET = do_POST = do_DELETE = reply  # noqa: N815 - the names that the library calls


class Pretender(FakeServer):
    """A server that answers as it is told; nothing at all where it is told None."""

    def __init__(self) -> None:
        super().__init__(Answering)
        self.answers: dict[str, tuple[int, str] | None] = {"meta": (200, VERSION)}


@pytest.fixture
def server() -> Iterator[Pretender]:
    with Pretender() as running:
        yield running


def mirror(folder: Path, address: str, key: str | None = KEY) -> WeaviateMirror:
    breaker = Breaker(folder / "outage", Ticking(step=timedelta(hours=1)))
    return WeaviateMirror(
        WeaviateServer(address, key, "sky-1", breaker),
        "store",
        lambda: None,
        Turns(folder / "lock"),
    )


def failure(folder: Path, server: Pretender) -> str:
    """Why its position cannot be had; the key is never in it."""
    with pytest.raises(LaminaError) as caught:
        mirror(folder, server.url).position()
    assert KEY not in str(caught.value.to_dict())
    assert server.url in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8080",
        "ftp://localhost",
        "http://",
        "http://h:x",
        "http://u:p@h",
        "http://h/?q",
        "http://h h",
    ],
)
def test_addresses_are_plain(tmp_path: Path, address: str) -> None:
    """B3: a wrong address is an error that names the setting and what would be right."""
    with pytest.raises(InvalidInput, match=r"mirrors\.weaviate"):
        mirror(tmp_path, address)


def test_nobody_is_there(tmp_path: Path, server: Pretender) -> None:
    """B3: an address where nobody listens is told with what to do, and not asked again at once."""
    server.server_close()
    assert "cannot be reached" in failure(tmp_path, server)
    assert (tmp_path / "outage").exists()


@pytest.mark.parametrize("version", ["1.19.0", "1.26.9", "0.99"])
def test_an_old_server_is_refused(tmp_path: Path, server: Pretender, version: str) -> None:
    """B3: a server that is too old is told so, before anything else is asked of it."""
    server.answers = {"meta": (200, json.dumps({"version": version}))}
    assert "needs 1.27 or newer" in failure(tmp_path, server)


@pytest.mark.parametrize(
    "answer",
    [
        (404, "{}"),
        (302, ""),
        (405, ""),
        (200, "<html>Hello</html>"),
        (200, "{}"),
        (200, ""),
        (200, '{"version": "two"}'),
    ],
)
def test_an_address_that_leads_elsewhere(
    tmp_path: Path, server: Pretender, answer: tuple[int, str]
) -> None:
    """B3: another server that answers is told to be no Weaviate, with the setting to correct."""
    server.answers = {"meta": answer}
    assert "does not speak Weaviate's API; set mirrors.weaviate" in failure(tmp_path, server)


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key(tmp_path: Path, server: Pretender, status: int) -> None:
    """B3: a key that is refused is told by the setting that names it, and is no outage."""
    server.answers = {"meta": (status, "")}
    assert "mirrors.weaviate_key_variable" in failure(tmp_path, server)
    assert not (tmp_path / "outage").exists()


def test_a_key_is_plain(tmp_path: Path) -> None:
    """B3: what cannot be a key is not sent, and not shown."""
    with pytest.raises(InvalidInput, match="no key has"):
        mirror(tmp_path, "http://localhost:8080", "a b\r\n")


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_that_breaks(tmp_path: Path, server: Pretender, status: int) -> None:
    """B4: a server that cannot answer is an outage like one that does not."""
    server.answers = {"meta": (status, "")}
    assert f"HTTP {status}" in failure(tmp_path, server)
    assert (tmp_path / "outage").exists()


def test_a_server_that_says_nothing(tmp_path: Path, server: Pretender) -> None:
    """B4: silence ends after the time that was agreed."""
    server.answers["schema/LaminaMemory"] = None
    with pytest.raises(StoreUnavailable, match="did not answer"):
        mirror(tmp_path, server.url).put_now([made(1)], 0.05)


@pytest.mark.parametrize(
    "theirs",
    [
        {"class": "LaminaMemory"},
        {**DEFINITION, "description": "mine"},
        {**DEFINITION, "multiTenancyConfig": {"enabled": False}},
        {**DEFINITION, "properties": [{"name": "record"}]},
        {**DEFINITION, "properties": None},
    ],
)
def test_what_somebody_else_made_is_refused(
    tmp_path: Path, server: Pretender, theirs: dict[str, Any]
) -> None:
    """B3: a collection without our mark, our properties or tenants is not ours, and told with what
    to do."""
    server.answers["schema/LaminaMemory"] = (200, json.dumps(theirs))
    one = mirror(tmp_path, server.url)
    for ask in (one.position, lambda: one.commit(FIRST), lambda: one.put_now([made(1)], 1)):
        with pytest.raises(Refused, match="will not touch"):
            ask()


ANSWERS = st.one_of(
    st.text(max_size=20),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
    ).map(json.dumps),
    st.sampled_from(
        [
            '{"data":{"Get":[]}}',
            '{"data":null}',
            '{"errors":["no"]}',
            '{"objects":[{}]}',
            '[{"id":1}]',
            "{}",
        ]
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=ANSWERS)
def test_any_answer(tmp_path: Path, server: Pretender, said: str) -> None:
    """B3: whatever a server says that is no answer, it is an error of ours, or nothing is found."""
    paths = ("objects", "graphql", "batch/objects", "objects/LaminaMemory/x")
    server.answers = {
        "meta": (200, VERSION),
        "schema/LaminaMemory": (200, OURS),
        **dict.fromkeys(paths, (200, said)),
    }
    one = mirror(tmp_path, server.url)
    for ask in (
        lambda: one.candidates(MirrorRequest("tea", None, 5)),
        lambda: [next(iter(one.entries()), None)],
        lambda: one.put_now([made(1)], 1),
    ):
        with suppress(StoreUnavailable):
            assert ask() in ([], [None])


def test_a_server_that_never_comes_to_an_end(tmp_path: Path, server: Pretender) -> None:
    """B7: one that names the same object again and again is not listened to for ever."""
    made_mirror = mirror(tmp_path, server.url)
    server.answers[f"schema/{COLLECTION}"] = (200, json.dumps(DEFINITION))
    server.answers["objects"] = (200, json.dumps({"objects": [{"id": made_mirror._uuid("")}]}))
    with pytest.raises(Damaged, match="come to an end"):
        list(made_mirror.entries())


def test_tenants_are_of_one_agent_and_one_store() -> None:
    """B3: agents of one name in two stores are apart; any name of an agent makes a name that
    Weaviate takes."""
    names = {
        tenant_of(agent, store)
        for agent in ("sky", "sky-1", "a" * 64, "a" * 63)
        for store in ("s", "t")
    }
    assert len(names) == 8
    assert all(len(name) <= 64 for name in names)


@pytest.mark.parametrize(
    "wrong",
    ["localhost:8080", "ftp://localhost", "http://user:Tr0ub4dor@localhost", "http://a b", "on"],
)
def test_wrong_addresses_are_refused_when_a_handle_is_opened(tmp_path: Path, wrong: str) -> None:
    """B3: what is no address is told before anything is stored, and no password in it is shown."""
    with Desk(tmp_path) as desk, pytest.raises(InvalidInput, match=r"mirrors\.weaviate") as caught:
        desk.agent(settings={"mirrors.weaviate": wrong})
    assert "Tr0ub4dor" not in caught.value.message


def test_a_key_that_is_none_is_told_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: what is wrong with a mirror that is not required never makes a memory that is stored look
    as if it were not."""
    monkeypatch.setenv("TEST_WEAVIATE_KEY", "a b")
    given = {
        "mirrors.weaviate": "http://localhost:9",
        "mirrors.weaviate_key_variable": "TEST_WEAVIATE_KEY",
    }
    with Desk(tmp_path) as desk:
        agent = desk.agent(settings=given)
        assert agent.remember("tea").stored_in == "store"
        assert any("no key has" in problem for problem in agent.status()["problems"])
        assert [hit.record.content for hit in agent.search("tea")] == ["tea"]
