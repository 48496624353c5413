"""A server that dies for good while another one takes its place: no memory is lost unnoticed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import lamina
from tests.conftest import contents, verified
from tests.faults.harness import AGENT, check_sound, size
from tests.servers.kinds import there
from tests.servers.outage import home_on, until
from tests.servers.pair import Pair
from tests.servers.postgres import Postgres
from tests.servers.troubles import pause

WRITERS = 8
ENOUGH = 5  # memories of each writer before and after the death of the server


@pytest.fixture
def pair() -> Iterator[Pair]:
    there(Postgres)
    with Pair() as made:
        yield made


class Writer(threading.Thread):
    """Remembers one thing after the other, until it is told to stop."""

    def __init__(self, home: Path, name: str) -> None:
        super().__init__(name=name)
        self._home = home
        self.told: list[tuple[str, str]] = []  # each text, and where it was kept
        self.longest = 0.0
        self.over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with lamina.open(AGENT, home=self._home, settings={"store.retry_ms": 0}) as memory:
                while not self.over.is_set():
                    text = f"number {len(self.told)} of {self.name}"
                    started = time.monotonic()
                    self.told.append((text, memory.remember(text).stored_in))
                    self.longest = max(self.longest, time.monotonic() - started)
        except BaseException as error:  # noqa: BLE001 - the test says it
            self.error = error

    def await_stored(self, number: int) -> None:
        """Come back when it has stored so many more memories."""
        before = len(self.told)

        def stored() -> bool:
            assert self.error is None, self.error
            return sum(place == "store" for _, place in self.told[before:]) >= number

        until(stored)


def test_clients_go_on_after_a_failover(pair: Pair, tmp_path: Path) -> None:
    """B3, B4, R1: the server that writes is killed under eight writers, and its standby takes its
    place: they go on by themselves, every acknowledged memory is there once, and the chain is
    whole."""
    homes = [home_on(tmp_path / f"home{number}", pair.url) for number in range(2)]
    expected: list[str] = []
    longest = 0.0
    for number in range(size(quick=2, full=20)):
        writers = [
            Writer(homes[one % 2], f"writer {one} in round {number}") for one in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        try:
            for writer in writers:
                writer.await_stored(ENOUGH)
            pair.fail_over()
            for writer in writers:
                writer.await_stored(ENOUGH)
        finally:
            for writer in writers:
                writer.over.set()
            for writer in writers:
                writer.join()
        assert [writer.error for writer in writers if writer.error] == []
        expected += [text for writer in writers for text, _ in writer.told]
        longest = max(longest, *(writer.longest for writer in writers))
        pair.rejoin()
        check(pair, homes, expected)
    print(f"longest pause {longest:.2f} s, {len(expected):,} memories")


def check(pair: Pair, homes: list[Path], expected: list[str]) -> None:
    for home in homes:
        with lamina.operator(AGENT, home=home, settings={"store.retry_ms": 0}) as op:
            while op.failsafe_status()["waiting"]:
                pause(0.05)
                op.catch_up()
            assert op.failsafe_status()["broken"] == []
            assert op.status()["problems"] == []
            check_sound(op)
    rows = pair.leader.execute("SELECT content FROM lamina.records", pair.database)
    stored = Counter(text for (text,) in rows)
    assert [text for text, number in stored.items() if number > 1] == []
    assert set(expected) - stored.keys() == set()


def test_a_lost_commit_is_told(tmp_path: Path) -> None:
    """B4, P4: a standby that was behind takes over, without a memory that was acknowledged: the
    handle that was told otherwise says so, and its writes go on."""
    there(Postgres)
    with (
        Pair(synchronous=False) as pair,
        lamina.open(
            AGENT,
            home=home_on(tmp_path / "home", pair.url),
            settings={"store.retry_ms": 0},
        ) as memory,
    ):
        memory.remember("before")
        pair.await_replay()
        pair.standby.stop()
        assert memory.remember("lost").stored_in == "store"
        pair.leader.kill()
        pair.standby.start()
        pair.standby.promote()
        until(lambda: memory.remember("afterwards").stored_in == "store")
        assert "lost" not in contents(memory.list())
        (problem,) = memory.status()["problems"]
        assert "was acknowledged and is not in the trail" in problem


def test_nothing_is_told_when_nothing_was_lost(pair: Pair, tmp_path: Path) -> None:
    """B4: after a failover that lost nothing there is no problem to report."""
    with lamina.operator(
        AGENT, home=home_on(tmp_path / "home", pair.url), settings={"store.retry_ms": 0}
    ) as op:
        op.remember("before")
        pair.fail_over()
        until(lambda: op.remember("afterwards").stored_in == "store")
        assert "before" in contents(op.list())
        assert op.status()["problems"] == []
        assert verified(op)


def test_a_standby_answers_unless_it_is_behind(pair: Pair, tmp_path: Path) -> None:
    """B3: with `store.stale_ms` reads go to the standby; what this handle wrote it reads at once,
    and a standby that is behind or away is passed by."""
    settings = {"store.url": pair.url, "store.stale_ms": 60_000}
    with lamina.open(AGENT, home=tmp_path, settings=settings) as memory:
        memory.remember("first")
        pair.await_replay()
        assert contents(memory.list()) == ["first"]
        assert reads_from_standby(memory)
        pair.standby.execute("SELECT pg_wal_replay_pause()")
        memory.remember("second")
        assert set(contents(memory.list())) == {"first", "second"}
        assert not reads_from_standby(memory)
        pair.standby.execute("SELECT pg_wal_replay_resume()")
        pair.await_replay()
        assert reads_from_standby(memory)
        pair.leader.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        pair.leader.execute("SELECT pg_reload_conf()")
        pair.standby.kill()
        assert set(contents(memory.list())) == {"first", "second"}
        assert memory.remember("third").stored_in == "store"


def reads_from_standby(memory: lamina.Memory) -> bool:
    reader = memory._scope.store.database.reader()
    return bool(reader.execute("SELECT pg_is_in_recovery()").get)


def test_the_first_host_need_not_answer(pair: Pair, tmp_path: Path) -> None:
    """B3, B4: whichever of the hosts is dead or only reads, the one that writes is found; a host
    that is silent costs no more than the time for silence."""
    with ExitStack() as stack:
        for turned in (False, True):
            first, second = (pair.leader, pair.standby) if turned else (pair.standby, pair.leader)
            hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
            url = f"postgresql://lamina:{pair.leader.password}@{hosts}/{pair.database}"
            settings = {"store.url": url}
            memory = stack.enter_context(
                lamina.open(AGENT, home=tmp_path / str(turned), settings=settings)
            )
            assert memory.remember(f"tea {turned}").stored_in == "store"
        pair.leader.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        pair.leader.execute("SELECT pg_reload_conf()")
        pair.standby.pause()
        try:
            other = stack.enter_context(
                lamina.open(AGENT, home=tmp_path / "other", settings={"store.url": pair.url})
            )
            assert other.remember("silent").stored_in == "store"
        finally:
            pair.standby.resume()
