"""A whole memory from one database into another: every table and column, resumed, compared, and
files as well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from lamina import Operator
from lamina.errors import Corrupt
from lamina.store.engine.sqlite import SqliteDatabase
from lamina.store.tables import events, fulltext, migrations
from lamina.store.tables.meta import ARRIVING, MOVED
from lamina.store.upkeep import transfer, verify
from lamina.store.upkeep.transfer import TABLES, Transfer
from tests.conftest import STORE_ID, Desk
from tests.contract.keeping import lived

# What is not carried over as rows: the words are made anew, `meta` is put by name, and the rest is
# about one place and moment.
OWN = {"words", "meta", "strays", "lease"}


@pytest.fixture
def op(desk: Desk) -> Operator:
    return lived(desk)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[SqliteDatabase]:
    """An empty store of the same identity in another folder."""
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / "memory.db"
    path.touch(0o600)
    database = SqliteDatabase(path, 5000, 1000)
    migrations.migrate(database, "sky", STORE_ID, lambda: None, 0)
    with closing(database):
        yield database


def columns(connection: apsw.Connection) -> dict[str, tuple[str, ...]]:
    """The columns of every table, but of those that belong to the full-text index."""
    query = (
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'words%' AND "
        "name NOT LIKE 'sqlite_%'"
    )
    names = [name for (name,) in connection.execute(query)]
    return {
        name: tuple(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
        for name in names
    }


def test_every_table_and_column_is_carried(op: Operator) -> None:
    """B3: a table or column that a later schema adds cannot be left behind without
    this being noticed."""
    there = columns(op._scope.store.database.reader())  # type: ignore[arg-type]
    carried = {table.name: table.columns for table in TABLES}
    assert set(carried) == set(there) - OWN
    for name, known in carried.items():
        assert set(known) == set(there[name]), name
    assert all(set(table.key) <= set(table.columns) for table in TABLES)


def test_tables_come_after_what_they_refer_to() -> None:
    """B3: in their order, no rule of the database is broken on the way."""
    names = [table.name for table in TABLES]
    for first, then in (
        ("events", "notes"),
        ("records", "links"),
        ("archived", "links"),
        ("erased", "records"),
        ("spaces", "vectors"),
    ):
        assert names.index(first) < names.index(then)


def dumped(connection: Any) -> dict[str, list[Any]]:
    return {
        table.name: [row for page in table.pages(connection) for row in page] for table in TABLES
    }


def move(op: Operator, target: SqliteDatabase, pieces: int | None = None) -> Transfer:
    """Bring over everything, or only some pieces."""
    folder = target.path.parent
    work = Transfer(op._scope.store.database.reader(), op._scope.store.folder)
    for number, put in enumerate(work.pages(target.reader(), folder)):
        if number == pieces:
            break
        with target.atomic() as transaction:
            put(transaction.cursor.connection)
    return work


def test_everything_arrives(op: Operator, target: SqliteDatabase) -> None:
    """B3: every row and file, the words, and a trail that verifies; what belongs to the old place
    alone does not."""
    with op._scope.store.database.atomic() as transaction:
        for name in (ARRIVING, MOVED):
            transaction.cursor.execute("INSERT INTO meta (name, value) VALUES (?, 'x')", (name,))
    work = move(op, target)
    work.compare(target.reader(), target.path.parent)
    source, reader = op._scope.store.database.reader(), target.reader()
    assert dumped(reader) == dumped(source)
    assert all(
        dumped(source)[name]
        for name in ("records", "archived", "erased", "grants", "rejected", "vectors")
    )
    assert not fulltext.differs(reader)
    report = verify.verify(reader, op._scope.store.seed)
    assert (report.problems, report.head) == (
        (),
        events.head(source, op._scope.store.seed).hash.hex(),
    )
    names = {name for (name,) in reader.execute("SELECT name FROM meta").fetchall()}
    assert names.isdisjoint((ARRIVING, MOVED))
    for (file,) in source.execute("SELECT file FROM archives").fetchall():
        assert (target.path.parent / file).read_bytes() == (
            op._scope.store.folder / file
        ).read_bytes()


def test_it_goes_on_after_any_piece(
    op: Operator, target: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: cut off again and again, a piece further each time, all of it arrives once."""
    monkeypatch.setattr(transfer, "PAGE", 3)
    for _ in range(200):
        move(op, target, 1)
        move(op, target, 2)
    move(op, target).compare(target.reader(), target.path.parent)
    assert dumped(target.reader()) == dumped(op._scope.store.database.reader())
    assert not fulltext.differs(target.reader())


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_pages_hold_every_row_once(
    op: Operator, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B3: however large a page is, the rows come in the order of their keys, each once."""
    monkeypatch.setattr(transfer, "PAGE", size)
    reader = op._scope.store.database.reader()
    for table in TABLES:
        found = [row for page in table.pages(reader) for row in page]
        assert len(found) == len(set(found)) == table.count(reader)
        assert all(len(page) <= size for page in table.pages(reader))
        places = [table.columns.index(name) for name in table.key]
        last = table.last(reader)
        assert last is None or [found[-1][place] for place in places] == list(last)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE records SET importance = 0.123 WHERE seq = 1",
        "DELETE FROM tags WHERE record = 1",
        "INSERT INTO tags (tag, record) VALUES ('more', 1)",
        "UPDATE grants SET agent = 'aegis'",
        "UPDATE vectors SET vector = zeroblob(512) WHERE record = 1",
        "UPDATE jobs SET failures = 9",
    ],
)
def test_a_difference_is_noticed(op: Operator, target: SqliteDatabase, change: str) -> None:
    """B3: a row that is missing, too many, or not the same is told before anything is switched."""
    op.orchestrator().tick()
    work = move(op, target)
    with target.atomic() as transaction:
        transaction.cursor.execute(change)
    with pytest.raises(Corrupt, match="nothing was switched"):
        work.compare(target.reader(), target.path.parent)


def test_a_file_that_differs_is_noticed(op: Operator, target: SqliteDatabase) -> None:
    """B3: files are compared, too; and one that lay there before is replaced."""
    file = op._scope.store.database.reader().execute("SELECT file FROM archives").fetchall()[0][0]
    there = target.path.parent / file
    there.parent.mkdir()
    there.write_bytes(b"of another time\n")
    work = move(op, target)
    work.compare(target.reader(), target.path.parent)
    there.write_bytes(b"altered\n")
    with pytest.raises(Corrupt, match="arrived as something else"):
        work.compare(target.reader(), target.path.parent)


def test_progress_ends_at_the_end(op: Operator, target: SqliteDatabase) -> None:
    """H4: it rises, never beyond the whole, and reaches it."""
    told: list[tuple[int, int]] = []
    work = Transfer(
        op._scope.store.database.reader(),
        op._scope.store.folder,
        lambda done, total: told.append((done, total)),
    )
    with target.atomic() as transaction:
        work.copy(transaction.cursor.connection, target.path.parent)
    work.compare(target.reader(), target.path.parent)
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
