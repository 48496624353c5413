"""Indexes stores and keeps conversations when told, and says how each step ended, so that a fault
can be put around it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import lamina
from lamina.search import indexing

from .common import nursery, say

# Small batches, so that there are many moments in between. What is stored does not depend on it.
BATCH = 64
TURNS = 12


class Indexer:
    """A process that opens a store for each step, and leaves it as a process that
    is killed would."""

    def __init__(self) -> None:
        self._memory: lamina.Memory | None = None

    def open(self, home: str) -> None:
        """Open a store; the embedder is loaded, as in a process that has searched before."""
        self._memory = lamina.open("sky", home=home)
        self._memory.search("anything", ranker="semantic")

    def index(self) -> None:
        assert self._memory is not None
        self._memory.index()

    def talk(self, word: str) -> None:
        assert self._memory is not None
        self._memory.remember_conversation(
            turns_of(word), session=f"session {word}", key=word, keep_raw=True
        )

    def close(self) -> None:
        assert self._memory is not None
        self._memory.close()

    def index_all(self, home: str) -> None:
        """Index a store from beginning to end, unless killed."""
        self.open(home)
        say(begin="index")
        self.index()
        say(done="index")

    def keep_talking(self, home: str, name: str) -> None:
        """One conversation after another, until killed."""
        self.open(home)
        for number in count():
            word = f"{name}n{number}"
            say(begin=word)
            self.talk(word)
            say(done=word)


def turns_of(word: str) -> list[dict[str, Any]]:
    """A conversation that is known by its word."""
    return [
        {"speaker": ("Ana", "Ben")[n % 2], "text": f"turn {n} of {word}", "tags": [word]}
        for n in range(TURNS)
    ]


def crowd(home: str, times: str, name: str) -> None:
    """One of many that index at once while others write."""
    with lamina.open("sky", home=home) as memory:
        say(ready=name)
        sys.stdin.readline()
        for _ in range(int(times)):
            memory.index()
            memory.search("memory", limit=3)


def warm() -> None:
    """Do everything once, so that what is traced later is not Python finding its modules."""
    with tempfile.TemporaryDirectory() as folder:
        indexer = Indexer()
        indexer.open(folder)
        indexer.talk("warm")
        indexer.index()
        indexer.close()


def main(scene: str, *arguments: str) -> None:
    indexing.BATCH = BATCH
    scenes: dict[str, Callable[..., None]] = {
        "nursery": partial(nursery, Indexer, warm),
        "crowd": crowd,
    }
    scenes[scene](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
