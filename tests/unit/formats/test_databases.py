"""Databases of other programs: their plain tables are read, and nothing that they bring along is
believed or run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lamina import Operator
from lamina.errors import InvalidInput, NotFound
from lamina.model import rules
from lamina.store.engine import foreign
from tests.conftest import Desk, digest, size

EPISODE = "('e1', '2026-01-01T00:00:00Z', 'went out', '[]', '[]', NULL, 0.5)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sentinel.db"


def made(path: Path, *statements: str) -> Path:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def test_rows_come_with_their_columns(path: Path) -> None:
    """R9, H5: the tables of the document, by name; an empty one has no rows."""
    foreign.write(
        path, {foreign.EPISODES: [("e1", "t", "s", "[]", "[]", None, 0.5)], foreign.FACTS: []}
    )
    assert foreign.tables(path) == ["episodes", "facts"]
    (row,) = foreign.rows(path, "episodes")
    assert list(row) == [
        "id",
        "timestamp",
        "summary",
        "participants",
        "tags",
        "raw_hash",
        "importance",
    ]
    assert (row["id"], row["importance"], row["raw_hash"]) == ("e1", 0.5, None)
    assert list(foreign.rows(path, "facts")) == []


HOSTILE: dict[str, list[str]] = {
    "a view in the place of the table": [
        "CREATE TABLE x (a)",
        "CREATE VIEW episodes AS SELECT * FROM x",
    ],
    "a view that never ends": [
        (
            "CREATE VIEW episodes AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n) SELECT i AS id FROM n"
        )
    ],
    "a virtual table": ["CREATE VIRTUAL TABLE episodes USING fts5 (id)"],
    "a value that is too large": [
        "CREATE TABLE episodes (id TEXT)",
        "INSERT INTO episodes VALUES (zeroblob(9000000))",
    ],
    "a text that is no text": [
        "CREATE TABLE episodes (id TEXT)",
        "INSERT INTO episodes VALUES (CAST(x'ff41' AS TEXT))",
    ],
    "columns that are computed": [
        "CREATE TABLE episodes (id TEXT, a TEXT, b TEXT AS (a || a), c TEXT AS (b || b) STORED)",
        "INSERT INTO episodes (id, a) VALUES ('e1', 'x')",
    ],
    "values that stand once and are read often": [
        "CREATE TABLE episodes (id TEXT)",
        (
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
            "INSERT INTO episodes SELECT i FROM n"
        ),
        f"ALTER TABLE episodes ADD COLUMN summary TEXT DEFAULT '{'x' * 100_000}'",
    ],
    "another program's tables": ["CREATE TABLE bookmarks (id TEXT)"],
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_schema_is_an_error(op: Operator, path: Path, how: str) -> None:
    """H5: nothing of the file's own is run, the error is typed, the file and the store
    are as before."""
    made(path, *HOSTILE[how])
    before = digest(path)
    with pytest.raises(InvalidInput):
        op.import_(path)
    assert digest(path) == before
    assert size(op) == (0, 0)
    assert [one.name for one in path.parent.iterdir() if one.name.startswith(path.name)] == [
        path.name
    ]


def test_endless_work_ends(path: Path) -> None:
    """H5: a statement that works on and on without an answer is ended; reading a large
    table is not."""
    rows = [(f"e{number}", "t", "s", "[]", "[]", None, 0.5) for number in range(2000)]
    foreign.write(path, {foreign.EPISODES: rows})
    assert len(list(foreign.rows(path, "episodes"))) == len(rows)
    endless = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    with pytest.raises(InvalidInput, match="nterrupt"), foreign._reading(path) as connection:
        connection.execute(endless).fetchall()


def test_large_memories_are_read(op: Operator, path: Path) -> None:
    """H5: a text as long as a memory may be passes, with all that stands beside it and odd
    names of columns."""
    text = "x" * rules.MAX_CONTENT_BYTES
    foreign.write(
        path,
        {
            foreign.EPISODES: [
                (f"e{number}", None, text, "[]", "[]", "h" * 200, 0.5) for number in range(3)
            ]
        },
    )
    assert op.import_(path)["taken"] == 3
    made(path, """ALTER TABLE episodes ADD COLUMN "a ""b"", c" TEXT""")
    assert list(next(foreign.rows(path, "episodes")))[-1] == 'a "b", c'


def test_triggers_do_not_run(op: Operator, path: Path) -> None:
    """H5: reading is no occasion for a trigger, and triggers change nothing that is taken."""
    fire = (
        "CREATE TRIGGER fire AFTER INSERT ON episodes BEGIN UPDATE episodes SET summary = "
        "'fired'; END"
    )
    foreign.write(
        path,
        {foreign.EPISODES: [("e1", "2026-01-01T00:00:00Z", "went out", "[]", "[]", None, 0.5)]},
    )
    made(path, fire)
    assert op.import_(path)["taken"] == 1
    assert [record.content for record in op.list()] == ["went out"]


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda data: data[:3000],
    "only the magic": lambda data: data[:16],
    "a page of noise": lambda data: data[:100] + bytes(4096 - 100) + data[4096:],
    "noise after the header": lambda data: data[:4096] + b"\xff" * (len(data) - 4096),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_damaged_database_is_an_error(op: Operator, path: Path, how: str) -> None:
    """H5: a torn or overwritten file is typed as such, and nothing is imported."""
    rows = [
        (f"e{n}", "2026-01-01T00:00:00Z", f"episode {n} " * 20, "[]", "[]", None, 0.5)
        for n in range(200)
    ]
    foreign.write(path, {foreign.EPISODES: rows})
    path.write_bytes(BROKEN[how](path.read_bytes()))
    with pytest.raises(InvalidInput):
        op.import_(path)
    assert size(op) == (0, 0)


def test_a_database_in_use_is_not_half_read(op: Operator, path: Path) -> None:
    """H5: what is still in a log beside the file would be missing, so it is an error that says what
    to do."""
    foreign.write(path, {foreign.EPISODES: []})
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute(f"INSERT INTO episodes VALUES {EPISODE}")
    with pytest.raises(InvalidInput, match="close its program"):
        op.import_(path)
    connection.close()
    assert op.import_(path)["taken"] == 1


def test_our_own_store_is_exported_first(desk: Desk, op: Operator) -> None:
    """H5: a store of Lamina is no file to import, although it has those tables as views; the error
    says what to do."""
    op.remember("tea")
    op.close()
    with pytest.raises(InvalidInput, match="lamina export"):
        desk.operator("milton").import_(desk.folder() / "memory.db")


def test_odd_values_are_rejected_alone(op: Operator, path: Path) -> None:
    """H5, B5: a row with a value of the wrong kind is named and kept; the others are taken."""
    rows = [
        ("e1", "2026-01-01T00:00:00Z", "good", "[]", "[]", None, 0.5),
        ("e2", "2026-01-01T00:00:00Z", b"blob", "[]", "[]", None, 0.5),
        ("e3", "yesterday", "bad time", "[]", "[]", None, 0.5),
        ("e4", "2026-01-01T00:00:00Z", "bad list", "{", "[]", None, 0.5),
        ("e5", "2026-01-01T00:00:00Z", "bad number", "[]", "[]", None, 7.5),
        ("e6", "2026-01-01T00:00:00Z", None, "[]", "[]", None, 0.5),
    ]
    foreign.write(path, {foreign.EPISODES: rows})
    report = op.import_(path)
    assert (report["taken"], report["rejected_count"]) == (1, 5)
    assert [one["line"] for one in report["rejected"]] == [2, 3, 4, 5, 6]
    kept = Path(report["rejected_file"]).read_text("utf-8").splitlines()
    assert len(kept) == 5
    assert "yesterday" in kept[1]


def test_what_is_no_database(tmp_path: Path) -> None:
    """H5: a file that is not there is not found."""
    with pytest.raises(NotFound):
        foreign.is_database(tmp_path / "nothing")
    (tmp_path / "x").write_bytes(b"SQLite")
    assert not foreign.is_database(tmp_path / "x")
