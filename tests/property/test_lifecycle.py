"""Long random histories of memories that move: whatever the rules and the clock, each is in one
place, and can be had."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lamina import Operator
from lamina.engines.promotion import Action
from lamina.errors import Conflict, Refused
from lamina.home.retention import Retention
from lamina.model.record import LONG_TERM, Entry, Layer, Trust
from tests.conftest import FULL, Desk, Ticking, lifecycle
from tests.property.holding import held

SIZE = settings(max_examples=200 if FULL else 12, stateful_step_count=40 if FULL else 20)
WORDS = ["tea", "coffee", "rain", "猫の手"]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
TAGS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True)
SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9, 1.0])
# With metadata that promotion has to complete, or that breaks what semantic memory promises.
METADATA = st.sampled_from(
    [{}, {"category": "tea"}, {"origin": 5}, {"topic_tags": ["x"], "deep": {"猫": [1, 2.5, None]}}]
)
ITEMS = st.fixed_dictionaries(
    {"content": TEXTS, "importance": SHARES},
    optional={
        "kind": st.sampled_from(["fact", "crumb", "preference", "error"]),
        "tags": TAGS,
        "metadata": METADATA,
        "source": st.sampled_from(["web", "tool"]),
        "layer": st.just("episodic"),
    },
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "promote_threshold": SHARES,
        "short_term_max_lines": st.integers(1, 6),
        "promote_tags": TAGS,
        "time_decay_per_day": st.sampled_from([0.001, 0.1]),
        "deduplicate": st.sampled_from([0, 0.9]),
        "expire_after_days": st.sampled_from([0, 1, 300]),
        "expire_below": SHARES,
    },
)
JUMPS = st.sampled_from(
    [timedelta(hours=-1), timedelta(minutes=1), timedelta(days=2), timedelta(days=3650)]
)
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "layers": st.lists(st.sampled_from(["short_term", "episodic", "semantic"]), min_size=1),
        "older_than_days": st.sampled_from([0, 1, 1000]),
        "importance_below": SHARES,
        "tags": st.just(["a", "b"]),
    },
).filter(bool)


class Told(NamedTuple):
    """What was acknowledged about a memory."""

    content: str
    user: str | None
    key: str | None


class Copy(NamedTuple):
    """A backup, and what was acknowledged until then."""

    path: Path
    model: dict[str, Told]


class Moving(RuleBasedStateMachine):
    """An operator whose memories come, move up, leave, and come back, in one home after another."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.clock = Ticking()
        self.homes = 0
        self.model: dict[str, Told] = {}
        self.copies: list[Copy] = []
        self.desk = self.new_home()
        self.open()

    def teardown(self) -> None:
        self.desk.__exit__(None, None, None)
        self._folder.cleanup()

    def new_home(self) -> Desk:
        self.homes += 1
        return Desk(Path(self._folder.name, f"home{self.homes}"), self.clock)

    def open(self, **more: Any) -> None:
        """An operator, and a person's handle and an agent that stay open beside."""
        self.op: Operator = self.desk.operator(**more)
        self.ana = self.desk.operator(user="ana")
        self.agent = self.desk.agent()

    @property
    def archived(self) -> list[str]:
        return [
            record_id
            for record_id in sorted(self.model)
            if self.op.get(record_id).archived is not None
        ]

    @rule(item=ITEMS, person=st.booleans(), data=st.data())
    def remember(self, item: dict[str, Any], person: bool, data: st.DataObject) -> None:
        handle = self.ana if person else self.op
        known = sorted(record_id for record_id, told in self.model.items() if told.user is None)
        evidence = (
            data.draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else []
        )
        record = handle.remember(**item, evidence=evidence)
        self.model[record.id] = Told(item["content"], handle.user, None)

    @rule(content=TEXTS, key=st.sampled_from(["k1", "k2"]), importance=SHARES)
    def remember_with_key(self, content: str, key: str, importance: float) -> None:
        known = next((record_id for record_id, told in self.model.items() if told.key == key), None)
        if known is not None and self.model[known].content != content:
            with pytest.raises(Conflict):
                self.op.remember(content, key=key)
            return
        record = self.op.remember(content, key=key, importance=importance)
        assert known in (None, record.id)
        self.model[record.id] = Told(content, None, key)

    @rule(given=RULES)
    def set_rules(self, given: dict[str, Any]) -> None:
        self.desk.home.mkdir(exist_ok=True)
        (self.desk.home / "retention_rules.yaml").write_text(json.dumps(given))

    @rule(by_agent=st.booleans())
    def run_once(self, by_agent: bool) -> None:
        """What is told before is what happens, and a second time nothing does."""
        handle = self.agent if by_agent else self.op
        with self.standing_still():
            now, decided = self.clock.now, handle.plan_promotion()
            done = handle.run_once()
            head = self.op.audit_head()["events"]
            again = handle.run_once()
            assert self.op.audit_head()["events"] == head
        actions = Counter(decision.action for decision in decided)
        assert done["promoted"] == actions[Action.PROMOTE]
        assert done["rotated"] == (actions[Action.ROTATE] > 0)
        assert (
            done["remaining"]
            == actions[Action.KEEP]
            <= handle._parts.lifecycle.retention.current().short_term_max_lines
        )
        assert again == {**done, "promoted": 0, "rotated": False}
        for decision in decided:
            record = handle.get(decision.entry.id)
            assert (record.archived is not None) == (
                decision.action in (Action.JOIN, Action.EXPIRE, Action.ROTATE)
            )
            if decision.action is Action.PROMOTE:
                assert record.layer in LONG_TERM
                assert record.promoted_at == now
            if decision.action is Action.JOIN:
                assert decision.entry.id in handle.get(str(decision.twin)).evidence

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        step, self.clock.step = self.clock.step, timedelta()
        yield
        self.clock.step = step

    @rule(bounds=BOUNDS)
    def prune(self, bounds: dict[str, Any]) -> None:
        before = self.op.status()["archived"]
        with self.standing_still():
            expected = self.op.prunable(**bounds, limit=1000)
            assert (
                self.op.prune(dry_run=True, **bounds)["pruned"]
                == expected["pruned"]
                == len(expected["records"])
            )
            assert self.op.prune(**bounds)["pruned"] == expected["pruned"]
        assert self.op.status()["archived"] == before + expected["pruned"]
        assert all(self.op.get(record.id).archived for record in expected["records"])

    @precondition(lambda self: self.archived)
    @rule(data=st.data())
    def restore_archived(self, data: st.DataObject) -> None:
        wanted = data.draw(st.lists(st.sampled_from(self.archived), min_size=1, max_size=3))
        before = {record_id: self.op.get(record_id).layer for record_id in wanted}
        restored = self.op.restore_archived(*wanted)
        assert [record.id for record in restored] == wanted
        assert all(
            record.archived is None and record.layer is before[record.id] for record in restored
        )
        assert all(self.op.get(record.id) == record for record in restored)

    @rule(by=JUMPS)
    def jump(self, by: timedelta) -> None:
        if (self.clock.now + by).year < 2200:
            self.clock.jump(by)

    @rule(crash=st.booleans())
    def reopen(self, crash: bool) -> None:
        """Close the handles, or leave them as a dead process would."""
        if not crash:
            for handle in (self.op, self.ana, self.agent):
                handle.close()
        self.open()

    @rule()
    def move_house(self) -> None:
        """Export everything, import it into a new home, and go on there."""
        path = self.op.export()
        twin = self.new_home()
        with Desk(twin.home, self.clock) as first:
            first.operator(store_id=None).import_(path, trust=True)
        old, self.desk = self.desk, twin
        self.open()
        assert self.op.export().read_bytes() == path.read_bytes()
        old.__exit__(None, None, None)
        self.copies = []

    @rule()
    def back_up(self) -> None:
        self.copies.append(Copy(self.op.backup(), dict(self.model)))

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        """What came after the backup is in the one that is kept."""
        copy = data.draw(st.sampled_from(self.copies))
        kept = Path(self.op.restore(copy.path)["kept"])
        assert held(kept) == Counter(self.model.keys())
        self.copies.append(Copy(kept, self.model))
        self.model = dict(copy.model)

    @rule(word=st.sampled_from(["tea", "coffee", "rain"]))
    def search(self, word: str) -> None:
        """Words lead to what is in the store, and the archive to the rest, whoever asks."""
        having = {record_id for record_id, told in self.model.items() if word in told.content}
        archived = having & set(self.archived)
        for handle in (self.op, self.agent):
            found = {hit.record.id for hit in handle.search(word, limit=10_000)}
            assert found <= having - archived
            # Near-copies from outside are one hit.
            for folded in having - archived - found:
                assert handle.get(folded).trust is Trust.EXTERNAL
                assert found
            by_text = {
                record.id
                for record in handle.search_archive(word, limit=1000)
                if word in record.content
            }
            assert by_text == archived

    @invariant()
    def each_is_in_one_place(self) -> None:
        folder = self.desk.folder()
        assert held(folder) == Counter(self.model.keys())
        assert {path.relative_to(folder).as_posix() for path in folder.glob("archive/*")} == {
            f.file for f in self.op.archives()
        }

    @invariant()
    def each_can_be_had(self) -> None:
        for record_id, told in self.model.items():
            record = self.op.get(record_id)
            assert (record.content, record.user) == (told.content, told.user)
            assert record.layer in (Layer.SHORT_TERM, *LONG_TERM)
            assert all(self.op.get(item).id == item for item in record.evidence)

    @invariant()
    def the_trail_agrees(self) -> None:
        assert [
            problem for report in self.op.audit_verify().values() for problem in report.problems
        ] == []


