"""Measure a large store on PostgreSQL: how it is filled, and what a new process needs to search it.

`python -m benchmarks.postgres` fills a million memories, which takes half an hour, and keeps the
figures in `benchmarks/growth.json`. The server runs on this machine; what it works is counted by
itself. Times are milliseconds of the processor, those with `clock` are what passed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.servers.postgres import Postgres

import lamina
from benchmarks import growth
from benchmarks.scale import DISTINCT, MEGABYTE, Figures, batches, resident
from benchmarks.searching import memories, questions
from benchmarks.speed import folder

WRITES = 50
ASKED = 15
SETTINGS = {"shared_buffers": "512MB", "maintenance_work_mem": "512MB", "max_wal_size": "8GB"}
GOALS = {"first, clock": "≤ 500 ms", "megabytes": "≤ 200"}
TICK = os.sysconf("SC_CLK_TCK")


def fill(home: Path, url: str, server: int, number: int) -> Figures:
    """Remember `number` memories, and index them."""
    with lamina.open("default", home=home, settings={"store.url": url}) as memory:
        memory._parts.derived.patience = sys.maxsize  # noqa: SLF001 - index only when asked
        started, worked = time.process_time(), of_server(server)
        for batch in batches(memories(number)):
            memory.remember_many(batch)
        written, stored = time.process_time(), of_server(server)
        memory.index()
        ended, indexed = time.process_time(), of_server(server)
    return {
        "written a second": number / (written - started),
        "indexed a second": number / (ended - written),
        "write": 1e3 * (ended - started) / number,
        "write, server": (indexed - worked) / number,
        "indexing, server": (indexed - stored) / number,
    }


def ask(home: Path, url: str, server: int) -> Figures:
    """Search everything in a new process, write one by one, and search a small scope."""
    lines = questions(DISTINCT)[: 1 + ASKED]
    figures: Figures = {}

    def timed(name: str, work: Callable[[str], Any], over: list[str]) -> None:
        taken = []
        for line in over:
            before = (time.process_time(), of_server(server), time.perf_counter())
            work(line)
            after = (time.process_time(), of_server(server), time.perf_counter())
            ours, theirs, passed = (end - start for start, end in zip(before, after, strict=True))
            taken.append((1e3 * ours, theirs, 1e3 * passed))
        ours, theirs, passed = (statistics.median(one) for one in zip(*taken, strict=True))
        figures.update({name: ours, f"{name}, server": theirs, f"{name}, clock": passed})

    with lamina.open("x", home=home) as small:  # loads the embedder before the measurement
        small.remember("tea")
        small.search("what did Ana say about tea?")
    figures["megabytes before"] = resident()
    settings = {"store.url": url}
    with lamina.open("default", home=home, settings=settings) as memory:
        timed("first", memory.search, lines[:1])
        figures["megabytes"] = resident()
        timed("warm", memory.search, lines[1:])
        timed("filtered", lambda line: memory.search(line, tags=["t3"]), lines[1:])
        timed("context", memory.context, lines[1:4])
        figures["megabytes in the end"] = resident()
        timed("remember", memory.remember, [f"memory number {n}" for n in range(WRITES)])

    def in_scope(line: str) -> None:
        with lamina.open("default", home=home, settings=settings) as memory:
            memory.search(line, session="s100")

    timed("scope", in_scope, lines)
    return figures


def of_server(postmaster: int) -> float:
    """Return the milliseconds of processor time of a server and its processes."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(entry.parent.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))  # including its processes that have ended
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return 1e3 * ticks / TICK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10**6)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.ask:
        home, url, server = chosen.ask
        print(json.dumps(ask(Path(home), url, int(server))))
        return
    with folder() as home, Postgres(SETTINGS) as server:
        database = server.database()
        url, number = server.url(database), server.pid
        figures = fill(home, url, number, chosen.memories)
        size = server.execute("SELECT pg_database_size(current_database())", database)[0][0]
        command = [sys.executable, "-m", "benchmarks.postgres", "--ask", str(home), url]
        answer = subprocess.run(
            [*command, str(number)], check=True, capture_output=True, text=True
        ).stdout
    figures |= {"megabytes on disk": size / MEGABYTE, **json.loads(answer)}
    growth.keep("postgres", chosen.memories, figures)
    table = Table("", "measured", "goal", title=f"PostgreSQL, {chosen.memories:,} memories")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}", GOALS.get(name, ""))
    Console().print(table)


if __name__ == "__main__":
    main()
