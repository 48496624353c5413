"""One peer in a separate process, driven by JSON lines: it reads requests and prints times.

It runs in the peer's environment, which has only the standard library, numpy and the peer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from benchmarks.peers.doors.base import Door, Item, Vectors

# On a busy machine, processor time is more reliable; it includes all threads of the process.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
clock = CLOCKS[os.environ.get("PEERS_CLOCK", "wall")]
KINDS = ("keyword", "vector", "hybrid", "filtered", "best")


class Worker:
    """The verbs that the parent may call; each answers with plain JSON values."""

    def __init__(self, module: str, name: str, embedder: str, dimensions: int, out: TextIO) -> None:
        self.out = out
        door = getattr(importlib.import_module(f"benchmarks.peers.doors.{module}"), name)
        self.door: Door = door(Vectors(dimensions), embedder)
        self.questions: list[dict[str, Any]] = []
        self.items: list[Item] = []
        self.rows: Any = None

    def load(self) -> dict[str, Any]:
        """Import the peer. numpy is imported already: every peer has it, and the work needs it."""
        importlib.import_module("numpy")
        started = clock()
        self.door.load()
        return {
            "seconds": clock() - started,
            "cannot": dict(self.door.cannot),
            "batch": self.door.batch,
        }

    def use(self, folder: str, part: str | None = None) -> dict[str, Any]:
        """Read the questions of this work, and the memories of a part of it if one is named."""
        numpy = importlib.import_module("numpy")
        path = Path(folder)
        self.questions = json.loads((path / "questions.json").read_text("utf-8"))
        self.door.vectors.learn(
            [one["text"] for one in self.questions], numpy.load(path / "questions.npy")
        )
        if part is not None:
            told = json.loads((path / f"{part}.json").read_text("utf-8"))
            self.items = [
                Item(one["number"], one["text"], one["user"], one.get("fields", {})) for one in told
            ]
            self.rows = numpy.load(path / f"{part}.npy", mmap_mode="r")
        return {}

    def open(self, folder: str) -> dict[str, Any]:
        """Open the store and get a first answer: only then it is open."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        started = clock()
        self.door.open(path)
        self.door.ready()
        return {"seconds": clock() - started}

    def fill(self, start: int, stop: int, seconds: float) -> dict[str, Any]:
        """Add many, in the peer's own batches, until all are added or the time is over."""
        taken, done = 0.0, start
        while done < stop and taken < seconds:
            items = self._items(done, min(stop, done + self.door.batch))
            started = clock()
            self.door.add_many(items)
            taken += clock() - started
            done += len(items)
        return {"seconds": taken, "done": done}

    def settle(self) -> dict[str, Any]:
        started = clock()
        self.door.settle()
        return {"seconds": clock() - started}

    def add(self, start: int, stop: int, seconds: float) -> dict[str, Any]:
        """Add one after the other; return how long each took."""
        times: list[float] = []
        for item in self._items(start, stop):
            started = clock()
            self.door.add(item)
            times.append(clock() - started)
            if sum(times) > seconds:
                break
        return {"times": times}

    def mark(self, file: str) -> dict[str, Any]:
        """Force a write that a trace can tell from those of the peer."""
        with Path(file).open("wb") as marked:
            os.fsync(marked.fileno())
        return {}

    def write(self, start: int, stop: int) -> dict[str, Any]:
        """Add one after the other; after each, print that it was acknowledged, or the problem."""
        failed: dict[str, int] = {}
        for item in self._items(start, stop):
            try:
                self.door.add(item)
            except Exception as error:  # noqa: BLE001 - whatever a peer raises is what is counted
                reason = _reason(error)
                failed[reason] = failed.get(reason, 0) + 1
                continue
            self._say({"acknowledged": item.number})
        return {"errors": failed}

    def search(self, kind: str, start: int, stop: int, seconds: float) -> dict[str, Any]:
        """Ask some of the questions; return how long each took, and what was found."""
        assert kind in KINDS
        ask = getattr(self.door, kind)
        times: list[float] = []
        found: list[list[int]] = []
        for question in self.questions[start:stop]:
            self.door.at(question.get("now"))
            arguments = (
                [question["text"], question["user"]] if kind == "filtered" else [question["text"]]
            )
            started = clock()
            found.append(ask(*arguments))
            times.append(clock() - started)
            if sum(times) > seconds:
                break
        return {"times": times, "found": found}

    def count(self) -> dict[str, Any]:
        return {"count": self.door.count()}

    def numbers(self) -> dict[str, Any]:
        return {"numbers": sorted(self.door.numbers())}

    def peak(self) -> dict[str, Any]:
        """Return the peak memory of this process and its children, in bytes."""
        return {"bytes": sum(_peak(process) for process in [os.getpid(), *_children(os.getpid())])}

    def close(self) -> dict[str, Any]:
        self.door.close()
        return {}

    def answer(self, asked: dict[str, Any]) -> None:
        verb = asked.pop("verb")
        try:
            answer = getattr(self, verb)(**asked)
        except Exception as error:  # noqa: BLE001 - a peer that fails is a result, and the parent has to hear of it
            answer = {"error": _reason(error)}
        self._say(answer)

    def _items(self, start: int, stop: int) -> list[Item]:
        items = self.items[start:stop]
        # A plain copy, since a peer may not support rows that are mapped from a file.
        self.door.vectors.learn(
            [item.text for item in items],
            importlib.import_module("numpy").array(self.rows[start:stop]),
        )
        return items

    def _say(self, told: dict[str, Any]) -> None:
        self.out.write(json.dumps(told) + "\n")
        self.out.flush()


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:160]}"


def _children(process: int) -> list[int]:
    told = [task / "children" for task in Path(f"/proc/{process}/task").iterdir()]
    own = [int(child) for path in told if path.exists() for child in path.read_text().split()]
    return [*own, *(grandchild for child in own for grandchild in _children(child))]


def _peak(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(
        next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    )


def main() -> None:
    module, name, embedder, dimensions = sys.argv[1:]
    # What a peer prints must not be mistaken for an answer.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(module, name, embedder, int(dimensions), out)
    for line in sys.stdin:
        worker.answer(json.loads(line))


if __name__ == "__main__":
    main()
