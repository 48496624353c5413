"""The thread that indexes behind the writers: it ends when told, keeps what went wrong, and
outlives no handle."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lamina
from lamina.errors import EmbedderFailed, StoreUnavailable
from lamina.memory.derived import FEW, MANY
from lamina.search.worker import Worker
from tests.conftest import Desk

NAME = "lamina-index"
PATIENCE_SECONDS = 60  # far above what is needed; a test that hangs fails instead
HANG_SECONDS = 20


def threads() -> list[str]:
    """The threads of workers that run now."""
    return [thread.name for thread in threading.enumerate() if thread.name == NAME]


class Steps:
    """Work that a test hands out: so many steps, each of which may be waited for and may fail."""

    def __init__(self, number: int = 1, error: Exception | None = None) -> None:
        self.left = number
        self.done = 0
        self.error = error
        self.begun, self.allowed, self.idle = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )
        self.allowed.set()

    def __call__(self) -> bool:
        self.begun.set()
        assert self.allowed.wait(PATIENCE_SECONDS)
        self.done += 1
        self.left -= 1
        if self.left <= 0:
            self.idle.set()
        if self.error is not None:
            self.idle.set()
            raise self.error
        return self.left > 0


@pytest.fixture
def worker_of() -> Iterator[Callable[[Steps], Worker]]:
    """Makes workers, and ends them whatever happens."""
    made: list[Worker] = []

    def make(steps: Steps) -> Worker:
        made.append(Worker(steps))
        return made[-1]

    yield make
    for worker in made:
        worker.stop()
    assert threads() == []


def test_it_steps_until_there_is_nothing_to_do(worker_of: Callable[[Steps], Worker]) -> None:
    """L2: one wake does all the steps there are, and no more."""
    steps = Steps(5)
    worker = worker_of(steps)
    assert threads() == []
    worker.wake()
    assert steps.idle.wait(PATIENCE_SECONDS)
    worker.stop()
    assert steps.done == 5
    assert worker.problem is None


def test_it_ends_after_the_step_at_hand(worker_of: Callable[[Steps], Worker]) -> None:
    """B1: `stop` waits for the step that has begun, not for all that are left."""
    steps = Steps(1000)
    steps.allowed.clear()
    worker = worker_of(steps)
    worker.wake()
    assert steps.begun.wait(PATIENCE_SECONDS)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    while not worker._ended():
        pass
    steps.allowed.set()
    stopping.join(PATIENCE_SECONDS)
    assert not stopping.is_alive()
    assert steps.done == 1
    assert threads() == []


def test_one_that_lingers_is_not_waited_for(worker_of: Callable[[Steps], Worker]) -> None:
    """B2: what is written in quick succession is done at once, and who closes does not wait for the
    time to pass."""
    steps = Steps(1)
    worker = worker_of(steps)
    worker._linger = PATIENCE_SECONDS
    for _ in range(5):
        worker.wake()
    worker.stop()
    assert steps.done == 0  # what is left its owner does at the end
    assert threads() == []


def test_it_can_be_stopped_at_any_time(worker_of: Callable[[Steps], Worker]) -> None:
    """B1: before it was ever woken, twice, and when it is idle, `stop` returns."""
    steps = Steps(1)
    worker = worker_of(steps)
    worker.stop()
    worker.wake()
    assert steps.idle.wait(PATIENCE_SECONDS)
    worker.stop()
    worker.stop()
    assert threads() == []


def test_it_works_again_after_it_was_stopped(worker_of: Callable[[Steps], Worker]) -> None:
    """B1: a wake after a stop begins anew, as often as it happens."""
    steps = Steps(1)
    worker = worker_of(steps)
    for round_ in range(1, 6):
        steps.left = 1
        steps.idle.clear()
        worker.wake()
        assert steps.idle.wait(PATIENCE_SECONDS)
        worker.stop()
        assert steps.done == round_


def test_many_wakes_are_one_thread(worker_of: Callable[[Steps], Worker]) -> None:
    """B1: whoever wakes it, however often, there is one thread."""
    steps = Steps(3)
    steps.allowed.clear()
    worker = worker_of(steps)
    crowd = [threading.Thread(target=worker.wake) for _ in range(16)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert threads() == [NAME]
    steps.allowed.set()
    assert steps.idle.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    "error", [StoreUnavailable("the disk is full"), EmbedderFailed("the endpoint is down")]
)
def test_what_goes_wrong_is_kept_until_it_works(
    worker_of: Callable[[Steps], Worker], error: lamina.LaminaError
) -> None:
    """L2, B4: an error ends no thread and reaches no writer; it is kept, and forgotten when a later
    wake succeeds."""
    steps = Steps(1, error)
    worker = worker_of(steps)
    worker.wake()
    assert steps.idle.wait(PATIENCE_SECONDS)
    worker.stop()
    assert worker.problem == error.message
    steps.error, steps.left = None, 1
    steps.idle.clear()
    worker.wake()
    assert steps.idle.wait(PATIENCE_SECONDS)
    worker.stop()
    assert worker.problem is None
    assert steps.done == 2


# Behind a handle


def spoken(number: int, word: str = "memory") -> Iterator[dict[str, str]]:
    return ({"content": f"{word} {n}"} for n in range(number))


def vectors(memory: lamina.Memory) -> int:
    found = memory._scope.store.database.reader().execute("SELECT count(*) FROM vectors").get
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("number", "expected"), [(FEW - 1, 0), (FEW, FEW), (MANY - 1, MANY - 1), (MANY + 1, MANY + 1)]
)
def test_many_new_memories_are_embedded_by_the_time_a_handle_is_closed(
    tmp_path: Path, number: int, expected: int
) -> None:
    """L2, B1: a few wait for the next search, many are embedded; afterwards no thread is left."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember_many(spoken(number))
    assert threads() == []
    with lamina.open("sky", home=tmp_path) as memory:
        assert vectors(memory) == expected


