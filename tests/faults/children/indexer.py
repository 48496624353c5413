"""Indexes stores and keeps conversations when told, and says how each step ended, so that a fault can be put around it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import lamina
from lamina.recall import indexing

from .common import outcome, say

# Small batches, so that there are many moments in between. What is stored does not depend on it.
BATCH = 64
TURNS = 12


class Indexer:
    """A process that opens a store for each step, and leaves it as a process that is killed would."""

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
        self._memory.remember_conversation(turns_of(word), session=f"session {word}", key=word, keep_raw=True)

    def close(self) -> None:
        assert self._memory is not None
        self._memory.close()


def turns_of(word: str) -> list[dict[str, Any]]:
    """A conversation that is known by its word."""
    return [{"speaker": ("Ana", "Ben")[n % 2], "text": f"turn {n} of {word}", "tags": [word]} for n in range(TURNS)]


def told() -> None:
    """One step for each line that is heard."""
    indexer = Indexer()
    say(outcome="ready")
    for line in sys.stdin:
        arguments = json.loads(line)
        step = getattr(indexer, arguments.pop("step"))
        say(outcome=outcome(partial(step, **arguments)))


def once(home: str) -> None:
    """Index a store from beginning to end, unless killed."""
    with lamina.open("sky", home=home) as memory:
        memory.search("anything", ranker="semantic")
        say(begin="index")
        memory.index()
        say(done="index")


def talking(home: str, name: str) -> None:
    """One conversation after another, until killed."""
    indexer = Indexer()
    indexer.open(home)
    number = 0
    while True:
        word = f"{name}n{number}"
        say(begin=word)
        indexer.talk(word)
        say(done=word)
        number += 1


def crowd(home: str, times: str, name: str) -> None:
    """One of many that index at once while others write."""
    with lamina.open("sky", home=home) as memory:
        say(ready=name)
        sys.stdin.readline()
        for _ in range(int(times)):
            memory.index()
            memory.search("memory", limit=3)


def main(scene: str, *arguments: str) -> None:
    indexing.BATCH = BATCH
    scenes: dict[str, Callable[..., None]] = {"told": told, "once": once, "talking": talking, "crowd": crowd}
    scenes[scene](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
