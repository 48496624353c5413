"""Erasing beside others: SQLite keeps its locks, and whoever erases at the same time waits
for its turn."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

import lamina
from lamina import StoreUnavailable
from lamina.memory import erasure
from tests.security.erasing import holding

from . import tally
from .children.common import outcome
from .children.eraser import WORD, erase
from .harness import AGENT, Child, check_store, contents, database_of, size

ROUNDS = size(quick=2, full=50)
SECONDS = size(quick=1, full=60)
# An older SQLite in a process of its own: it reads the store and, as the last one to close, folds
# the log and removes it.
STOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM records").fetchall()
connection.close()
"""


class Eraser(Child):
    """A process with a handle that erases."""

    def __init__(self, home: Path, name: str = "a") -> None:
        super().__init__("eraser", home, name)

    def order(self, *words: object) -> None:
        self._ear.write(" ".join(map(str, words)) + "\n")
        self._ear.flush()


def read_by_stock_sqlite(home: Path) -> None:
    command = [sys.executable, "-c", STOCK, str(database_of(home))]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def acknowledged_beside_an_eraser(home: Path, how: str) -> list[str]:
    """Memories that two processes keep after one of them has erased; the eraser is closed at the
    end, or killed."""
    with Eraser(home) as first, Eraser(home, "b") as other:
        assert [first.hear(), other.hear()]
        first.order("erase", 1)
        assert first.hear() == {"outcome": "done"}
        other.finish()
        read_by_stock_sqlite(home)
        first.order("remember by the eraser")
        kept = [first.hear()["id"]]
        with Eraser(home, "c") as third:
            third.hear()
            third.order("remember by another process")
            kept.append(third.hear()["id"])
            read_by_stock_sqlite(home)
            third.finish()
        if how == "killed":
            first.kill()
        else:
            first.finish()
    return kept


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_an_older_sqlite_elsewhere_removes_no_log_of_an_eraser(tmp_path: Path, how: str) -> None:
    """B1, P5: what is acknowledged after an erasure stays, although another SQLite has closed the
    store meanwhile."""
    for number in range(ROUNDS):
        home = tmp_path / f"home{number}"
        with lamina.open(AGENT, home=home) as memory:
            memory.remember("before")
        kept = acknowledged_beside_an_eraser(home, how)
        with lamina.operator(AGENT, home=home) as operator:
            tally.check(kept, [one.id for one in operator.list(limit=100)])
        check_store(home)
        shutil.rmtree(home)


@pytest.mark.parametrize("people", [2, 4])
def test_processes_that_erase_at_once_take_turns(tmp_path: Path, people: int) -> None:
    """P5, P4: none dies or fails, each erasure ends with its certificate, and not one byte of any
    is left in the home."""
    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember("a neighbour who stays")
    with ExitStack() as stack:
        erasers = [stack.enter_context(Eraser(tmp_path, f"p{number}")) for number in range(people)]
        for one in erasers:
            one.hear()
        for one in erasers:
            one.order("stress", SECONDS)
        told = [Counter(one.hear()["outcomes"]) for one in erasers]
        for one in erasers:
            one.finish()
    check_erased(tmp_path, told)


def test_threads_on_one_handle_take_turns(tmp_path: Path) -> None:
    """P5, P4: the same for threads that share a handle."""
    told: list[Counter[str]] = [Counter(), Counter()]

    def work(operator: lamina.Operator, number: int) -> None:
        for turn in range(size(quick=3, full=100)):
            told[number][outcome(partial(erase, operator, f"t{number}x{turn}"))] += 1

    with lamina.operator(AGENT, home=tmp_path) as operator:
        operator.remember("a neighbour who stays")
        threads = [threading.Thread(target=work, args=(operator, number)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check_erased(tmp_path, told)


def check_erased(home: Path, told: list[Counter[str]]) -> None:
    """Everybody has erased, and only that; the store is whole, and nothing of what was erased is in
    any file."""
    assert {name for outcomes in told for name in outcomes} == {"done"}, told
    check_store(home)
    with lamina.operator(AGENT, home=home) as operator:
        assert len(operator.erasures()) == sum(outcomes.total() for outcomes in told)
        assert contents(operator) == ["a neighbour who stays"]
        assert operator.resume_erasures() == []
    assert holding(home, WORD) == []


def test_who_waits_too_long_is_told_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P5: an erasure that does not get its turn raises a typed error that names the process;
    nothing was erased."""
    monkeypatch.setattr(erasure, "PATIENCE", 0.0)
    with (
        lamina.operator(AGENT, home=tmp_path) as operator,
        lamina.operator(AGENT, home=tmp_path) as other,
    ):
        record = operator.remember("x")
        with (
            operator._parts.erasures.alone(),
            pytest.raises(
                StoreUnavailable,
                match=r"erasing\.lock is held by process \d+, waited 0 s; try again",
            ),
        ):
            other.erase(record.id)
        assert other.get(record.id).content == "x"
        assert other.erase(record.id).is_complete
