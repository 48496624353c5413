"""Rows: to and from values, the filter, and the schema that the documents promise."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import LaminaError
from lamina.model.record import Layer, State, iso
from lamina.store.tables import records
from lamina.store.tables.records import Filter
from tests.cases import every
from tests.conftest import CONTRACTS, START, Desk, contents, move, size, supersede, verified

MOMENTS = st.datetimes(
    datetime(1000, 1, 1), datetime(2999, 12, 31, 23, 59, 59, 999999), timezones=st.just(UTC)
)


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What any tool sees: the standard module, read-only."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def columns(path: Path, view: str) -> list[str]:
    return [row[1] for row in rows(path, f"PRAGMA table_info({view})")]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One store for every example of a property."""
    with Desk(tmp_path_factory.mktemp("archive")) as desk:
        desk.operator().close()
        yield desk


def test_a_record_survives_its_row(op: Operator) -> None:
    """R1: every field of a record is in its row, and comes back the same."""
    evidence = op.remember("e")
    record = op.remember(
        "x",
        tags=["a"],
        metadata={"a": [1]},
        evidence=[evidence.id],
        source="chat",
        speaker="A",
        session="s",
    )
    moved = move(
        op,
        record.id,
        promoted_at=START,
        valid_from=START,
        valid_to=START + timedelta(microseconds=1),
        last_verified=datetime(1900, 1, 1, tzinfo=UTC),
        superseded_by=evidence.id,
        confidence=0.25,
    )
    row = records.fields_of(moved, "key")
    assert records.record_of(row, "sky") == moved == op.get(record.id)
    assert row[-1] == "key"


def test_the_hash_covers_every_column(op: Operator) -> None:
    """P4: changing any column but the event changes the hash of a row, and so does another salt."""
    row = records.fields_of(op.remember("x", source="chat"), "k")
    before = records.row_hash(row, b"s" * 16)
    for place in range(len(records.HASHED)):
        assert records.row_hash((*row[:place], "changed", *row[place + 1 :]), b"s" * 16) != before
    assert records.row_hash(row, b"t" * 16) != before


def test_an_empty_filter_still_hides_working_memory() -> None:
    """L10: working memory is left out unless its run or its layer is named."""
    assert Filter().where() == ("records.layer <> 'working'", [])
    assert "working" not in Filter(layers=(Layer.WORKING,)).where()[0]
    assert Filter(run_id="r").where()[1] == ["r"]


def test_values_are_never_part_of_the_sql() -> None:
    """P2: every value of a filter is a parameter."""
    chosen = Filter(
        "' OR 1=1 --", (Layer.WORLD,), (State.ACTIVE,), ("k'",), ("t'",), START, START, "r'"
    )
    where, parameters = chosen.where()
    assert "'" not in where.replace("'working'", "")
    assert where.count("?") == len(parameters) == 8


@pytest.mark.parametrize("record", ["' OR 1=1 --", "%", "_" * 26, "*", '"', "x' UNION SELECT 1 --"])
def test_ids_are_compared_and_not_run(op: Operator, record: str) -> None:
    """P2: an id that looks like SQL or a pattern is an unknown id."""
    op.remember("x")
    with pytest.raises(LaminaError, match="there is no record"):
        op.get(record)


def test_views_have_the_promised_columns(desk: Desk, op: Operator) -> None:
    """R9: `episodes` and `facts` have exactly the columns of the document, in their order."""
    op.remember("x")
    path = desk.folder() / "memory.db"
    assert (
        columns(path, "episodes")
        == "id timestamp summary participants tags raw_hash importance".split()
    )
    assert (
        columns(path, "facts")
        == "id content source_episode confidence created last_verified superseded_by".split()
    )


