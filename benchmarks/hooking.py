"""Measure how long an agent waits for its hooks: in a new process, and in a running one.

The elapsed time is shown beside the processor time of the process, which is the more reliable one
on a busy machine.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

import lamina
from benchmarks.searching import filled, questions
from benchmarks.speed import folder
from lamina.surfaces.hooks import Hooks, Switches

MEMORIES = 10_000
ROUNDS = 15
CALLS = 100


class CallTimes(NamedTuple):
    """Milliseconds of one process: elapsed time and processor time."""

    wall: float
    processor: float


def process(command: Sequence[str], given: bytes, home: Path) -> CallTimes:
    environment = {**os.environ, "LAMINA_HOME": str(home), "LAMINA_MEMORY_TIMEOUT_MS": "60000"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    before = used()
    started = time.perf_counter()
    subprocess.run(command, input=given, env=environment, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - started
    return CallTimes(1e3 * wall, 1e3 * (used() - before))


def used() -> float:
    """Return the seconds of processor time used by our processes that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def cold(arguments: Sequence[str], home: Path, events: Sequence[object]) -> list[CallTimes]:
    command = [sys.executable, *arguments]
    process(command, b"{}", home)  # compiles what is not compiled yet
    return [process(command, json.dumps(event).encode(), home) for event in events]


def warm(work: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    taken = []
    for question in asked:
        started = time.perf_counter()
        work(question)
        taken.append(1e3 * (time.perf_counter() - started))
    return taken


def main() -> None:
    table = Table(
        title=f"Lamina {lamina.__version__}, hooks at {MEMORIES:,} memories", title_justify="left"
    )
    for name in ("what", "median", "best", "processor", "goal"):
        table.add_column(name, justify="left" if name == "what" else "right")
    with folder() as home:
        filled(home, MEMORIES)
        asked = questions(MEMORIES)[:ROUNDS]
        programs = {
            "python, nothing": (["-c", "pass"], {}, ""),
            "import lamina": (["-c", "import lamina"], {}, ""),
            "hook user-prompt": (
                ["-m", "lamina", "hook", "user-prompt"],
                {"session_id": "s"},
                "< 350 ms",
            ),
            "hook session-start": (
                ["-m", "lamina", "hook", "session-start"],
                {"cwd": "/srv/place"},
                "< 350 ms",
            ),
            "hook stop": (
                ["-m", "lamina", "hook", "stop"],
                {"last_assistant_message": "done"},
                "< 350 ms",
            ),
        }
        for name, (arguments, event, goal) in programs.items():
            taken = cold(arguments, home, [{**event, "prompt": question} for question in asked])
            wall, least = [one.wall for one in taken], min(one.processor for one in taken)
            table.add_row(
                f"{name}, cold",
                f"{statistics.median(wall):.0f} ms",
                f"{min(wall):.0f} ms",
                f"{least:.0f} ms",
                goal,
            )
        with (
            lamina.open("default", home=home) as memory,
            Hooks(memory, Switches(timeout_ms=60_000)) as hooks,
        ):
            hooks.before_message(asked[0])
            for label, work in (
                ("before_message", hooks.before_message),
                ("after_message", hooks.after_message),
            ):
                some = warm(work, (asked * CALLS)[:CALLS])
                table.add_row(
                    f"{label}, within a process",
                    f"{statistics.median(some):.1f} ms",
                    f"{min(some):.1f} ms",
                    "",
                    "",
                )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
