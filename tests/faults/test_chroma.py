"""Faults while a mirror in ChromaDB follows the store: the store is whole, its writer is not hurt,
and the mirror comes back.

A mirror is a copy, so what is in it after a fault is not promised; that it can be told, and made
good, is. Chroma writes in threads of its own, which strace follows. It counts the calls of each for
itself: the nth is that of the first to get so far.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import lamina

from . import tally
from .children.mirrorer import SETTINGS
from .harness import (
    AGENT,
    SEED,
    Fault,
    Nursery,
    Point,
    attached,
    check_sound,
    contents,
    copied,
    size,
    strace,
)

KILLS, ERRORS, MOMENTS = size(quick=1, full=60), size(quick=1, full=20), size(quick=1, full=40)
WRITING = (
    "pwrite64",
    "write",
    "fdatasync",
    "fsync",
    "openat",
    "rename",
    "unlink",
    "mkdir",
    "ftruncate",
)
BEFORE = [f"memory {n} before" for n in range(6)]
NEW = [f"memory {n} now" for n in range(6)]
STEPS = ("sync", "rebuild")
# Whichever thread writes, one of them makes its first write.
CERTAIN = ("sync", Point("pwrite64", 1))
# A process that hangs in Chroma after a fault is ended, and that is a failure.
PATIENCE_SECONDS = 60


class Base(NamedTuple):
    """A home to copy, with a mirror that is behind, and where the steps can be broken."""

    home: Path
    points: dict[str, list[Point]]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("mirrorer") as made:
        yield made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Base:
    folder = tmp_path_factory.mktemp("chroma")
    with nursery.fork():
        assert nursery.told(step="open", home=str(folder / "home")) == "done"
        assert nursery.told(step="remember", texts=BEFORE) == "done"
        assert nursery.told(step="sync") == "done"
        nursery.slay()
    with lamina.operator(
        AGENT, home=folder / "home", settings={"recall.embedders": ["none"]}
    ) as operator:
        operator.remember_many({"content": text, "key": text} for text in NEW)
    found = {}
    for step in STEPS:
        home = copied(folder / "home", folder / step)
        with nursery.fork() as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with followed(pid, home, folder / "log") as lines:
                assert nursery.told(step=step) == "done"
        check_after(home, [*BEFORE, *NEW])
        found[step] = places(lines)
    return Base(folder / "home", found)


@contextmanager
def followed(pid: int, home: Path, log: Path, fault: Fault | None = None) -> Iterator[list[str]]:
    """strace on a process with its threads, those to come too, at the files of the mirror; the
    calls are there at the end."""
    injected = [] if fault is None else ["-e", f"inject={fault}"]
    calls = WRITING if fault is None else (fault.point.call,)
    only = [item for path in files_of(home) for item in ("-P", str(path))]
    seen: list[str] = []
    with attached(
        [
            strace(),
            "-f",
            "-y",
            "-p",
            str(pid),
            "-o",
            str(log),
            "-e",
            f"trace={','.join(calls)}",
            *only,
            *injected,
        ]
    ):
        yield seen
    seen += log.read_text().splitlines()
    tally.count("I/O errors", sum("(INJECTED)" in line for line in seen))


def files_of(home: Path) -> list[Path]:
    """The files of the mirror, and those that its database makes and removes."""
    folder = home / "agents" / AGENT / "rag" / "chroma_store"
    return [
        folder,
        *folder.rglob("*"),
        *(folder / f"chroma.sqlite3-{end}" for end in ("journal", "wal", "shm")),
    ]


def places(lines: list[str]) -> list[Point]:
    """The nth call of a kind in some thread."""
    count: Counter[tuple[str, str]] = Counter()
    for line in lines:
        thread, _, text = line.partition(" ")
        call = text.strip().partition("(")[0]
        if call in WRITING:
            count[thread, call] += 1
    assert count
    return sorted(
        {Point(call, number + 1) for (_, call), most in count.items() for number in range(most)}
    )


def some(base: Base, most: int, salt: str) -> list[tuple[str, Point]]:
    every = [(step, point) for step, found in base.points.items() for point in found]
    return random.Random(f"{SEED} {salt}").sample(every, min(most, len(every)))


def check_after(home: Path, acknowledged: list[str]) -> None:
    """Another process finds the store whole; a sync, or a rebuild where verifying asks for it,
    makes the mirror the same."""
    with lamina.operator(AGENT, home=home, settings=SETTINGS) as operator:
        check_sound(operator)
        tally.check(acknowledged, contents(operator))
        operator.sync_mirrors()
        if not operator.verify_mirrors()["chroma"].ok:
            assert "error" not in operator.rebuild_mirrors()["chroma"]
        assert operator.verify_mirrors()["chroma"].ok
        known = {record.id for record in operator.list(limit=10_000)}
        operator.remember("memory after", key="after")
        assert "error" not in operator.sync_mirrors()["chroma"]
        assert operator.verify_mirrors()["chroma"].held == len(known) + 1
        check_sound(operator)


def test_a_kill_while_a_mirror_follows(tmp_path: Path, nursery: Nursery, base: Base) -> None:
    """B2, B7, P4: killed at a call that writes the mirror, in whichever thread, nothing of the
    store is lost, and the mirror comes back."""
    for step, point in [CERTAIN, *some(base, KILLS, "kill")]:
        home = copied(base.home, tmp_path / "home")
        with nursery.fork(PATIENCE_SECONDS) as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with followed(pid, home, tmp_path / "log", Fault("signal=SIGKILL", point)):
                outcome = nursery.told(step=step)
        # Threads share their work differently each time, and may not come as far as the nth call.
        assert outcome == "killed" or (outcome == "done" and (step, point) != CERTAIN), point
        check_after(home, [*BEFORE, *NEW])


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_an_error_of_the_disk_while_a_mirror_follows(
    tmp_path: Path, nursery: Nursery, base: Base, error: str
) -> None:
    """B2, B4, B7, P4: an error of the disk in the mirror is told, and hurts no writer: the same
    process remembers on, and the mirror comes back."""
    for step, point in some(base, ERRORS, error):
        home = copied(base.home, tmp_path / "home")
        with nursery.fork(PATIENCE_SECONDS) as pid:
            assert nursery.told(step="open", home=str(home)) == "done"
            with followed(pid, home, tmp_path / "log", Fault(f"error={error}", point)):
                assert nursery.told(step=step) in ("done", "store_unavailable"), point
            assert nursery.told(step="remember", texts=["memory of the same"]) == "done"
            assert nursery.told(step="sync") == "done"
        check_after(home, [*BEFORE, *NEW, "memory of the same"])


def test_a_kill_at_any_moment_of_a_writer_with_a_mirror(
    tmp_path: Path, nursery: Nursery, base: Base
) -> None:
    """L1, B2, B7, P4: killed at a random moment while the mirror follows behind, what was
    acknowledged is there once, and the mirror comes back."""
    chance = random.Random(SEED)
    for number in range(MOMENTS):
        home = copied(base.home, tmp_path / "home")
        with nursery.fork(PATIENCE_SECONDS):
            assert nursery.told(step="open", home=str(home)) == "done"
            nursery.tell(step="write", name=f"r{number}")
            said = [nursery.hear() for _ in range(chance.randint(1, 15))]
            time.sleep(chance.uniform(0, 0.1))  # the moment of the kill is the fault itself
            said += nursery.slay()
        check_after(home, [*BEFORE, *NEW, *(line["done"] for line in said if "done" in line)])
