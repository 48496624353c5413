"""A place for a single outage of PostgreSQL: a server that may be broken, a database, a home, and what must hold afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lamina
from tests.conftest import verified
from tests.faults.harness import AGENT
from tests.servers.conftest import there
from tests.servers.postgres import Postgres
from tests.servers.proxy import Proxy
from tests.servers.test_postgres_faults import PATIENCE, home_on
from tests.servers.troubles import pause

TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lamina' AND datname = current_database()"


class Place(NamedTuple):
    """A database of one's own, on a server of one's own, and a home."""

    server: Postgres
    database: str
    home: Path

    def open(self, **settings: Any) -> lamina.Memory:
        """A handle that asks the server at every write."""
        return lamina.open(AGENT, home=self.home, settings={"store.retry_ms": 0, **settings})

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, self.database)

    def texts(self) -> list[str]:
        """What the database really holds."""
        return sorted(text for (text,) in self.execute("SELECT content FROM lamina.records"))


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A PostgreSQL for the tests of this file; each leaves it as it was."""
    with there(Postgres)(
        {"fsync": "off"}
    ) as made:  # a killed process loses nothing by that, only a machine would
        yield made


@pytest.fixture
def place(server: Postgres, tmp_path: Path) -> Iterator[Place]:
    database = server.database()
    yield Place(server, database, home_on(tmp_path / "home", server.url(database)))
    if server.running:
        server.resume()
    else:
        server.start()


@pytest.fixture
def line(place: Place) -> Iterator[Proxy]:
    """A line that can be cut, and a home that uses it."""
    with Proxy(place.server.port) as proxy:
        home_on(place.home, place.server.url(place.database, port=proxy.port))
        yield proxy


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        pause(0.01)


def check_all(place: Place, expected: list[str]) -> None:
    """After a new process has come, exactly this is there, nothing waits, and the chain verifies."""
    with lamina.operator(AGENT, home=place.home) as operator:
        assert place.texts() == sorted(expected)
        assert operator.failsafe_status()["waiting"] == 0
        assert operator.status()["problems"] == []
        assert verified(operator)
