"""Bytes of files that somebody in this process may have open in SQLite."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from lamina.model.erased_words import Signature
from lamina.store.engine import raw_file
from lamina.store.upkeep import leftovers
from lamina.store.upkeep.copies import Copies
from tests.conftest import Desk

# Whether somebody else holds a lock on a file: asked by a process of its own, which has nothing to
# lose.
HELD = """
import fcntl, sys
with open(sys.argv[1], "rb+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000000 + 2)
    except BlockingIOError:
        print("held")
"""


def is_held(path: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", HELD, str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout == "held\n"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A database that this process reads."""
    path = tmp_path / "some.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("CREATE TABLE said (what)").fetchall()
        assert is_held(path)
        yield path


def test_every_byte_is_read(tmp_path: Path) -> None:
    """B1: also zeros at the end, across parts, and from any place."""
    content = os.urandom(2 * raw_file.AT_ONCE + 7) + bytes(5000)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert raw_file.read(path) == content
    with raw_file.opened(path) as file:
        assert file.seek(-10, os.SEEK_END) == len(content) - 10
        assert file.read() == bytes(10)
        file.seek(5)
        assert file.read(3) == content[5:8]
        file.seek(0)
        assert hashlib.file_digest(file, "sha256").digest() == hashlib.sha256(content).digest()
    raw_file.copy(path, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"5", b"\0", b"\0\0", b"5\0"])
def test_the_shortest_files_are_read_whole(tmp_path: Path, content: bytes) -> None:
    """B1: SQLite takes a file of one byte for an empty one, and apsw leaves zeros out at an end."""
    path = tmp_path / "file"
    path.write_bytes(content)
    assert raw_file.read(path) == content
    with raw_file.opened(path) as file:
        assert file.seek(0, os.SEEK_END) == len(content)


def test_a_copy_overwrites_nothing(tmp_path: Path) -> None:
    """B6: what is there stays, and a link in its place leads nowhere."""
    (tmp_path / "source").write_bytes(b"new")
    (tmp_path / "target").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        raw_file.copy(tmp_path / "source", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"old"


def test_a_file_that_shrinks_ends_earlier(tmp_path: Path) -> None:
    """B1: others may truncate what is read, such as a log; that is an end and no error."""
    path = tmp_path / "log"
    path.write_bytes(b"x" * (3 * raw_file.AT_ONCE))
    with raw_file.opened(path) as file:
        assert file.read(10) == b"x" * 10
        os.truncate(path, 5)
        assert len(file.read()) < 3 * raw_file.AT_ONCE
        path.unlink()
        assert file.read() == b""


def test_what_is_no_file_is_told_as_python_does(tmp_path: Path) -> None:
    """B1: the errors are those of `open`, so that whoever asks can say what is wrong."""
    with pytest.raises(FileNotFoundError):
        raw_file.opened(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        raw_file.opened(tmp_path)


def test_what_sqlite_cannot_open_by_its_name_can_be_read(tmp_path: Path) -> None:
    """B1: pipes, files that were removed, as shells give them, and names that are no text."""
    source, target = os.pipe()
    os.write(target, b"piped")
    os.close(target)
    assert raw_file.read(Path(f"/dev/fd/{source}")) == b"piped"
    os.close(source)
    with (tmp_path / "unnamed").open("w+b") as file:
        file.write(b"a long text for standard input")
        file.flush()
        (tmp_path / "unnamed").unlink()
        assert raw_file.read(Path(f"/dev/fd/{file.fileno()}")).endswith(b"input")
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    try:
        odd.write_bytes(b"odd")
    except OSError:
        pytest.skip("this file system has names of text only")
    assert raw_file.read(odd) == b"odd"


@pytest.mark.parametrize("name", ["some.db", "link", "hard"])
def test_a_lock_stays_by_whatever_name_the_file_is_read(database: Path, name: str) -> None:
    """B1: SQLite knows a file by its inode."""
    (database.parent / "link").symlink_to(database)
    (database.parent / "hard").hardlink_to(database)
    assert raw_file.read(database.parent / name).startswith(b"SQLite format 3\0")
    assert is_held(database)


def test_the_index_of_a_log_is_never_opened(database: Path) -> None:
    """B1: SQLite does not know who else has it open; so nobody has, and a search passes it over."""
    index = database.with_name("some.db-shm")
    (database.parent / "link").symlink_to(index)
    for path in (index, database.parent / "link"):
        with pytest.raises(OSError, match="only SQLite may open it"):
            raw_file.opened(path)
        assert not leftovers.is_in(path, Signature(frozenset({"x"})))
    (database.parent / "notes-shm").write_bytes(b"a file of its own")
    assert raw_file.read(database.parent / "notes-shm") == b"a file of its own"


def test_the_database_of_chroma_is_searched_by_another_process(desk: Desk) -> None:
    """P5, B1: Chroma has a SQLite of its own, whose locks a search in this process would drop."""
    operator = desk.operator()
    operator.remember("x")
    folder = operator._scope.store.path_of("rag/chroma_store")
    folder.mkdir(parents=True)
    path = folder / "chroma.sqlite3"
    known = Signature(frozenset({"zirkonit"}))
    with closing(sqlite3.connect(path, isolation_level=None)) as chroma:
        chroma.execute("CREATE TABLE said (what)")
        chroma.execute("INSERT INTO said VALUES ('the zirkonit is here')")
        (folder / "innocent").write_bytes(b"nothing")
        chroma.execute("BEGIN")
        chroma.execute("SELECT * FROM said").fetchall()
        assert is_held(path)
        assert [*Copies(operator._scope.store, (), known).others(())] == [path]
        assert is_held(path)
