"""How a file comes to the schema of this program."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from lamina.errors import Corrupt, LaminaError, Refused, StoreUnavailable
from lamina.home import settings
from lamina.model.record import State
from lamina.store.core.store import Store
from lamina.store.tables import events
from lamina.store.tables.migrations import STEPS, Step
from lamina.store.tables.records import Filter
from lamina.store.upkeep import opening
from tests.conftest import Desk, contents, digest, tamper, verified

NOW = len(STEPS)


def add_column(connection: apsw.Connection) -> None:
    """A step as a later version may have it: it adds a column and fills it."""
    connection.execute("ALTER TABLE records ADD COLUMN mood TEXT")
    connection.execute("UPDATE records SET mood = 'calm'")


def add_table(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE later (x)")


def failing(connection: apsw.Connection) -> None:
    add_column(connection)
    raise KeyError("step")


def failing_in_sql(connection: apsw.Connection) -> None:
    add_column(connection)
    connection.execute("INSERT INTO nowhere VALUES (1)")


@contextmanager
def opened(desk: Desk, *more: Step) -> Iterator[Store]:
    """The store as a program would open it that knows these further steps."""
    values = settings.load(desk.home, None, {})
    store = opening.opened(desk.folder(), "sky", values, desk.clock(), steps=(*STEPS, *more))
    try:
        yield store
    finally:
        store.close()


def numbers(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(path)) as connection:
        (version,), (columns,) = (
            connection.execute(query).fetchone()
            for query in (
                "PRAGMA user_version",
                "SELECT count(*) FROM pragma_table_info('records')",
            )
        )
    return version, columns


@pytest.fixture
def path(desk: Desk) -> Path:
    """A store with a memory, closed."""
    with desk.operator() as op:
        op.remember("tea", tags=["a"])
    return desk.folder() / "memory.db"


def test_an_older_store_is_migrated(desk: Desk, path: Path) -> None:
    """B1: missing steps are taken in order, the data stays, and an event says so."""
    with opened(desk, add_column, add_table) as store:
        assert contents(store.listed(Filter(), 10)) == ["tea"]
        (event, *_) = events.latest(store.database.reader(), 1)
        assert (event.action, event.actor, event.details) == (
            "migrate",
            "system:migration",
            {"from": NOW, "to": NOW + 2},
        )
    assert numbers(path) == (NOW + 2, 30)


def test_a_backup_is_made_before(desk: Desk, path: Path) -> None:
    """B1: what a migration changes is kept as it was, checked, and can be opened by
    the older program."""
    with opened(desk, add_column):
        pass
    (saved,) = (desk.folder() / "backups").iterdir()
    assert saved.name.endswith(f"-before-schema-{NOW + 1}")
    assert numbers(saved / "memory.db") == (NOW, 29)


def test_migrating_happens_once(desk: Desk, path: Path) -> None:
    """B1: opening again takes no step, makes no backup and no event."""
    for _ in range(2):
        with opened(desk, add_column) as store:
            assert store.head().seq == 2
    assert len(list((desk.folder() / "backups").iterdir())) == 1


def test_a_new_store_needs_no_backup(desk: Desk) -> None:
    """B1: a new file comes to the newest schema at once, without an event."""
    desk.folder().mkdir(parents=True)
    with opened(desk, add_column) as store:
        assert store.head().seq == 0
    assert not (desk.folder() / "backups").exists()
    assert numbers(desk.folder() / "memory.db")[0] == NOW + 1


@pytest.mark.parametrize(("step", "error"), [(failing, KeyError), (failing_in_sql, LaminaError)])
def test_a_failing_step_changes_nothing(
    desk: Desk, path: Path, step: Step, error: type[Exception]
) -> None:
    """B1: a step that fails is rolled back with all before it; the older program opens the
    store as before."""
    with pytest.raises(error), opened(desk, add_table, step):
        pass
    assert numbers(path) == (NOW, 29)
    with desk.operator() as op:
        assert contents(op.list()) == ["tea"]
        assert all(report.ok for report in op.audit_verify().values())


def test_a_migration_can_be_tried_again(desk: Desk, path: Path) -> None:
    """B1: after a failed attempt the next one succeeds, also when the clock stands still."""
    desk.clock.step *= 0
    with pytest.raises(KeyError), opened(desk, failing):
        pass
    with opened(desk, add_column):
        pass
    assert numbers(path) == (NOW + 1, 30)


def test_a_newer_store_is_refused(desk: Desk, path: Path) -> None:
    """B1: a store of a later version is not touched, and the message says what to do."""
    with opened(desk, add_column):
        pass
    before = digest(path)
    with pytest.raises(
        StoreUnavailable, match=f"schema {NOW + 1}, but this Lamina knows only up to {NOW}; upgrade"
    ):
        desk.operator()
    assert digest(path) == before


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE mine (x)"],
        ["PRAGMA user_version = 7"],
        ["CREATE TABLE mine (x)", "PRAGMA application_id = 7"],
    ],
)
def test_a_foreign_database_is_refused(desk: Desk, statements: list[str]) -> None:
    """B1: another program's SQLite file in our place is left as it is, to the byte."""
    desk.folder().mkdir(parents=True)
    path = desk.folder() / "memory.db"
    tamper(path, *statements)
    before = digest(path)
    with pytest.raises(Corrupt, match="not a Lamina store"):
        desk.operator()
    assert digest(path) == before


