"""A pool of handles for a program that serves many agents and users."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.errors import InvalidInput
from lamina.store.index.cache import CACHE
from tests.cases import every
from tests.conftest import Desk, contents


def files() -> int:
    """How many files this process has open."""
    return len([*Path("/proc/self/fd").iterdir()])


def test_a_pool_serves_many_with_few_handles(tmp_path: Path) -> None:
    """P2, R12: whoever comes at random finds their own memories and nobody else's, and no more
    handles and files are open than the pool may have."""
    before, scopes = files() if Path("/proc/self/fd").exists() else 0, CACHE.usage.scopes
    with lamina.pool(tmp_path, most=3) as pool:
        for number in [*range(10), *range(9, -1, -1)]:
            with pool.open(f"agent{number % 5}", f"user{number}") as memory:
                memory.remember(f"tea of {number}")
                assert {hit.record.content for hit in memory.search("tea")} == {f"tea of {number}"}
            assert len(pool._handles.keys) <= 3
            if before:
                assert files() - before <= 3 * 8
    assert CACHE.usage.scopes == scopes


def test_a_handle_in_use_stays_open(tmp_path: Path) -> None:
    """R9: a handle that a block uses is not closed under it, however many others come."""
    with lamina.pool(tmp_path, most=1) as pool, pool.open("sky") as memory:
        memory.remember("green tea")
        for number in range(3):
            with pool.open(f"agent{number}") as other:
                assert contents(other.search("tea")) == []
        assert contents(memory.search("tea")) == ["green tea"]
        with pool.open("sky") as again:
            assert again is memory


def test_threads_share_a_pool(tmp_path: Path) -> None:
    """R9, P2: threads that ask for the same and for other handles at once all get their own."""
    wrong: list[object] = []
    with lamina.pool(tmp_path, most=2) as pool:

        def work(name: str) -> None:
            try:
                for number in range(5):
                    with pool.open(name) as memory:
                        memory.remember(f"tea {number} of {name}")
                        found = contents(memory.search("tea", limit=100))
                        if not all(text.endswith(name) for text in found):
                            wrong.append(found)
            except Exception as error:  # noqa: BLE001 - it is told below
                wrong.append(error)

        names = ["sky", "sky", "milton", "ben"]
        threads = [threading.Thread(target=work, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pool.open("sky") as memory:
            assert len(memory.list(limit=100)) == 10
    assert wrong == []


@every("most", [0, -1, 1.5, True, "3", None])
def test_how_many_may_be_open_is_a_number(desk: Desk, most: Any) -> None:
    """B3: a wrong bound is refused with its value."""
    with pytest.raises(InvalidInput, match="whole number"):
        lamina.pool(desk.home, most=most)


def test_a_wrong_name_is_refused_and_others_go_on(tmp_path: Path) -> None:
    """P2: what cannot be opened leaves the pool as it was for all others."""
    with lamina.pool(tmp_path, most=1) as pool:
        with pytest.raises(InvalidInput), pool.open("../x"):
            pass
        with pool.open("sky") as memory:
            assert memory.remember("tea").content == "tea"
