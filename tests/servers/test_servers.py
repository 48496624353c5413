"""Promises of the harness: servers are real, keep their data through every kind of end, and leave
nothing behind."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers import keeper
from tests.servers.chroma import Chroma
from tests.servers.kinds import KINDS, there
from tests.servers.postgres import Postgres
from tests.servers.processes import HOST, Server, ServerError
from tests.servers.weaviate import Weaviate

ROOT = Path(__file__).parents[2]
OBJECT = "00000000-0000-4000-8000-000000000001"
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
# What asks a PostgreSQL whether it speaks TLS; it says N.
TLS_ASKED = bytes.fromhex("0000000804d2162f")


@pytest.fixture(params=KINDS, ids=lambda kind: str(kind.name))
def kind(request: pytest.FixtureRequest) -> type[Server]:
    return there(request.param)


@pytest.fixture
def server(kind: type[Server]) -> Iterator[Server]:
    with kind() as opened:
        yield opened


def ask(server: Server, method: str, path: str, body: Any = None) -> Any:
    """One exchange of JSON over HTTP."""
    assert isinstance(server, Chroma | Weaviate)
    connection = http.client.HTTPConnection(HOST, server.port, timeout=30)
    try:
        connection.request(
            method,
            path,
            json.dumps(body) if body is not None else None,
            {"Content-Type": "application/json"},
        )
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status < 300, f"{answer.status} {text}"
        return json.loads(text) if text else None
    finally:
        connection.close()


def write(server: Server, text: str) -> None:
    """One thing that the server says it has."""
    if isinstance(server, Postgres):
        server.execute(f"CREATE TABLE note AS SELECT '{text}' AS text")
    elif isinstance(server, Chroma):
        ask(server, "POST", COLLECTIONS, {"name": "notes", "metadata": {"text": text}})
    else:
        ask(
            server,
            "POST",
            "/v1/objects",
            {"class": "Note", "id": OBJECT, "properties": {"text": text}, "vector": [1, 0]},
        )


def read(server: Server) -> str:
    if isinstance(server, Postgres):
        return str(server.execute("SELECT text FROM note")[0][0])
    if isinstance(server, Chroma):
        return str(ask(server, "GET", f"{COLLECTIONS}/notes")["metadata"]["text"])
    return str(ask(server, "GET", f"/v1/objects/Note/{OBJECT}")["properties"]["text"])


def knock(server: Server) -> socket.socket:
    """A connection on which something was asked that a server answers at once."""
    assert isinstance(server, Postgres | Chroma | Weaviate)
    connection = socket.create_connection((HOST, server.port), timeout=30)
    connection.sendall(
        TLS_ASKED if isinstance(server, Postgres) else b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    return connection


def await_end(pids: list[int]) -> None:
    """Come back when all these processes, which need not be ours, have ended."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([handle], [], [], 30)[0], f"{pid} still runs"
        finally:
            os.close(handle)


def test_data_outlives_every_end(server: Server) -> None:
    """What a server has acknowledged is there after a stop, after kill -9 and after a restart,
    under the same address (B3)."""
    write(server, "tea")
    server.stop()
    assert not server.running
    server.start()
    assert read(server) == "tea"
    server.kill()
    assert not server.running
    server.start()
    server.restart()
    assert read(server) == "tea"


def test_kill_ends_every_process(server: Server) -> None:
    """kill -9 leaves no process of the server, also when it is paused."""
    members = keeper.family(server.pid)
    server.pause()
    server.kill()
    assert {keeper.state(member) for member in members} <= {"", "Z"}


def test_pause_holds_and_resume_goes_on(server: Server) -> None:
    """A paused server takes connections and says nothing; when it goes on it answers what it was
    asked meanwhile."""
    write(server, "tea")
    server.pause()
    states = {keeper.state(member) for member in keeper.family(server.pid)}
    assert "T" in states
    assert states <= {"T", "Z"}  # one that has just ended is buried when its parent goes on
    with knock(server) as connection:
        assert select.select([connection], [], [], 0)[0] == []
        server.resume()
        assert connection.recv(1)
    assert read(server) == "tea"


