"""Tests that were written for files, on PostgreSQL: `pytest
-p tests.servers.everywhere tests/unit/memory/test_agent.py`.

Every test has a database of its own, and `LAMINA_STORE_URL` leads to it: what the tests promise of
a memory, they then promise of one on a server. The server writes nothing to the disk that it need
not: this is about promises, not about crashes.
"""

from __future__ import annotations

import inspect
import itertools
import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest

import lamina
from tests import cases
from tests.servers.kinds import there
from tests.servers.postgres import Postgres

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# Tests that look into the file itself, or need a second and empty place for the same agent, are
# about files.
ABOUT_FILES = re.compile(
    r"memory\.db|\btamper\(|\bquietly\(|\bdigest\(|apsw|Sqlite|PRAGMA|database_of|\.path\b|lamina\.operator\(|Desk\("
)
_numbers = itertools.count(1)


class Copied(Postgres):
    """A server whose databases are copies of one that has our tables already, which takes a tenth
    of the time."""

    polite: ClassVar[int] = signal.SIGQUIT  # it need not keep anything
    pattern = ""

    def await_ready(self) -> None:
        super().await_ready()
        if not self.pattern:
            self.pattern = self.database()
            with tempfile.TemporaryDirectory() as home:
                lamina.operator(
                    "pattern", home=home, settings={"store.url": self.url(self.pattern)}
                ).close()
                self.execute("DELETE FROM lamina.meta", self.pattern)

    def copy(self) -> str:
        """The name of a new database with our tables and nothing in them."""
        name = f"copy_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} OWNER lamina TEMPLATE {self.pattern}")
        return name

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about files."""
    for item in items:
        function = getattr(item, "function", None)
        if function is not None and ABOUT_FILES.search(inspect.getsource(inspect.unwrap(function))):
            item.add_marker(pytest.mark.skip("it is about files"))


@pytest.fixture(scope="session")
def copied_postgres() -> Iterator[Copied]:
    with there(Copied)(FAST) as server:
        yield server


@pytest.fixture(autouse=True)
def _on_postgres(copied_postgres: Copied, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test a database, and each case that has a home of its own another one."""

    @contextmanager
    def on_a_new_database() -> Iterator[None]:
        name = copied_postgres.copy()
        with monkeypatch.context() as variables:
            variables.setenv("LAMINA_STORE_URL", copied_postgres.url(name))
            yield
        copied_postgres.drop(name)

    monkeypatch.setattr(cases, "around", on_a_new_database)
    with on_a_new_database():
        yield
