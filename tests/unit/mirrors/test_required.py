"""Who has to take a memory, and that nobody waits long for it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lamina.home import settings
from lamina.mirrors.required import Turns, is_required

SERVER = {"mirrors.weaviate": "http://localhost:8080"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, False),
        (SERVER, False),
        ({**SERVER, "preset": "milton"}, True),
        ({"preset": "milton"}, False),
        ({**SERVER, "mirrors.weaviate_required": True}, True),
        ({**SERVER, "preset": "milton", "mirrors.weaviate_required": False}, False),
        ({"mirrors.weaviate_required": True}, False),
    ],
)
def test_who_is_required(tmp_path: Path, given: dict[str, Any], expected: bool) -> None:
    """B4: a server that is set, as the setting says or else as the preset `milton` does."""
    assert is_required(settings.load(tmp_path, given)) is expected


def test_turns_are_taken_one_by_one(tmp_path: Path) -> None:
    """B4: threads, and handles as in other processes, have their turn when it is free again, and
    else are told that not."""
    one, other = Turns(tmp_path / "lock"), Turns(tmp_path / "lock")
    with one.taken(0) as first:
        with other.taken(0.01) as second:
            assert (first, second) == (True, False)
        told: list[bool] = []
        thread = threading.Thread(target=lambda: told.append(one.taken(0.01).__enter__()))
        thread.start()
        thread.join()
        assert told == [False]
    with other.taken(0) as again:
        assert again


def test_a_turn_ends_with_whatever_happens(tmp_path: Path) -> None:
    """B4: an error within a turn leaves it to the next."""
    turns = Turns(tmp_path / "lock")
    with pytest.raises(KeyError), turns.taken(0):
        raise KeyError
    with turns.taken(0) as is_ours:
        assert is_ours
