"""Who can keep writers waiting on PostgreSQL: another writer of the same agent, and nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import lamina
from lamina import Memory, Operator
from lamina.errors import StoreUnavailable
from tests.conftest import contents, verified
from tests.servers.outage import until
from tests.servers.postgres import Postgres

AGENT = "sky"
STRANGER, SECRET = "stranger", "anybody"
LONG = 30
MIRRORED: dict[str, Any] = {"mirrors.jsonl": "milton"}
HASTY: dict[str, Any] = {"store.busy_timeout_ms": 50}
# The locks that writers took once: one for the tables, one for each agent, and one for its mirrors.
FORMER = (
    "pg_advisory_lock(1281453422)",
    f"pg_advisory_lock(1281453422, hashtext('{AGENT}'))",
    f"pg_advisory_lock(1281453423, hashtext('{AGENT}/mirrors'))",
)
TRIED = (
    "SELECT 1 FROM lamina_own.meta FOR UPDATE",
    "SELECT 1 FROM lamina.meta FOR UPDATE",
    "SELECT 1 FROM lamina.meta FOR KEY SHARE",
    "LOCK TABLE lamina.meta IN ACCESS SHARE MODE",
    "LOCK TABLE lamina_own.records",
    "SELECT lamina.owner()",
    "CREATE SCHEMA lamina_too",
    "CREATE TABLE lamina.mine ()",
)


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {"store.url": url, "store.retry_ms": 0, **more}


@contextmanager
def opened(home: Path, url: str, agent: str = AGENT, **more: Any) -> Iterator[Operator]:
    with lamina.operator(agent, home=home, settings=settings(url, **more)) as operator:
        yield operator


@pytest.fixture
def stranger(postgres: Postgres) -> Iterator[str]:
    """A role that may connect to every database, as every role may, and has no other right."""
    postgres.execute(f"CREATE ROLE {STRANGER} LOGIN PASSWORD '{SECRET}'")
    yield STRANGER
    postgres.execute(f"DROP ROLE {STRANGER}")


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


@contextmanager
def holding(postgres: Postgres, url: str) -> Iterator[psycopg.Connection[Any]]:
    """A stranger who holds every lock that writers once took."""
    with psycopg.connect(
        postgres.url(name_of(url), STRANGER, SECRET), autocommit=True
    ) as connection:
        for lock in FORMER:
            connection.execute(f"SELECT {lock}".encode())
        yield connection


def test_a_role_that_may_only_connect_holds_up_nobody(
    postgres: Postgres, postgres_url: str, stranger: str, tmp_path: Path
) -> None:
    """B3: whatever such a role holds, tables are made, memories written and mirrored, and others
    wait for nothing."""
    with (
        holding(postgres, postgres_url) as other,
        opened(tmp_path / "home", postgres_url, **MIRRORED) as op,
    ):
        op.remember("first")
        for statement in TRIED:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), other.transaction():
                other.execute(statement.encode())
        other.execute(
            b"BEGIN; LOCK TABLE pg_class IN ACCESS SHARE MODE; CREATE TEMP TABLE meta (name TEXT); LISTEN lamina"
        )
        op.remember("second")
        assert op.sync_mirrors()["jsonl"]
        assert set(contents(op.list())) == {"first", "second"}
        assert verified(op)


def test_one_writer_of_an_agent_at_a_time(postgres_url: str, tmp_path: Path) -> None:
    """B3, R1: a second writer waits for its time, and is told that another one writes; then it is
    its turn."""
    home = tmp_path / "home"
    with opened(home, postgres_url) as first, opened(home, postgres_url, **HASTY) as second:
        with first._scope.store.database.atomic():
            with (
                pytest.raises(StoreUnavailable, match="another process holds the store"),
                second._scope.store.database.atomic(),
            ):
                pass
            assert second.list() == []  # readers wait for nobody
        with second._scope.store.database.atomic():
            pass


def test_other_agents_do_not_wait(postgres_url: str, tmp_path: Path) -> None:
    """B3: a writer of one agent keeps no other agent waiting, nor whoever mirrors
    its own memories."""
    with ExitStack() as stack:
        sky = stack.enter_context(opened(tmp_path / "home", postgres_url))
        milton = stack.enter_context(opened(tmp_path / "home", postgres_url, "milton", **HASTY))
        stack.enter_context(sky._scope.store.database.atomic())
        stack.enter_context(sky._scope.store.database.alone("mirrors"))
        assert milton.remember("tea").stored_in == "store"
        with milton._scope.store.database.alone("mirrors"):
            pass


GATE = 4713
WAIT_AT_COMMIT = f"""
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON lamina.events DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.wait()
"""
AT_THE_GATE = f"SELECT pid FROM pg_locks WHERE objid = {GATE} AND NOT granted"


def test_agents_commit_side_by_side(postgres: Postgres, postgres_url: str, tmp_path: Path) -> None:
    """B3, R1: four writers of four agents write the same words at once, and all of them are in the
    middle of their commits before one has ended: nothing that they share makes one wait."""
    agents, database = ("sky", "milton", "ada", "bo"), name_of(postgres_url)
    with ExitStack() as stack:
        writers = [
            stack.enter_context(opened(tmp_path / "home", postgres_url, agent)) for agent in agents
        ]
        postgres.execute(WAIT_AT_COMMIT, database)
        gate = stack.enter_context(psycopg.connect(postgres_url, autocommit=True))
        gate.execute(f"SELECT pg_advisory_lock({GATE})".encode())
        with ThreadPoolExecutor(len(agents)) as threads:
            writes = [
                threads.submit(writer.remember, "boiler and tea", tags=["shared"])
                for writer in writers
            ]
            try:
                until(lambda: len(postgres.execute(AT_THE_GATE, database)) == len(agents))
            finally:
                gate.execute(f"SELECT pg_advisory_unlock({GATE})".encode())
            assert [write.result(LONG).stored_in for write in writes] == ["store"] * len(agents)
        assert all(verified(writer) for writer in writers)


def test_only_one_is_alone(postgres_url: str, tmp_path: Path) -> None:
    """B5: of two homes one writes the mirrors of an agent at a time, for however
    long that takes."""
    order: list[str] = []
    with (
        opened(tmp_path / "one", postgres_url) as one,
        opened(tmp_path / "other", postgres_url) as other,
    ):
        began = threading.Event()

        def wait() -> None:
            began.set()
            with other._scope.store.database.alone("mirrors"):
                order.append("second")

        with ThreadPoolExecutor(1) as threads:
            with one._scope.store.database.alone("mirrors"):
                later = threads.submit(wait)
                assert began.wait(LONG)
                one.remember("tea")
                order.append("first")
            later.result(LONG)
    assert order == ["first", "second"]


def test_tables_are_made_once(postgres_url: str, tmp_path: Path) -> None:
    """B3: processes that open an empty database at the same time make its tables once, and all of
    them can write."""
    start = threading.Barrier(4)

    def write(number: int) -> None:
        start.wait(LONG)
        with opened(tmp_path / f"home{number}", postgres_url) as op:
            op.remember(f"number {number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    with opened(tmp_path / "home", postgres_url) as op:
        assert set(contents(op.list())) == {f"number {number}" for number in range(4)}
        assert verified(op)


def test_many_writers_lose_nothing(postgres_url: str, tmp_path: Path) -> None:
    """B3, R1: writers that come at once take turns; each write is there once, and the
    chain is whole."""
    with ExitStack() as stack:
        handles: list[Memory] = [
            stack.enter_context(opened(tmp_path / f"home{number}", postgres_url))
            for number in range(4)
        ]

        def write(handle: Memory) -> list[str]:
            return [handle.remember(f"{id(handle)} {number}").stored_in for number in range(10)]

        with ThreadPoolExecutor(4) as threads:
            stored = [one for some in threads.map(write, handles) for one in some]
        assert stored == ["store"] * 40
        assert len(handles[0].list()) == 40
        assert verified(stack.enter_context(opened(tmp_path / "home", postgres_url)))


def test_a_right_of_everybody_is_reported(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    """B3: tables are made without rights of PUBLIC, also where defaults would give some; one that
    is given is told."""
    postgres.execute(
        "ALTER DEFAULT PRIVILEGES FOR ROLE lamina GRANT ALL ON TABLES TO PUBLIC",
        name_of(postgres_url),
    )
    with opened(tmp_path / "home", postgres_url) as op:
        op.remember("tea")
        assert verified(op)
        postgres.execute("GRANT SELECT, UPDATE ON lamina_own.meta TO PUBLIC", name_of(postgres_url))
        report = op.audit_verify()["events"]
        assert not report.ok
        assert [
            "UPDATE" in one.message
            for one in report.problems
            if one.place == "table lamina_own.meta"
        ] == [False, True]
