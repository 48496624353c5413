"""What every mirror must promise: a class to inherit, wherever a mirror is tested."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from lamina.embedders import Embedder, wordllama
from lamina.errors import StoreUnavailable
from lamina.mirrors import Listed, Mirror, MirrorRequest, Position, SearchableMirror
from lamina.mirrors.jsonl import LONG, SHORT
from lamina.model.record import Layer, Record
from tests.unit.formats.samples import record as plain

FIRST, SECOND = Position("store", 1, "aa"), Position("store", 2, "bb")


def made(number: int, content: str = "tea", **fields: Any) -> Record:
    """A record by its number."""
    at = timedelta(seconds=number)
    base = plain()
    return plain(
        id=f"{number:026d}",
        seq=number,
        content=content,
        occurred_at=base.occurred_at + at,
        **fields,
    )


class MirrorContract:
    """The promises. A mirror inherits them, and says how it is opened and what another program
    reads in it."""

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
        """B7: a record is there once, as it was put last, in whatever layer and
        under whatever number."""
        self.fill(tmp_path, [made(1), made(2), made(3)])
        changed = (
            made(1, "better"),
            made(2, "moved", layer=Layer.EPISODIC),
            made(3, "first"),
            made(3, "last"),
        )
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
        """B7: a process that dies between put and commit leaves what was there,
        and its position."""
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

    def test_what_it_holds_can_be_compared(self, tmp_path: Path) -> None:
        """B7: every copy has the digest that its record asks for, before and after
        changes; others differ."""
        first, second = (
            made(1, tags=("a", "b"), user="ana", importance=0.9),
            made(2, "coffee", layer=Layer.EPISODIC),
        )
        mirror = self.fill(tmp_path, [first, second])
        assert isinstance(mirror, Listed)
        assert dict(self.listed(tmp_path)) == {
            one.id: mirror.digest(one) for one in (first, second)
        }
        changed = made(1, "better", importance=0.2)
        self.fill(tmp_path, [changed], SECOND)
        assert dict(self.listed(tmp_path)) == {
            one.id: mirror.digest(one) for one in (changed, second)
        }
        assert mirror.digest(changed) != mirror.digest(first)

    def test_an_empty_one_lists_nothing(self, tmp_path: Path) -> None:
        """B7: no entry before the first commit."""
        assert self.listed(tmp_path / "m") == []

    def listed(self, folder: Path) -> list[tuple[str, str]]:
        mirror = self.open(folder)
        assert isinstance(mirror, Listed)
        return list(mirror.entries())


class SearchContract(MirrorContract):
    """What a mirror promises besides, when searches may go through it. Its vectors are
    those of `embedder()`."""

    def asked(self, folder: Path, text: str = "tea", limit: int = 10, **filters: Any) -> list[int]:
        """The numbers of the candidates for a question, the best first."""
        mirror = self.open(folder)
        assert isinstance(mirror, SearchableMirror)
        vector = embedder().embed([text])[0].tolist()
        return [
            int(one) for one in mirror.candidates(MirrorRequest(text, vector, limit, **filters))
        ]

    def test_the_nearest_come_first(self, tmp_path: Path) -> None:
        """B2: candidates are ordered by nearness, and no more than asked for."""
        self.fill(
            tmp_path, [made(1, "a cup of green tea"), made(2, "the car broke down"), made(3, "tea")]
        )
        assert self.asked(tmp_path, "tea")[:2] == [3, 1]
        assert self.asked(tmp_path, "tea", limit=1) == [3]

    def test_filters(self, tmp_path: Path) -> None:
        """Q3: by user (and nobody's), layer, kind, any of some tags, and time."""
        base = made(1).occurred_at
        some = [
            made(1, user="ana", tags=("x", "y")),
            made(2, user="bob", layer=Layer.EPISODIC),
            made(3, kind="fact", tags=("y", "z")),
        ]
        self.fill(tmp_path, some)
        expected: list[tuple[dict[str, Any], set[int]]] = [
            ({}, {1, 2, 3}),
            ({"user": "ana"}, {1, 3}),
            ({"user": "eve"}, {3}),
            ({"layers": (Layer.EPISODIC,)}, {2}),
            ({"kinds": ("fact", "none")}, {3}),
            ({"tags": ("x", "z")}, {1, 3}),
            ({"tags": ("x",), "user": "bob"}, set()),
            ({"since": base + timedelta(seconds=1)}, {2, 3}),
            ({"since": base, "until": base + timedelta(seconds=1)}, {1}),
        ]
        assert [set(self.asked(tmp_path, **filters)) for filters, _ in expected] == [
            found for _, found in expected
        ]

    def test_what_is_dropped_is_no_candidate(self, tmp_path: Path) -> None:
        """B2: searched is what is committed."""
        mirror = self.fill(tmp_path, [made(1), made(2)])
        mirror.drop([made(1).id])
        mirror.commit(SECOND)
        assert self.asked(tmp_path) == [2]

    def test_one_that_is_not_filled_says_so(self, tmp_path: Path) -> None:
        """B2: no candidates are not the same as no answer."""
        with pytest.raises(StoreUnavailable):
            self.asked(tmp_path)

    def test_a_text_without_words_has_a_place_too(self, tmp_path: Path) -> None:
        """B2: a text that no vector says anything about is held like others, and so is a
        very long one."""
        self.fill(tmp_path, [made(1, "😀"), made(2, "word " * 100_000), made(3, "tea")])
        assert sorted(self.texts(tmp_path)) == [1, 2, 3]
        assert self.asked(tmp_path)[0] == 3

    def test_another_embedder_means_made_anew(self, tmp_path: Path) -> None:
        """B2: vectors of two embedders never lie side by side."""
        self.fill(tmp_path, [made(1)])
        assert self.open_with(tmp_path, None).position() is None

    def open_with(self, folder: Path, embedder: Embedder | None) -> Mirror:
        raise NotImplementedError

    def open(self, folder: Path) -> Mirror:
        return self.open_with(folder, embedder())


def embedder() -> Embedder:
    return wordllama.shared()


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"), st.integers(1, 6), st.sampled_from([Layer.SHORT_TERM, Layer.SEMANTIC])
        ),
        st.tuples(st.just("drop"), st.integers(1, 6), st.none()),
        st.tuples(st.sampled_from(["clear", "commit", "die"]), st.just(0), st.none()),
    ),
    max_size=25,
)


def check_any_history(
    contract: MirrorContract, folder: Path, steps: list[tuple[str, int, Layer | None]]
) -> None:
    """Do some steps and look, after each of them, whether what was committed is there."""
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


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Every line of both files, each record once."""
    found = [path.read_bytes() for name in (SHORT, LONG) if (path := folder / name).exists()]
    lines = [json.loads(line) for content in found for line in content.split(b"\n")[:-1]]
    assert len({line["seq"] for line in lines}) == len(lines)
    return lines
