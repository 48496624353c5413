"""Measure how fast each backend adds and finds, beside SQLite in the same run.

`make bench-backends` prints the table; `--sizes 10000` leaves the large one out. Servers are real
ones on this machine, so that what is measured is their work and the way there, not a network.
Ratios are what counts, since machines are noisy.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.servers.chroma import Chroma
from tests.servers.postgres import Postgres
from tests.servers.weaviate import Weaviate

import lamina
from benchmarks.searching import memories, questions
from benchmarks.speed import folder
from lamina import Memory

SINGLE = 200
ROUNDS = 3
PAGE = 5000
Settings = dict[str, Any]


@contextmanager
def backends(names: list[str]) -> Iterator[dict[str, Callable[[], Settings]]]:
    """Yield the settings of each backend, fresh for every call; servers run within the block."""
    with ExitStack() as stack:
        found: dict[str, Callable[[], Settings]] = {"sqlite": dict}
        if "postgres" in names:
            postgres = stack.enter_context(Postgres())
            found["postgres"] = lambda: {"store.url": postgres.url(postgres.database())}
        if "chroma" in names:
            found["chroma"] = lambda: {"mirrors.chroma": "embedded", "recall.via": "chroma"}
        if "chroma server" in names:
            chroma = stack.enter_context(Chroma())
            found["chroma server"] = lambda: {"mirrors.chroma": chroma.url, "recall.via": "chroma"}
        if "weaviate" in names:
            weaviate = stack.enter_context(Weaviate())
            found["weaviate"] = lambda: {"mirrors.weaviate": weaviate.url, "recall.via": "weaviate"}
        yield found


def filled(memory: Memory, number: int) -> float:
    """Measure the seconds until `number` memories are stored, indexed and in the mirror."""
    started = time.perf_counter()
    batch: list[dict[str, Any]] = []
    for item in memories(number):
        batch.append(item)
        if len(batch) == PAGE:
            memory.remember_many(batch)
            batch = []
    memory.remember_many(batch)
    memory.index()
    memory.sync_mirrors()
    return time.perf_counter() - started


def single(memory: Memory) -> float:
    """Measure the milliseconds of one durable add."""
    taken = []
    for number in range(SINGLE):
        started = time.perf_counter()
        memory.remember(f"a single memory about the number {number}")
        taken.append(1e3 * (time.perf_counter() - started))
    return statistics.median(taken)


def searched(opened: Mapping[str, Memory], number: int) -> dict[str, float]:
    """Measure the milliseconds of a hybrid search in each, asked in turn."""
    taken: dict[str, list[float]] = {name: [] for name in opened}
    for _ in range(ROUNDS):
        for question in questions(number):
            for name, memory in opened.items():
                started = time.perf_counter()
                memory.search(question)
                taken[name].append(1e3 * (time.perf_counter() - started))
    return {name: statistics.median(times) for name, times in taken.items()}


def measured(
    table: Table, made: Mapping[str, Callable[[], Settings]], number: int, home: Path
) -> None:
    """Add a row for each backend at one size."""
    with ExitStack() as stack:
        opened: dict[str, Memory] = {}
        bulk: dict[str, float] = {}
        adds: dict[str, float] = {}
        for place, (name, settings) in enumerate(made.items()):
            agent = f"bench{number}-{place}"
            opened[name] = stack.enter_context(lamina.open(agent, home=home, settings=settings()))
            bulk[name] = filled(opened[name], number)
            adds[name] = single(opened[name])
            opened[name].index()
            opened[name].sync_mirrors()
            opened[name].search("warm up")
        found = searched(opened, number)
    for name in made:
        table.add_row(
            f"{number:,}",
            name,
            f"{adds[name]:.2f} ms",
            f"{adds[name] / adds['sqlite']:.1f}×",
            f"{number / bulk[name]:,.0f}/s",
            f"{bulk[name] / bulk['sqlite']:.1f}×",
            f"{found[name]:.1f} ms",
            f"{found[name] / found['sqlite']:.1f}×",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    every = ["postgres", "chroma", "chroma server", "weaviate"]
    parser.add_argument("--backends", nargs="+", default=every, choices=every)
    given = parser.parse_args()
    table = Table(title="Backends beside SQLite")
    for column in ("memories", "backend", "add", "", "bulk, with index", "", "hybrid search", ""):
        table.add_column(column, justify="left" if column in ("backend",) else "right")
    with folder() as home, backends(given.backends) as made:
        for number in given.sizes:
            measured(table, made, number, home)
    Console().print(table)


if __name__ == "__main__":
    main()