def test_a_handle_can_be_closed_twice(tmp_path: Path) -> None:
    """B1: also when closing has something to index."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember_many(spoken(FEW))
        memory.close()
        memory.close()
    with lamina.open("sky", home=tmp_path) as memory:
        assert vectors(memory) == FEW


def test_conversations_and_notes_count_too(tmp_path: Path) -> None:
    """L2: whichever verb stored them."""
    with lamina.open("sky", home=tmp_path) as memory:
        memory.remember_conversation([{"text": f"turn {n}"} for n in range(FEW - 2)], session="s")
        run = memory.run("task")
        run.note("one")
        run.note("two")
    with lamina.open("sky", home=tmp_path) as memory:
        assert vectors(memory) == FEW + 2  # with the episode, and the task that opened the run


def test_nobody_waits_for_an_embedder_that_is_away(desk: Desk) -> None:
    """L2, B4: memories are stored and handles closed although the slow embedder behind them cannot
    be reached."""
    settings = {"recall.embedders": ["openai:model"], "recall.endpoint": "http://127.0.0.1:9/v1"}
    memory = desk.agent(settings=settings)
    for n in range(5):
        memory.remember(f"memory {n}")
    memory._scope.recall.worker.stop()
    assert "cannot be reached" in str(memory._scope.recall.worker.problem)
    assert any("cannot be reached" in problem for problem in memory.status()["problems"])
    memory.remember("one more memory")
    memory.close()
    assert threads() == []
    assert len(desk.agent().list()) == 6


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "ftp://localhost/v1", "http://user:secret@localhost/v1"]
)
def test_a_wrong_setting_stops_no_memory(desk: Desk, endpoint: str) -> None:
    """L1, B4: a memory that is stored is acknowledged, however wrong the embedder's address; the
    status tells it."""
    memory = desk.agent(
        settings={"recall.embedders": ["openai:model"], "recall.endpoint": endpoint}
    )
    memory.remember("tea")
    assert memory.status()["problems"]
    memory.close()
    assert len(desk.agent().list()) == 1


@pytest.mark.parametrize("loaded", [True, False], ids=["loaded", "while loading"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_the_worker_runs(tmp_path: Path, loaded: bool) -> None:
    """B1: the child opens a store of its own and indexes it; the parent's worker goes on, and is
    stopped with its handle."""
    memory = lamina.open("sky", home=tmp_path / "parent")
    if loaded:
        memory.search("anything", ranker="semantic")
    memory.remember_many(spoken(MANY + 10))
    assert threads() == [NAME]
    pid = os.fork()
    if pid == 0:
        signal.alarm(HANG_SECONDS)
        status = 1
        try:
            with lamina.open("sky", home=tmp_path / "child") as own:
                own.remember_many(spoken(MANY + 5))
            with lamina.open("sky", home=tmp_path / "child") as own:
                status = 0 if vectors(own) == MANY + 5 and threads() == [] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    memory.remember("after the fork")
    memory.close()
    assert threads() == []
    with lamina.open("sky", home=tmp_path / "parent") as again:
        assert vectors(again) == MANY + 11
