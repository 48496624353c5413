"""A disk without room: what is there can be read, what is new goes to the fail-safe, and everybody
is told why."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from lamina import StoreUnavailable
from lamina.home.folder import Home
from lamina.memory import doctor
from lamina.model.clock import system_clock
from lamina.store.engine import disk_space
from lamina.store.engine.sqlite import translate
from lamina.surfaces.hooks import problems
from tests.conftest import FULL, Desk, contents, verified

TEXTS = ["Ana takes the 8:15 train", "Ben likes tea", "The train leaves from platform 4"]
SMALL = "a memory of 24 letters.."


@contextmanager
def no_room(most: int) -> Iterator[None]:
    """Within this block no file of this process grows beyond some bytes: SQLite cannot lay the
    index of a log beside a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that nobody has open."""
    with Desk(tmp_path / "home") as desk:
        desk.agent().remember_many({"content": content} for content in TEXTS)
    return tmp_path / "home"


def test_what_is_there_can_be_read_without_room(home: Path) -> None:
    """B4: a handle that is opened on a full disk lists and finds everything, and says what it could
    not do."""
    with Desk(home) as desk, no_room(8192):
        memory = desk.agent()
        assert sorted(contents(memory.list())) == sorted(TEXTS)
        assert sorted(contents(memory.search("train", ranker="keyword"))) == [TEXTS[0], TEXTS[2]]
        memory._scope.store.reads.flush()
        (problem,) = memory.status()["problems"]
        assert "not audited" in problem
        assert "the disk is full" in problem


def test_a_memory_without_room_is_in_the_failsafe_and_stored_later(home: Path) -> None:
    """B4: what is remembered on a full disk is kept, found, and stored when there is room again."""
    with Desk(home) as desk, no_room(8192):
        memory = desk.agent()
        assert memory.remember(SMALL).stored_in == "failsafe"
        assert memory.outage is not None
        assert "the disk is full" in memory.outage.cause
        assert contents(memory.search("letters")) == [SMALL]
    with Desk(home) as desk:
        op = desk.operator()
        assert sorted(contents(op.list())) == sorted([*TEXTS, SMALL])
        assert (
            op.get(next(one.id for one in op.list() if one.content == SMALL)).stored_in == "store"
        )
        assert verified(op)


def test_a_reader_without_room_sees_what_others_write_later(home: Path) -> None:
    """B1, B4: a handle that was opened on a full disk does not stay with what it saw then."""
    with Desk(home) as desk:
        with no_room(8192):
            memory = desk.agent()
            assert len(memory.list()) == 3
        with Desk(home, desk.clock) as other:
            other.agent().remember("written when there was room again")
        assert len(memory.list()) == 4
        assert memory.remember("and this").stored_in == "store"


def test_a_look_without_a_lock_notices_that_the_file_was_written(home: Path) -> None:
    """B1, B4: what was read without room is only told when nobody has written meanwhile; then it
    can be tried again."""
    with Desk(home) as desk:
        with no_room(8192):
            memory = desk.agent()
            memory.list()
            database = memory._scope.store.database
            looks = [database.moment(), database.snapshot()]
            for look in looks:
                look.__enter__()
        with Desk(home, desk.clock) as other:
            other.agent().remember("written meanwhile")
        for look in reversed(looks):
            with pytest.raises(StoreUnavailable, match="try again"):
                look.__exit__(None, None, None)
        assert len(memory.list()) == 4


def test_the_first_error_is_told(home: Path, tmp_path: Path) -> None:
    """I: memories that are only in the log cannot be read without room; that is said, and not how
    the look at them ended."""
    with Desk(home) as desk:
        memory = desk.agent()
        memory.remember("only in the log")
        folder = tmp_path / "copy" / "agents" / "sky"
        folder.mkdir(parents=True, mode=0o700)
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(desk.folder() / name, folder / name)
        with Desk(tmp_path / "copy") as copy, no_room(8192):
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                copy.agent(settings={"failsafe": "off"})
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                copy.agent().list()
        with Desk(tmp_path / "copy") as copy:
            assert len(copy.agent().list()) == 4


def test_a_backup_without_room_says_so_once(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """I: the error says that the disk is full and nothing that contradicts it, and reads that wait
    are told of once."""
    with Desk(home) as desk, no_room(8192):
        op = desk.operator()
        op.list()
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            op.backup()
        for _ in range(3):
            op._scope.store.reads.flush()
    assert len([one for one in caplog.messages if "not audited yet" in one]) == 1


def test_what_sqlite_does_not_say_is_not_told(tmp_path: Path) -> None:
    """I: a connection that knows nothing of a failure calls it "not an error"; an error of ours
    leaves that out."""
    told = translate(apsw.FullError("not an error"), tmp_path).message
    assert told == f"{tmp_path}: the disk is full; free some space, nothing was stored"
    assert (
        translate(apsw.FullError("database or disk is full"), tmp_path).message
        == f"{told} (database or disk is full)"
    )


def test_an_ordinary_folder_hinders_nobody(tmp_path: Path) -> None:
    """B4: nothing is said about a folder with room, one that does not exist yet, or a disk that
    does not tell its size."""
    assert disk_space.hindrance(tmp_path) is None
    assert disk_space.hindrance(tmp_path / "unknown") is None
    assert not disk_space.is_full(Path("/proc"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 700 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.skipif(not FULL, reason="mounts a disk, which only a full run may")
@pytest.mark.parametrize("left", [60, 40, 24, 12, 4, 0])
def test_a_disk_that_is_really_full(home: Path, small_disk: Path, left: int) -> None:
    """B4: with a few KB left all can be read, the fail-safe takes a memory, and status and doctor
    say that the disk is full."""
    place = shutil.copytree(home, small_disk / "home")
    filler = shutil.disk_usage(small_disk).free - left * 1024
    (small_disk / "filler").write_bytes(bytes(filler))
    with Desk(place) as desk:
        memory = desk.agent()
        assert sorted(contents(memory.list())) == sorted(TEXTS)
        assert len(memory.search("train", ranker="keyword")) == 2
        assert "the disk is full" in " ".join(memory.status()["problems"])
        assert ("nothing can be remembered until then" in (disk_space.full(place) or "")) is (
            not left
        )
        if left:
            assert memory.remember(SMALL).stored_in == "failsafe"
        else:
            with pytest.raises(StoreUnavailable, match="the disk is full"):
                memory.remember(SMALL)
    found = {finding.check: finding for finding in doctor.examine(Home(place), "sky")}
    assert found["space"].level == "fail"
    assert "the disk is full" in found["space"].message
    assert found["index"].level == found["trail"].level == "ok"
    (small_disk / "filler").unlink()
    with Desk(place) as desk:
        op = desk.operator()
        assert len(op.list()) == 3 + bool(left)
        assert verified(op)


@pytest.mark.skipif(not FULL, reason="mounts a disk, which only a full run may")
def test_a_disk_that_fills_up_under_a_handle(home: Path, small_disk: Path) -> None:
    """B4: what a failed write has taken for its log is given back, so that the fail-safe has room
    for the memory."""
    place = shutil.copytree(home, small_disk / "home")
    with Desk(place) as desk:
        memory = desk.agent()
        memory.remember("before")
        filler = shutil.disk_usage(small_disk).free - 16 * 1024
        (small_disk / "filler").write_bytes(bytes(filler))
        assert [memory.remember(f"{number} {SMALL}").stored_in for number in range(20)][
            -1
        ] == "failsafe"
        (small_disk / "filler").unlink()
    with Desk(place) as desk:
        assert len(desk.operator().list(limit=100)) == 24
        assert verified(desk.operator())


def test_a_trouble_that_finds_no_room_is_told_with_its_place(home: Path) -> None:
    """B4, H4: what a hook cannot note on a full disk is told with the folder, and with nothing that
    is none."""
    with no_room(0):
        told = problems.note(Home(home), "sky", system_clock(), "user-prompt", "something")
    assert told is not None
    assert told.startswith(f"{Home(home).status}: ")
    assert "None" not in told
