"""Connections: how they are opened, and how their errors read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from lamina import Memory, Operator
from lamina.errors import Corrupt, LaminaError, StoreUnavailable
from lamina.store.engine.sql import Atomic
from lamina.store.engine.sqlite import SqliteDatabase, translate, translated
from lamina.store.tables import records
from tests.cases import every
from tests.conftest import Desk, contents, verified

PRAGMAS = {
    "foreign_keys": 1,
    "trusted_schema": 0,
    "cell_size_check": 1,
    "secure_delete": 1,
    "mmap_size": 0,
    "journal_mode": "wal",
}


@pytest.fixture
def database(tmp_path: Path) -> Any:
    (tmp_path / "x.db").touch()
    opened = SqliteDatabase(tmp_path / "x.db", 50, 1000)
    yield opened
    opened.close()


class Asked(SqliteDatabase):
    """A database that is told who is about to wait, as one on a server wants to be."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, 50, 1000)
        self.asked = threading.Event()

    def ask(self) -> None:
        self.asked.set()


def test_a_database_is_told_who_is_about_to_wait(tmp_path: Path) -> None:
    """B4: before the turn of a writer comes, not once it has: who waits for a server that has died
    since is told so at once."""
    (tmp_path / "x.db").touch()
    database = Asked(tmp_path / "x.db")

    def write() -> None:
        with Atomic(database):
            pass

    thread = threading.Thread(target=write)
    with Atomic(database):
        database.asked.clear()
        thread.start()
        assert database.asked.wait(30)
    thread.join()
    database.close()


def pragma(connection: Any, name: str) -> Any:
    return next(iter(connection.execute(f"PRAGMA {name}")), (None,))[0]


def test_the_settings_of_a_connection(op: Operator) -> None:
    """B1: what protects the file is switched on for reading and for writing, and
    commits are synchronous."""
    op.remember("x")
    database = op._scope.store.database
    assert isinstance(database, SqliteDatabase)
    for connection in (database.reader(), database.writer()):
        assert {name: pragma(connection, name) for name in PRAGMAS} == PRAGMAS
    assert pragma(database.writer(), "synchronous") == 2
    assert pragma(database.reader(), "query_only") == 1


def test_a_reader_cannot_write(op: Operator) -> None:
    """P4: reading connections are read-only in SQLite itself."""
    op.remember("x")
    with pytest.raises(apsw.ReadOnlyError):
        op._scope.store.database.reader().execute("INSERT INTO meta VALUES ('x', 'y')")


def test_sqlite_is_recent_enough() -> None:
    """B1: the SQLite that we bring has the fix for the corruption of its write-ahead log."""
    assert tuple(map(int, apsw.sqlite_lib_version().split("."))) >= (3, 51, 3)


