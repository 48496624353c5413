"""Long random histories, with a model in plain Python beside them: whatever happens,
the two agree."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from lamina import Operator
from lamina.errors import Conflict, InvalidInput, Refused
from lamina.memory.runs import Run
from lamina.model import rules
from lamina.model.record import Layer, Record, Role, State
from lamina.store.tables.records import by_id
from tests.conftest import FULL, TESTER, Desk
from tests.property.states import ACTIVE, NEXT, SUPERSEDED, TOMBSTONED

SIZE = settings(max_examples=2000 if FULL else 12, stateful_step_count=25)
WORDS = ["tea", "coffee", "rain", "猫の手"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
TAGS = st.lists(st.sampled_from(["A", "b ", "c"]), max_size=2)
STATES = st.sampled_from(list(State))


class Moves(RuleBasedStateMachine):
    """One record that anybody tries to move anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ACTIVE

    @rule(to=STATES, role=st.sampled_from(list(Role)))
    def move(self, to: State, role: Role) -> None:
        allowed = to in NEXT[self.state] and (self.state is not TOMBSTONED or role is Role.OPERATOR)
        try:
            rules.check_move(self.state, to, role)
        except Refused:
            assert not allowed
        else:
            assert allowed
            self.state = to


class Expected(NamedTuple):
    """What the model knows of a record."""

    seq: int
    layer: str
    state: State
    content: str
    importance: float
    tags: tuple[str, ...]
    evidence: tuple[str, ...]

    @classmethod
    def of(cls, record: Record) -> Expected:
        return cls(*(getattr(record, name) for name in cls._fields))


