"""A mirror follows its store: whatever happens there, it ends up with the active memories, and
starts over when it must."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina import Operator
from lamina.mirrors import Damaged, Position
from lamina.mirrors.jsonl import LONG, POSITION, SHORT, JsonlMirror
from lamina.mirrors.sync import PAGE, Synced, sync
from lamina.model.record import Layer, Record, State
from lamina.store.tables import outbox
from tests.conftest import CONTRACTS, FULL, TESTER, Desk, move
from tests.contract.mirrors import lines_of
from tests.unit.mirrors.files import archive, files, rebuilt


class Listed:
    """A mirror in memory that counts its commits."""

    def __init__(self) -> None:
        self.held: dict[str, Record] = {}
        self.at: Position | None = None
        self.commits: list[Position] = []
        self.damaged = False

    def position(self) -> Position | None:
        return self.at

    def put(self, records: Sequence[Record]) -> None:
        if self.damaged:
            raise Damaged("on purpose")
        self.held.update((record.id, record) for record in records)

    def drop(self, ids: Sequence[str]) -> None:
        for record_id in ids:
            self.held.pop(record_id, None)

    def commit(self, position: Position) -> None:
        self.at = position
        self.commits.append(position)

    def clear(self) -> None:
        self.held, self.at, self.damaged = {}, None, False


def active(op: Operator) -> dict[str, Record]:
    return {record.id: record for record in op.list(limit=10_000)}


def test_it_follows(op: Operator) -> None:
    """B7: new, changed and hidden memories arrive with the next sync, and nothing happens when
    nothing happened."""
    mirror = Listed()
    tea, coffee = op.remember("tea"), op.remember("coffee")
    assert sync(op._scope.store, mirror) == Synced(2, 2, 0, rebuilt=True)
    assert sync(op._scope.store, mirror) == Synced()
    assert len(mirror.commits) == 1
    juice = op.remember("juice")
    move(op, tea.id, state=State.TOMBSTONED)
    moved = move(op, coffee.id, layer=Layer.EPISODIC, promoted_at=op._scope.clock())
    assert sync(op._scope.store, mirror) == Synced(3, 2, 1)
    assert mirror.held == {coffee.id: moved, juice.id: juice}
    assert mirror.at == outbox.head(op._scope.store.database)
    back = move(op, tea.id, state=State.ACTIVE)
    assert sync(op._scope.store, mirror) == Synced(1, 1, 0)
    assert mirror.held[tea.id] == back


def test_only_active_memories_arrive(op: Operator) -> None:
    """R3, L10: no proposal, no superseded or hidden record, and never working memory."""
    for layer, metadata in CONTRACTS.items():
        for state in State:
            record = op.remember(f"{layer} {state}", layer=layer, metadata=metadata)
            if state is not State.ACTIVE:
                move(op, record.id, state=state)
    run = op.run("task")
    run.note("scratch")
    for again in (False, True):
        mirror = Listed()
        if again:  # along the events, from the first one
            mirror.at = Position(op._scope.store.id)
        sync(op._scope.store, mirror)
        assert mirror.held == active(op)
        assert {record.layer for record in mirror.held.values()} == set(CONTRACTS)
    run.close()
    sync(op._scope.store, mirror)
    assert mirror.held == active(op)


def test_what_left_for_the_archive_is_dropped(op: Operator) -> None:
    """L3: a record that was archived leaves the mirror, and comes back when it is restored, with
    its new number."""
    mirror = Listed()
    tea, _ = op.remember("tea"), op.remember("coffee")
    sync(op._scope.store, mirror)
    archive(op, tea)
    assert sync(op._scope.store, mirror) == Synced(1, 0, 1)
    assert list(mirror.held) == list(active(op))
    op._scope.store.archive.restore(TESTER, op._scope.clock(), [tea.id])
    sync(op._scope.store, mirror)
    assert mirror.held == active(op)


def test_archived_and_back_between_two_syncs(op: Operator, tmp_path: Path) -> None:
    """L3: a record whose number has changed meanwhile stands in the files once."""
    mirror = JsonlMirror(tmp_path / "m")
    tea, _ = op.remember("tea"), op.remember("coffee")
    sync(op._scope.store, mirror)
    archive(op, tea)
    op._scope.store.archive.restore(TESTER, op._scope.clock(), [tea.id])
    assert not sync(op._scope.store, mirror).rebuilt
    assert [line["content"] for line in lines_of(tmp_path / "m")] == ["coffee", "tea"]
    assert files(tmp_path / "m") == rebuilt(op, tmp_path / "new")


def test_another_history_is_seen(desk: Desk, op: Operator, tmp_path: Path) -> None:
    """B7: a restored backup, even one that has grown past the mirror's position, and an exchanged
    store: made anew."""
    mirror = Listed()
    op.remember("kept")
    backup = op.backup()
    op.remember("undone")
    sync(op._scope.store, mirror)
    op.restore(backup)
    assert sync(op._scope.store, mirror).rebuilt
    assert [record.content for record in mirror.held.values()] == ["kept"]
    for n in range(3):
        op.remember(f"before {n}")
    sync(op._scope.store, mirror)
    op.restore(backup)
    for n in range(9):
        op.remember(f"after {n}")
    assert sync(op._scope.store, mirror).rebuilt
    assert mirror.held == active(op)
    other = desk.operator("other", store_id="6" * 32)
    other.remember("theirs")
    assert sync(other._scope.store, mirror).rebuilt
    assert mirror.held == active(other)


def test_a_damaged_mirror_is_made_anew(op: Operator) -> None:
    """B7: a mirror that finds itself damaged in the middle is filled from the beginning."""
    mirror = Listed()
    op.remember("tea")
    sync(op._scope.store, mirror)
    op.remember("coffee")
    mirror.damaged = True
    assert sync(op._scope.store, mirror) == Synced(2, 2, 0, rebuilt=True)
    assert mirror.held == active(op)


@pytest.mark.parametrize("from_zero", [False, True])
def test_many_are_committed_in_parts(op: Operator, from_zero: bool) -> None:
    """B7: a large store is copied in bounded steps; until the end, no commit says more than
    what is there."""
    op.remember_many([{"content": f"memory {n}"} for n in range(3 * PAGE)])
    mirror = Listed()
    if from_zero:
        mirror.at = Position(op._scope.store.id)
    sync(op._scope.store, mirror, limit=PAGE)
    assert len(mirror.commits) == (3 if from_zero else 4)
    assert mirror.held == active(op)
    assert mirror.at == mirror.commits[-1] == outbox.head(op._scope.store.database)
    assert all(position.event == 0 for position in mirror.commits[:-1]) is not from_zero


def test_an_interrupted_beginning_is_taken_up(op: Operator, tmp_path: Path) -> None:
    """B7: a copy that ended in the middle goes on along the events, and misses nothing."""
    made = op.remember_many([{"content": f"memory {n}"} for n in range(3 * PAGE)])

    class Dying(JsonlMirror):
        def commit(self, position: Position) -> None:
            super().commit(position)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync(op._scope.store, Dying(tmp_path / "m"), limit=PAGE)
    assert len(lines_of(tmp_path / "m")) == PAGE
    move(op, made[3].id, state=State.TOMBSTONED)
    assert not sync(op._scope.store, JsonlMirror(tmp_path / "m")).rebuilt
    assert files(tmp_path / "m") == rebuilt(op, tmp_path / "new")


def test_an_empty_store(op: Operator, tmp_path: Path) -> None:
    """B7: nothing to copy makes two empty files, and a position."""
    assert sync(op._scope.store, JsonlMirror(tmp_path)) == Synced(0, 0, 0, rebuilt=True)
    assert files(tmp_path) == (b"", b"")
    assert sync(op._scope.store, JsonlMirror(tmp_path)) == Synced()


# What may happen between two syncs.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["remember", "layered", "note", "sync"]), st.just(0)),
        st.tuples(
            st.sampled_from(["hide", "show", "promote", "archive", "restore", "raise"]),
            st.integers(0, 30),
        ),
    ),
    max_size=25,
)


def happen(op: Operator, step: str, pick: int, made: list[str], archived: list[str]) -> None:
    """One step of a history; one that cannot be made now is left out."""
    live = [op.get(record_id) for record_id in made if record_id not in archived]
    matching: dict[str, Callable[[Record], bool]] = {
        "hide": lambda record: record.state is State.ACTIVE,
        "show": lambda record: record.state is State.TOMBSTONED,
        "promote": lambda record: record.layer is Layer.SHORT_TERM and record.state is State.ACTIVE,
        "archive": lambda record: record.state is State.ACTIVE,
        "raise": lambda record: record.state is State.ACTIVE,
    }
    changes: dict[str, dict[str, Any]] = {
        "hide": {"state": State.TOMBSTONED},
        "show": {"state": State.ACTIVE},
        "promote": {"layer": Layer.EPISODIC, "promoted_at": op._scope.clock()},
        "raise": {"importance": pick / 30},
    }
    if step in ("remember", "layered"):
        made.append(
            op.remember(
                f"memory {len(made)}", layer="short_term" if step == "remember" else "world"
            ).id
        )
    elif step == "note":
        op.run("task").note("scratch")
    elif step == "restore" and archived:
        op._scope.store.archive.restore(
            TESTER, op._scope.clock(), [archived.pop(pick % len(archived))]
        )
    elif step in matching and (found := list(filter(matching[step], live))):
        record = found[pick % len(found)]
        if step == "archive":
            archive(op, record)
            archived.append(record.id)
        else:
            move(op, record.id, **changes[step])


@pytest.mark.parametrize("form", ["sky", "milton"])
@given(steps=STEPS)
@settings(max_examples=300 if FULL else 12)
def test_the_way_makes_no_difference(
    form: str, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """B7, Q6: synced after every step or never before the end, the files have the same bytes, in
    the order of `seq`."""
    folder = tmp_path_factory.mktemp("home")
    with Desk(folder / "home") as desk:
        op = desk.operator()
        made: list[str] = []
        archived: list[str] = []
        mirror = JsonlMirror(folder / "m", form)
        for step, pick in steps:
            if step == "sync":
                sync(op._scope.store, mirror)
            else:
                happen(op, step, pick, made, archived)
        sync(op._scope.store, mirror)
        assert files(folder / "m") == rebuilt(op, folder / "new", form)
        for content in files(folder / "m"):
            numbers = [json.loads(line)["seq"] for line in content.split(b"\n")[:-1]]
            assert numbers == sorted(numbers)
        assert {line["seq"] for line in lines_of(folder / "m")} == {
            record.seq for record in active(op).values()
        }


CALLS = ("open", "fsync", "replace", "unlink", "truncate")


def die_at(number: int) -> None:
    """Let this process end without any cleaning up at the so-manieth call that changes files."""
    left = [number]

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **more: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                os._exit(9)
            return call(*arguments, **more)

        return counted

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))


def synced_by_child(home: Path, folder: Path, death: int) -> bool:
    """Sync in a process that dies on the way; whether it did."""
    child = os.fork()
    if not child:
        code = 1
        try:
            with Desk(home) as desk:
                op = desk.operator()
                die_at(death)
                sync(op._scope.store, JsonlMirror(folder))
                code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("change", ["first", "new", "moved", "dropped"])
def test_a_death_at_any_call_is_repaired(tmp_path: Path, change: str) -> None:
    """B7: killed at any call that changes files, what is left is repaired by the next sync to the
    same bytes."""
    for death in range(1, 100):
        home, folder = tmp_path / str(death) / "home", tmp_path / str(death) / "m"
        with Desk(home) as desk:
            op = desk.operator()
            tea, coffee = op.remember("tea"), op.remember("coffee", layer="episodic")
            op.remember("juice")
            if change != "first":
                sync(op._scope.store, JsonlMirror(folder))
            if change == "new":
                op.remember("milk")
            elif change == "moved":
                move(op, tea.id, layer=Layer.EPISODIC, promoted_at=op._scope.clock())
            elif change == "dropped":
                move(op, coffee.id, state=State.TOMBSTONED)
        died = synced_by_child(home, folder, death)
        with Desk(home) as desk:
            op = desk.operator()
            sync(op._scope.store, JsonlMirror(folder))
            assert files(folder) == rebuilt(op, tmp_path / str(death) / "new")
            assert sorted(path.name for path in folder.iterdir()) == sorted([POSITION, SHORT, LONG])
        if not died:
            break
    assert death > 4
