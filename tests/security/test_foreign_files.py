"""Databases and files from elsewhere: nothing in them runs, and no file takes more than it is."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from lamina import Operator
from lamina.errors import InvalidInput, LaminaError
from lamina.store.engine import foreign
from tests.cases import every
from tests.conftest import contents, digest, size, verified

GIGABYTE = 1 << 30
MOST = 64 << 20  # bytes of memory that reading a hostile file may take
EPISODES = (
    "CREATE TABLE episodes (id TEXT PRIMARY KEY, timestamp DATETIME, summary TEXT, tags TEXT)",
    "INSERT INTO episodes VALUES ('e1', '2026-01-01', 'went out', NULL)",
)


def made(path: Path, *statements: str) -> Path:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def forged(path: Path, sql: str) -> Path:
    """A table with one row whose statement was then written over."""
    connection = apsw.Connection(str(made(path, *EPISODES)))
    connection.pragma("writable_schema", 1)
    connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'episodes'", (sql,))
    connection.pragma("schema_version", connection.pragma("schema_version") + 1)
    connection.close()
    return path


COLUMNS = "id TEXT PRIMARY KEY, timestamp DATETIME, summary TEXT, tags TEXT"


@every(
    "default",
    [
        "CURRENT_TIMESTAMP",
        "(hex(randomblob(1000000)))",
        "(load_extension('/tmp/evil'))",
        "(printf('%1000000000s', 'x'))",
        "(zeroblob(1000000000))",
        "(no_such_function())",
        "(1 + 2)",
    ],
)
def test_no_default_is_computed(op: Operator, tmp_path: Path, default: str) -> None:
    """H5: a row that lacks a column has nothing there, whatever the schema would compute."""
    path = forged(
        tmp_path / "a.db", f"CREATE TABLE episodes ({COLUMNS}, mood TEXT DEFAULT {default})"
    )
    before = digest(path)
    assert [row["mood"] for row in foreign.rows(path, "episodes")] == [None]
    assert op.import_(path)["taken"] == 1
    (record,) = op.list()
    assert (record.content, dict(record.metadata)) == ("went out", {})
    assert digest(path) == before


@every(
    "sql",
    [
        "CREATE VIRTUAL TABLE episodes USING fts5(id, summary)",
        "CREATE  VIRTUAL TABLE episodes USING csv(filename='/etc/passwd')",
        "CREATE VIEW episodes AS SELECT 'e1' AS id, 'seen' AS summary",
        f"CREATE TABLE episodes ({COLUMNS}, mood AS (hex(randomblob(1000000))))",
        f"CREATE TABLE episodes ({COLUMNS}, mood TEXT DEFAULT ({'(' * 50}1{')' * 50} + {'-' * 50}1))",
        f"CREATE TABLE episodes ({COLUMNS}, {', '.join(f'c{n}' for n in range(500))})",
        "CREATE TABLE episodes AS SELECT * FROM episodes",
        "CREATE TABLE facts (id TEXT)",
        "CREATE TRIGGER episodes AFTER INSERT ON x BEGIN SELECT 1; END",
        "DROP TABLE episodes",
        "x" * 1_000_000,
        "",
    ],
)
def test_a_forged_schema_is_an_error(op: Operator, tmp_path: Path, sql: str) -> None:
    """H5: a statement that is not that of a plain table is a typed error, and leaves no trace."""
    path = forged(tmp_path / "a.db", sql)
    before = digest(path)
    with pytest.raises(InvalidInput):
        op.import_(path)
    assert (digest(path), size(op)) == (before, (0, 0))
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("a.db")] == ["a.db"]


def test_what_stands_beside_the_tables_does_not_run(op: Operator, tmp_path: Path) -> None:
    """H5: triggers, views that never end, checks, indexes by functions and virtual tables with their
    own tables are there, and only the rows are read."""
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    path = made(
        tmp_path / "a.db",
        *EPISODES,
        "CREATE INDEX by_length ON episodes (length(summary) DESC, lower(summary))",
        f"CREATE VIEW endless AS {endless}",
        f"CREATE TRIGGER t BEFORE DELETE ON episodes BEGIN SELECT count(*) FROM ({endless}); END",
        "CREATE VIRTUAL TABLE episodes_fts USING fts5(summary)",
        "INSERT INTO episodes_fts VALUES ('went out')",
        "CREATE VIRTUAL TABLE places USING rtree(id, x0, x1)",
        "CREATE TABLE facts (id TEXT, content TEXT CHECK (length(content) > 0), created TEXT)",
    )
    assert "episodes_fts" not in foreign.tables(path)
    assert op.import_(path)["taken"] == 1
    assert contents(op.list()) == ["went out"]


def test_text_of_another_encoding_is_read(op: Operator, tmp_path: Path) -> None:
    """H5: a database may hold its text as UTF-16; bytes that are no text are an error."""
    path = made(tmp_path / "a.db", "PRAGMA encoding = 'UTF-16le'", *EPISODES,
                "INSERT INTO episodes VALUES ('e2', '2026-01-01', 'früh 猫', NULL)")  # fmt: skip
    assert op.import_(path)["taken"] == 2
    bad = made(tmp_path / "b.db", *EPISODES, "UPDATE episodes SET summary = CAST(x'c328' AS TEXT)")
    with pytest.raises(InvalidInput, match="cannot be read"):
        op.import_(bad)


def test_values_of_the_wrong_kind_are_rejected_alone(op: Operator, tmp_path: Path) -> None:
    """H5, B5: SQLite holds any value in any column; each row that is no memory is named."""
    rows = ["('e3', x'00', 'b', NULL)", "('e4', 1e300, 'c', NULL)",
            "('e6', NULL, 'd', 5)",
            "('e7', NULL, 'e', '[1]')", "('e8', NULL, 'e', '{\"a\": NaN}')"]  # fmt: skip
    path = made(tmp_path / "a.db", *EPISODES, f"INSERT INTO episodes VALUES {', '.join(rows)}")
    report = op.import_(path)
    assert (report["taken"], report["rejected_count"]) == (1, len(rows))
    assert verified(op)


def header(start: int, form: str, value: int) -> Callable[[bytes], bytes]:
    packed = struct.pack(form, value)
    return lambda data: data[:start] + packed + data[start + len(packed) :]


def root(child: int) -> Callable[[bytes], bytes]:
    """The table's page as the inner page of a tree, with many pointers to one page."""
    cells = b"".join(struct.pack(">IB", child, n % 128) for n in range(500))
    pointers = b"".join(struct.pack(">H", 4096 - len(cells) + 5 * n) for n in range(500))
    head = b"\x05" + struct.pack(">HHHB", 0, 500, 4096 - len(cells), 0) + struct.pack(">I", child)
    page = head + pointers
    body = page + bytes(4096 - len(page) - len(cells)) + cells
    return lambda data: data[:4096] + body + data[8192:]


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "more pages than bytes": header(28, ">I", 1 << 30),
    "no page size": header(16, ">H", 0),
    "an odd page size": header(16, ">H", 4097),
    "a later format": header(19, ">B", 9),
    "a tree that holds itself": root(2),
    "a tree that holds nothing": root(999),
    "only the magic": lambda data: data[:16],
    "only the header": lambda data: data[:100],
    "half": lambda data: data[: len(data) // 2],
    "noise": lambda data: data[:100] + bytes(range(256)) * (len(data) // 256),
}


@every("how", DAMAGED)
def test_a_damaged_database_is_an_error(op: Operator, tmp_path: Path, how: str) -> None:
    """H5: whatever is wrong with its header or its pages, it is a typed error."""
    path = made(tmp_path / "a.db", "PRAGMA page_size = 4096", *EPISODES)
    path.write_bytes(DAMAGED[how](path.read_bytes()))
    with pytest.raises(InvalidInput):
        op.import_(path)
    assert size(op) == (0, 0)


def sparse(path: Path, start: bytes) -> Path:
    with path.open("wb") as file:
        file.write(start)
        file.truncate(GIGABYTE)
    return path


@every("name", ["a.db", "a.json", "a.jsonl", "a"])
@every("form", [None, "sky", "sentinel", "skylattice", "mem0", "lamina"])
def test_a_gigabyte_of_zeros_is_refused_at_once(
    op: Operator, tmp_path: Path, name: str, form: str | None
) -> None:
    """H5: no form begins with zeros, so that neither memory nor the disk is filled with them."""
    path = sparse(tmp_path / name, b"")
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match="neither text nor a database"):
            op.import_(path, format=form)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("a")] == [name]


