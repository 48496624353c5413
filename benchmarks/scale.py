"""Measure what a question costs where many users share a store, and where a process serves many.

`make bench-scale` prints the table. `--users`, `--agents` and `--single` choose other sizes; with
`--keep` the stores are made once in that folder and used again.

    users    1,000 and 5,000 users with 200 memories each in one agent, in no order
    single   one user with all of 200,000 memories
    agents   1,000 agents with 100 memories each, asked at random by one process
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.searching import NAMES, memories
from benchmarks.speed import folder
from lamina import Memory
from lamina.store.index.cache import CACHE

SEED = 17
EACH, VISITS = 200, 4  # memories of a user, and the visits in which they were told
OF_AGENT = 100
DISTINCT = 20_000  # texts, told by several users each
ASKING = 40  # users and agents that are measured
QUESTIONS = 5
MEGABYTE = 1 << 20


@functools.lru_cache(1)
def told(number: int) -> list[dict[str, Any]]:
    """So many memories; those of different users may be the same."""
    some = list(memories(min(number, DISTINCT)))
    return [some[place % len(some)] for place in range(number)]


def question(chance: random.Random, items: Sequence[dict[str, Any]]) -> str:
    """Ask with some words of a memory that is there."""
    words = chance.choice(items)["content"].split()
    some = " ".join(chance.sample(words, min(4, len(words))))
    return f"What did {chance.choice(NAMES)} say about {some}?"


def fill_users(path: Path, users: int) -> None:
    """Let users tell their memories in several visits, so that nobody's lie side by side."""
    items, part = told(users * EACH), EACH // VISITS
    with lamina.pool(path) as pool:
        for visit in range(VISITS):
            for user in range(users):
                start = (visit * users + user) * part
                with pool.open("default", f"user{user}") as memory:
                    memory.remember_many(items[start : start + part])
    with lamina.open("default", home=path) as memory:
        memory.index()


def items_of(user: int, users: int) -> list[dict[str, Any]]:
    """What `fill_users` had a user tell."""
    items, part = told(users * EACH), EACH // VISITS
    starts = [(visit * users + user) * part for visit in range(VISITS)]
    return [item for start in starts for item in items[start : start + part]]


def fill_one(path: Path, number: int) -> None:
    """Store all memories for one user."""
    items = told(number)
    with lamina.open("default", "ana", path) as memory:
        for start in range(0, number, 5000):
            memory.remember_many(items[start : start + 5000])
        memory.index()


def fill_agents(path: Path, agents: int) -> None:
    """Give each agent a store of its own."""
    items = told(agents * OF_AGENT)
    for agent in range(agents):
        with lamina.open(f"agent{agent}", home=path) as memory:
            memory.remember_many(items[agent * OF_AGENT : (agent + 1) * OF_AGENT])
            memory.index()


def ask_users(path: Path, users: int) -> dict[str, float]:
    """Open handles of new users one after the other; ask each once, and then some more."""
    chance = random.Random(SEED)
    asked = chance.sample(range(1, users), ASKING)
    prepared = [
        [question(chance, items_of(user, users)) for _ in range(1 + QUESTIONS)] for user in asked
    ]
    with lamina.open("default", "user0", path) as memory:
        for line in prepared[0]:
            memory.search(line)
        opening: Times = []
        first: Times = []
        warm: Times = []
        handles: list[Memory] = []
        before = resident()
        for user, lines in zip(asked, prepared, strict=True):
            with timed(opening):
                handles.append(lamina.open("default", f"user{user}", path))
            with timed(first):
                handles[-1].search(lines[0])
        taken = (resident() - before) / len(asked)
        for handle, lines in zip(handles, prepared, strict=True):
            for line in lines[1:]:
                with timed(warm):
                    handle.search(line)
        kept = CACHE.usage.bytes / MEGABYTE
        for handle in handles:
            handle.close()
    return {**spread("open", opening), **spread("first", first), **spread("warm", warm)} | {
        "MB a handle": taken,
        "MB kept": kept,
    }


