"""What every mirror must promise. A mirror is one class below; JSONL files are the first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.mirrors import Mirror, Position
from lamina.mirrors.jsonl import LONG, SHORT, JsonlMirror
from lamina.model import Layer, Record
from tests.unit.formats.test_sky import record as plain

FIRST, SECOND = Position("store", 1, "aa"), Position("store", 2, "bb")


def made(number: int, content: str = "tea", **fields: Any) -> Record:
    """A record by its number."""
    at = timedelta(seconds=number)
    base = plain()
    return plain(id=f"{number:026d}", seq=number, content=content, occurred_at=base.occurred_at + at, **fields)


class MirrorContract:
    """The promises. A mirror inherits them, and says how it is opened and what another program reads in it."""

    def open(self, folder: Path) -> Mirror:
        raise NotImplementedError

    def held(self, folder: Path) -> dict[str, str]:
        """The texts that the mirror shows to others now, by id."""
        raise NotImplementedError

    def fill(self, folder: Path, records: Iterable[Record], position: Position = FIRST) -> Mirror:
        mirror = self.open(folder)
        mirror.put(list(records))
        mirror.commit(position)
        return mirror

    def texts(self, folder: Path) -> dict[int, str]:
        return {int(record_id): content for record_id, content in self.held(folder).items()}

    def test_a_new_one_holds_nothing(self, tmp_path: Path) -> None:
        """B7: without a position, a mirror asks to be filled."""
        assert self.open(tmp_path / "m").position() is None
        assert self.held(tmp_path / "m") == {}

    def test_a_commit_is_durable_with_its_position(self, tmp_path: Path) -> None:
        """B7: what was put is there for others, and the next process knows how far it goes."""
        self.fill(tmp_path, [made(1), made(2, "coffee")])
        assert self.open(tmp_path).position() == FIRST
        assert self.texts(tmp_path) == {1: "tea", 2: "coffee"}

    def test_a_position_may_go_on_alone(self, tmp_path: Path) -> None:
        """B7: events that concern no record move the position and nothing else."""
        mirror = self.fill(tmp_path, [made(1)])
        mirror.commit(SECOND)
        assert mirror.position() == self.open(tmp_path).position() == SECOND
        assert self.texts(tmp_path) == {1: "tea"}

    def test_put_replaces(self, tmp_path: Path) -> None:
        """B7: a record is there once, as it was put last, in whatever layer and under whatever number."""
        self.fill(tmp_path, [made(1), made(2), made(3)])
        changed = made(1, "better"), made(2, "moved", layer=Layer.EPISODIC), made(3, "first"), made(3, "last")
        self.fill(tmp_path, changed, SECOND)
        assert self.texts(tmp_path) == {1: "better", 2: "moved", 3: "last"}
        renumbered = plain(id=made(1).id, seq=9, content="back")
        self.fill(tmp_path, [renumbered], SECOND)
        assert self.texts(tmp_path) == {1: "back", 2: "moved", 3: "last"}

    def test_drop(self, tmp_path: Path) -> None:
        """B7: what is dropped is gone, what was never there does no harm."""
        mirror = self.fill(tmp_path, [made(1), made(2)])
        mirror.drop([made(1).id, made(7).id])
        mirror.commit(SECOND)
        assert self.texts(tmp_path) == {2: "tea"}

    def test_the_last_word_counts(self, tmp_path: Path) -> None:
        """B7: put and dropped, or dropped and put, before one commit."""
        mirror = self.fill(tmp_path, [made(1)])
        mirror.put([made(2)])
        mirror.drop([made(1).id, made(2).id])
        mirror.put([made(1, "again")])
        mirror.commit(SECOND)
        assert self.texts(tmp_path) == {1: "again"}

    def test_replay_changes_nothing(self, tmp_path: Path) -> None:
        """B7: the same changes a second time leave the same memories."""
        self.fill(tmp_path, [made(1), made(2)])
        for _ in range(2):
            mirror = self.open(tmp_path)
            mirror.put([made(2, "new"), made(3)])
            mirror.drop([made(1).id])
            mirror.commit(SECOND)
            assert self.texts(tmp_path) == {2: "new", 3: "tea"}

    def test_what_was_not_committed_never_happened(self, tmp_path: Path) -> None:
        """B7: a process that dies between put and commit leaves what was there, and its position."""
        self.fill(tmp_path, [made(1)])
        mirror = self.open(tmp_path)
        mirror.put([made(1, "lost"), made(2)])
        mirror.drop([made(1).id])
        mirror.clear()
        mirror.put([made(3)])
        assert self.open(tmp_path).position() == FIRST
        assert self.texts(tmp_path) == {1: "tea"}

    def test_clear_begins_anew(self, tmp_path: Path) -> None:
        """B7: after clear only what was put since is there; an empty one is a mirror too."""
        mirror = self.fill(tmp_path, [made(1)])
        mirror.put([made(2)])
        mirror.clear()
        assert mirror.position() is None
        mirror.put([made(3)])
        mirror.commit(SECOND)
        assert (mirror.position(), self.texts(tmp_path)) == (SECOND, {3: "tea"})
        mirror.clear()
        mirror.commit(FIRST)
        assert (mirror.position(), self.texts(tmp_path)) == (FIRST, {})

    def test_texts_come_through(self, tmp_path: Path) -> None:
        """B5: any text, unchanged."""
        text = "line\nline\u2028 “quoted” \\ 猫 😀 \x7f \x85 </script>"
        self.fill(tmp_path, [made(1, text)])
        assert self.texts(tmp_path) == {1: text}


class TestSky(MirrorContract):
    """B5: two JSONL files in the form of Sky."""

    def open(self, folder: Path) -> Mirror:
        return JsonlMirror(folder, "sky")

    def held(self, folder: Path) -> dict[str, str]:
        return {line["id"]: line["content"] for line in lines_of(folder)}


class TestMilton(MirrorContract):
    """B5: two JSONL files in the form of Milton."""

    def open(self, folder: Path) -> Mirror:
        return JsonlMirror(folder, "milton")

    def held(self, folder: Path) -> dict[str, str]:
        return {line["payload"]["id"]: line["payload"]["content"] for line in lines_of(folder)}


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Every line of both files, each record once."""
    found = [path.read_bytes() for name in (SHORT, LONG) if (path := folder / name).exists()]
    lines = [json.loads(line) for content in found for line in content.split(b"\n")[:-1]]
    assert len({line["seq"] for line in lines}) == len(lines)
    return lines


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 6), st.sampled_from([Layer.SHORT_TERM, Layer.SEMANTIC])),
        st.tuples(st.just("drop"), st.integers(1, 6), st.none()),
        st.tuples(st.sampled_from(["clear", "commit", "die"]), st.just(0), st.none()),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", [TestSky, TestMilton])
@given(steps=STEPS)
def test_any_history(
    kind: type[MirrorContract], tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, Layer | None]]
) -> None:
    """B7: whatever is put, dropped, cleared, committed and lost, a mirror holds what was committed and knows where it is."""
    folder, contract = tmp_path_factory.mktemp("mirror"), kind()
    durable: dict[int, str] = {}
    now: dict[int, str] = {}
    mirror, at = contract.open(folder), None
    for place, (step, number, layer) in enumerate(steps):
        if step == "put":
            now[number] = f"text {place}"
            mirror.put([made(number, now[number], layer=layer)])
        elif step == "drop":
            now.pop(number, None)
            mirror.drop([made(number).id])
        elif step == "clear":
            now = {}
            mirror.clear()
        elif step == "commit":
            at = Position("store", place, "cc")
            mirror.commit(at)
            durable = dict(now)
        else:
            mirror, now = contract.open(folder), dict(durable)
        assert contract.texts(folder) == durable
    assert contract.open(folder).position() == at
