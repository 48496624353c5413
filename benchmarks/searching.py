"""Measure how fast Lamina finds, at 10,000, 100,000 and with `--large` at 1,000,000 memories.

`make bench-search` and `make bench-large` print the table. Questions are words of a memory in a
sentence, as people ask.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.speed import folder, sentences, texts
from lamina import Memory

SEED = 11
QUESTIONS = 100
ROUNDS = 3
TURNS = 20
NAMES = ("Ana", "Ben", "Caro", "Dee", "Eli", "Fay", "Gil", "Hal")
KINDS = ("crumb", "fact", "request", "decision")
GOALS = {10_000: 6.0, 100_000: 15.0, 1_000_000: 100.0}
FILTERS: Mapping[str, Mapping[str, Any]] = {
    "a tag (10 %)": {"tags": ["t3"]},
    "two tags, both": {"all_tags": ["t3", "odd"]},
    "a kind (25 %)": {"kinds": ["fact"]},
    "a layer": {"layers": ["short_term"]},
    "metadata (1 %)": {"metadata": {"place": 7}},
    "the last tenth of the time": {"since": "2026-05-01T00:00:00Z"},
}
INGEST = 20_000


def memories(number: int) -> Iterator[dict[str, Any]]:
    """Yield conversations of eight people over a year, with tags and metadata."""
    chance = random.Random(SEED)
    start, year = 1_748_736_000, 365 * 86_400
    for place, content in enumerate(itertools.islice(sentences(), number)):
        yield {
            "content": content,
            "speaker": chance.choice(NAMES),
            "session": f"s{place // TURNS}",
            "kind": KINDS[place % 4],
            "tags": [f"t{place % 10}", "odd"] if place % 2 else [f"t{place % 10}"],
            "metadata": {"place": place % 100},
            "at": start + year * place / number,
        }


def questions(number: int) -> list[str]:
    """Put some words of an existing memory into a sentence about somebody."""
    chance = random.Random(SEED + 1)
    asked = []
    for content in texts(number)[:: max(1, number // QUESTIONS)][:QUESTIONS]:
        words = content.split()
        some = " ".join(chance.sample(words, min(len(words), chance.randint(3, 5))))
        asked.append(f"What did {chance.choice(NAMES)} say about {some}?")
    return asked


def filled(path: Path, number: int) -> float:
    """Measure the seconds to remember and index `number` memories, from end to end."""
    started = time.perf_counter()
    with lamina.open("default", home=path) as memory:
        batch: list[dict[str, Any]] = []
        for item in memories(number):
            batch.append(item)
            if len(batch) == 5000:
                memory.remember_many(batch)
                batch = []
        memory.remember_many(batch)
    return time.perf_counter() - started


def asked(memory: Memory, number: int, **how: Any) -> tuple[float, float]:
    """Measure the milliseconds of a search: median and 95th percentile over all questions."""
    taken = []
    for _ in range(ROUNDS):
        for question in questions(number):
            started = time.perf_counter()
            memory.search(question, **how)
            taken.append(1e3 * (time.perf_counter() - started))
    return statistics.median(taken), sorted(taken)[int(0.95 * len(taken))]


def resident(path: Path) -> float:
    """Measure the megabytes of a process that has the store open and searches it."""
    code = (
        "import lamina\n"
        "with lamina.open() as m:\n"
        " for n in range(20): m.search(f'what did Ana say about {n} bai lou')\n"
        " print(next(l for l in open('/proc/self/status') if l.startswith('VmRSS')).split()[1])\n"
    )
    environment = {**os.environ, "LAMINA_HOME": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True
    )
    return int(done.stdout) / 1024


def cold(path: Path, question: str) -> float:
    """Measure the milliseconds of `lamina search` in a new process."""
    environment = {**os.environ, "LAMINA_HOME": str(path)}
    command = [sys.executable, "-m", "lamina.surfaces.cli.main", "search", question]
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
        taken.append(1e3 * (time.perf_counter() - started))
    return statistics.median(taken)


def measured(table: Table, path: Path, number: int) -> None:
    label = f"{number:,}"
    taken = filled(path, number)
    table.add_row(
        label, "remember_many and index, end to end", f"{number / taken:,.0f}/s", "", "≥ 2,500/s"
    )
    with lamina.open("default", home=path) as memory:
        memory.search("warm up")
        plain, late = asked(memory, number)
        table.add_row(
            label,
            "hybrid",
            f"{plain:.1f} ms",
            f"{late:.1f} ms",
            f"≤ {GOALS[number]:.0f} ms" if number in GOALS else "",
        )
        for name, how in FILTERS.items():
            median, worst = asked(memory, number, **how)
            table.add_row(
                label,
                f"hybrid, {name}",
                f"{median:.1f} ms",
                f"{worst:.1f} ms",
                f"≤ 1.5×, is {median / plain:.2f}×",
            )
        for ranker in ("keyword", "semantic", "overlap", "exact"):
            median, worst = asked(memory, number, ranker=ranker)
            table.add_row(label, ranker, f"{median:.1f} ms", f"{worst:.1f} ms", "")
    table.add_row(
        label,
        "resident memory",
        f"{resident(path):.0f} MB",
        "",
        "< 150 MB" if number == 100_000 else "",
    )
    table.add_row(
        label,
        "lamina search, cold",
        f"{cold(path, questions(number)[0]):.0f} ms",
        "",
        "< 500 ms" if number == 100_000 else "",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--large", action="store_true", help="also 1,000,000 memories, which takes some minutes"
    )
    parser.add_argument("--sizes", type=int, nargs="*", help="these sizes instead")
    given = parser.parse_args()
    sizes = given.sizes or [10_000, 100_000, *([1_000_000] if given.large else [])]
    table = Table(
        title=f"Lamina {lamina.__version__}, {QUESTIONS * ROUNDS} searches each",
        title_justify="left",
    )
    for name in ("memories", "what", "median", "95 %", "goal"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for number in sizes:
        with folder() as path:
            measured(table, path, number)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
