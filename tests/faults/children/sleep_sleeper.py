"""Sleeps when told, so that a fault can be put around one night, or several can have
the same one."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import lamina
from lamina.memory.sleep import facts

from .common import Operating, nursery, say

# Long enough after what was said that it is over, and soon enough that it was lately.
TONIGHT = datetime(2026, 7, 1, 2, 0, tzinfo=UTC)
# So few turns at a time that one night is many transactions.
FEW_TURNS = 4
# The write-ahead log is folded back all the time, so that a night is traced down to the database
# itself.
SETTINGS = {"store.checkpoint_pages": 1}


class Sleeper(Operating):
    """A process that holds an operator's handle. Its clock stands still, so that a night is always
    the same."""

    def open(self, home: str, now: datetime = TONIGHT) -> None:
        self._operator = lamina.operator("sky", home=home, clock=lambda: now, settings=SETTINGS)

    def sleep(self) -> dict[str, Any]:
        with small_batches():
            return self.operator.sleep()

    def close(self) -> None:
        self.operator.close()


@contextmanager
def small_batches(turns: int = FEW_TURNS) -> Iterator[None]:
    """Sleep reads only some turns at a time within the block."""
    usual, facts.BATCH = facts.BATCH, turns
    try:
        yield
    finally:
        facts.BATCH = usual


def warm() -> None:
    """Sleep once over something of everything, so that what is traced later is not Python finding
    its modules."""
    with tempfile.TemporaryDirectory() as folder:
        sleeper = Sleeper()
        sleeper.open(folder)
        operator = sleeper.operator
        said = [
            {"text": f"I moved to Porto in May {n}, and I love tea. " * 8, "speaker": "Ana"}
            for n in range(2000, 2010)
        ]
        for turn in said:
            turn["at"] = (TONIGHT - timedelta(days=1)).isoformat()
        operator.remember_conversation(said, "one")
        waiting = operator.propose_profile("drink", "tea", "so", [])
        operator.reject(waiting.id, "no")
        sleeper.sleep()
        sleeper.close()


def crowd(name: str) -> None:
    """One of several that sleep over the same home at once, home after home; what
    each night did."""
    warm()
    say(ready=name)
    for line in sys.stdin:
        sleeper = Sleeper()
        sleeper.open(json.loads(line)["home"])
        say(opened=name)
        sys.stdin.readline()
        say(done=sleeper.sleep())
        sleeper.close()


def watch(home: str, name: str) -> None:
    """Sleep again and again, until somebody says that all is said; what that came to."""
    sleeper = Sleeper()
    sleeper.open(home)
    say(ready=name)
    over = Path(json.loads(sys.stdin.readline())["until"])
    nights = 0
    while nights < 2 or not over.exists():
        sleeper.sleep()
        nights += 1
        if nights == 1:
            say(slept=name)
    sleeper.close()
    say(nights=nights)


def main(scene: str, *arguments: str) -> None:
    scenes: dict[str, Callable[..., None]] = {
        "nursery": partial(nursery, Sleeper, warm),
        "crowd": crowd,
        "watch": watch,
    }
    scenes[scene](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
