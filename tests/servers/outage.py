"""A place for a single outage of PostgreSQL: a server that may be broken, a database, a home, and
what must hold afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lamina
from tests.conftest import verified
from tests.faults.harness import AGENT, ROOT
from tests.servers.postgres import Postgres
from tests.servers.troubles import pause

TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lamina' AND "
    "datname = current_database()"
)


SLOWEST = 1.5  # seconds, as the requirement says; judged in a full run, on a quiet machine
PATIENCE = 60.0


def home_on(folder: Path, url: str) -> Path:
    """A home whose memories are in this database."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'[store]\nurl = "{url}"\n', "utf-8")
    return folder


@contextmanager
def child(module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a module that ends when nobody speaks to it any more; only a test may kill it before."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")
    }
    command = [sys.executable, "-m", module, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=ROOT
    ) as process:
        try:
            yield process
            if process.poll() is None:
                assert process.stdin is not None
                process.stdin.close()
                assert process.wait(PATIENCE) == 0
            assert process.returncode in (0, -signal.SIGKILL)
        finally:
            process.kill()


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


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        pause(0.01)


def check_all(place: Place, expected: list[str]) -> None:
    """After a new process has come, exactly this is there, nothing waits, and
    the chain verifies."""
    with lamina.operator(AGENT, home=place.home) as operator:
        assert place.texts() == sorted(expected)
        assert operator.failsafe_status()["waiting"] == 0
        assert operator.status()["problems"] == []
        assert verified(operator)
