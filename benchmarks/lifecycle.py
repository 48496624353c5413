"""Time the automatic moves of memories: promotion, rotation, and a search of the archive."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.speed import ROUNDS, SEED, folder, texts
from lamina import Memory
from lamina.store.archive import archive
from lamina.store.tables import records

Row = tuple[str, str, str]


def filled(path: Path, number: int, promotions: int) -> Memory:
    """Create a store of short-term memories, some of which deserve promotion."""
    chance = random.Random(SEED)
    memory = lamina.open("bench", home=path)
    chosen = set(chance.sample(range(number), promotions))
    memory.remember_many(
        {
            "content": text,
            "tags": [f"t{place % 50}"],
            "importance": 0.9 if place in chosen else 0.2,
            "kind": "fact",
        }
        for place, text in enumerate(texts(number))
    )
    return memory


def run_once(number: int, promotions: int) -> float:
    """Measure the seconds of one run over `number` entries; those above 5,000 are archived."""
    with folder() as path, filled(path, number, promotions) as memory:
        memory.index()
        started = time.perf_counter()
        done = memory.run_once()
        took = time.perf_counter() - started
        assert (done["promoted"], done["remaining"]) == (
            promotions,
            min(number - promotions, 5000),
        ), done
        return took


def peak(number: int, promotions: int) -> float:
    """Measure the peak megabytes of a process for such a run, including its start."""
    with folder() as path:
        filled(path, number, promotions).close()
        code = (
            "import lamina\n"
            "with lamina.open('bench') as memory: memory.run_once()\n"
            "lines = open('/proc/self/status')\n"
            "print(next(line for line in lines if line.startswith('VmHWM')).split()[1])"
        )
        environment = {**os.environ, "LAMINA_HOME": str(path)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        return int(done.stdout) / 1024


def searched(number: int) -> tuple[float, float]:
    """Time a search of `number` archived lines, for a rare text and for one in no line."""
    with folder() as path, lamina.open("bench", home=path) as memory:
        memory._parts.derived.patience = sys.maxsize  # noqa: SLF001 - no search here is by meaning
        step = 20 * archive.AT_ONCE
        contents = texts(step)
        for start in range(0, number, step):
            items = [
                {"content": text, "tags": ["garmin"] if start + n == 77 else []}
                for n, text in enumerate(contents)
            ]
            memory.remember_many(items)
            store = memory._scope.store  # noqa: SLF001 - all of them, not only those above a limit
            with store.read() as db:
                wanted = [(entry.seq, entry.event) for entry in records.short_term(db, None)]
            store.archive.add(memory.actor, "rotate", memory._scope.clock(), "rotated", wanted)  # noqa: SLF001
        times = []
        for text, found in (("GARMIN", 1), ("xyzzy", 0)):
            rounds = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                assert len(memory.search_archive(text)) == found
                rounds.append(time.perf_counter() - started)
            times.append(statistics.median(rounds))
        return times[0], times[1]


def rows(lines: int = 1_000_000) -> Iterator[Row]:
    """Yield rows: what was measured, the result, and the goal."""
    small = statistics.median(run_once(5_000, 500) for _ in range(ROUNDS))
    yield "run_once, 5,000 entries, 500 promotions", f"{small:.2f} s", "< 0.5 s"
    large = statistics.median(run_once(100_000, 500) for _ in range(3))
    yield "run_once, 100,000 entries, 94,500 archived", f"{large:.2f} s", "< 6 s"
    yield "the same, memory at most", f"{peak(100_000, 500):.0f} MB", "< 200 MB"
    rare, none = searched(lines)
    yield f"archive search, {lines:,} lines, one hit", f"{rare:.2f} s", "< 3 s"
    yield f"archive search, {lines:,} lines, no hit", f"{none:.2f} s", "< 3 s"


def main() -> None:
    table = Table(title=f"Lamina {lamina.__version__}: memories that move, medians")
    for name in ("what", "is", "goal"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for row in rows():
        table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
