"""Measure how the cost of a question grows with memories, users and agents.

`make bench-scale` measures the curves, keeps them in `benchmarks/growth.json`, and draws them. The
sizes may be chosen, as in `python -m benchmarks.scale --memories 1000 10000 --users --agents`; a
size that is not measured keeps what is in the file. With `--keep` the stores are made once in that
folder and used again.

    memories   so many memories of one agent, without users
    users      users of one agent with 200 memories each; beyond 5,000 users with 10 each
    agents     agents with 100 memories each, asked at random by one process through a pool

Times are milliseconds of the processor, so that other work on the machine counts little; those with
`clock` are what passed.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

import lamina
from benchmarks import growth
from benchmarks.searching import NAMES, memories, questions
from benchmarks.speed import folder
from lamina import Memory
from lamina.store.index.cache import CACHE

SEED = 17
EACH, FEW, MANY_USERS = 200, 10, 5000  # memories of a user; fewer if there are more users than that
OF_AGENT = 100
DISTINCT = 20_000  # texts of users and agents, several of whom say the same
BATCH, STEP = 5000, 250_000  # memories that are written, and indexed, at once
ASKING = 40  # users and agents that are measured
QUESTIONS = 5
MEGABYTE = 1 << 20
SEARCHES: dict[str, dict[str, Any]] = {
    "warm": {},
    "keyword": {"ranker": "keyword"},
    "filtered": {"metadata": {"place": 7}},
}
GOALS = {
    ("users", "first"): "≤ 15 ms",
    ("users", "warm"): "≤ 3 ms",
    ("users", "megabytes a handle"): "≤ 2",
    ("agents", "asked"): "≤ 20 ms",
    ("agents", "megabytes kept"): "≤ 256",
}
SIZES = {
    "memories": [10**3, 10**4, 10**5, 10**6],
    "users": [100, 1000, 5000, 100_000],
    "agents": [100, 1000, 10_000],
}
Item = dict[str, Any]
Figures = dict[str, float]
Times = list[tuple[float, float]]  # milliseconds of processor time, and of elapsed time


@functools.cache
def different() -> list[Item]:
    return list(memories(DISTINCT))


def told(places: Iterable[int]) -> list[Item]:
    """Return the items at these places; after the last one, they start again."""
    return [different()[place % DISTINCT] for place in places]


def of_user(user: int, users: int) -> range:
    """Return the places of a user's memories: users take turns, so nobody's lie together."""
    return range(user, users * (EACH if users <= MANY_USERS else FEW), users)


def of_agent(agent: int) -> range:
    return range(agent * OF_AGENT, (agent + 1) * OF_AGENT)


def question(chance: random.Random, items: Sequence[Item]) -> str:
    """Build a question from some words of an existing memory."""
    words = chance.choice(items)["content"].split()
    some = " ".join(chance.sample(words, min(4, len(words))))
    return f"What did {chance.choice(NAMES)} say about {some}?"


def fill_memories(path: Path, number: int) -> Figures:
    """Remember `number` different memories, and index them in steps."""
    source, written, indexed = memories(number), 0.0, 0.0
    with lamina.open("default", home=path) as memory:
        memory._parts.derived.patience = sys.maxsize  # noqa: SLF001 - index only when asked
        for _ in range(0, number, STEP):
            for batch in batches(itertools.islice(source, STEP)):
                started = time.process_time()
                memory.remember_many(batch)
                written += time.process_time() - started
            started = time.process_time()
            memory.index()
            indexed += time.process_time() - started
    return {"written a second": number / written, "indexed a second": number / indexed}


def batches(source: Iterator[Item]) -> Iterator[list[Item]]:
    while batch := list(itertools.islice(source, BATCH)):
        yield batch


def fill_users(path: Path, users: int) -> Figures:
    """Store the memories of all users in turn, as if each had a handle."""
    places = range(of_user(users - 1, users).stop)
    with lamina.open("default", home=path) as memory:
        parts = memory._parts  # noqa: SLF001 - opening a handle for each would take hours
        for start in places[::BATCH]:
            drafts = [
                msgspec.structs.replace(memory._scope.draft(item), user=f"user{place % users}")  # noqa: SLF001
                for place, item in enumerate(told(places[start : start + BATCH]), start)
            ]
            parts.remember.stored(drafts, many=True)
        memory.index()
    return {}


def fill_agents(path: Path, agents: int) -> Figures:
    """Give each agent a store of its own."""
    for agent in range(agents):
        with lamina.open(f"agent{agent}", home=path) as memory:
            memory.remember_many(told(of_agent(agent)))
            memory.index()
    return {}


def ask_memories(path: Path, number: int) -> Figures:
    """Query a store of many memories in a separate process, in several ways."""
    lines = questions(min(number, DISTINCT))[: 1 + 8 * QUESTIONS]
    opening: Times = []
    first: Times = []
    with timed(opening):
        memory = lamina.open("default", home=path)
    with memory:
        with timed(first):
            memory.search(lines[0])
        figures = {**spread("open", opening), **spread("first", first)}
        for name, how in SEARCHES.items():
            taken: Times = []
            for line in lines[1:]:
                with timed(taken):
                    memory.search(line, **how)
            figures |= spread(name, taken)
        figures |= {"megabytes": resident(), "megabytes kept": CACHE.usage.bytes / MEGABYTE}
    return figures


def ask_users(path: Path, users: int) -> Figures:
    """Open handles of users one after the other; ask each once, and then several times."""
    chance = random.Random(SEED)
    asked = chance.sample(range(1, users), ASKING)
    prepared = [
        [question(chance, told(of_user(user, users))) for _ in range(1 + QUESTIONS)]
        for user in asked
    ]
    opening: Times = []
    first: Times = []
    warm: Times = []
    stranger: Times = []
    handles: list[Memory] = []
    with lamina.open("default", "user0", path) as memory:  # loads the program and its embedder
        for line in prepared[0]:
            memory.search(line)
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
        for _ in range(QUESTIONS):
            with timed(stranger):
                lamina.open("default", "Сара", path).close()  # Cyrillic; a Latin name looks alike
        kept = CACHE.usage.bytes / MEGABYTE
        for handle in handles:
            handle.close()
    return {
        **spread("open", opening),
        **spread("first", first),
        **spread("warm", warm),
        **spread("open as a new user", stranger),
        "megabytes a handle": taken,
        "megabytes kept": kept,
    }


def ask_agents(path: Path, agents: int) -> Figures:
    """Query agents at random through one pool."""
    chance, most_files = random.Random(SEED), 0
    taken: Times = []
    with lamina.pool(path) as pool:
        with pool.open("agent0") as memory:
            memory.search("what did Ana say about tea?")
        before = resident()
        for _ in range(10 * ASKING):
            agent = chance.randrange(agents)
            line = question(chance, told(of_agent(agent)))
            with timed(taken), pool.open(f"agent{agent}") as memory:
                memory.search(line)
            most_files = max(most_files, len([*Path("/proc/self/fd").iterdir()]))
        kept, grown = CACHE.usage.bytes / MEGABYTE, resident() - before
    return {
        **spread("asked", taken),
        "megabytes kept": kept,
        "megabytes grown": grown,
        "files": most_files,
    }


FILLED = {"memories": fill_memories, "users": fill_users, "agents": fill_agents}
ASKED = {"memories": ask_memories, "users": ask_users, "agents": ask_agents}


@contextmanager
def timed(taken: Times) -> Iterator[None]:
    """Record how long a block takes."""
    started, worked = time.perf_counter(), time.process_time()
    yield
    taken.append((1e3 * (time.process_time() - worked), 1e3 * (time.perf_counter() - started)))


def spread(name: str, taken: Times) -> Figures:
    """Compute the median processor time and elapsed time, and the 95th percentile."""
    worked, passed = zip(*taken, strict=True)
    return {
        name: statistics.median(worked),
        f"{name}, 95 %": sorted(worked)[int(0.95 * len(worked))],
        f"{name}, clock": statistics.median(passed),
    }


def resident() -> float:
    """Return the resident megabytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def measured(path: Path, kind: str, number: int) -> Figures:
    """Fill a store if there is none yet, and query it in a new process."""
    figures = {} if path.exists() else FILLED[kind](path, number)
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    command = [sys.executable, "-m", "benchmarks.scale", "--ask", kind, str(number), str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {**figures, "megabytes on disk": size / MEGABYTE, **json.loads(answer)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", nargs=3, help=argparse.SUPPRESS)
    for kind, sizes in SIZES.items():
        parser.add_argument(f"--{kind}", type=int, nargs="*", default=sizes)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    if chosen.ask:
        kind, number, path = chosen.ask
        print(json.dumps(ASKED[kind](Path(path), int(number))))
        return
    table = Table("what", "number", "", "measured", "goal", title="Growth")
    with folder() as made:
        for kind in SIZES:
            for number in getattr(chosen, kind):
                figures = measured((chosen.keep or made) / f"{kind}-{number}", kind, number)
                growth.keep(kind, number, figures)
                for name, value in figures.items():
                    goal = GOALS.get((kind, name), "")
                    table.add_row(kind, f"{number:,}", name, f"{value:,.1f}", goal)
    Console().print(table)
    growth.draw()


if __name__ == "__main__":
    main()
