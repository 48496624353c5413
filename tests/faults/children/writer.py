"""Writes until it is killed, and says before and after each step what it is about to do and what is done."""

from __future__ import annotations

import itertools
import sys

import lamina

from .common import say

BATCH = 40
NOTES = 6
READ_EVERY = 5


def one(memory: lamina.Memory, word: str, number: int) -> None:
    """One memory with a key; now and then a read, whose audit is durable too."""
    say(begin=word)
    memory.remember(f"memory {word}", tags=["kept", word], key=word)
    say(done=word)
    if number % READ_EVERY == 0:
        memory.search(word)


def many(memory: lamina.Memory, word: str, _: int) -> None:
    """One batch, every memory of it with a key."""
    items = [{"content": f"part {n} of {word}", "tags": [word], "key": f"{word}p{n}"} for n in range(BATCH)]
    say(begin=word)
    memory.remember_many(items)
    say(done=word)


def run(memory: lamina.Memory, word: str, _: int) -> None:
    """One run with notes; only its end is announced, because that is where it is to be killed."""
    task = memory.run(f"task {word}")
    for n in range(NOTES):
        task.note(f"note {n} of {word}", tags=[word])
    say(begin=word)
    task.close(summary=f"summary {word}")
    say(done=word)


SHAPES = {"one": one, "many": many, "run": run}


def main(home: str, shape: str, name: str) -> None:
    memory = lamina.open("sky", home=home, settings={"audit.reads": "strict"})
    for number in itertools.count():
        SHAPES[shape](memory, f"{name}n{number}", number)


if __name__ == "__main__":
    main(*sys.argv[1:])