def test_a_server_that_runs_is_not_started_twice(own_postgres: Postgres) -> None:
    """Starting what runs and stopping what does not are errors that say so."""
    with pytest.raises(ServerError, match="runs already"):
        own_postgres.start()
    own_postgres.stop()
    with pytest.raises(ServerError, match="does not run"):
        own_postgres.stop()


def test_a_start_that_fails_shows_the_log() -> None:
    """A server that ends instead of starting is an error with the end of its log, not a wait, and
    leaves nothing either."""
    broken = there(Postgres)(settings={"max_connections": "many"})
    with pytest.raises(ServerError, match='invalid value for parameter "max_connections": "many"'):
        broken.__enter__()
    assert not broken.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_session(kind: type[Server], number: int) -> None:
    """When whoever started a server is killed, its processes end and its folder goes."""
    command = [sys.executable, "-m", "tests.servers", kind.name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().split()[-1])
        assert folder.is_dir()
        members = keeper.family(owner.pid)
        owner.send_signal(number)
    assert len(members) >= 3
    await_end(members)
    assert not folder.exists()


def test_what_is_closed_is_gone(server: Server) -> None:
    """A closed server leaves no process and no folder, also if it was killed or paused before."""
    members = keeper.family(server.pid)
    server.pause()
    server.close()
    await_end(members)
    assert not server.folder.exists()


def test_databases_are_empty_and_apart(postgres: Postgres) -> None:
    """Each new database belongs to a plain role, has pgvector and nothing of the others."""
    first, second = (postgres.url(postgres.database()) for _ in range(2))
    with psycopg.connect(first) as one, psycopg.connect(second) as other:
        one.execute("CREATE TABLE note (place vector(2))")
        one.commit()
        tables = b"SELECT count(*) FROM pg_tables WHERE tablename = 'note'"
        assert one.execute(tables).fetchone() == (1,)
        assert other.execute(tables).fetchone() == (0,)
        assert one.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone() == (False,)
        assert str((one.execute("SELECT version()").fetchone() or "")[0]).startswith(
            "PostgreSQL 18"
        )


def test_postgres_wants_the_password(postgres: Postgres) -> None:
    """A wrong password is refused, and so is pgvector for the plain role where it is missing."""
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres.url(password="wrong"))
    bare = postgres.url(postgres.database(vector=False))
    with psycopg.connect(bare) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("CREATE EXTENSION vector")


def test_weaviate_wants_its_key() -> None:
    """Started with a key, it answers to nobody without it."""
    with there(Weaviate)(key="secret") as locked:
        connection = http.client.HTTPConnection(HOST, locked.port, timeout=30)
        for headers, status in (({}, 401), ({"Authorization": "Bearer secret"}, 200)):
            connection.request("GET", "/v1/schema", headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
        connection.close()


@pytest.mark.parametrize(("required", "code", "word"), [("0", 0, "SKIPPED"), ("1", 1, "ERROR")])
def test_a_missing_server_is_named(tmp_path: Path, required: str, code: int, word: str) -> None:
    """A server that cannot be had is named in the summary as not run; where it is required that is
    a failure."""
    environment = {
        **os.environ,
        "LAMINA_SERVERS": str(tmp_path),
        "LAMINA_REQUIRE_SERVERS": required,
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    asked = [f"{__file__}::test_kill_ends_every_process", "-k", "weaviate"]
    ended = subprocess.run(
        [*command, *asked], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == code, ended.stdout
    assert word in ended.stdout
    assert (
        "not run: weaviate (it was not built: make servers, which needs Go 1.26 or newer)"
        in ended.stdout
    )


def test_other_tests_need_no_servers() -> None:
    """The tests of this folder are not among those of a run that does not name it."""
    others = [
        path for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "servers"
    ]
    ignored = [f"--ignore={path}" for path in others]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "tests",
    ]
    ended = subprocess.run([*command, *ignored], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, ended.stdout
