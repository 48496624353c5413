"""A lease holds for as long as its holder works, and tells it when it does not."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from lamina.errors import StoreUnavailable
from lamina.memory.lease import RENEWALS, Lease
from tests.conftest import START, Ticking

SECONDS = 0.02  # of real time, which only says how often the thread looks
LATE = timedelta(seconds=SECONDS)
PATIENCE = 60  # for a thread that works within milliseconds


class Store:
    """Where a lease is renewed: every time is told, and what is to be raised or said comes
    from the test."""

    def __init__(self) -> None:
        self.renewed: queue.Queue[datetime] = queue.Queue()
        self.answer: Callable[[], bool] = lambda: True

    def renew(self, now: datetime) -> bool:
        try:
            return self.answer()
        finally:
            self.renewed.put(now)

    def wait(self, times: int = 2) -> datetime:
        """Until the lease has been renewed so often from now on. One renewal may be under way, so
        that two are sure."""
        while not self.renewed.empty():
            self.renewed.get_nowait()
        return [self.renewed.get(timeout=PATIENCE) for _ in range(times)][-1]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def clock() -> Ticking:
    return Ticking(step=timedelta(0))


def _keepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lamina-lease"]


def test_a_lease_does_not_lapse_while_its_holder_is_busy(store: Store, clock: Ticking) -> None:
    """L6: while the holder does nothing but wait, ten times as long as the lease holds, it is
    renewed in time."""
    with Lease(store.renew, clock, SECONDS) as lease:
        for _ in range(10 * RENEWALS):
            clock.jump(LATE / RENEWALS)
            assert store.wait() == clock.now
            assert not lease.is_lost()
        assert clock.now >= START + 9 * LATE
    assert _keepers() == []


def test_a_renewal_that_fails_is_told_and_tried_again(
    store: Store, clock: Ticking, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: a store that cannot be written does not end the renewing; the holder is told why, and
    when it is too late."""

    def fail() -> bool:
        raise StoreUnavailable("the disk is full")

    with Lease(store.renew, clock, SECONDS) as lease, caplog.at_level(logging.WARNING, "lamina"):
        store.answer = fail
        store.wait()
        assert lease.problem == "the disk is full"
        assert not lease.is_lost()
        clock.jump(LATE)
        assert lease.is_lost()
        store.answer = lambda: True
        store.wait()
        assert not lease.problem
        assert not lease.is_lost()
    assert "the lease could not be renewed: the disk is full" in caplog.text


def test_no_error_ends_the_renewing(
    store: Store, clock: Ticking, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: an error that nobody expects is logged in full and told to the holder, and the lease is
    still renewed."""

    def fail() -> bool:
        raise ZeroDivisionError("a bug")

    with Lease(store.renew, clock, SECONDS) as lease:
        store.answer = fail
        store.wait()
        assert "a bug" in str(lease.problem)
        store.answer = lambda: True
        store.wait()
        assert lease.problem is None
    assert "ZeroDivisionError" in caplog.text


def test_a_lease_that_another_took_is_lost(store: Store, clock: Ticking) -> None:
    """L6: once another has it, it is not asked for again, and the holder learns it at
    its next look."""
    with Lease(store.renew, clock, SECONDS) as lease:
        store.answer = lambda: False
        store.renewed.get(timeout=PATIENCE)
        lease._keeper.join(PATIENCE)
        assert not lease._keeper.is_alive()
        assert lease.is_lost()


def test_the_thread_ends_with_the_work(store: Store, clock: Ticking) -> None:
    """L6: however the work ends, nothing renews the lease afterwards."""
    with pytest.raises(KeyboardInterrupt), Lease(store.renew, clock, SECONDS):
        raise KeyboardInterrupt
    assert _keepers() == []
