"""What every backend must promise. A backend is one class below; SQLite is the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lamina import Operator
from lamina.errors import Conflict, LaminaError, NotFound
from lamina.model import State
from tests.conftest import TESTER, Desk, contents, move, size, verified


class MemoryContract:
    """The promises. A backend inherits them and says by which settings it is chosen."""

    settings: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def desk(self, tmp_path: Path) -> Iterator[Desk]:
        with Desk(tmp_path / "home") as opened:
            yield opened

    @pytest.fixture
    def op(self, desk: Desk) -> Operator:
        return self.open(desk)

    def open(self, desk: Desk, user: str | None = None) -> Operator:
        return desk.operator(user=user, settings=dict(self.settings))

    def test_what_was_remembered_is_durable(self, desk: Desk, op: Operator) -> None:
        """L1, B1: when remember returns, another handle reads the same record."""
        record = op.remember("tea", tags=["a"], metadata={"n": 1}, at=0)
        assert self.open(desk).get(record.id) == record
        op.close()
        assert self.open(desk).list() == [record]

    def test_many_are_all_or_nothing(self, op: Operator) -> None:
        """L1: one bad item and none is stored."""
        with pytest.raises(LaminaError):
            op.remember_many([{"content": "a"}, {"content": "b", "evidence": ["0" * 26]}])
        assert size(op) == (0, 0)

    def test_numbers_rise_without_a_gap(self, desk: Desk, op: Operator) -> None:
        """R1: one order for all handles, and a failed write takes no number."""
        other = self.open(desk)
        first = [handle.remember("x").seq for handle in (op, other, op)]

        def fail() -> None:
            with op._store.change(TESTER, "test", op._clock()) as transaction:
                transaction.insert([op._draft({"content": "lost"})])
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert [*first, other.remember("y").seq] == [1, 2, 3, 4]

    def test_keys_make_retries_harmless(self, desk: Desk, op: Operator) -> None:
        """L1: the same key stores once, whoever retries; another text is a conflict."""
        record = op.remember("x", key="k")
        assert self.open(desk).remember("x", key="k") == record
        with pytest.raises(Conflict):
            op.remember("y", key="k")
        assert size(op) == (1, 1)

    def test_filters(self, op: Operator) -> None:
        """Q3: layers, states, kinds, any of the tags, and half-open times."""
        made = op.remember_many(
            [
                {"content": "tea a", "tags": ["x"], "at": 1},
                {"content": "tea b", "kind": "fact", "at": 2},
                {"content": "tea c", "at": 3},
            ]
        )
        move(op, made[2].id, state=State.TOMBSTONED)
        for filters, expected in (
            ({"tags": ["x", "y"]}, ["tea a"]),
            ({"kinds": ["fact"]}, ["tea b"]),
            ({"since": 1, "until": 2}, ["tea a"]),
            ({"states": ["tombstoned"]}, ["tea c"]),
            ({"layers": ["episodic"]}, []),
        ):
            assert contents(op.list(**filters)) == expected
            assert contents(op.search("tea", **filters)) == expected

    def test_users_are_kept_apart(self, desk: Desk, op: Operator) -> None:
        """R12: a user's handle reads and finds its own and unscoped records."""
        ana, ben = self.open(desk, "ana"), self.open(desk, "ben")
        record = ana.remember("tea of ana")
        op.remember("tea of all")
        assert contents(ben.search("tea")) == contents(ben.list()) == ["tea of all"]
        with pytest.raises(NotFound):
            ben.get(record.id)
        assert len(op.list()) == 2

    def test_every_change_is_in_the_trail(self, op: Operator) -> None:
        """P4: one event a change, with before and after; and all of it verifies."""
        record = op.remember("x")
        move(op, record.id, state=State.TOMBSTONED)
        made, moved = op.history(record.id)
        assert (made.action, made.changes[0].after["state"]) == ("remember", "active")
        assert (moved.changes[0].before["state"], moved.changes[0].after["state"]) == ("active", "tombstoned")
        assert verified(op)

    def test_evidence_must_exist(self, op: Operator) -> None:
        """P1: evidence is checked in the transaction that stores it, and resolves afterwards."""
        first = op.remember("first")
        second = op.remember("second", evidence=[first.id])
        assert op.get(second.evidence[0]) == first
        with pytest.raises(NotFound):
            op.remember("third", evidence=["0" * 26])

    def test_runs_survive_their_process(self, desk: Desk, op: Operator) -> None:
        """L10: an open run is found by the next handle, and closing it hides its notes."""
        op.run("task").note("note")
        (run,) = self.open(desk).runs()
        ending = run.close("done")
        assert ending is not None
        assert [op.get(item).state for item in ending.evidence] == [State.TOMBSTONED] * 2
        assert op.runs() == []

    def test_everything_travels(self, desk: Desk, op: Operator, tmp_path: Path) -> None:
        """H5, B7: a backup and an export both bring back what was there."""
        op.remember("x", key="k")
        made, exported = op.backup(), op.export()
        op.remember("y")
        op.restore(made)
        assert contents(op.list()) == ["x"]
        with Desk(tmp_path / "other") as other:
            twin = self.open(other)
            twin.import_(exported)
            assert twin.export().read_bytes() == exported.read_bytes()


class TestSQLite(MemoryContract):
    """B1: one SQLite database per agent, the default."""


class TestSQLiteStrict(MemoryContract):
    """B1, P4: the same with reads that are durable first."""

    settings: ClassVar[Mapping[str, Any]] = {"audit.reads": "strict"}