def test_a_transaction_is_all_or_nothing(database: SqliteDatabase) -> None:
    """B1: what fails in the middle leaves nothing, and the next transaction works."""
    with database.atomic() as transaction:
        transaction.cursor.execute("CREATE TABLE t (x)")

    def fail() -> None:
        with database.atomic() as transaction:
            transaction.cursor.execute("INSERT INTO t VALUES (1)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.atomic() as transaction:
        transaction.cursor.execute("INSERT INTO t VALUES (2)")
    assert list(database.reader().execute("SELECT x FROM t")) == [(2,)]


def test_a_look_that_fails_tells_its_own_error(database: SqliteDatabase) -> None:
    """I: that there is nothing left to roll back never hides what went wrong, and the
    next look works."""
    with pytest.raises(StoreUnavailable, match="no such table"), database.moment() as connection:
        connection.execute("ROLLBACK; SELECT * FROM missing")
    with database.moment() as connection:
        assert connection.in_transaction


def test_a_wrong_statement_is_a_typed_error(database: SqliteDatabase) -> None:
    """I: no error of SQLite leaves a transaction untranslated."""
    with pytest.raises(StoreUnavailable, match="SQLite reports"), database.atomic() as transaction:
        transaction.cursor.execute("INSERT INTO nowhere VALUES (1)")


def test_who_waits_too_long_is_told(desk: Desk) -> None:
    """B4: another writer that does not end is `unavailable` after the timeout, and
    nothing is stored."""
    op = desk.operator(settings={"store.busy_timeout_ms": 10, "failsafe": "off"})
    other = desk.operator(settings={"store.busy_timeout_ms": 10, "failsafe": "off"})
    op.remember("x")
    other.remember("y")
    with (
        op._scope.store.database.atomic(),
        pytest.raises(StoreUnavailable, match="another process holds the store"),
    ):
        other.remember("z")
    assert contents(other.list()) == ["y", "x"]
    other.remember("z")


def test_threads_share_a_handle(desk: Desk, op: Operator) -> None:
    """B1: threads of one process write and read through one handle, and none of them is lost."""
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(20):
                record = op.remember(f"{name} {number}")
                assert op.get(record.id) == record
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(record.seq for record in op.list(limit=100)) == list(range(1, 81))
    assert verified(op)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_told_to_open_its_own(mem: Memory) -> None:
    """B1: a handle that came through a fork is a typed error for every verb, and the
    parent's goes on."""
    mem.remember("x")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover - another process
        answers = []
        for call in (lambda: mem.remember("y"), lambda: mem.search("x"), mem.list):
            try:
                call()
                answers.append("done")
            except StoreUnavailable as error:
                answers.append("refused" if "after a fork" in str(error) else str(error))
            except BaseException as error:  # noqa: BLE001 - whatever it is, the parent must hear of it
                answers.append(repr(error))
        os.write(writer, ",".join(answers).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert answer.read() == "refused,refused,refused"
    os.waitpid(child, 0)
    assert mem.remember("y").seq == 2


@every(
    ("error", "kind", "words"),
    [
        (apsw.NotADBError, Corrupt, "lamina restore"),
        (apsw.CorruptError, Corrupt, "damaged"),
        (apsw.BusyError, StoreUnavailable, "another process"),
        (apsw.LockedError, StoreUnavailable, "another process"),
        (apsw.FullError, StoreUnavailable, "disk is full"),
        (apsw.ReadOnlyError, StoreUnavailable, "read-only"),
        (apsw.PermissionsError, StoreUnavailable, "read-only"),
        (apsw.CantOpenError, StoreUnavailable, "cannot be opened"),
        (apsw.IOError, StoreUnavailable, "disk reported an error"),
        (apsw.SQLError, StoreUnavailable, "SQLError"),
    ],
)
def test_errors_say_what_they_mean(
    error: type[apsw.Error], kind: type[LaminaError], words: str
) -> None:
    """I, B4: every error of SQLite becomes one of ours, with the file and what to do."""
    translated_ = translate(error("detail"), Path("memory.db"))
    assert type(translated_) is kind
    assert words in str(translated_)
    assert "memory.db" in str(translated_)
    with pytest.raises(kind), translated(Path("memory.db")):
        raise error("detail")


def test_other_errors_pass_untouched() -> None:
    """I: what is not SQLite's is not translated."""
    with pytest.raises(KeyError), translated(Path("x")):
        raise KeyError


def test_a_closed_database_says_so(database: SqliteDatabase) -> None:
    """I: closing twice is fine, using afterwards is a typed error."""
    database.close()
    database.close()
    for call in (database.reader, database.writer, database.atomic().__enter__):
        with pytest.raises(StoreUnavailable, match="closed"):
            call()


def test_paths_with_every_character(tmp_path: Path) -> None:
    """B1: a home may have any name: spaces, percent signs, question marks, hashes
    and other scripts."""
    with Desk(tmp_path / "a b%20?c=1#d 猫'\"") as desk:
        with desk.operator() as op:
            op.remember("x")
            op.search("x")
            made = op.backup()
            op.restore(made)
        assert contents(desk.operator().list()) == ["x"]
        assert (desk.folder() / "memory.db").stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["a b%20?c=1#d 猫'\""]


def test_an_iterator_that_is_left_midway_pins_no_moment(desk: Desk) -> None:
    """B1: rows that were read halfway bind no later read to their moment, even while they live."""
    op = desk.operator()
    op.remember_many([{"content": f"tea {n}"} for n in range(10)])
    store = op._scope.store
    with store.database.moment() as db:
        left = records.every(db)
        next(left)
    op.remember("coffee")
    assert len(op.list(limit=50)) == 11
    op.reindex()  # it would wait for its own writes for ever
    del left
