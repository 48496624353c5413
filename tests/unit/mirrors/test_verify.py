"""Comparing a mirror with its store: what is missing, outdated or unknown is found, and what only
waits is no fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import Operator
from lamina.errors import InvalidInput, Refused
from lamina.mirrors import Copy, Damaged, Position, digest
from lamina.mirrors.jsonl import SHORT
from lamina.mirrors.sync import sync
from lamina.mirrors.verify import NAMED, Verified, verify
from lamina.model.record import Record
from tests.conftest import Desk
from tests.contract.mirrors import made


@pytest.mark.parametrize("event", [1 << 63, (1 << 64) - 1, -1])
def test_a_position_beyond_any_history(op: Operator, event: int) -> None:
    """B7: a mirror that says it is where no store can be follows another history."""
    op.remember("x")
    mirror = Held()
    mirror.at = Position(op._scope.store.id, event, "aa")
    assert "another history" in str(verify(op._scope.store, mirror).problem)
    assert sync(op._scope.store, mirror).rebuilt


class Held:
    """A mirror in memory that can be compared."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.at: Position | None = None
        self.more: list[tuple[str, str]] = []
        self.damaged = False

    def position(self) -> Position | None:
        return self.at

    def put(self, records: Sequence[Record]) -> None:
        self.held.update((record.id, digest(record)) for record in records)

    def drop(self, ids: Sequence[str]) -> None:
        for record_id in ids:
            self.held.pop(record_id, None)

    def commit(self, position: Position) -> None:
        self.at = position

    def clear(self) -> None:
        self.held, self.at = {}, None

    def entries(self) -> Iterator[tuple[str, str]]:
        if self.damaged:
            raise Damaged("on purpose")
        yield from self.held.items()
        yield from self.more

    def digest(self, record: Record) -> str:
        return digest(record)


@pytest.fixture
def mirror(op: Operator) -> Held:
    """A mirror of five memories that is up to date."""
    op.remember_many([{"content": f"tea {number}"} for number in range(5)])
    found = Held()
    sync(op._scope.store, found)
    return found


def test_one_that_is_right(op: Operator, mirror: Held) -> None:
    """B7: nothing differs."""
    assert verify(op._scope.store, mirror) == Verified(5)
    assert verify(op._scope.store, mirror).ok


def test_what_differs_is_counted_and_named(op: Operator, mirror: Held) -> None:
    """B7: each kind with its number and its ids; an entry that is there twice is one too many."""
    first, second, *_ = list(mirror.held)
    del mirror.held[first]
    mirror.held[second] = "changed"
    mirror.more = [("foreign", "x"), (list(mirror.held)[1], "x")]
    found = verify(op._scope.store, mirror)
    assert (found.ok, found.held, found.missing, found.outdated, found.unknown) == (
        False,
        6,
        1,
        1,
        2,
    )
    assert found.ids == {
        "missing": [first],
        "outdated": [second],
        "unknown": ["foreign", list(mirror.held)[1]],
    }


def test_only_some_are_named(op: Operator, mirror: Held) -> None:
    """B7: a report about very much stays short."""
    mirror.more = [(f"foreign {number}", "x") for number in range(100)]
    found = verify(op._scope.store, mirror)
    assert (found.unknown, len(found.ids["unknown"])) == (100, NAMED)


