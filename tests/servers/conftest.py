"""The servers for tests: one of each for a session, shared by tests that keep apart, and own ones
for those that break them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.chroma import Chroma
from tests.servers.everywhere import FAST, Copied
from tests.servers.kinds import Kind, there
from tests.servers.outage import Place, home_on
from tests.servers.postgres import Postgres
from tests.servers.proxy import Proxy
from tests.servers.weaviate import Weaviate

FOLDER = Path(__file__).parent
_agents = itertools.count(1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make test` needs no server: the tests of this folder run when it is named."""
    named = [
        Path(config.invocation_params.dir, argument.partition("::")[0]).resolve()
        for argument in config.args
    ]
    return None if any(FOLDER in (path, *path.parents) for path in named) else True


def opened(kind: type[Kind]) -> Iterator[Kind]:
    with there(kind)() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for all tests of the session. Do not stop it."""
    yield from opened(Postgres)


@pytest.fixture(scope="session")
def chroma() -> Iterator[Chroma]:
    """A Chroma server for all tests of the session. Do not stop it."""
    yield from opened(Chroma)


@pytest.fixture(scope="session")
def weaviate() -> Iterator[Weaviate]:
    """A Weaviate for all tests of the session. Do not stop it."""
    yield from opened(Weaviate)


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL of the test's own, to stop, kill and pause."""
    yield from opened(Postgres)


@pytest.fixture
def own_chroma() -> Iterator[Chroma]:
    """A Chroma server of the test's own, to stop, kill and pause."""
    yield from opened(Chroma)


@pytest.fixture
def own_weaviate() -> Iterator[Weaviate]:
    """A Weaviate of the test's own, to stop, kill and pause."""
    yield from opened(Weaviate)


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The address of a new and empty database on the shared PostgreSQL."""
    return postgres.url(postgres.database())


@pytest.fixture
def fresh_agent() -> str:
    """A name that no other test of the session has, for collections and tenants
    on shared servers."""
    return f"agent{next(_agents)}"


@pytest.fixture(scope="session")
def quick_postgres() -> Iterator[Copied]:
    """A PostgreSQL that is quick to fill and to empty. Do not stop it."""
    with there(Copied)(FAST) as server:
        yield server


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
