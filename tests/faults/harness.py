"""What the fault tests share: their sizes, their child processes, and what must hold
after every fault."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

import lamina
from lamina.model.clock import is_id
from lamina.store.tables import fulltext

from . import tally

AGENT = "sky"
SEED = 20261115
FULL = os.environ.get("LAMINA_FAULTS") == "full"
ROOT = Path(__file__).parents[2]
CHILDREN = "tests.faults.children"
# Far above what any child needs; a child that hangs is killed, so that its test fails instead of
# waiting for ever.
PATIENCE_SECONDS = 300
NOBODY = 65534
# What the verbs change files with: the database and its log, the files of the archive, that of the
# status.
CALLS = (
    "pwrite64",
    "write",
    "fdatasync",
    "fsync",
    "openat",
    "rename",
    "unlink",
    "mkdir",
    "ftruncate",
)
# These are few, and each is a turning point: they come first when not every call can be broken.
TURNING = ("fsync", "rename", "unlink")


def size(*, quick: int, full: int) -> int:
    """How many rounds: a few for `make test`, all of them for `make faults`."""
    return full if FULL else quick


class Child:
    """A process that is told and heard line by line, in JSON."""

    def __init__(self, script: str, *arguments: object) -> None:
        command = [sys.executable, "-m", f"{CHILDREN}.{script}", *map(str, arguments)]
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")
        }
        environment["LAMINA_FAILSAFE"] = (
            "off"  # most are about the store itself; who means the fail-safe says so
        )
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=ROOT
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._ear, self._mouth = self.process.stdin, self.process.stdout
        self._guard = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        self._guard.daemon = True
        self._guard.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
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
        if self.process.poll() is None:
            tally.count("kills")
        self._end()

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()

    def finish(self) -> list[Any]:
        """Let the child end by itself, well; what it said until then."""
        self._ear.close()
        said = self.rest()
        assert self.process.wait() == 0
        return said


class Nursery(Child):
    """Forks processes that do one step at a time. They have all their modules, so that only the
    step itself is traced."""

    def __init__(self, script: str, *arguments: object) -> None:
        super().__init__(script, *arguments)
        self._forked = False
        self.pid = 0
        self.hear()

    @contextmanager
    def fork(self, patience: float = PATIENCE_SECONDS) -> Iterator[int]:
        """The number of a process that obeys until the end of the block, unless it
        was killed before."""
        self._guard.cancel()
        self._guard = threading.Timer(patience, self._give_up)  # each of them has all the time
        self._guard.daemon = True
        self._guard.start()
        self.pid, self._forked = self.ask(fork=True)["pid"], True
        try:
            yield self.pid
        finally:
            if self._forked:
                assert self.ask() == {"ended": 0}

    def _give_up(self) -> None:
        """End a process that hangs, and the nursery, so that whoever waits for them is told."""
        self.process.kill()
        if self._forked:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def told(self, **order: Any) -> str:
        """How a step ended; `killed` when the process did."""
        said = self.ask(**order)
        return str(said["outcome"]) if "outcome" in said else self.killed(said)

    def slay(self) -> list[Any]:
        """Kill the process, wherever it is; what it had said until then."""
        os.kill(self.pid, signal.SIGKILL)
        said = []
        while "ended" not in (line := self.hear()):
            said.append(line)
        self.killed(line)
        return said

    def killed(self, said: Any) -> str:
        """What the nursery says of a process that was killed."""
        assert said == {"ended": -signal.SIGKILL}
        self._forked = False
        tally.count("kills")
        return "killed"


class Point(NamedTuple):
    """The nth call of a kind."""

    call: str
    number: int


class Fault(NamedTuple):
    """What strace does at a point, once or from then on: a signal, or an error of the disk."""

    what: str
    point: Point
    lasting: bool = False

    def __str__(self) -> str:
        return (
            f"{self.point.call}:{self.what}:when={self.point.number}{'+' if self.lasting else ''}"
        )


def points(calls: Sequence[str], most: int, salt: str, *, without: str = "\n") -> list[Point]:
    """Where to break a step: at every call but those that speak of something, or at a seeded sample
    with its turning points."""
    count: Counter[str] = Counter()
    every: list[Point] = []
    for line in calls:
        call = line.partition("(")[0]
        count[call] += 1
        if (
            without not in line and "(1<pipe" not in line
        ):  # what the process says to us is not to be broken
            every.append(Point(call, count[call]))
    assert every
    if len(every) <= most:
        return every
    chance = random.Random(f"{SEED} {salt}")
    turning = [point for point in every if point.call in TURNING]
    chosen = chance.sample(turning, min(len(turning), most // 2))
    return chosen + chance.sample(
        [point for point in every if point not in chosen], most - len(chosen)
    )


@contextmanager
def attached(command: Sequence[str]) -> Iterator[None]:
    """strace that hangs on a process within the block; it writes what it has seen when
    the block ends."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "attached" not in (
            said := process.stderr.readline()
        ):  # it may say first which files it looks at
            assert said, "strace has ended"
        try:
            yield
        finally:
            process.terminate()
            process.communicate()


@contextmanager
def traced(
    pid: int, log: Path, calls: Sequence[str], *faults: str, only: Path | None = None
) -> Iterator[list[str]]:
    """strace on a process within the block, with any number of faults; the calls are there at the
    end of it."""
    filters = [item for fault in faults for item in ("-e", f"inject={fault}")]
    filters += [] if only is None else ["-P", str(only)]
    seen: list[str] = []
    with attached(
        [strace(), "-y", "-p", str(pid), "-o", str(log), "-e", f"trace={','.join(calls)}", *filters]
    ):
        yield seen
    lines = log.read_text().splitlines()
    tally.count("I/O errors", sum("(INJECTED)" in line for line in lines))
    seen += [line for line in lines if line.partition("(")[0] in calls]


def copied(home: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(home, to))


def database_of(home: Path, name: str = "memory.db") -> Path:
    return home / "agents" / AGENT / name


def check_sound(operator: lamina.Operator) -> None:
    """What holds after every fault: both chains verify with every row, tag and link, and the word
    index is complete."""
    report = operator.audit_verify()
    assert report["events"].problems == ()
    assert report["reads"].problems == ()
    assert fulltext.missing(operator._scope.store.database.reader()) == []


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
    """The path of strace. Without it the faults at system calls cannot be made, which a full run
    must not hide."""
    path = shutil.which("strace")
    if path is None:
        message = "strace is not installed: faults at system calls cannot be injected"
        if FULL:
            pytest.fail(message)
        pytest.skip(message)
    return path


def in_words(value: Any, said: dict[str, str]) -> Any:
    """A value in which other records are what they say."""
    if isinstance(value, dict):
        return {name: in_words(item, said) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_words(item, said) for item in value]
    return said.get(value, "gone") if isinstance(value, str) and is_id(value) else value
