"""What the fault tests share: their sizes, their child processes, and what must hold after every fault."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

import lamina
from lamina.store import fulltext

AGENT = "sky"
SEED = 20261115
FULL = os.environ.get("LAMINA_FAULTS") == "full"
ROOT = Path(__file__).parents[2]
CHILDREN = "tests.faults.children"
# Far above what any child needs; a child that hangs is killed, so that its test fails instead of waiting for ever.
PATIENCE_SECONDS = 300
NOBODY = 65534


def size(*, quick: int, full: int) -> int:
    """How many rounds: a few for `make test`, all of them for `make faults`."""
    return full if FULL else quick


class Child:
    """A process that is told and heard line by line, in JSON."""

    def __init__(self, script: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"{CHILDREN}.{script}", *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
        environment["LAMINA_FAILSAFE"] = "off"  # most are about the store itself; who means the fail-safe says so
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=ROOT)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._ear, self._mouth = self.process.stdin, self.process.stdout
        self._guard = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        self._guard.daemon = True
        self._guard.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        self._guard.cancel()
        with suppress(BrokenPipeError):
            self._ear.close()
        self._mouth.close()

    def tell(self, **message: Any) -> None:
        self._ear.write(json.dumps(message) + "\n")
        self._ear.flush()

    def answer(self) -> Any | None:
        """What the child says next, or None when it ended instead."""
        line = self._mouth.readline()
        return json.loads(line) if line else None

    def hear(self) -> Any:
        """What the child says next, as long as it lives."""
        said = self.answer()
        assert said is not None, f"the child ended with {self.process.wait()} instead of answering"
        return said

    def ask(self, **message: Any) -> Any:
        self.tell(**message)
        return self.hear()

    def rest(self) -> list[Any]:
        """Everything that the child still says until it ends."""
        return [json.loads(line) for line in self._mouth]

    def kill(self) -> None:
        """End the child with no chance to clean up."""
        self.process.kill()
        self.process.wait()

    def finish(self) -> list[Any]:
        """Let the child end by itself, well; what it said until then."""
        self._ear.close()
        said = self.rest()
        assert self.process.wait() == 0
        return said


def database_of(home: Path, name: str = "memory.db") -> Path:
    return home / "agents" / AGENT / name


def check_sound(operator: lamina.Operator) -> None:
    """What holds after every fault: both chains verify with every row, tag and link, and the word index is complete."""
    report = operator.audit_verify()
    assert report["events"].problems == ()
    assert report["reads"].problems == ()
    assert fulltext.missing(operator._store.database.reader()) == []


def check_store(home: Path) -> None:
    """`check_sound` with a new handle, as a process that comes after the fault would have it."""
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)


def check_found_by_word(memory: lamina.Memory, words: Iterable[str]) -> None:
    """Each word leads to a memory: the word index was written with its record."""
    for word in words:
        assert memory.search(word, limit=1).outcome == "found", word


def contents(memory: lamina.Memory, **filters: Any) -> list[str]:
    """The texts of all records, of every state unless a filter says otherwise."""
    return [record.content for record in memory.list(limit=10_000, **({"states": None} | filters))]


def strace() -> str:
    """The path of strace. Without it the faults at system calls cannot be made, which a full run must not hide."""
    path = shutil.which("strace")
    if path is None:
        message = "strace is not installed: faults at system calls cannot be injected"
        if FULL:
            pytest.fail(message)
        pytest.skip(message)
    return path