def test_any_life() -> None:
    """L1, L2, L3, L4, L5, L7, L11, P1, P4, H5: after any history of writes, runs under any rules,
    prunes, restores, exports, backups, crashes and jumps of the clock, every memory that was
    acknowledged is in short-term memory, in long-term memory or on one line of the archive, exactly
    once; it can be had, keys store nothing twice, and the trail verifies."""
    run_state_machine_as_test(Moving, settings=SIZE)


def test_what_is_brought_back_is_all_or_nothing(op: Operator) -> None:
    """L11: bringing back several of which one is not archived changes nothing."""
    away, here = op.remember("tea", tags=["a"]), op.remember("coffee")
    op.prune(tags=["a"])
    head = op.audit_head()["events"]
    with pytest.raises(Refused):
        op.restore_archived(away.id, here.id)
    assert op.get(away.id).archived is not None
    assert op.audit_head()["events"] == head


def test_a_file_can_be_emptied_line_by_line(op: Operator) -> None:
    """L3, L4: the name of a file does not grow with every memory that is brought back from it, so
    that all of them can be."""
    made = op.remember_many({"content": f"tea {n}", "tags": ["a"]} for n in range(12))
    op.prune(tags=["a"])
    for record in made[:-1]:
        op.restore_archived(record.id)
    (file,) = op.archives()
    assert len(file.file) <= len("archive/pruned_archive_20260501T080000.000000Z-12.jsonl")


