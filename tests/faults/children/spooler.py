"""Remembers without its store, and replays, one step at a time; or in a crowd that gets into each
other's way."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

import lamina
from lamina.memory.opening import connect
from lamina.model.record import Role

from .common import nursery, say

SETTINGS = {
    "failsafe": "on",
    "store.busy_timeout_ms": 0,
    "store.retry_ms": 0,
    "store.checkpoint_pages": 1,
}


class Spooler:
    """A process that holds a handle, and does not replay unless it is told to."""

    def __init__(self) -> None:
        self._memory: lamina.Memory | None = None

    @property
    def memory(self) -> lamina.Memory:
        assert self._memory is not None
        return self._memory

    def open(self, home: str) -> None:
        self._memory = connect(Role.AGENT, "sky", home=home, settings=SETTINGS, replay=False)

    def batch(self, word: str) -> None:
        """One batch that goes to both files."""
        self.memory.remember_many(
            [
                {"content": f"{word} short", "key": word},
                {"content": f"{word} long", "layer": "episodic"},
            ]
        )

    def replay(self) -> None:
        self.memory.replay_failsafe()

    def limit(self, size: int) -> None:
        """No file may grow beyond this size any more; 0 lifts that."""
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size or most, most))

    def close(self) -> None:
        self.memory.close()

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def warm() -> None:
    """Do everything once, so that what is traced later is not Python finding its modules."""
    with tempfile.TemporaryDirectory() as folder:
        spooler = Spooler()
        spooler.open(folder)
        spooler.batch("stored")
        spooler.close()
        database = Path(folder, "agents", "sky", "memory.db")
        database.rename(Path(folder, "aside"))
        database.write_bytes(b"no database" * 1000)
        spooler.open(folder)
        spooler.batch("kept")
        Path(folder, "aside").replace(database)
        spooler.replay()
        spooler.close()


def crowd(home: str, name: str, rounds: str) -> None:
    """One of many that write at once, none of which waits for another."""
    with lamina.open("sky", home=home, settings=SETTINGS) as memory:
        say(ready=True)
        sys.stdin.readline()
        for number in range(int(rounds)):
            kept = memory.remember(f"{name} {number}", layer="episodic" if number % 2 else None)
            say(done=kept.content, id=kept.id, where=kept.stored_in)


if __name__ == "__main__":
    crowd(*sys.argv[1:]) if sys.argv[1:] else nursery(Spooler, warm)
