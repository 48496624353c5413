"""Finds memories where things are difficult: as a user who may only read, and in a process
that was forked."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import lamina
from lamina.search import RANKERS

from .common import outcome, say
from .forker import in_a_fork
from .visitor import lower


def reads(memory: lamina.Memory) -> dict[str, Callable[[], object]]:
    """Every verb that finds."""
    return {
        **{
            f"search {ranker}": partial(memory.search, "memory", ranker=ranker)
            for ranker in RANKERS
        },
        "known_at": lambda: memory.search("memory", known_at="2999-01-01T00:00:00Z"),
        "memory_context": lambda: memory.memory_context("memory"),
        "query_recent": memory.query_recent,
        "query_relevant": lambda: memory.query_relevant("memory"),
        "recall_similar": lambda: memory.recall_similar("memory"),
    }


def writes(memory: lamina.Memory) -> dict[str, Callable[[], object]]:
    turns = [{"speaker": "Ana", "text": "a turn"}]
    return {
        "index": memory.index,
        "remember_conversation": lambda: memory.remember_conversation(
            turns, session="s", keep_raw=True
        ),
    }


def visit(home: str) -> None:
    """Everything, and how much of it a search finds, with and without an embedder."""
    memory = lamina.open("sky", home=home)
    outcomes = {name: outcome(verb) for name, verb in (reads(memory) | writes(memory)).items()}
    counts = {ranker: len(memory.search("memory", limit=1000, ranker=ranker)) for ranker in RANKERS}
    say(outcomes=outcomes, counts=counts, closed=outcome(memory.close))


def without_rights(home: str, user_id: str) -> None:
    with tempfile.TemporaryDirectory() as folder, lamina.open("sky", home=folder) as memory:
        # Python loads some of its modules when they are first used, perhaps from where only root
        # can read.
        memory.remember("memory")
        for verb in (*reads(memory).values(), *writes(memory).values()):
            verb()
    lower(int(user_id))
    visit(home)


def while_searching(memory: lamina.Memory) -> None:
    """A fork while another thread is in the middle of a search, and there is much to be
    indexed by closing."""
    memory.remember_many({"content": f"memory {n}"} for n in range(300))
    looking, forked_ = threading.Event(), threading.Event()

    def look() -> None:
        with suppress(lamina.StoreUnavailable), memory._scope.store.index.snapshot():
            looking.set()
            forked_.wait()

    thread = threading.Thread(target=look)
    thread.start()
    looking.wait()
    said = {"search": in_a_fork(lambda: memory.search("memory")), "close": in_a_fork(memory.close)}
    forked_.set()
    thread.join()
    say(outcomes=said)


def forked(home: str) -> None:
    """Each verb in a process of its own, with a handle that is not its own."""
    memory = lamina.open("sky", home=home)
    memory.remember("memory")
    for verb in reads(memory).values():
        verb()
    while_searching(memory)
    say(outcomes={name: in_a_fork(verb) for name, verb in (reads(memory) | writes(memory)).items()})
    say(outcomes={name: outcome(verb) for name, verb in (reads(memory) | writes(memory)).items()})
    memory.close()
    say(outcomes={name: outcome(verb) for name, verb in (reads(memory) | writes(memory)).items()})


def main(scene: str, *arguments: str) -> None:
    scenes: dict[str, Callable[..., None]] = {"without_rights": without_rights, "forked": forked}
    scenes[scene](*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