def test_a_database_with_a_gigabyte_behind_it(op: Operator, tmp_path: Path) -> None:
    """H5: the header says how much of a file is the database; the rest is not read, and gives nobody
    more room for rows that are read often."""
    whole = made(tmp_path / "whole.db", *EPISODES).read_bytes()
    assert op.import_(sparse(tmp_path / "a.db", whole))["taken"] == 1
    more = (
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
        "INSERT INTO episodes SELECT 'x' || i, NULL, 'often', NULL FROM n"
    )
    often = f"ALTER TABLE episodes ADD COLUMN mood TEXT DEFAULT '{'x' * 100_000}'"
    often_read = made(tmp_path / "often.db", *EPISODES, more, often).read_bytes()
    with pytest.raises(InvalidInput, match="far more than it holds"):
        op.import_(sparse(tmp_path / "b.db", often_read))


@pytest.mark.parametrize("data", [b"{", b'{"records": [', b"[", b"SQLite format 3", b"\xff\xfe{\0"])
def test_a_beginning_without_an_end(op: Operator, tmp_path: Path, data: bytes) -> None:
    """H5: a file that only begins like one that is known is a typed error or has nothing to take."""
    (tmp_path / "a.json").write_bytes(data)
    with suppress(LaminaError):
        assert op.import_(tmp_path / "a.json")["taken"] == 0
    assert size(op) == (0, 0)
