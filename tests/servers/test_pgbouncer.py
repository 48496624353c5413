"""Memories behind PgBouncer in transaction mode: the contract of every store, and who sees what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lamina
from tests.conftest import contents, verified
from tests.contract.stores import Place, StoreContract, StoreDesk
from tests.servers.everywhere import Copied
from tests.servers.kinds import there
from tests.servers.pgbouncer import PgBouncer
from tests.servers.test_postgres import altered

AGENTS = ("sky", "milton", "ada", "bo", "cy", "di")
EACH = 15
LONG = 60


@pytest.fixture(scope="module")
def bouncer(quick_postgres: Copied) -> Iterator[PgBouncer]:
    with there(PgBouncer, required=False)(quick_postgres) as made:
        yield made


@pytest.fixture
def url(bouncer: PgBouncer, quick_postgres: Copied) -> Iterator[str]:
    name = quick_postgres.copy()
    yield bouncer.url(name)
    quick_postgres.drop(name)


class TestBehindPgBouncer(StoreContract):
    """B3: a PostgreSQL database behind a proxy that pools transactions."""

    @pytest.fixture
    def place(self, quick_postgres: Copied, bouncer: PgBouncer) -> Iterator[Place]:
        names: list[str] = []

        def new() -> Mapping[str, Any]:
            names.append(quick_postgres.copy())
            return {"store.url": bouncer.url(names[-1])}

        yield new
        for name in names:
            quick_postgres.drop(name)

    @pytest.fixture
    def alter(self, quick_postgres: Copied, desk: StoreDesk) -> Callable[[str], None]:
        return lambda statement: altered(quick_postgres, desk, statement)


def test_agents_on_the_same_connections_see_their_own(tmp_path: Path, url: str) -> None:
    """B3, R9: six agents write, read and search at once over four connections of the server; each
    finds its own memories and no other's."""
    start = threading.Barrier(len(AGENTS))

    def live(agent: str) -> list[str]:
        with lamina.operator(agent, home=tmp_path, settings={"store.url": url}) as op:
            start.wait(LONG)
            for number in range(EACH):
                made = op.remember(f"tea {number} of {agent}", tags=[agent])
                assert op.get(made.id).content == made.content
                found = contents(op.search("tea", 50))
                assert found
                assert all(text.endswith(f" of {agent}") for text in found)
            assert verified(op)
            return sorted(contents(op.list(limit=100)))

    with ThreadPoolExecutor(len(AGENTS)) as threads:
        lists = list(threads.map(live, AGENTS))
    for agent, found in zip(AGENTS, lists, strict=True):
        assert found == sorted(f"tea {number} of {agent}" for number in range(EACH))


def test_nothing_of_an_agent_stays_on_a_connection(tmp_path: Path, url: str) -> None:
    """B3, R9: whoever gets the same connection of the server afterwards is no agent, and sees
    no row."""
    with lamina.operator("sky", home=tmp_path, settings={"store.url": url}) as op:
        op.remember("tea")
        op.list()
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        for _ in range(6):
            assert connection.execute("SELECT lamina.owner()").fetchone() == (None,)
            assert connection.execute("SELECT count(*) FROM lamina_own.records").fetchone() == (0,)


def test_tables_are_made_through_the_proxy(
    tmp_path: Path, bouncer: PgBouncer, quick_postgres: Copied
) -> None:
    """B3: an empty database behind the proxy gets its tables, its vectors and the indexes of a large
    store, and the server finds candidates."""
    settings = {"store.url": bouncer.url(quick_postgres.database()), "store.search_above": 0}
    with lamina.operator("sky", home=tmp_path, settings=settings) as op:
        op.remember_many({"content": f"memory {number} of tea"} for number in range(40))
        assert op.index() > 0
        assert contents(op.search("memory 7 of tea"))[0] == "memory 7 of tea"
        assert "index" not in op._scope.store.__dict__  # no catalogue was read
        assert verified(op)


def test_the_server_behind_the_proxy_is_restarted(tmp_path: Path) -> None:
    """B3, B4, R1: what is written while the server behind the proxy is away waits in the fail-safe,
    and is there once afterwards."""
    with (
        ExitStack() as stack,
        stack.enter_context(there(Copied)()) as server,
        there(PgBouncer, required=False)(server) as proxy,
    ):
        settings = {"store.url": proxy.url(server.copy()), "store.retry_ms": 0}
        memory = stack.enter_context(lamina.open("sky", home=tmp_path, settings=settings))
        assert memory.remember("before").stored_in == "store"
        server.kill()
        assert memory.remember("meanwhile").stored_in == "failsafe"
        server.start()
        while memory.failsafe_status()["waiting"]:
            memory.catch_up()
        assert memory.remember("afterwards").stored_in == "store"
        assert sorted(contents(memory.list())) == ["afterwards", "before", "meanwhile"]
