"""Many processes, threads and forks on one store: none is in another's way, and nothing is lost
between them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import lamina
from tests.faults.crowds import crowd

from .harness import AGENT, Child, check_sound, check_store, contents, database_of, size

WRITERS = 16
OPENERS = 12
THREADS = 8


def test_many_processes_write_one_store(tmp_path: Path) -> None:
    """B1, L1, P4, R1: processes that write at once see no error, lose nothing, and share one
    gapless order."""
    each = size(quick=10, full=300)
    with crowd(WRITERS, "crowd", tmp_path, each) as children:
        for child in children:
            child.tell(go=True)
        for child in children:
            child.finish()
    with lamina.operator(AGENT, home=tmp_path) as operator:
        check_sound(operator)
        records = operator.list(limit=10_000)
        assert {record.content for record in records} == {
            f"memory {n} of p{p}" for p in range(WRITERS) for n in range(each)
        }
        assert sorted(record.seq for record in records) == list(range(1, WRITERS * each + 1))


def test_a_new_store_is_made_once_by_many_processes(tmp_path: Path) -> None:
    """B1: processes that open a fresh home at the same moment all get the same store, and each can
    write to it."""
    with crowd(OPENERS, "opener") as children:
        for number in range(size(quick=2, full=100)):
            home = tmp_path / f"home{number}"
            for child in children:
                child.tell(home=str(home))
            stores = [child.hear()["store"] for child in children]
            assert len(set(stores)) == 1, stores
            with lamina.operator(AGENT, home=home) as operator:
                check_sound(operator)
                assert len(contents(operator)) == OPENERS


def test_threads_share_one_handle(tmp_path: Path) -> None:
    """B1, L1, P4: threads may write and read through one handle at once; nothing fails and nothing
    is lost."""
    each = size(quick=50, full=400)
    failures: list[BaseException] = []

    def work(memory: lamina.Memory, name: str) -> None:
        try:
            for n in range(each):
                record = memory.remember(f"memory {n} of {name}", tags=[name], key=f"{name}n{n}")
                assert memory.get(record.id) == record
                assert memory.search(f"{name} {n}").outcome == "found"
                assert memory.list(tags=[name], limit=1) == [record]
        except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
            failures.append(error)

    with lamina.operator(AGENT, home=tmp_path) as operator:
        in_threads(
            [threading.Thread(target=work, args=(operator, f"t{n}")) for n in range(THREADS)]
        )
        assert failures == []
        check_sound(operator)
        assert set(contents(operator)) == {
            f"memory {n} of t{t}" for t in range(THREADS) for n in range(each)
        }


def in_threads(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def open_files() -> int:
    """How many files this process has open, where the system tells."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        pytest.skip("open files are counted in /proc, which this system does not have")
    return sum(1 for _ in folder.iterdir())


def test_threads_that_end_leave_no_files_open(tmp_path: Path) -> None:
    """B1: a handle that many short-lived threads use, as those of a server, does not run
    out of files."""
    with lamina.open(AGENT, home=tmp_path) as memory:
        for n in range(10):
            in_threads([threading.Thread(target=memory.remember, args=(f"memory {n}",))])
        few = open_files()
        for n in range(100):
            in_threads([threading.Thread(target=memory.remember, args=(f"later memory {n}",))])
        assert open_files() <= few + 10


def test_a_handle_can_be_closed_while_threads_use_it(tmp_path: Path) -> None:
    """B1, P4: whoever is in the middle of something when the handle closes finishes it or
    gets a `StoreUnavailable`."""
    escaped: list[BaseException] = []
    for number in range(size(quick=5, full=60)):
        home = tmp_path / f"home{number}"
        memory = lamina.open(AGENT, home=home)
        memory.remember_many({"content": f"memory {n}"} for n in range(100))
        verbs = [
            lambda memory=memory: memory.remember("one more memory"),
            lambda memory=memory: memory.search("memory", 100),
        ]
        threads = [Until(verb, escaped) for verb in verbs]
        for thread in threads:
            thread.started.wait()
        try:
            memory.close()
        except BaseException as error:  # noqa: BLE001 - whatever escapes is exactly what the test wants to know
            escaped.append(error)
        for thread in threads:
            thread.join()
        check_store(home)
    assert escaped == []


class Until(threading.Thread):
    """Repeats a verb until the store is gone; what ends it otherwise has escaped."""

    def __init__(self, verb: Callable[[], object], escaped: list[BaseException]) -> None:
        super().__init__(daemon=True)
        self.started = threading.Event()
        self._verb = verb
        self._escaped = escaped
        self.start()

    def run(self) -> None:
        try:
            while True:
                self._verb()
                self.started.set()
        except lamina.StoreUnavailable:
            pass
        except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
            self._escaped.append(error)


def test_a_lock_held_too_long_is_typed_and_passes(tmp_path: Path) -> None:
    """B1, B4: while another program holds the file, writes are `StoreUnavailable` after their time,
    and reads go on."""
    with lamina.operator(
        AGENT, home=tmp_path, settings={"store.busy_timeout_ms": 20, "failsafe": "off"}
    ) as operator:
        operator.remember("memory before")
        with Child("holder", database_of(tmp_path)) as other:
            assert other.hear()["outcome"] == "held"
            with pytest.raises(lamina.StoreUnavailable):
                operator.remember("memory meanwhile")
            assert contents(operator) == ["memory before"]
            other.tell(go=True)
            other.finish()
        operator.remember("memory after")
        check_sound(operator)
        assert contents(operator) == ["memory after", "memory before"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_does_not_use_its_parents_handle(tmp_path: Path) -> None:
    """B1, P4: every verb of a handle that came through a fork is a `StoreUnavailable`; a new handle
    works there.

    The parent is not disturbed: it goes on writing, and its reads are in the trail once.
    """
    with Child("forker", tmp_path, "every_verb") as child:
        outcomes = {line["verb"]: line["outcome"] for line in child.finish()}
    assert outcomes.pop("close") == "done"
    assert outcomes.pop("own handle") == "done"
    assert outcomes == dict.fromkeys(outcomes, "store_unavailable")
    with lamina.operator(AGENT, home=tmp_path) as operator:
        searches = [read for read in operator.audit_reads() if read.action == "search"]
        assert len(searches) == 1
        check_sound(operator)
        expected = {
            "memory of the parent",
            "own memory of the child",
            "second memory of the parent",
        }
        assert set(contents(operator)) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_in_the_middle_of_a_write_does_not_hang(tmp_path: Path) -> None:
    """B1: a process forked while another thread was writing is told that the handle is not its own,
    and does not wait."""
    with Child("forker", tmp_path, "while_writing") as child:
        assert child.finish() == [{"verb": "remember", "outcome": "store_unavailable"}]
    check_store(tmp_path)