def test_who_goes_back_leaves_no_file_behind(desk: Desk, op: Operator) -> None:
    """L3, P4: what was archived, and what was brought back line by line, since a backup is as it
    was when it is restored."""
    made = op.remember_many({"content": f"tea {n}", "tags": ["a" if n else "b"]} for n in range(4))
    op.prune(tags=["a"])
    copy = op.backup()
    op.prune(tags=["b"])
    for record in made[1:3]:
        op.restore_archived(record.id)
    op.restore(copy)
    known = {desk.folder() / file.file for file in op.archives()}
    assert set(desk.folder().glob("archive/*")) == known
    assert held(desk.folder()) == Counter(record.id for record in made)
    assert [op.get(record.id).archived is not None for record in made] == [False, True, True, True]


def test_who_finds_its_twin_gone_stays(op: Operator, clock: Ticking) -> None:
    """L7: an entry whose twin leaves before it can join is not archived as the duplicate of
    nothing; it is promoted next."""
    twin = op.remember("I drink tea", layer="episodic", tags=["a"])
    entry = op.remember("I drink tea", importance=0.9)

    def twins(entries: Sequence[Entry], least: float) -> dict[str, str]:
        op.prune(tags=["a"])  # as another process would, between the look and the move
        return {entries[0].id: twin.id}

    lifecycle(op, twins).run(Retention(deduplicate=0.9))
    assert op.get(entry.id).archived is None
    op.run_once()
    assert op.get(entry.id).layer in LONG_TERM
