"""Disks that are full, read-only or damaged, and files that are not what they should be: typed
errors, nothing harmed."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import lamina
from tests.faults.read_only import allow_writing, files, forbid_writing, give_away, make_store

from .harness import AGENT, NOBODY, SEED, Child, check_sound, contents, database_of, size

PAGE = 4096
KINDS_OF_LOG = {"folded late": 100_000, "folded often": 10}
every_log = pytest.mark.parametrize("checkpoint_pages", KINDS_OF_LOG.values(), ids=KINDS_OF_LOG)


# Full


def check_full_and_free(child: Child, home: Path, free: Callable[[], None]) -> None:
    """A store without room fails typed and reads on; with room again it writes on, and nothing
    acknowledged is missing."""
    full, look = child.hear(), child.hear()
    assert full["acknowledged"] > 0
    assert set(full["failures"]) == {"store_unavailable"}
    assert look["listed"] == full["acknowledged"]
    assert look["found"] == 3
    assert look["got"] == "a memory"
    free()
    child.tell(go=True)
    (last,) = child.finish()
    assert set(last["outcomes"]) == {"done"}
    with lamina.operator(AGENT, home=home) as operator:
        check_sound(operator)
        words = {content.split()[-1] for content in contents(operator)}
        assert words == {f"n{number}" for number in range(last["acknowledged"])}


@every_log
def test_a_file_that_cannot_grow_loses_nothing(tmp_path: Path, checkpoint_pages: int) -> None:
    """B1, B4, L1, P4: when files cannot grow, writes are `StoreUnavailable`, reads go on, and with
    room it goes on writing."""
    with Child("filler", tmp_path, checkpoint_pages, size(quick=400_000, full=4_000_000)) as child:
        check_full_and_free(child, tmp_path, free=lambda: None)


@every_log
def test_a_full_disk_loses_nothing(small_disk: Path, checkpoint_pages: int) -> None:
    """B1, B4, L1, P4: the same on a disk of 8 MB that is really full, until something else on
    it is deleted."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(size(quick=6, full=3) * 1024 * 1024))
    with Child("filler", small_disk / "home", checkpoint_pages, 0) as child:
        check_full_and_free(child, small_disk / "home", free=ballast.unlink)


def test_a_full_disk_can_be_verified(small_disk: Path) -> None:
    """P4: `audit verify` needs no room on the disk; least of all when the disk is in trouble."""
    (small_disk / "ballast").write_bytes(bytes(6 * 1024 * 1024))
    with Child("filler", small_disk / "home", 100_000, 0) as child:
        child.hear()
        assert child.hear()["verified"] == "done"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB in memory, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting a small tmpfs needs root, and a system that lets root mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


# Read-only


def test_a_read_only_store_reads_and_says_that_it_cannot_write(shared_folder: Path) -> None:
    """B1, B4, B6: in a folder that cannot be written, reads work, writes are `StoreUnavailable`,
    and nothing is left behind."""
    home = shared_folder / "home"
    make_store(home)
    forbid_writing(home)
    before = files(home)
    with Child("visitor", home, NOBODY, "visit") as child:
        (report,) = child.finish()
    assert files(home) == before
    allow_writing(home)
    assert report["open"] == "done"
    assert report["outcomes"] == {
        **dict.fromkeys(("list", "search", "status", "verify"), "done"),
        **dict.fromkeys(("remember", "run", "backup"), "store_unavailable"),
    }
    assert set(report["again"]) == {"store_unavailable"}


def test_a_store_that_becomes_writable_again_is_written(shared_folder: Path) -> None:
    """B1, B4: a file that was read-only for a moment does not leave the handle
    read-only for good."""
    home = shared_folder / "home"
    make_store(home)
    give_away(home)
    with Child("visitor", home, NOBODY, "mend") as child:
        assert child.finish() == [
            {"open": "done", "meanwhile": "store_unavailable", "after": "done"}
        ]


def test_failed_writes_leave_no_files_open(shared_folder: Path) -> None:
    """B1: an agent that tries again and again to write to a read-only store does not run
    out of files."""
    home = shared_folder / "home"
    make_store(home)
    forbid_writing(home)
    with Child("visitor", home, NOBODY, "visit") as child:
        (report,) = child.finish()
    allow_writing(home)
    assert report["files_left_open"] <= 2


def test_a_read_only_store_with_a_log_is_read_or_refused(shared_folder: Path) -> None:
    """B1, B4: a store with a log, in a folder that cannot be written, is read or refused, and
    nothing is left behind."""
    home = shared_folder / "home"
    make_store(home)
    copy = shared_folder / "copy"
    with lamina.open(AGENT, home=home) as memory:
        memory.remember("memory that is only in the log")
        shutil.copytree(home, copy)
    database_of(copy, "memory.db-shm").unlink()
    forbid_writing(copy)
    before = files(copy)
    with Child("visitor", copy, NOBODY, "visit") as child:
        (report,) = child.finish()
    assert files(copy) == before
    allow_writing(copy)
    assert report["open"] == "store_unavailable" or report["outcomes"]["list"] == "done"
    assert report.get("outcomes", {}).get("remember", "store_unavailable") == "store_unavailable"


