"""Measure what the MCP server adds to a search: the library and a pipe by turns, in one run.

`python -m benchmarks.serving_mcp` prints the table. Times are medians; the difference is what
counts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path

from mcp import Client, StdioServerParameters
from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.searching import memories, questions
from benchmarks.speed import folder
from lamina import Memory

AGENT = "bench"
NUMBER = 10_000
QUESTIONS = 100
ROUNDS = 3
STARTS = 3
GOAL = 5.0  # milliseconds


def started(home: Path) -> StdioServerParameters:
    program = ["-P", "-m", "lamina.surfaces.cli.main", "--home", str(home), "--agent", AGENT, "mcp"]
    return StdioServerParameters(
        command=sys.executable, args=program, env={**os.environ, "LAMINA_MAINTENANCE": "off"}
    )


async def asked(client: Client, memory: Memory) -> tuple[list[float], list[float]]:
    """Measure the milliseconds of each question: with the library, and over the pipe."""
    library, pipe, asking = [], [], questions(QUESTIONS)
    for turn in range(ROUNDS + 1):
        for question in asking:
            begin = time.perf_counter()
            hits = memory.search(question)
            middle = time.perf_counter()
            answer = await client.call_tool("search", {"query": question})
            end = time.perf_counter()
            found = [hit["id"] for hit in answer.structured_content["hits"]]
            assert found == [hit.record.id for hit in hits][: len(found)]
            if turn:  # the first round warms up both
                library.append((middle - begin) * 1000)
                pipe.append((end - middle) * 1000)
    return library, pipe


async def connected(home: Path) -> float:
    """Measure the seconds from the start of the process to its first answer."""
    begin = time.perf_counter()
    async with Client(started(home)):
        return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=NUMBER, help="of memories")
    number = parser.parse_args().number
    with folder() as home:
        with lamina.open(AGENT, home=home) as memory:
            memory.remember_many(memories(number))
            memory.index()

        async def run() -> tuple[list[float], list[float]]:
            with lamina.open(AGENT, home=home) as memory:
                async with Client(started(home), read_timeout_seconds=60) as client:
                    return await asked(client, memory)

        starts = [asyncio.run(connected(home)) for _ in range(STARTS)]
        library, pipe = asyncio.run(run())
    added = statistics.median(over - own for over, own in zip(pipe, library, strict=True))
    table = Table(title=f"MCP over a pipe, {number:,} memories, {len(pipe)} questions")
    for column in ("what", "median ms", "90 % below ms"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, times in (("library search", library), ("MCP search", pipe)):
        table.add_row(
            name, f"{statistics.median(times):.2f}", f"{statistics.quantiles(times, n=10)[-1]:.2f}"
        )
    table.add_row(f"added (goal: under {GOAL:.0f})", f"{added:.2f}", "")
    table.add_row("start until connected", f"{statistics.median(starts) * 1000:.0f}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
