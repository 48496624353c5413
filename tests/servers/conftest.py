"""The servers for tests: one of each for a session, shared by tests that keep apart, and own ones for those that break them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.servers import fetch
from tests.servers.chroma import Chroma
from tests.servers.postgres import Postgres
from tests.servers.processes import Server
from tests.servers.weaviate import Weaviate

FOLDER = Path(__file__).parent
Kind = TypeVar("Kind", bound=Server)
_agents = itertools.count(1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make test` needs no server: the tests of this folder run when it is named."""
    named = [
        Path(config.invocation_params.dir, argument.partition("::")[0]).resolve()
        for argument in config.args
    ]
    return None if any(FOLDER in (path, *path.parents) for path in named) else True


def there(kind: type[Kind]) -> type[Kind]:
    """A kind of server that can be had; a test that needs another is not run, which is a failure where servers are required."""
    reason = kind.missing()
    if reason is not None:
        message = f"not run: {kind.name} ({reason})"
        if fetch.REQUIRED:
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    return kind


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
    """A name that no other test of the session has, for collections and tenants on shared servers."""
    return f"agent{next(_agents)}"