@pytest.mark.parametrize(
    "content", [b"text, not a database", b"SQLite format 3\0" + b"x" * 500, b"\xff" * 5000]
)
def test_what_is_no_database_is_refused(desk: Desk, content: bytes) -> None:
    """B1: a file that is no database is a typed error, and is left as it is."""
    desk.folder().mkdir(parents=True)
    path = desk.folder() / "memory.db"
    path.write_bytes(content)
    with pytest.raises(Corrupt):
        desk.operator(settings={"failsafe": "off"})
    assert path.read_bytes() == content


def test_a_store_of_another_agent_is_refused(desk: Desk, path: Path) -> None:
    """P2: a file that was moved from one agent to another is not opened."""
    desk.folder("milton").mkdir()
    path.rename(desk.folder("milton") / "memory.db")
    with pytest.raises(Corrupt, match="made for the agent"):
        desk.operator("milton")


def test_a_missing_identity_is_refused(desk: Desk, path: Path) -> None:
    """P4: a store without its id is damaged, not new."""
    tamper(path, "DELETE FROM meta WHERE name = 'store_id'")
    with pytest.raises(Corrupt):
        desk.operator()


def test_an_empty_file_is_a_new_store(desk: Desk) -> None:
    """B1: a process that died while making the file left nothing that is in the way."""
    desk.folder().mkdir(parents=True)
    (desk.folder() / "memory.db").touch()
    assert desk.operator().remember("x").seq == 1


def test_the_store_id_is_drawn_or_given(desk: Desk) -> None:
    """Q6: a store's id is random, unless a test gives one."""
    drawn = {desk.operator(agent, store_id=None)._scope.store.id for agent in ("a", "b")}
    assert len(drawn) == 2
    assert all(len(one) == 32 for one in drawn)
    assert desk.operator("c", store_id="x")._scope.store.id == "x"


def test_the_stores_of_every_released_schema_open(desk: Desk) -> None:
    """B1: a store that an older version wrote is opened, migrated, whole, and says the same."""
    golden = sorted((Path(__file__).parents[2] / "golden").glob("schema_*.db"))
    assert golden
    for path in golden:
        agent = desk.home / "agents" / "golden"
        shutil.rmtree(agent, ignore_errors=True)
        agent.mkdir(parents=True)
        shutil.copyfile(path, agent / "memory.db")
        with desk.operator("golden") as op:
            assert verified(op), path.name
            (report,) = op.search("report at 7am", limit=1)
            assert (report.record.content, report.record.tags) == (
                "Ana wants the report at 7am",
                ("report",),
            )
            (dinner,) = op.search("晚饭")
            assert dinner.record.evidence == (report.record.id,)
            assert op.remember("Ana wants the report at 7am", key="k1").id == report.record.id
            assert "dark" in [record.metadata["value"] for record in op.list(layers=["profile"])]
            assert {record.user for record in op.list(limit=1000)} == {None, "ben"}
            if int(path.stem.removeprefix("schema_")) >= 4:
                with pytest.raises(Refused, match="rejected"):
                    op.propose_profile("cooks_with", "Peanut-Oil", "said so")
                assert op.propose_profile("town", "Oslo", "lifted").state is State.CONSTRAINED