def test_one_without_an_end(op: Operator, mirror: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """B2: a server that goes on and on is not listened to for ever."""
    monkeypatch.setattr("lamina.mirrors.verify.MORE", 10)
    mirror.more = [("foreign", "x")] * 100
    found = verify(op._scope.store, mirror)
    assert (found.held, found.ok) == (21, False)
    assert "far more entries" in str(found.problem)


def test_what_waits_is_no_fault(op: Operator, mirror: Held) -> None:
    """B7: what the store has learned since the mirror's position comes with the next sync."""
    op.remember("coffee")
    op.forget(next(iter(mirror.held)))
    found = verify(op._scope.store, mirror)
    assert (found.ok, found.waiting) == (True, 2)
    sync(op._scope.store, mirror)
    assert verify(op._scope.store, mirror) == Verified(5)


def test_one_that_cannot_be_compared(op: Operator, mirror: Held) -> None:
    """B7: not made yet, damaged, or of another history: that is said instead."""
    mirror.damaged = True
    assert verify(op._scope.store, mirror).problem == "it is damaged: on purpose"
    mirror.damaged, mirror.at = False, Position("another", 1, "ab")
    assert verify(op._scope.store, mirror).problem == "it follows another history than the store"
    mirror.at = None
    assert "not made yet" in str(verify(op._scope.store, mirror).problem)
    assert not verify(op._scope.store, mirror).ok


def test_progress_is_told(op: Operator, mirror: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1: long work tells how far it is."""
    monkeypatch.setattr("lamina.mirrors.verify.PAGE", 2)
    told: list[tuple[int, int]] = []
    verify(op._scope.store, mirror, lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5)]


@given(
    content=st.text(min_size=1, max_size=40),
    tags=st.lists(st.text(max_size=5)),
    importance=st.floats(0, 1),
)
def test_a_digest_tells_copies_apart(content: str, tags: list[str], importance: float) -> None:
    """B7: two copies have one digest exactly when they say the same."""
    one, other = made(1), made(1, content, tags=tuple(tags), importance=importance)
    assert (digest(one) == digest(other)) == (Copy.of(one) == Copy.of(other))


def test_jsonl_files(desk: Desk) -> None:
    """B7: a line that somebody has changed, taken out or added is found."""
    op = desk.operator(settings={"mirrors.jsonl": "sky"})
    op.remember_many([{"content": f"tea {number}"} for number in range(3)])
    op.sync_mirrors()
    assert op.verify_mirrors()["jsonl"].ok
    path = desk.folder() / "jsonl" / SHORT
    path.write_bytes(path.read_bytes().replace(b"tea 1", b"mud 1"))
    found = op.verify_mirrors()["jsonl"]
    assert (found.outdated, found.ok) == (1, False)
    assert op.rebuild_mirrors(["jsonl"])["jsonl"]["rebuilt"]
    assert op.verify_mirrors(["jsonl"])["jsonl"].ok


def test_standings(desk: Desk) -> None:
    """B7: how far each mirror is, without bringing it further."""
    op = desk.operator(settings={"mirrors.jsonl": "sky"})
    [one] = op.mirrors()
    assert (one.name, one.behind, one.problem) == ("jsonl", None, None)
    op.sync_mirrors()
    [one] = op.mirrors()
    assert (one.behind, one.place) == (0, str(desk.folder() / "jsonl"))
    other = desk.operator()
    other.remember("tea")
    [one] = op.mirrors()
    assert one.behind == 1


def test_a_handle_of_one_user(desk: Desk) -> None:
    """R12: mirrors hold the memories of all users, so a handle of one of them learns
    nothing about them."""
    op = desk.operator(user="ana", settings={"mirrors.jsonl": "sky"})
    for verb in (op.mirrors, op.verify_mirrors, op.rebuild_mirrors):
        with pytest.raises(Refused, match="all users"):
            verb()


def test_a_mirror_that_is_not_on(desk: Desk) -> None:
    """H1: an unknown name is told with those that are known."""
    with pytest.raises(InvalidInput, match="those that are on: jsonl"):
        desk.operator(settings={"mirrors.jsonl": "sky"}).rebuild_mirrors(["chroma"])
    assert desk.operator().verify_mirrors() == {}


@pytest.mark.parametrize("names", ["jsonl", 5, [["jsonl"]]])
def test_names_of_mirrors_are_a_list_of_texts(desk: Desk, names: Any) -> None:
    """H1: anything else is an error that shows it; None means all that are on."""
    op = desk.operator(settings={"mirrors.jsonl": "sky"})
    for verb in (op.rebuild_mirrors, op.verify_mirrors):
        with pytest.raises(InvalidInput, match=r"jsonl|5"):
            verb(names)
        assert list(verb(None)) == ["jsonl"]