@pytest.mark.skipif(
    os.getuid() != 0, reason="one user writes and another reads: only root can be both"
)
def test_a_reader_without_rights_is_not_misled_by_a_writer(shared_folder: Path) -> None:
    """B1: who may only read sees what others write meanwhile, or is told `StoreUnavailable`; never
    damage that is not there."""
    home = shared_folder / "home"
    make_store(home)
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    with Child("visitor", home, NOBODY, "watch") as child:
        before = child.hear()["listed"]
        with lamina.open(AGENT, home=home, settings={"store.checkpoint_pages": 5}) as memory:
            for n in range(200):
                memory.remember(f"memory of a busy writer, number {n}", tags=["late"])
        child.tell(go=True)
        (report,) = child.finish()
    assert set(report["outcomes"].values()) <= {"done", "store_unavailable"}
    assert report.get("listed", before + 200) == before + 200
    assert report.get("found", before + 200) == before + 200


# Damaged, foreign, or not a file


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(SEED).randbytes(path.stat().st_size))


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def one_page_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-PAGE])


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def no_first_page(path: Path) -> None:
    overwrite(path, 0, bytes(PAGE))


def another_header(path: Path) -> None:
    overwrite(path, 0, random.Random(SEED).randbytes(100))


def another_header_after_the_name(path: Path) -> None:
    overwrite(path, 16, random.Random(SEED).randbytes(84))


def a_text(path: Path) -> None:
    path.write_text("Dear diary, this is not a database.\n")


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def foreign(path: Path) -> None:
    path.unlink()
    sql(path, "CREATE TABLE contacts (name TEXT)", "INSERT INTO contacts VALUES ('Ana')")


def foreign_with_a_log(path: Path) -> None:
    path.unlink()
    sql(path, "PRAGMA journal_mode = WAL", "CREATE TABLE contacts (name TEXT)")


def foreign_with_our_mark(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
    foreign(path)
    sql(path, f"PRAGMA application_id = {mark}", "PRAGMA user_version = 1")


def newer(path: Path) -> None:
    sql(path, "PRAGMA user_version = 99")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [
    *(
        random_bytes,
        half,
        one_page_short,
        no_first_page,
        another_header,
        another_header_after_the_name,
        a_text,
    ),
    *(foreign, foreign_with_a_log, foreign_with_our_mark, newer, a_folder),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
def test_what_is_not_a_store_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """B1: a damaged, foreign or newer file is a typed error for whoever opens or checks it; not a
    byte of it changes."""
    make_store(tmp_path)
    path = database_of(tmp_path)
    damage(path)
    before = files(tmp_path)
    with pytest.raises((lamina.Corrupt, lamina.StoreUnavailable)):
        lamina.operator(AGENT, home=tmp_path, settings={"failsafe": "off"})
    assert files(tmp_path) == before


def test_a_damaged_page_is_noticed(tmp_path: Path) -> None:
    """P4: whichever page of the file is overwritten, `audit verify` says so, or a typed error does
    (DESIGN, decision 4)."""
    base = tmp_path / "base"
    make_store(base)
    unnoticed = []
    for page in range(1, database_of(base).stat().st_size // PAGE):
        home = tmp_path / "home"
        shutil.copytree(base, home)
        overwrite(database_of(home), page * PAGE, random.Random(SEED + page).randbytes(PAGE))
        if not damage_is_noticed(home):
            unnoticed.append(page + 1)
        shutil.rmtree(home)
    assert unnoticed == []


def damage_is_noticed(home: Path) -> bool:
    try:
        with lamina.operator(AGENT, home=home) as operator:
            return not operator.audit_verify()["events"].ok
    except lamina.LaminaError:
        return True


@pytest.mark.parametrize(
    "name", ["agents", f"agents/{AGENT}", f"agents/{AGENT}/memory.db", f"agents/{AGENT}/reads.db"]
)
def test_a_link_in_place_of_ours_is_refused(tmp_path: Path, name: str) -> None:
    """P2: a symbolic link where a folder or file of ours should be is `Refused` and noted; what it
    leads to is not touched."""
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    for place in (elsewhere, home):
        with lamina.operator(AGENT, home=place) as operator:
            operator.remember("memory")
            operator.search("memory")
    (home / name).rename(home / "aside")
    (home / name).symlink_to(elsewhere / name)
    before, before_elsewhere = files(home), files(elsewhere)
    with pytest.raises(lamina.Refused):
        lamina.open(AGENT, home=home)
    after = files(home)
    assert after.pop("violations.jsonl")
    assert after == before
    assert files(elsewhere) == before_elsewhere


def test_a_link_that_leads_nowhere_makes_nothing(tmp_path: Path) -> None:
    """P2: a dangling link is refused too, and nothing is made where it points."""
    home, target = tmp_path / "home", tmp_path / "target.db"
    database_of(home).parent.mkdir(parents=True)
    database_of(home).symlink_to(target)
    with pytest.raises(lamina.Refused):
        lamina.open(AGENT, home=home)
    assert not target.exists()


def test_a_closed_store_is_whole_without_its_logs(tmp_path: Path) -> None:
    """B1: once the last handle is closed, `memory.db` and `reads.db` alone hold everything."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    with lamina.operator(AGENT, home=home) as operator:
        operator.remember("memory")
        operator.search("memory")
        operator.audit_verify()
        operator.search("nothing")
        head = operator.audit_head()
    database_of(copy).parent.mkdir(parents=True)
    for name in ("memory.db", "reads.db"):
        shutil.copy(database_of(home, name), database_of(copy, name))
    with lamina.operator(AGENT, home=copy) as operator:
        report = operator.audit_verify(head)
    assert report["events"].problems == ()
    assert report["reads"].problems == ()
