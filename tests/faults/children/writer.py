"""Writes until it is killed, and says before and after each step what it is about to do and
what is done."""

from __future__ import annotations

import itertools
import os
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import lamina

from .common import nursery, say

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
    items = [
        {"content": f"part {n} of {word}", "tags": [word], "key": f"{word}p{n}"}
        for n in range(BATCH)
    ]
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


class Writer:
    """What a nursery forks: somebody who writes until killed."""

    def write(self, home: str, shape: str, name: str) -> None:
        memory = lamina.open("sky", home=home, settings={"audit.reads": "strict"})
        for number in itertools.count():
            SHAPES[shape](memory, f"{name}n{number}", number)


def warm() -> None:
    """Write a little of everything, so that what is forked has its modules."""
    with (
        tempfile.TemporaryDirectory() as folder,
        lamina.open("sky", home=folder, settings={"audit.reads": "strict"}) as memory,
        Path(os.devnull).open("w") as nobody,
        redirect_stdout(nobody),
    ):
        for shape in SHAPES.values():
            shape(memory, "warm", 0)


if __name__ == "__main__":
    nursery(Writer, warm)
