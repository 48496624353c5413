"""Single outages of PostgreSQL, each at its exact moment: what is told, what is kept, and that the
same handle goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.errors import InvalidInput, Refused, StoreUnavailable
from lamina.failsafe import replay
from lamina.model.clock import system_clock
from tests.conftest import contents
from tests.faults.harness import AGENT, FULL
from tests.servers.kinds import there
from tests.servers.outage import SLOWEST, TERMINATE, Place, check_all, child, home_on, until
from tests.servers.postgres import Postgres
from tests.servers.processes import HOST

# The server is away


def test_opened_while_it_is_away(place: Place) -> None:
    """B4: a handle that was opened without a server keeps memories, says so when it reads, and goes
    on when it is there."""
    place.open().close()
    place.server.stop()
    with place.open() as memory:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            memory.list()
        kept = memory.remember("meanwhile")
        assert kept.stored_in == "failsafe"
        assert contents(memory.list()) == ["meanwhile"]
        assert memory.outage is not None
        assert any("only the fail-safe" in note for note in memory.search("meanwhile").notes)
        assert any("could not be" in problem for problem in memory.status()["problems"])
        place.server.start()
        assert memory.remember("afterwards").stored_in == "store"
        assert contents(memory.list()) == ["afterwards", "meanwhile"]
        assert memory.get(kept.id).stored_in == "store"
        assert memory.outage is None
        assert memory.status()["problems"] == []
    check_all(place, ["meanwhile", "afterwards"])


def test_a_new_database_is_made_when_it_comes(place: Place) -> None:
    """B4: even the first handle of all may come before its server."""
    place.server.stop()
    with place.open() as memory:
        memory.remember("first")
        place.server.start()
        memory.remember("second")
    check_all(place, ["first", "second"])


def test_without_the_fail_safe_it_is_an_error(place: Place) -> None:
    """B4: `failsafe = off` keeps nothing: what cannot be stored is refused, and so is opening."""
    with place.open(failsafe="off") as memory:
        place.server.stop()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            memory.remember("lost")
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            place.open(failsafe="off")
        place.server.start()
        memory.remember("kept")
    check_all(place, ["kept"])


def test_a_wrong_password_is_no_outage(place: Place) -> None:
    """B4: it is told when a handle is opened, and by each write if the server was away then; what
    was kept is not lost."""
    place.open().close()
    home_on(place.home, place.server.url(place.database, password="wrong"))
    with pytest.raises(Refused, match="user and the password"):
        place.open()
    place.server.stop()
    with place.open() as memory:
        memory.remember("kept")
        place.server.start()
        for _ in range(2):
            with pytest.raises(Refused, match="user and the password"):
                memory.remember("refused")
        assert memory.failsafe_status()["waiting"] == 1
        place.execute("ALTER ROLE lamina PASSWORD 'wrong'")
        assert memory.remember("taken").stored_in == "store"
    check_all(place, ["kept", "taken"])
    place.execute(f"ALTER ROLE lamina PASSWORD '{place.server.password}'")


def test_a_restart_is_not_noticed(place: Place) -> None:
    """B3: connections that lie idle while the server is restarted are no reason for an error,
    whoever uses them next."""
    with place.open() as memory:
        kept = memory.remember("before", tags=["old"])
        verbs: list[Callable[[], object]] = [
            lambda: memory.get(kept.id),
            lambda: memory.list(tags=["old"]),
            lambda: memory.search("before"),
            lambda: memory.history(kept.id),
            memory.status,
            lambda: (
                memory.remember("after").stored_in == "store"
                or pytest.fail("it was kept elsewhere")
            ),
            lambda: memory.remember_many([{"content": "many"}, {"content": "more"}]),
        ]
        for verb in verbs:
            threads = [
                threading.Thread(target=memory.list) for _ in range(4)
            ]  # several connections lie idle
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            place.server.restart()
            verb()
        assert memory.failsafe_status()["waiting"] == 0
    check_all(place, ["before", "after", "many", "more"])


@pytest.mark.parametrize("given", [{}, {"key": "k"}, {"importance": 0.5}])
@pytest.mark.parametrize("wrote_before", [False, True])
def test_a_silent_server_is_waited_for_once(
    place: Place, given: dict[str, Any], wrote_before: bool
) -> None:
    """B4: all that a write asks of a server that says nothing takes less than 1.5 s in all."""
    with place.open() as memory:
        expected = ["before"] if wrote_before else []
        for text in expected:
            memory.remember(text)
        place.server.pause()
        began = time.monotonic()
        assert memory.remember("meanwhile", **given).stored_in == "failsafe"
        seconds = time.monotonic() - began
        place.server.resume()
        assert memory.remember("afterwards").stored_in == "store"
    print(f"{seconds:.3f} s")
    assert not (FULL and seconds >= SLOWEST)
    check_all(place, [*expected, "meanwhile", "afterwards"])


@pytest.mark.parametrize("hosts", ["{host}:{port},{host}:{port}", ""])
def test_a_silent_server_whose_address_is_not_one(
    place: Place, hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B4: the same where the address names several hosts, or leaves it to the environment
    which it is."""
    monkeypatch.setenv("PGHOST", HOST)
    monkeypatch.setenv("PGPORT", str(place.server.port))
    named = hosts.format(host=HOST, port=place.server.port)
    home_on(place.home, f"postgresql://lamina:{place.server.password}@{named}/{place.database}")
    with place.open() as memory:
        memory.remember("before")
        place.server.pause()
        assert memory.remember("meanwhile").stored_in == "failsafe"
        place.server.resume()
        assert memory.remember("afterwards").stored_in == "store"
    check_all(place, ["before", "meanwhile", "afterwards"])