class Store(RuleBasedStateMachine):
    """An operator, their agent's runs, crashes and a jumping clock, against a dictionary."""

    records = Bundle("records")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.desk = Desk(Path(self._folder.name))
        self.op: Operator = self.desk.operator()
        self.model: dict[str, Expected] = {}
        self.keys: dict[str, str] = {}
        self.runs: dict[str, Run] = {}
        self.paths: dict[str, list[State]] = {}

    def teardown(self) -> None:
        self.desk.__exit__(None, None, None)
        self._folder.cleanup()

    def learn(self, record: Record, content: str, layer: str = "short_term", **fields: Any) -> str:
        """Note what must be in the store from now on; most of it is what was asked for, not what
        was answered."""
        values = {"importance": record.importance, "tags": (), "evidence": (), **fields}
        self.model[record.id] = Expected(len(self.model) + 1, layer, ACTIVE, content, **values)
        self.paths[record.id] = [ACTIVE]
        return record.id

    @rule(
        target=records,
        content=TEXTS,
        tags=TAGS,
        evidence=st.lists(records, max_size=2),
        importance=st.floats(0, 1),
    )
    def remember(
        self, content: str, tags: list[str], evidence: list[str], importance: float
    ) -> str:
        record = self.op.remember(content, tags=tags, evidence=evidence, importance=importance)
        stripped = tuple(dict.fromkeys(tag.strip().lower() for tag in tags))
        return self.learn(
            record,
            content,
            importance=importance,
            tags=stripped,
            evidence=tuple(dict.fromkeys(evidence)),
        )

    @rule(target=records, content=TEXTS, key=st.sampled_from(["k1", "k2"]))
    def remember_with_key(self, content: str, key: str) -> Any:
        known = self.keys.get(key)
        if known is not None and self.model[known].content != content:
            with pytest.raises(Conflict):
                self.op.remember(content, key=key)
            return multiple()
        record = self.op.remember(content, key=key)
        if known is not None:
            assert record.id == known
            return multiple()
        self.keys[key] = record.id
        return self.learn(record, content)

    @rule(target=records, contents=st.lists(TEXTS, max_size=4))
    def remember_many(self, contents: list[str]) -> Any:
        made = self.op.remember_many(
            [{"content": content, "layer": "episodic"} for content in contents]
        )
        return multiple(
            *(
                self.learn(record, content, "episodic")
                for record, content in zip(made, contents, strict=True)
            )
        )

    @rule(content=TEXTS)
    def remember_badly(self, content: str) -> None:
        with pytest.raises(InvalidInput, match="item 1"):
            self.op.remember_many([{"content": content}, {"content": "\u200b"}])

    @rule(content=TEXTS)
    def open_run(self, content: str) -> None:
        run = self.op.run(content)
        self.learn(self.op.get(run.id), content, "working")
        self.runs[run.id] = run

    @rule(data=st.data(), content=TEXTS)
    def note(self, data: st.DataObject, content: str) -> None:
        if self.runs:
            run = self.runs[data.draw(st.sampled_from(sorted(self.runs)))]
            self.learn(run.note(content), content, "working")

    @rule(target=records, data=st.data(), summary=st.none() | TEXTS, fails=st.booleans())
    def close_run(self, data: st.DataObject, summary: str | None, fails: bool) -> Any:
        if not self.runs:
            return multiple()
        run = self.runs.pop(data.draw(st.sampled_from(sorted(self.runs))))
        notes = [
            note.id
            for note in self.op.list(layers=["working"], limit=1000)
            if note.run_id == run.id
        ][::-1]
        notes.sort(key=lambda note: self.model[note].seq)
        record = run.close(summary, KeyError("x") if fails else None)
        assert record is not None
        for note in notes:
            self.change(note, state=TOMBSTONED)
        ending = f"Run failed: {run.task}: KeyError: 'x'" if fails else f"Run ended: {run.task}"
        return self.learn(record, summary or ending, "episodic", evidence=tuple(notes))

    @rule(record_id=records, to=STATES, data=st.data())
    def move(self, record_id: str, to: State, data: st.DataObject) -> None:
        before = self.model[record_id].state
        try:
            rules.check_move(before, to, Role.OPERATOR)
        except Refused:
            assert to not in NEXT[before]
            return
        assert to in NEXT[before]
        other = data.draw(st.sampled_from(sorted(self.model))) if to is SUPERSEDED else None
        self.update(record_id, state=to, superseded_by=other)
        self.change(record_id, state=to)

    @rule(record_id=records, importance=st.floats(0, 1))
    def weigh(self, record_id: str, importance: float) -> None:
        self.update(record_id, importance=importance)
        self.change(record_id, importance=importance)

    def update(self, record_id: str, **fields: Any) -> None:
        with self.op._scope.store.change(
            TESTER, "test", self.desk.clock(), note={"reason": "test"}
        ) as transaction:
            row = by_id(transaction.db, record_id)
            assert row is not None
            transaction.update(row, **fields)

    def change(self, record_id: str, **fields: Any) -> None:
        self.model[record_id] = self.model[record_id]._replace(**fields)
        if "state" in fields:
            self.paths[record_id].append(fields["state"])

    @rule(days=st.integers(-3650, 3650))
    def jump(self, days: int) -> None:
        if 1900 < (self.desk.clock.now + timedelta(days=days)).year < 2100:
            self.desk.clock.jump(timedelta(days=days))

    @rule(crash=st.booleans())
    def reopen(self, crash: bool) -> None:
        """Close the handle, or leave it as a dead process would; the runs are found again."""
        if not crash:
            self.op.close()
        self.op = self.desk.operator()
        found = {run.id: run for run in self.op.runs()}
        assert found.keys() == self.runs.keys()
        assert [run.task for run in found.values()] == [
            self.model[run_id].content for run_id in found
        ]
        self.runs = found

    @rule(word=st.sampled_from(["tea", "coffee", "rain"]))
    def search(self, word: str) -> None:
        expected = {
            record_id
            for record_id, record in self.model.items()
            if word in record.content.replace(":", " ").split()
            and record.state is ACTIVE
            and record.layer != "working"
        }
        assert {hit.record.id for hit in self.op.search(word, limit=10_000)} == expected

    @invariant()
    def the_store_is_the_model(self) -> None:
        """Every record, in the order of its number, is what the model says; numbers have no gap."""
        found = self.op.list(layers=list(Layer), states=None, limit=10_000)
        found.sort(key=lambda record: record.seq)
        assert {record.id: Expected.of(record) for record in found} == self.model
        assert [record.seq for record in found] == list(range(1, len(found) + 1))

    @invariant()
    def the_trail_agrees(self) -> None:
        assert [
            problem for report in self.op.audit_verify().values() for problem in report.problems
        ] == []

    @invariant()
    def evidence_resolves(self) -> None:
        for record in self.model.values():
            for item in record.evidence:
                assert self.op.get(item).id == item

    @invariant()
    def history_leads_to_the_record(self) -> None:
        """The states in the history are the path that the model took, each step legal, and it ends
        where the record is."""
        for record_id, path in self.paths.items():
            changes = [change for event in self.op.history(record_id) for change in event.changes]
            states = [State(change.after["state"]) for change in changes if "state" in change.after]
            assert states == path
            assert all(after in NEXT[before] for before, after in pairwise(path))
            record = self.op.get(record_id).to_dict()
            assert {name: record[name] for name in changes[-1].after} == changes[-1].after


def test_only_legal_moves() -> None:
    """R3: whoever tries whatever move, exactly the legal ones succeed."""
    run_state_machine_as_test(Moves, settings=SIZE)


def test_any_history() -> None:
    """R1, R3, R4, R8, L1, L10, P1, P4: after any history of writes, runs, moves, crashes and jumps
    of the clock, the store is what the model says: states moved as R3 allows, the trail verifies,
    evidence resolves, numbers rise without a gap."""
    run_state_machine_as_test(Store, settings=SIZE)
