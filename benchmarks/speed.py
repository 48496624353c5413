"""Measure how fast Lamina is, next to bare SQLite doing the same work in the same run.

`make bench` prints the table. Times are medians of interleaved rounds; the ratios are what counts,
since the load of a machine varies.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
from rich.console import Console
from rich.table import Table

import lamina
from lamina import Memory
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import fts5, records

ROUNDS = 5
SINGLE = 250
BULK = 100_000
SEED = 7
TYPES = {
    "seq": "INTEGER PRIMARY KEY",
    "id": "TEXT NOT NULL UNIQUE",
    "importance": "REAL",
    "confidence": "REAL",
    "salt": "BLOB",
}
TYPES |= dict.fromkeys(("event", *records.TIMES), "INTEGER")


def texts(number: int) -> list[str]:
    """Return the first `number` sentences."""
    return list(itertools.islice(sentences(), number))


def sentences() -> Iterator[str]:
    """Yield sentences of 6 to 34 words with the word frequencies of a natural language."""
    chance = random.Random(SEED)
    parts = [
        f"{onset}{core}"
        for onset in "b c d f g l m n p r s t st tr".split()
        for core in "a e i o u ai ea ou".split()
    ]
    vocabulary = [
        chance.choice(parts) + chance.choice(parts) + chance.choice(["", "n", "r", "s", "ing"])
        for _ in range(20_000)
    ]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    while True:
        yield " ".join(chance.choices(vocabulary, cum_weights=weights, k=chance.randint(6, 34)))


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="lamina-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Floor:
    """SQLite alone: the same row, its id, the same full-text row, one commit, and nothing else."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self.connection = apsw.Connection(str(path / "floor.db"))
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute(f"PRAGMA synchronous = {synchronous}")
        self.connection.wal_autocheckpoint(2000)
        columns = ", ".join(f"{name} {TYPES.get(name, 'TEXT')}" for name in records.COLUMNS)
        self.connection.execute(f"CREATE TABLE records ({columns})")
        tokenizer = "tokenize = 'porter unicode61 remove_diacritics 2'"
        options = f"content = '', contentless_delete = 1, {tokenizer}"
        self.connection.execute(
            f"CREATE VIRTUAL TABLE words USING fts5 (content, tags, metadata, {options})"
        )

    def rows(self, contents: Sequence[str], first: int) -> list[tuple[Any, ...]]:
        """Create rows as Lamina would store them, in advance, so that this is not measured."""
        fixed = (
            ("short_term", "active", "crumb"),
            (0.5, 1.0, "agent", None, "[]", "{}", "[]", None, None, None),
        )
        now = 1_763_000_000_000_000
        end = (now, now, now, None, None, None, None, "[]", None, None, 1, bytes(16))
        return [
            (seq, f"01k9zq5e7c{seq:016d}", None, *fixed[0], content, *fixed[1], *end)
            for seq, content in enumerate(contents, first)
        ]

    def add_each(self, rows: Sequence[tuple[Any, ...]], contents: Sequence[str]) -> None:
        execute = self.connection.execute
        for row, content in zip(rows, contents, strict=True):
            execute("BEGIN IMMEDIATE")
            execute(records.INSERT, row)
            execute(fts5.INSERT, (row[0], content, "", ""))
            execute("COMMIT")

    def add_many(self, rows: Sequence[tuple[Any, ...]], contents: Sequence[str]) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(records.INSERT, rows)
        self.connection.executemany(
            fts5.INSERT,
            [(row[0], content, "", "") for row, content in zip(rows, contents, strict=True)],
        )
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()


def timed(work: Callable[..., object], *arguments: Any) -> float:
    gc.collect()
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def remember_each(memory: Memory, contents: Sequence[str]) -> None:
    for content in contents:
        memory.remember(content)


def opened(path: Path, synchronous: str) -> Memory:
    memory = lamina.open("bench", home=path)
    memory._parts.derived.patience = sys.maxsize  # noqa: SLF001 - `searching` measures indexing
    database = memory._scope.store.database  # noqa: SLF001
    assert isinstance(database, SqliteDatabase)
    database.writer().execute(f"PRAGMA synchronous = {synchronous}")  # only a benchmark may
    return memory


def single(synchronous: str) -> tuple[float, float]:
    """Measure the seconds of one add with bare SQLite and with Lamina: medians of short rounds."""
    rounds = ROUNDS * 8
    contents = texts(SINGLE * (rounds + 1))
    bare: list[float] = []
    ours: list[float] = []
    with folder() as path:
        floor, memory = Floor(path, synchronous), opened(path, synchronous)
        for turn in range(rounds + 1):
            part = contents[turn * SINGLE : (turn + 1) * SINGLE]
            rows = floor.rows(part, turn * SINGLE + 1)
            bare.append(timed(floor.add_each, rows, part) / SINGLE)
            ours.append(timed(remember_each, memory, part) / SINGLE)
        floor.close()
        memory.close()
    return statistics.median(bare[1:]), statistics.median(ours[1:])


def bulk() -> tuple[float, float]:
    """Measure the seconds of 100,000 adds in one transaction into a new store."""
    contents = texts(BULK)
    items = [{"content": content} for content in contents]
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(ROUNDS):
        with folder() as path:
            floor, memory = Floor(path, "FULL"), opened(path, "FULL")
            rows = floor.rows(contents, 1)
            bare.append(timed(floor.add_many, rows, contents))
            ours.append(timed(memory.remember_many, items))
            floor.close()
            memory.close()
    return statistics.median(bare), statistics.median(ours)


