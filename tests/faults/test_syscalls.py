"""Faults at every write system call of one `remember`, and of making a store: kills, a full disk, a
failing disk.

strace attaches to a process that is about to remember, and breaks its Nth write call. N
counts up until nothing is left to break, so that every call between the first and the last
was the broken one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

import lamina
from tests.faults.tracer import Tracer

from . import tally
from .harness import AGENT, Nursery, check_found_by_word, check_sound, contents, size

# What SQLite changes files with: its write-ahead log, its database, and the files and folders
# around them. strace
# counts each kind of call for itself, so each has a sweep of its own.
WRITE_CALLS = ("pwrite64", "fdatasync", "openat", "ftruncate", "unlink")
MAKE_CALLS = (*WRITE_CALLS, "mkdir")
# More than any operation here needs; a sweep that comes this far is not going to end.
MOST_CALLS = 400
NEVER_FOLDED = 100_000
# A quick run breaks every third or fourth call of a kind, a full run every one. Each kill needs a
# process of its own.
ERROR_STRIDE = size(quick=20, full=1)
KILL_STRIDE = size(quick=15, full=1)


class Moment(NamedTuple):
    """How the store is when the memory comes: which steps came before, and after how many pages the
    log is folded back."""

    steps_before: tuple[str, ...]
    checkpoint_pages: int


MOMENTS = {
    "warm": Moment(("open", "remember"), NEVER_FOLDED),  # the connection for writing is there
    "cold": Moment(
        ("open",), NEVER_FOLDED
    ),  # it has yet to be opened, and the write-ahead log made
    "folding": Moment(
        ("open", "remember"), 1
    ),  # the write-ahead log is folded back with every memory
}
NOT_YET_MADE = Moment((), NEVER_FOLDED)
UNUSED = count()
every_moment = pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
every_error = pytest.mark.parametrize("error", ["ENOSPC", "EIO"])


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("waiter") as made:
        yield made


@contextmanager
def waiting(nursery: Nursery, home: Path, moment: Moment) -> Iterator[None]:
    """A process that has just done what comes before."""
    with nursery.fork():
        assert (
            nursery.told(step="begin", home=str(home), checkpoint_pages=moment.checkpoint_pages)
            == "done"
        )
        prepare(nursery, moment)
        yield


def prepare(nursery: Nursery, moment: Moment) -> None:
    for step in moment.steps_before:
        # A word that was never used, because the same key again would write nothing.
        arguments = {"word": f"before{next(UNUSED)}"} if step == "remember" else {}
        assert nursery.told(step=step, **arguments) == "done"


def stored(operator: lamina.Operator, word: str) -> int:
    """How often a memory is in the store."""
    return contents(operator).count(f"memory {word}")


def check_retry(home: Path, word: str, expected: tuple[int, ...]) -> None:
    """Another process finds the store sound and the memory as often as expected; its retry leaves
    exactly one."""
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)
        assert stored(operator, word) in expected
        operator.remember(f"memory {word}", tags=["kept", word], key=word)
        tally.check([f"memory {word}"], contents(operator))
        check_found_by_word(operator, [word])
        check_sound(operator)


@every_moment
def test_a_memory_is_synced_before_it_is_acknowledged(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    """L1: everything that a memory writes into the log is synced before `remember` returns, so that
    it survives a power cut."""
    with waiting(nursery, tmp_path / "home", moment):
        tracer = Tracer(nursery.pid, tmp_path / "log", "pwrite64,fdatasync,fsync,write")
        assert nursery.told(step="remember", word="synced") == "done"
        # Up to the answer on standard output; strace may still see what the child does after that.
        calls = list(takewhile(lambda call: not call.startswith("write(1,"), tracer.calls()))
    log_file = (
        next(call for call in calls if call.startswith("pwrite64("))
        .partition(",")[0]
        .removeprefix("pwrite64(")
    )
    touched = [
        call.partition("(")[0]
        for call in calls
        if call.startswith((f"pwrite64({log_file},", f"fdatasync({log_file})"))
    ]
    assert touched.count("pwrite64") > 1
    assert touched[-1] == "fdatasync"


@every_moment
def test_a_kill_at_any_write_call_leaves_all_or_nothing(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    """L1, B1, P4: killed at any write call, a memory is whole or not there, the chain verifies, and
    a retry stores it once."""
    kills = [kill_sweep(nursery, tmp_path, moment, call) for call in WRITE_CALLS]
    assert sum(kills) > 0


def test_a_kill_while_a_store_is_made_leaves_a_store_that_opens(
    tmp_path: Path, nursery: Nursery
) -> None:
    """B1: killed at any call of the very first opening, the next one makes or completes the store,
    with no manual step."""
    kills = [kill_sweep(nursery, tmp_path, NOT_YET_MADE, call) for call in MAKE_CALLS]
    assert sum(kills) > 0


def kill_sweep(nursery: Nursery, folder: Path, moment: Moment, call: str) -> int:
    """Kill one process after another at its first, second, third … call of a kind; how
    many were killed."""
    for kills, number in enumerate(range(1, MOST_CALLS, KILL_STRIDE)):
        word = f"{call}{number}"
        home = folder / (word if moment is NOT_YET_MADE else "home")
        step = {"step": "open"} if moment is NOT_YET_MADE else {"step": "remember", "word": word}
        with waiting(nursery, home, moment):
            tracer = Tracer(nursery.pid, folder / "log", call, f"signal=SIGKILL:when={number}")
            ended = nursery.told(**step)
            tracer.detach()
        assert ended in ("killed", "done"), word
        check_retry(home, word, expected=(0, 1))
        if ended == "done":
            return kills
    pytest.fail(f"the calls of {call} never ended")


@every_moment
def test_a_kill_after_an_error_leaves_all_or_nothing(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    """L1, B1, P4: a process that dies after a failed sync leaves the memory whole or not there; a
    retry stores it once.

    What could not be synced may still be found by whoever recovers the log, so the key is what
    makes the retry harmless.
    """
    home = tmp_path / "home"
    for number in range(1, MOST_CALLS, KILL_STRIDE):
        word = f"w{number}"
        with waiting(nursery, home, moment):
            tracer = Tracer(nursery.pid, tmp_path / "log", "fdatasync", f"error=EIO:when={number}")
            outcome = nursery.told(step="remember", word=word)
            hit = tracer.detach()
        check_retry(home, word, expected=(1,) if outcome == "done" else (0, 1))
        if not hit:
            return
    pytest.fail("the calls never ended")


@every_moment
@every_error
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
def test_an_error_at_any_write_call_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, moment: Moment, error: str, lasting: bool
) -> None:
    """L1, B1, B4, P4: an I/O error at any write call is a `StoreUnavailable` and nothing is stored,
    or it was harmless.

    Once the fault is gone the same process, and another one, store the memory exactly once.
    """
    outcomes: Counter[str] = Counter()
    for call in WRITE_CALLS:
        outcomes += error_sweep(nursery, tmp_path, moment, call, error, lasting=lasting)
    assert outcomes.keys() <= {"done", "store_unavailable"}
    assert outcomes["store_unavailable"] > 0


@every_moment
def test_an_error_while_reading_is_typed_and_passes(
    tmp_path: Path, nursery: Nursery, moment: Moment
) -> None:
    """L1, B1, P4: when the disk fails to read what a memory needs, that is a typed error, and over
    when the disk is well."""
    outcomes = error_sweep(nursery, tmp_path, moment, "pread64", "EIO", lasting=False)
    # SQLite takes a failing read for damage, so this may also be `Corrupt`.
    assert outcomes.keys() <= {"done", "store_unavailable", "corrupt"}


def error_sweep(
    nursery: Nursery, folder: Path, moment: Moment, call: str, error: str, *, lasting: bool
) -> Counter[str]:
    """Break each call of one `remember` after another, in one process that lives through
    all of it."""
    home, outcomes = folder / "home", Counter[str]()
    with waiting(nursery, home, moment):
        for number in range(1, MOST_CALLS, ERROR_STRIDE):
            place = f"{call} {number}"
            word = f"{call}{error}{number}"
            prepare(nursery, moment)
            tracer = Tracer(
                nursery.pid,
                folder / "log",
                call,
                f"error={error}:when={number}{'+' if lasting else ''}",
            )
            outcome = nursery.told(step="remember", word=word)
            hit = tracer.detach()
            with lamina.operator(AGENT, home=home) as operator:
                check_sound(operator)
                assert stored(operator, word) == (outcome == "done"), place
            assert nursery.told(step="remember", word=word) == "done", f"after {place}"
            check_retry(home, word, expected=(1,))
            if not hit:
                assert outcome == "done", place
                return outcomes
            outcomes[outcome] += 1
    pytest.fail(f"the calls of {call} never ended")