def test_a_server_that_would_rather_be_quick(tmp_path: Path) -> None:
    """R1: a server that is told to answer before it has written its log still keeps all
    that was acknowledged."""
    with there(Postgres)({"synchronous_commit": "off", "wal_writer_delay": "10s"}) as server:
        place = Place(server, server.database(), tmp_path / "home")
        home_on(place.home, server.url(place.database))
        with place.open() as memory:
            for number in range(10):
                assert memory.remember(f"memory {number}").stored_in == "store"
            server.kill()
            server.start()
        check_all(place, [f"memory {number}" for number in range(10)])


def test_a_role_without_a_connection_left(place: Place) -> None:
    """B4: a server that lets nobody in any more is away, not wrong."""
    with place.open() as memory:
        memory.remember("before")
        place.execute("ALTER ROLE lamina CONNECTION LIMIT 0")
        place.execute(TERMINATE)
        assert memory.remember("meanwhile").stored_in == "failsafe"
        assert "too many connections" in str(memory.outage)
        place.execute("ALTER ROLE lamina CONNECTION LIMIT -1")
        assert memory.remember("afterwards").stored_in == "store"
    check_all(place, ["before", "meanwhile", "afterwards"])


def test_connections_to_a_replica_are_left(place: Place) -> None:
    """B4: who only may read on a connection tries another the next time: the address may lead
    elsewhere by then."""
    with place.open() as memory:
        memory.remember("before")
        place.execute(f"ALTER DATABASE {place.database} SET default_transaction_read_only = on")
        place.execute(TERMINATE)
        assert memory.remember("meanwhile").stored_in == "failsafe"
        place.server.execute(f"ALTER DATABASE {place.database} RESET default_transaction_read_only")
        assert memory.remember("afterwards").stored_in == "store"
    check_all(place, ["before", "meanwhile", "afterwards"])


# Clients


def test_a_killed_client_holds_nobody_up(place: Place) -> None:
    """B3, R1: whoever dies in the middle of a write leaves no trace and no lock."""
    with place.open() as memory:
        memory.remember("before")
        with child("tests.servers.tasks", str(place.home), AGENT, "0", "hold") as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            said: list[str] = []

            def write(number: int) -> None:
                said.append(memory.remember(f"other {number}").stored_in)

            others = [threading.Thread(target=write, args=(number,)) for number in range(3)]
            for other in others:
                other.start()
            until(lambda: place.execute("SELECT 1 FROM pg_locks WHERE NOT granted"))
            assert said == []
            holder.send_signal(signal.SIGKILL)
            for other in others:
                other.join()
            assert said == ["store"] * 3
            holder.wait()
    check_all(place, ["before", "other 0", "other 1", "other 2"])


def test_a_fork_leaves_the_connections_alone(place: Place) -> None:
    """R1: the child may not use the handle and does not end what belongs to the parent, not even in
    the middle of a write."""
    with place.open() as memory:
        memory.remember("before")
        with memory._scope.store.change(memory.actor, "remember", system_clock()) as transaction:
            transaction.insert([memory._scope.draft({"content": "parent"})])
            pid = os.fork()
            if pid == 0:
                os._exit(_forked(place, memory, transaction))
            assert os.waitpid(pid, 0)[1] == 0
        assert memory.remember("after").stored_in == "store"
    check_all(place, ["before", "parent", "after"])


def _forked(place: Place, memory: lamina.Memory, transaction: Any) -> int:
    """What the child does; 0 when it was as promised. No exception may leave it: above it is the
    parent's test."""
    result = 1
    with suppress(BaseException):
        with pytest.raises(StoreUnavailable, match="another process"):
            memory.remember("child")
        with pytest.raises(StoreUnavailable, match="another process"):
            memory.list()
        error = ValueError("the child leaves the block that it was born in")
        transaction.__exit__(ValueError, error, None)
        memory.close()
        result = 0
    return result


# What waits


def test_a_long_outage_is_worked_off_in_pieces(place: Place) -> None:
    """B4: writes that have little time for a replay bring it on all the same, each a piece further,
    until nothing waits."""
    texts = [f"memory {n}" for n in range(4 * replay.AT_ONCE)]
    with place.open() as memory:
        place.server.stop()
        for text in texts:
            memory.remember(text)
        place.server.start()
        for stored in range(replay.AT_ONCE, len(texts), replay.AT_ONCE):
            with pytest.raises(StoreUnavailable, match="takes a while"):
                memory._parts.failsafe.replayed(patience=0)
            assert len(place.texts()) == stored
        assert memory._parts.failsafe.replayed(patience=0) is not None
    check_all(place, texts)


def test_what_it_cannot_hold_is_refused_and_not_kept(place: Place) -> None:
    """B4: a memory that can never be stored does not lie in the fail-safe, where it would keep out
    all that follow."""
    with place.open() as memory:
        memory.remember("zero")
        place.execute(
            "CREATE INDEX ON lamina.records (content)"
        )  # what the rules allow is not too much for our own tables
        with pytest.raises(InvalidInput, match="cannot hold this value"):
            memory.remember(os.urandom(10_000).hex())
        assert memory.failsafe_status()["waiting"] == 0
        assert memory.remember("two").stored_in == "store"
    check_all(place, ["zero", "two"])
