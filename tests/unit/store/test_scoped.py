"""The index of one user's scope: rows among that user's records, and what is read of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lamina import Memory
from lamina.model.record import State
from lamina.store.index import scope, snapshot
from lamina.store.index.scope import Scope
from lamina.store.index.scoped import ScopedCatalogue
from lamina.store.tables import fulltext
from lamina.store.tables.blocks import BLOCK
from lamina.store.tables.records import Filter
from tests.conftest import START, Desk, Ticking, move

MANY = 2 * BLOCK + 50
HOW: list[dict[str, Any]] = [
    {},
    {"session": "s3"},
    {"tags": ["hot"]},
    {"ranker": "semantic"},
    {"ranker": "exact"},
]

SPOKEN: list[dict[str, Any]] = [
    {"project": "p1", "speaker": "Ana"},
    {"project": "p2", "speaker": "assistant"},
    {"speaker": "Ana"},
]


@pytest.fixture
def ana(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A user with more records than a block, among another's; all scopes are read by themselves."""
    monkeypatch.setattr(scope, "SHARE", 1)
    for start in range(0, MANY, 50):
        for user in ("ben", "ana"):
            with desk.agent(user=user) as handle:
                handle.remember_many(
                    [
                        {"content": f"tea {n} of {user}", "session": f"s{n // 20}", "tags": ["hot"]}
                        for n in range(start, min(start + 50, MANY))
                    ]
                )
    return desk.agent(user="ana")


def told(handle: Memory, **how: Any) -> list[object]:
    return [hit.to_dict() for hit in handle.search("tea 77 again", limit=30, **how)]


def test_rows_are_places_among_ones_own(ana: Memory) -> None:
    """R12: rows ascend with the numbers of the records, and numbers of others have no row."""
    with ana._scope.store.index.snapshot(wanted=Filter("ana")) as look:
        catalogue = look.catalogue
        assert isinstance(catalogue, ScopedCatalogue)
        assert catalogue.size == MANY + 1
        rows = np.arange(1, catalogue.size)
        numbers = catalogue.numbers_of(rows)
        assert (np.diff(numbers) > 0).all()
        assert catalogue.rows_of(numbers).tolist() == rows.tolist()
        others = np.setdiff1d(np.arange(2 * MANY + 10), numbers)
        assert catalogue.rows_of(others).tolist() == []
        for number in (0, 1, int(numbers[7]), int(numbers[7]) + 1, 10**9):
            assert catalogue.last_row(number) == (numbers <= number).sum()
        found = look.records([1, catalogue.size - 1], Filter("ana"))
        assert [record.content for record in found.values()] == [
            "tea 0 of ana",
            f"tea {MANY - 1} of ana",
        ]


def test_a_large_scope_answers_as_the_store_does(
    ana: Memory, clock: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q6, R12: before and after indexing, and when records change and come, the same bytes."""
    clock.step = timedelta()
    for step in ("fresh", "indexed", "changed", "more"):
        if step == "indexed":
            ana.index()
        elif step == "changed":
            move(ana, ana.search("tea 77")[0].record.id, state=State.SUPERSEDED)
        elif step == "more":
            ana.remember_many([{"content": f"tea {n} again"} for n in range(BLOCK)])
        for how in HOW:
            own = told(ana, **how)
            assert own
            with monkeypatch.context() as patch:
                patch.setattr(scope, "MOST", 0)
                assert told(ana, **how) == own, (step, how)


def test_what_holds_comes_first_in_a_scope(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q2, R12: an active record comes before a stale one with its text, also where the rows of a
    scope are not the numbers of its records."""
    monkeypatch.setattr(scope, "SHARE", 1)
    desk.agent(user="ben").remember_many([{"content": "tea of ben"}] * 9)
    ana = desk.operator(user="ana")
    holds = ana.remember("the boiler is old", importance=0.1)
    stale = ana.remember("The boiler is OLD", importance=0.9)
    move(ana, stale.id, state=State.SUPERSEDED)
    with ana._scope.store.index.snapshot(wanted=Filter("ana")) as look:
        assert isinstance(look.catalogue, ScopedCatalogue)
    for ranker in ("hybrid", "keyword", "exact"):
        found = ana.search("old boiler", states=[*State], ranker=ranker)
        assert [hit.record.id for hit in found] == [holds.id, stale.id], ranker


TALKS: list[dict[str, Any]] = [
    {"session": "s3"},
    {"project": "p1"},
    {"session": "s3", "project": "p1"},
    {"project": "p1", "known_at": START + timedelta(seconds=5)},
]


@pytest.mark.parametrize("user", [None, "ana"])
def test_a_session_and_a_project_answer_as_the_store_does(
    desk: Desk, user: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q6, R12: hits, scores and parts are the same bytes, with the turns of other projects between
    those of one, before and after something changes, moves to another project, or is erased."""
    monkeypatch.setattr(scope, "SHARE", 1)
    monkeypatch.setattr(snapshot, "AT_HAND", 0)
    op = desk.operator(user=user)
    for other in ("ben", "ana", None):
        desk.agent(user=other).remember_many(
            [
                {"content": f"tea {n % 9} of {other}", "session": f"s{n // 8}", **SPOKEN[n % 3]}
                for n in range(40)
            ]
        )
    desk.clock.step = timedelta()
    for step in ("new", "indexed", "changed", "moved", "erased", "more"):
        records = op.list(project="p1", limit=100)
        if step == "indexed":
            op.index()
        elif step == "changed":
            move(op, records[3].id, state=State.SUPERSEDED)
        elif step == "moved":
            move(op, records[5].id, metadata={"project": "p2"})
        elif step == "erased":
            op.erase(records[7].id, reason="asked for")
        elif step == "more":
            op.remember("tea 7 once more", session="s4", project="p1", speaker="Ana")
        for how in TALKS:
            chosen = Scope(user, session=how.get("session"), project=how.get("project"))
            with monkeypatch.context() as patch:
                patch.setattr(snapshot, "scopes_of", lambda _, alone=chosen: iter([alone]))
                own = told(op, **how)
                assert own, (step, how)
                with op._scope.store.index.snapshot() as look:
                    assert isinstance(look.catalogue, ScopedCatalogue)
                patch.setattr(scope, "MOST", 0)
                assert told(op, **how) == own, (step, how)


def test_what_others_write_is_not_read(ana: Memory, desk: Desk) -> None:
    """Q1, R12: after others' writes a scope has nothing to read, and its rows stay."""
    ana.search("tea")
    with ana._scope.store.index.snapshot(wanted=Filter("ana")) as look:
        before = look.catalogue["state"].copy()
    desk.agent(user="ben").remember("tea of ben once more")
    with ana._scope.store.index.snapshot(wanted=Filter("ana")) as look:
        assert np.array_equal(look.catalogue["state"], before)
        assert look.catalogue.event == ana._scope.store.head().seq
        assert look.holding("ben").tolist() == []
        assert len(look.holding("ana")) == MANY
        assert look.holding("zebra", fulltext.METADATA).tolist() == []