def get() -> float:
    """Measure the seconds of one get, in a store of 10,000."""
    with folder() as path, lamina.open("bench", home=path) as memory:
        ids = [
            record.id
            for record in memory.remember_many({"content": text} for text in texts(10_000))
        ]
        memory.index()
        random.Random(SEED).shuffle(ids)
        return statistics.median(
            timed(lambda: [memory.get(one) for one in ids]) / len(ids) for _ in range(ROUNDS)
        )


def reopened() -> float:
    """Measure the seconds to open an existing store of 10,000."""
    with folder() as path:
        with lamina.open("bench", home=path) as memory:
            memory.remember_many({"content": text} for text in texts(10_000))

        def work() -> None:
            with lamina.open("bench", home=path) as memory:
                memory.status()

        return statistics.median(timed(work) for _ in range(ROUNDS * 3))


def process(*arguments: str, home: Path | None = None) -> float:
    """Measure the seconds of a whole process of this Python."""
    environment = {**os.environ, "LAMINA_HOME": str(home or "")}

    def work() -> None:
        subprocess.run(
            [sys.executable, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL
        )

    return statistics.median(timed(work) for _ in range(ROUNDS * 2))


def imported() -> float:
    """Measure the seconds that `import lamina` adds to an idle Python."""
    code = "import time; t = time.perf_counter(); import lamina; print(time.perf_counter() - t)"

    def once() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    return statistics.median(once() for _ in range(ROUNDS * 2))


def listed() -> float:
    """Measure the seconds of `lamina list` in a new process, in a store of 10,000."""
    with folder() as path:
        with lamina.open("default", home=path) as memory:
            memory.remember_many({"content": text} for text in texts(10_000))
        return process("-m", "lamina.surfaces.cli.main", "list", home=path)


def syncs() -> tuple[float, float] | None:
    """Count the fsyncs per `remember`, and those of checkpoints; None without strace."""
    if shutil.which("strace") is None:
        return None
    number = 200
    code = (
        "import lamina\nwith lamina.open('bench') as m:\n"
        f" for n in range({number}): m.remember(f'memory number {{n}}')\n"
    )
    with folder() as path:
        environment = {
            **os.environ,
            "LAMINA_HOME": str(path),
            "LAMINA_STORE_CHECKPOINT_PAGES": str(1 << 20),
        }
        lamina.open("bench", home=path).close()
        log = path / "strace.txt"
        command = [
            "strace",
            "-f",
            "-y",
            "-e",
            "trace=fsync,fdatasync",
            "-o",
            str(log),
            sys.executable,
            "-c",
            code,
        ]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        calls = re.findall(r"f(?:data)?sync\(\d+<([^>]*)>", log.read_text())
    wal = sum(call.endswith("-wal") for call in calls)
    return wal / number, len(calls) - wal


def main() -> None:
    versions = f"Lamina {lamina.__version__} beside bare SQLite {apsw.sqlite_lib_version()}"
    table = Table(title=f"{versions}, medians of {ROUNDS} rounds")
    for name in ("what", "Lamina", "floor", "ratio", "goal"):
        table.add_column(name, justify="left" if name == "what" else "right")
    bare, ours = single("OFF")
    table.add_row(
        "remember, software alone (no fsync)",
        f"{ours * 1e6:.0f} µs",
        f"{bare * 1e6:.0f} µs",
        f"{ours / bare:.2f}×",
        "≤ 1.7×",
    )
    bare, ours = single("FULL")
    table.add_row(
        "remember, durable",
        f"{ours * 1e6:.0f} µs",
        f"{bare * 1e6:.0f} µs",
        f"{ours / bare:.2f}×",
        "",
    )
    counted = syncs()
    if counted is None:
        table.add_row("forced writes per remember", "-", "", "", "1 (needs strace)")
    else:
        table.add_row("forced writes per remember", f"{counted[0]:.2f}", "", "", "1")
        table.add_row(
            "forced writes of checkpoints and opening, per 200", f"{counted[1]:.0f}", "", "", ""
        )
    bare, ours = bulk()
    rates = f"{BULK / ours:,.0f}/s", f"{BULK / bare:,.0f}/s", f"{bare / ours:.2f}×"
    table.add_row("remember_many, 100,000", *rates, "≥ 0.5×")
    table.add_row("get", f"{get() * 1e6:.1f} µs", "", "", "< 25 µs")
    table.add_row("import lamina", f"{imported() * 1e3:.0f} ms", "", "", "< 120 ms")
    table.add_row("open a store, status, close", f"{reopened() * 1e3:.1f} ms", "", "", "< 15 ms")
    bare_process = process("-c", "pass")
    cold = listed()
    table.add_row(
        "lamina list, cold",
        f"{cold * 1e3:.0f} ms",
        f"{bare_process * 1e3:.0f} ms",
        f"{cold / bare_process:.1f}×",
        "< 300 ms",
    )
    from benchmarks.sleeping import TURNS, measured

    slept = measured()
    took, peak = f"{slept['seconds']:.1f} s", f"{slept['peak_mb']:.0f} MB"
    table.add_row(f"sleep, {TURNS:,} turns by rules", f"{took}, {peak}", "", "", "< 60 s, < 300 MB")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