def test_any_tool_reads_the_views(desk: Desk, op: Operator) -> None:
    """R9: the standard sqlite3 module reads episodes and facts as the document describes them."""
    episode = op.remember(
        "Ana and Ben met",
        layer="episodic",
        metadata=CONTRACTS["episodic"],
        tags=["x"],
        importance=0.8,
        at="2026-01-01T00:00:00.5Z",
    )
    bare = op.remember("nobody", layer="episodic", at=0)
    old, new = (
        op.remember(text, layer="semantic", metadata=CONTRACTS["semantic"], confidence=0.9)
        for text in ("old", "new")
    )
    supersede(op, old.id, new.id)
    move(op, new.id, last_verified=START)
    path = desk.folder() / "memory.db"
    assert rows(path, "SELECT * FROM episodes ORDER BY timestamp DESC") == [
        (
            episode.id,
            "2026-01-01T00:00:00.500000Z",
            "Ana and Ben met",
            '["Ana","Ben"]',
            '["x"]',
            "ab12",
            0.8,
        ),
        (bare.id, "1970-01-01T00:00:00.000000Z", "nobody", "[]", "[]", None, 0.5),
    ]
    assert rows(path, "SELECT * FROM facts ORDER BY created") == [
        (old.id, "old", "e1", 0.9, iso(old.created_at), None, new.id),
        (new.id, "new", "e1", 0.9, iso(new.created_at), iso(START), None),
    ]


def test_views_show_what_is_believed(desk: Desk, op: Operator) -> None:
    """R9, R3: episodes are active ones, facts are current or superseded; proposals and what was
    forgotten are in neither."""
    for state in (State.CONSTRAINED, State.TOMBSTONED):
        for layer in ("episodic", "semantic"):
            move(op, op.remember("hidden", layer=layer, metadata=CONTRACTS[layer]).id, state=state)
    op.remember("short")
    path = desk.folder() / "memory.db"
    assert rows(path, "SELECT * FROM episodes") == rows(path, "SELECT * FROM facts") == []


@given(MOMENTS)
@example(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
@example(datetime(1500, 1, 1, 0, 0, 0, 999999, tzinfo=UTC))
@example(datetime(2999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC))
def test_views_tell_the_time_to_the_microsecond(archive: Desk, when: datetime) -> None:
    """R9, R1, B1: the time of an episode in the view is the record's, from the year 1000 to 2999,
    before 1970 too."""
    with archive.operator() as op:
        record = op.remember("x", layer="episodic", at=when)
    path = archive.folder() / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        (shown,) = connection.execute(
            "SELECT timestamp FROM episodes WHERE id = ?", (record.id,)
        ).fetchone()
    assert shown == iso(when)


@every(
    "statement",
    [
        "DELETE FROM records",
        "DELETE FROM events",
        "UPDATE events SET body = '{}'",
        "UPDATE records SET superseded_by = 'nowhere'",
        "UPDATE records SET layer = 'attic'",
        "UPDATE records SET state = 'alive'",
        "UPDATE records SET importance = 2",
        "UPDATE records SET content = ''",
        "UPDATE records SET trust = 'high'",
        "INSERT INTO links VALUES ('nowhere', 'evidence', 1)",
        "UPDATE records SET importance = 'high'",
    ],
)
def test_the_database_refuses_what_must_not_be(desk: Desk, op: Operator, statement: str) -> None:
    """L11, P1, P4: records and events are never deleted, events never changed, links lead
    somewhere, values are valid."""
    op.remember("x")
    with closing(apsw.Connection(str(desk.folder() / "memory.db"))) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(apsw.ConstraintError):
            connection.execute(statement)
    assert size(op) == (1, 1)
    assert verified(op)


def test_evidence_resolves_for_ever(op: Operator) -> None:
    """P1: evidence of a record that was hidden since is still there to be read."""
    source = op.remember("source")
    derived = op.remember("derived", evidence=[source.id, "https://example.org", "notes/a.md"])
    move(op, source.id, state=State.TOMBSTONED)
    assert contents([op.get(derived.evidence[0])]) == ["source"]
