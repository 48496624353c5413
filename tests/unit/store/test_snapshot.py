"""One search's look at the store: one moment, the present or a past one."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from lamina import Memory, Operator
from lamina.model.record import Layer, State
from lamina.search import RANKERS
from lamina.store.index.catalogue import day_number
from lamina.store.tables import fulltext
from lamina.store.tables.records import Filter
from tests.conftest import START, Desk, Ticking, contents, move, supersede

NOW = START + timedelta(days=30)
SIMPLE = ("keyword", "overlap", "exact", "semantic")


def test_a_look_sees_one_moment(desk: Desk, mem: Memory) -> None:
    """Q6: what is written while a search looks is not seen by it, in none of the tables, and by the
    next one in all."""
    first = mem.remember("green tea", tags=["a"], metadata={"x": 1})
    with mem._scope.store.index.snapshot() as look:
        other = desk.operator()
        other.remember("black tea", tags=["a"], metadata={"x": 1})
        move(other, first.id, state=State.TOMBSTONED)
        other.index()
        chosen = Filter(states=(State.ACTIVE,), tags=("a",), metadata=(("x", "1"),))
        assert np.flatnonzero(look.allowed(chosen)).tolist() == [1]
        assert look.holding("tea").tolist() == [1]
        assert [record.content for record in look.records([1, 2], chosen).values()] == ["green tea"]
        assert look.texts(1) == [(1, "green tea")]
        assert look.space("wordllama-256") is None
    assert contents(mem.search("tea", tags=["a"], ranker="keyword")) == ["black tea"]


def test_records_are_asked_whether_they_pass(mem: Memory) -> None:
    """Q3, R12: what the catalogue admits is asked again of the records: a wrong number in memory
    shows nothing hidden."""
    mem.remember_many([{"content": "tea", "kind": "fact"}, {"content": "tea", "kind": "data"}])
    mem._scope.recall.search("tea", 5, Filter(), "keyword", NOW)
    with mem._scope.store.index.snapshot() as look:
        look.catalogue["kind"][:] = 0
        assert [*look.records([1, 2], Filter(kinds=("data",)))] == [2]
        assert look.records([], Filter()) == {}
        assert look.records([99], Filter()) == {}


def test_tags_and_metadata_are_asked_once(mem: Memory) -> None:
    """Q3: the tables that hold them have said which rows pass; the records of these rows are not
    asked a second time."""
    mem.remember("tea", tags=["hot"], metadata={"x": 1})
    with mem._scope.store.index.snapshot() as look:
        for chosen in (
            Filter(tags=("cold",)),
            Filter(all_tags=("cold",)),
            Filter(metadata=(("x", "2"),)),
        ):
            assert not look.allowed(chosen).any()
            assert [*look.records([1], chosen)] == [1]


def test_words_are_looked_for_in_their_columns(mem: Memory) -> None:
    """Q2, Q3: text and tags are one place to look in, metadata another; forms of a word are found,
    parts are not."""
    mem.remember("green teas", tags=["hot"], metadata={"place": {"room": ["kitchen"]}})
    with mem._scope.store.index.snapshot() as look:
        assert [
            look.holding(word).tolist() for word in ("tea", "hot", "kitchen", "gre", "zebra")
        ] == [[1], [1], [], [], []]
        found = [
            look.holding(word, fulltext.METADATA).tolist()
            for word in ("tea", "kitchen", "kitchens", "room")
        ]
        assert found == [[], [1], [1], []]


def test_days_are_known_in_and_out_of_blocks(desk: Desk, mem: Memory) -> None:
    """Q5: which records speak of a day is known for those in blocks and those after
    them, each once."""
    mem.remember_many([{"content": f"tea {n} on 3 May 2026", "at": START} for n in range(300)])
    mem.remember("tea yesterday", at=START + timedelta(days=3))
    mem.remember("tea on 5 May 2026")
    third = day_number((START + timedelta(days=2)).date())
    for step in (mem, mem.index, mem, desk.agent()):
        if callable(step):
            step()
            continue
        with step._scope.store.index.snapshot() as look:
            assert look.speaking_of(third, third + 1).tolist() == [*range(1, 302)]
            assert look.speaking_of(third + 2, third + 3).tolist() == [302]
            assert look.speaking_of(third + 5, third + 9).tolist() == []


def test_what_was_known_then(op: Operator, clock: Ticking) -> None:
    """Q10: at a time of the past a record has the state, importance and successor that
    it had then."""
    old = op.remember("tea from China", importance=0.2)
    first = clock()
    clock.jump(timedelta(days=1))
    new = op.remember("tea from India")
    supersede(op, old.id, new.id)
    second = clock()
    clock.jump(timedelta(days=1))
    move(op, new.id, state=State.TOMBSTONED, importance=0.9)
    third = clock()
    clock.jump(timedelta(days=1))
    for ranker in SIMPLE:
        assert (
            op.search("tea from", known_at=START - timedelta(days=1), ranker=ranker).outcome
            == "nothing_relevant"
        )
        (hit,) = op.search("tea from", known_at=first, ranker=ranker)
        assert (hit.record.id, hit.record.state, hit.record.superseded_by) == (
            old.id,
            "active",
            None,
        )
        (hit,) = op.search("tea from", known_at=second, ranker=ranker)
        assert (hit.record.id, hit.record.state, hit.record.importance) == (new.id, "active", 0.5)
        assert op.search("tea from", known_at=third, ranker=ranker).outcome == "nothing_relevant"
        assert op.search("tea from", ranker=ranker).outcome == "nothing_relevant"
        (hit,) = op.search("tea from", known_at=second, states=["superseded"], ranker=ranker)
        assert (hit.record.id, hit.record.superseded_by, hit.record.importance) == (
            old.id,
            new.id,
            0.2,
        )
        (hit,) = op.search("tea from", states=["tombstoned"], ranker=ranker)
        assert (hit.record.id, hit.record.importance) == (new.id, 0.9)


def test_a_record_of_the_past_is_what_it_was(op: Operator, clock: Ticking) -> None:
    """Q10: all that can change of a record is as it was then, when it was last changed included."""
    first = op.remember("tea", importance=0.2)
    then = clock()
    clock.jump(timedelta(days=1))
    second = move(op, first.id, importance=0.9, last_verified=START, confidence=0.5)
    later = clock()
    clock.jump(timedelta(days=1))
    move(op, first.id, state=State.TOMBSTONED, valid_to=START)
    for moment, expected in ((then, first), (later, second)):
        for ranker in SIMPLE:
            assert op.search("tea", known_at=moment, ranker=ranker)[0].record == expected


def test_what_was_known_before_the_clock_was_set_back(op: Operator, clock: Ticking) -> None:
    """Q10, R1: a move that is dated later than the asked time is unknown, also when an earlier date
    was written after it."""
    record = op.remember("tea")
    clock.set(START + timedelta(hours=10))
    move(op, record.id, state=State.TOMBSTONED)
    clock.set(START + timedelta(hours=3))
    op.remember("the train to Oslo leaves at nine")
    for ranker in SIMPLE:
        assert contents(op.search("tea", known_at=START + timedelta(hours=5), ranker=ranker)) == [
            "tea"
        ]
        assert contents(op.search("tea", known_at=START + timedelta(hours=11), ranker=ranker)) == []


def test_a_layer_of_the_past(op: Operator, clock: Ticking) -> None:
    """Q10: a record that has moved to another layer since is found where it was."""
    record = op.remember("tea")
    then = clock()
    clock.jump(timedelta(days=1))
    move(op, record.id, layer=Layer.EPISODIC, promoted_at=clock.now)
    for ranker in SIMPLE:
        (hit,) = op.search("tea", known_at=then, layers=["short_term"], ranker=ranker)
        assert (hit.record.layer, hit.record.promoted_at) == ("short_term", None)
        assert (
            op.search("tea", known_at=then, layers=["episodic"], ranker=ranker).outcome
            == "nothing_relevant"
        )
        assert len(op.search("tea", layers=["episodic"], ranker=ranker)) == 1


def test_the_present_is_the_past_of_tomorrow(op: Operator, clock: Ticking) -> None:
    """Q10, Q6: what the store knew now, or will have known tomorrow, is what a search without a
    time finds."""
    made = op.remember_many([{"content": f"tea {n}", "importance": n / 30} for n in range(30)])
    move(op, made[3].id, state=State.TOMBSTONED)
    clock.step = timedelta()
    for moment in (clock.now, NOW):
        for ranker in RANKERS:
            now = op.search("tea 7", ranker=ranker).to_dict()
            assert op.search("tea 7", known_at=moment, ranker=ranker).to_dict() == now


def test_a_look_back_leaves_the_present_alone(op: Operator, clock: Ticking) -> None:
    """Q6, Q10: after a look at the past, the next search sees the present, also of records that
    changed in between."""
    made = op.remember_many([{"content": f"tea {n}"} for n in range(300)])
    then = clock()
    clock.jump(timedelta(days=1))
    move(op, made[0].id, state=State.TOMBSTONED)
    for _ in range(2):
        assert len(op.search("tea", 1000, known_at=then, ranker="keyword")) == 300
        assert len(op.search("tea", 1000, ranker="keyword")) == 299
        op.index()
    move(op, made[1].id, state=State.TOMBSTONED)
    assert len(op.search("tea", 1000, known_at=then, ranker="exact")) == 300
    assert len(op.search("tea", 1000, ranker="exact")) == 298


def test_true_then_as_known_then(op: Operator, clock: Ticking) -> None:
    """Q10: the two times together: what the store believed at one time about another."""
    record = op.remember("Ana lives in Rome", at=START - timedelta(days=100))
    then = clock()
    clock.jump(timedelta(days=1))
    move(op, record.id, state=State.SUPERSEDED, valid_to=START - timedelta(days=50))
    for ranker in SIMPLE:
        early, late = START - timedelta(days=60), START - timedelta(days=40)
        assert len(op.search("Rome", as_of=early, ranker=ranker)) == 1
        assert len(op.search("Rome", as_of=late, ranker=ranker)) == 0
        assert len(op.search("Rome", as_of=late, known_at=then, ranker=ranker)) == 1
        assert (
            len(op.search("Rome", as_of=START - timedelta(days=101), known_at=then, ranker=ranker))
            == 0
        )


def test_a_mistake_was_never_true(op: Operator) -> None:
    """Q10: what was superseded without an end was a mistake: at no time was it true."""
    record = op.remember("Ana lives in Rome")
    supersede(op, record.id, op.remember("Ana lives in Oslo").id)
    for moment in (START, START + timedelta(minutes=1), NOW):
        assert "Ana lives in Rome" not in contents(
            op.search("Ana lives in", as_of=moment, ranker="exact")
        )


@pytest.mark.parametrize("ranker", RANKERS)
def test_threads_share_a_handle(mem: Memory, ranker: str) -> None:
    """Q6: threads that search and write with one handle at once get whole answers, and no error."""
    mem.remember_many([{"content": f"tea number {n}"} for n in range(300)])
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(8):
                if number == 0:
                    mem.remember(f"tea number {n} again")
                hits = mem.search(f"tea number {n + 20 * number}", 500, ranker=ranker)
                assert len(hits) >= (1 if ranker == "hybrid" else 250)
        except BaseException as error:  # noqa: BLE001 - told below, in the thread that counts
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_searches_leave_no_byte_changed(desk: Desk, op: Operator) -> None:
    """P4, Q6: a search changes nothing in the store, whatever it had to make for itself."""
    op.remember_many([{"content": f"tea number {n} tomorrow"} for n in range(300)])
    tables = "blocks", "codes", "vectors", "spaces", "days", "events", "records", "meta"

    def everything() -> list[Any]:
        return [
            op._scope.store.database.reader().execute(f"SELECT * FROM {name}").fetchall()
            for name in tables
        ]

    before = everything()
    for ranker in RANKERS:
        desk.agent().search("tea number 4", ranker=ranker, known_at=START + timedelta(days=1))
        op.search("tea number 4", ranker=ranker)
    assert everything() == before
