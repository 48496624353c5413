"""A power cut: what the disk had not yet written is gone, cut off anywhere, or garbage. What
remains is a true prefix."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import lamina

from . import tally
from .harness import AGENT, SEED, check_sound, database_of, size

# The layout of a write-ahead log: a header, then frames of one page each
# (https://sqlite.org/fileformat2.html#walformat).
LOG_HEADER = 32
FRAME = 24 + 4096
EARLIER = 5
MEMORIES = size(quick=3, full=40)


class Cut(NamedTuple):
    """A store as the disk had it: folded back memories, and a log of everything after them."""

    database: bytes
    log: bytes
    acknowledged: list[str]
    lengths: list[int]


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Cut:
    """The files of a writer that was stopped, with the length that the log had when each
    memory was acknowledged."""
    home = tmp_path_factory.mktemp("writer")
    lengths = []
    with lamina.open(AGENT, home=home) as memory:
        acknowledged = [
            memory.remember(f"earlier memory {n}", tags=["early"]).content for n in range(EARLIER)
        ]
    with lamina.open(AGENT, home=home, settings={"store.checkpoint_pages": 100_000}) as memory:
        for n in range(MEMORIES):
            acknowledged.append(
                memory.remember(f"memory {n}", tags=["late", f"n{n}"], key=f"n{n}").content
            )
            lengths.append(database_of(home, "memory.db-wal").stat().st_size)
        return Cut(
            database_of(home).read_bytes(),
            database_of(home, "memory.db-wal").read_bytes(),
            acknowledged,
            lengths,
        )


def recovered(home: Path, cut: Cut, log: bytes) -> list[str]:
    """The memories of a store that comes up with this log, oldest first, once it
    was found sound."""
    shutil.rmtree(home, ignore_errors=True)
    database_of(home).parent.mkdir(parents=True)
    database_of(home).write_bytes(cut.database)
    database_of(home, "memory.db-wal").write_bytes(log)
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)
        tally.count("power cuts")
        found = [
            record.content
            for record in sorted(operator.list(limit=10_000), key=lambda record: record.seq)
        ]
        operator.remember("memory after the power cut", tags=["after"])
        check_sound(operator)
    return found


def synced(cut: Cut, length: int) -> int:
    """How many memories a log of this length holds as a whole."""
    return EARLIER + sum(end <= length for end in cut.lengths)


def check_prefix(found: list[str], expected: list[str]) -> None:
    tally.check(expected, found)
    assert found == expected


def frame_ends(log: bytes) -> range:
    return range(LOG_HEADER, len(log) + 1, FRAME)


def test_everything_acknowledged_is_in_the_files(cut: Cut, tmp_path: Path) -> None:
    """B1, L1: a memory is durable when `remember` returns: the files of a stopped writer hold every
    acknowledged one."""
    check_prefix(recovered(tmp_path, cut, cut.log), cut.acknowledged)


def test_a_log_cut_at_any_frame_leaves_a_prefix(cut: Cut, tmp_path: Path) -> None:
    """B1, L1, P4: with the log cut after any frame, the store opens with exactly the memories that
    were whole by then."""
    for length in (0, *frame_ends(cut.log)):
        check_prefix(
            recovered(tmp_path, cut, cut.log[:length]), cut.acknowledged[: synced(cut, length)]
        )


def test_a_log_cut_at_any_byte_leaves_a_prefix(cut: Cut, tmp_path: Path) -> None:
    """B1, L1, P4: the same for a cut in the middle of a frame, wherever it is."""
    chance = random.Random(SEED)
    for _ in range(size(quick=5, full=150)):
        length = chance.randrange(len(cut.log))
        check_prefix(
            recovered(tmp_path, cut, cut.log[:length]), cut.acknowledged[: synced(cut, length)]
        )


def test_garbage_in_the_log_leaves_a_prefix(cut: Cut, tmp_path: Path) -> None:
    """B1, L1, P4: a page of the log that came to the disk wrong ends the log there; everything
    before it is kept."""
    chance = random.Random(SEED + 1)
    for _ in range(size(quick=5, full=150)):
        place = chance.randrange(LOG_HEADER, len(cut.log))
        expected = cut.acknowledged[: synced(cut, place)]
        for log in spoiled(cut.log, place, chance):
            check_prefix(recovered(tmp_path, cut, log), expected)


def spoiled(log: bytes, place: int, chance: random.Random) -> Iterator[bytes]:
    """A log in which, from some byte on, something is wrong: one bit, a hole of zeros, or noise to
    the end."""
    yield log[:place] + bytes([log[place] ^ 1 << chance.randrange(8)]) + log[place + 1 :]
    yield log[:place] + bytes([log[place] ^ 255]) + bytes(len(log) - place - 1)
    yield log[:place] + bytes([log[place] ^ 255]) + chance.randbytes(len(log) - place - 1)


def test_a_log_that_is_all_garbage_is_no_log(cut: Cut, tmp_path: Path) -> None:
    """B1, L1, P4: a log whose beginning never came to the disk is ignored, and what was folded back
    before is there."""
    chance = random.Random(SEED + 2)
    for log in (
        b"",
        bytes(len(cut.log)),
        chance.randbytes(len(cut.log)),
        chance.randbytes(LOG_HEADER) + cut.log[LOG_HEADER:],
    ):
        check_prefix(recovered(tmp_path, cut, log), cut.acknowledged[:EARLIER])
