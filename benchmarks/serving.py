"""Measure how fast the HTTP surface answers, next to the bare library in the same run.

`make bench-serving` prints the table. Rounds are interleaved; the ratios are what counts, since the
load of a machine varies.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.searching import filled, questions
from benchmarks.speed import folder
from lamina import Memory
from lamina.home.tokens import Tokens
from lamina.model.clock import system_clock

NUMBER = 10_000
ROUNDS = 5
CLIENTS = (1, 4, 16)
GOAL = 0.5


@contextmanager
def served(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the address of a server in a separate process, and a token."""
    _, token = Tokens(path).create("default", None, system_clock())
    command = [sys.executable, "-m", "lamina.surfaces.cli.main", "--json", "serve", "--port", "0"]
    environment = {**os.environ, "LAMINA_HOME": str(path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(running.stdout.readline())
        try:
            yield urlsplit(json.loads("".join(lines))["url"]).netloc, token
        finally:
            running.terminate()


def library(memory: Memory, asked: Sequence[str]) -> list[float]:
    """Measure the seconds of each search with the library, one after the other."""
    taken = []
    for question in asked:
        started = time.perf_counter()
        memory.search(question)
        taken.append(time.perf_counter() - started)
    return taken


def client(address: str, token: str, paths: Sequence[str]) -> list[float]:
    """Measure the seconds of each request of one client, on one connection."""
    connection = http.client.HTTPConnection(address)
    taken = []
    for path in paths:
        started = time.perf_counter()
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
        taken.append(time.perf_counter() - started)
    connection.close()
    return taken


def clients(
    number: int, address: str, token: str, paths: Sequence[str]
) -> tuple[float, list[float]]:
    """Measure the requests per second of clients that share the paths, and the seconds of each."""
    started = time.perf_counter()
    with ThreadPoolExecutor(number) as threads:
        parts = [
            *threads.map(lambda place: client(address, token, paths[place::number]), range(number))
        ]
    return len(paths) / (time.perf_counter() - started), [one for part in parts for one in part]


def percentiles(taken: Sequence[float]) -> tuple[str, str]:
    ordered = sorted(taken)
    return (
        f"{1e3 * statistics.median(ordered):.1f} ms",
        f"{1e3 * ordered[int(0.95 * len(ordered))]:.1f} ms",
    )


def measure(path: Path) -> Table:
    asked = questions(NUMBER)
    paths = [f"/memory/search?query={quote(question)}" for question in asked]
    bare_rates: list[float] = []
    bare: list[float] = []
    rates: dict[int, list[float]] = {number: [] for number in CLIENTS}
    taken: dict[int, list[float]] = {number: [] for number in CLIENTS}
    with lamina.open("default", home=path) as memory, served(path) as (address, token):
        library(memory, asked), client(address, token, paths)
        for _ in range(ROUNDS):
            alone = library(memory, asked)
            bare += alone
            bare_rates.append(len(alone) / sum(alone))
            for number in CLIENTS:
                rate, each = clients(number, address, token, paths)
                rates[number].append(rate)
                taken[number] += each
        plain = [f"/memory/records?limit=1&tag=t{place % 10}" for place in range(1000)]
        light, each = clients(4, address, token, plain)
    base = statistics.median(bare_rates)
    table = Table(
        "what",
        "per second",
        "median",
        "95 %",
        "of the library",
        "goal",
        title=f"HTTP at {NUMBER:,} memories",
    )
    table.add_row(
        "the library, one after the other", f"{base:,.0f}", *percentiles(bare), "1.00×", ""
    )
    for number in CLIENTS:
        rate = statistics.median(rates[number])
        name = f"GET /memory/search, {number} client{'s' if number > 1 else ''}"
        goal = f"≥ {GOAL}×" if number > 1 else ""
        table.add_row(
            name, f"{rate:,.0f}", *percentiles(taken[number]), f"{rate / base:.2f}×", goal
        )
    table.add_row(
        "GET /memory/records?limit=1, 4 clients", f"{light:,.0f}", *percentiles(each), "", ""
    )
    return table


def main() -> None:
    with folder() as path:
        filled(path, NUMBER)
        Console(width=120).print(measure(path))


if __name__ == "__main__":
    main()