def ask_one(path: Path, number: int) -> dict[str, float]:
    """Ask the only user of a large store."""
    chance = random.Random(SEED)
    first: Times = []
    warm: Times = []
    lines = [question(chance, told(number)) for _ in range(1 + 20 * QUESTIONS)]
    with lamina.open("default", "ana", path) as memory:
        with timed(first):
            memory.search(lines[0])
        for line in lines[1:]:
            with timed(warm):
                memory.search(line)
        kept = CACHE.usage.bytes / MEGABYTE
    return {**spread("first", first), **spread("warm", warm), "MB kept": kept}


def ask_agents(path: Path, agents: int) -> dict[str, float]:
    """Ask agents at random through one pool."""
    chance, most_files = random.Random(SEED), 0
    taken: Times = []
    items = told(agents * OF_AGENT)
    with lamina.pool(path) as pool:
        with pool.open("agent0") as memory:  # the program and its embedder are loaded before
            memory.search("what did Ana say about tea?")
        before = resident()
        for _ in range(5 * ASKING):
            agent = chance.randrange(agents)
            line = question(chance, items[agent * OF_AGENT : (agent + 1) * OF_AGENT])
            with timed(taken), pool.open(f"agent{agent}") as memory:
                memory.search(line)
            most_files = max(most_files, len([*Path("/proc/self/fd").iterdir()]))
        kept = CACHE.usage.bytes / MEGABYTE
        grown = resident() - before
    return {**spread("opened and asked", taken)} | {
        "MB kept": kept,
        "MB grown": grown,
        "files": most_files,
    }


ASKED = {"users": ask_users, "single": ask_one, "agents": ask_agents}
FILLED = {"users": fill_users, "single": fill_one, "agents": fill_agents}
GOALS = {
    ("users", "first"): "≤ 15 ms",
    ("users", "warm"): "≤ 3 ms",
    ("users", "MB a handle"): "≤ 2",
    ("agents", "opened and asked"): "≤ 20 ms",
    ("agents", "MB kept"): "≤ 256",
}


Times = list[tuple[float, float]]  # milliseconds that passed, and those of the processor


@contextmanager
def timed(taken: Times) -> Iterator[None]:
    """Note how long a block takes."""
    started, worked = time.perf_counter(), time.thread_time()
    yield
    taken.append((1e3 * (time.perf_counter() - started), 1e3 * (time.thread_time() - worked)))


def spread(name: str, taken: Times) -> dict[str, float]:
    """The median, the time that one in twenty exceeds, and what the processor worked."""
    passed, worked = zip(*taken, strict=True)
    return {
        name: statistics.median(passed),
        f"{name}, 95 %": sorted(passed)[int(0.95 * len(passed))],
        f"{name}, processor": statistics.median(worked),
    }


def resident() -> float:
    """Megabytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def measured(table: Table, kept: Path, kind: str, number: int) -> None:
    """Fill a store if there is none yet, and ask it in a new process."""
    path = kept / f"{kind}-{number}"
    if not path.exists():
        started = time.perf_counter()
        FILLED[kind](path, number)
        seconds = time.perf_counter() - started
        table.add_row(kind, f"{number:,}", "told and indexed", f"{seconds:,.0f} s", "")
    command = [sys.executable, "-m", "benchmarks.scale", "--ask", kind, str(number), str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name, value in json.loads(answer).items():
        unit = "" if name.startswith(("MB", "files")) else " ms"
        table.add_row(kind, f"{number:,}", name, f"{value:,.1f}{unit}", GOALS.get((kind, name), ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--users", type=int, nargs="*", default=[1000, 5000])
    parser.add_argument("--single", type=int, nargs="*", default=[200_000])
    parser.add_argument("--agents", type=int, nargs="*", default=[1000])
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    if chosen.ask:
        kind, number, path = chosen.ask
        print(json.dumps(ASKED[kind](Path(path), int(number))))
        return
    table = Table("what", "number", "", "measured", "goal", title="Cost by users and agents")
    with folder() as made:
        for kind in ASKED:
            for number in getattr(chosen, kind):
                measured(table, chosen.keep or made, kind, number)
    Console().print(table)


if __name__ == "__main__":
    main()
