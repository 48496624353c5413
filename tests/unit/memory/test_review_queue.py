"""How the work of review grows with what waits: counted in calls and in steps of SQLite,
never in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

import apsw
import pytest

from lamina import InvalidInput, Memory, NotFound, Operator, Refused
from lamina.engines import review
from lamina.model import rejection
from lamina.model.record import State
from tests.conftest import CONTRACTS, Desk, verified

FIRST, FEW, MANY = 2, 30, 60
# The most that twice as many may cost of what grows in a straight line, and of what does not grow.
TWICE, SAME = 2.2, 1.1
OWN_TO_FTS5 = "'main'."  # FTS5 never resets the counters of its own statements


class Work:
    """What a handle does within the block: calls of Python, and steps and statements of SQLite."""

    def __init__(self, handle: Memory) -> None:
        self._database: Any = handle._scope.store.database
        self.calls = self.steps = self.statements = 0

    def __enter__(self) -> Self:
        for connection in self._connections:
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._statement)
        sys.setprofile(self._call)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)
        for connection in self._connections:
            connection.trace_v2(0, None)

    @property
    def _connections(self) -> list[apsw.Connection]:
        return [self._database.reader(), self._database.writer().connection]

    def _statement(self, told: dict[str, Any]) -> None:
        if OWN_TO_FTS5 not in told["sql"]:
            self.statements += 1
            self.steps += told["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def _call(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")


def told(handle: Memory) -> str:
    return handle.remember("she told me much").id


def propose(handle: Memory, evidence: str, key: str, value: str) -> str:
    return handle.propose_profile(key, value, "said so", [evidence]).id


def done(
    desk: Desk,
    number: int,
    prepare: Callable[[Operator, int], Any],
    act: Callable[[Operator, Any], object],
) -> Work:
    """What an act costs after a preparation of some size. The first time, much is loaded that
    stays: that is not counted."""
    for size in (FIRST, number):
        op = desk.operator(f"sky{number}-{size}")
        made = prepare(op, size)
        with Work(op) as work:
            act(op, made)
    return work


def check_growth(
    desk: Desk,
    prepare: Callable[[Operator, int], Any],
    act: Callable[[Operator, Any], object],
    most: float,
) -> None:
    few, many = (done(desk, number, prepare, act) for number in (FEW, MANY))
    assert many.steps <= most * few.steps
    assert many.calls <= most * few.calls


def waiting_for_many_keys(op: Operator, number: int) -> str:
    said = told(op)
    for place in range(number):
        propose(op, said, f"key {place}", "tea")
    return said


def waiting_for_one_key(op: Operator, number: int) -> str:
    said = told(op)
    for place in range(number):
        propose(op, said, "drink", f"tea {place}")
    return said


@pytest.mark.parametrize("prepare", [waiting_for_many_keys, waiting_for_one_key])
@pytest.mark.parametrize("key", ["new", "drink"])
def test_a_proposal_costs_the_same_however_many_wait(
    desk: Desk, prepare: Callable[[Operator, int], str], key: str
) -> None:
    """V9: proposals merge by key and value without reading the others, whether those are for the
    same key or not."""
    check_growth(desk, prepare, lambda op, said: propose(op, said, key, "water"), SAME)


@pytest.mark.parametrize("prepare", [waiting_for_many_keys, waiting_for_one_key])
@pytest.mark.parametrize("limit", [None, 10])
def test_the_queue_costs_as_much_as_it_is_long(
    desk: Desk, prepare: Callable[[Operator, int], str], limit: int | None
) -> None:
    """V5, V9: twice as many proposals take twice the steps, in the same number of statements."""

    def with_all_kinds(op: Operator, number: int) -> None:
        said = prepare(op, number)
        for place in range(number):
            if place % 2:
                op.confirm(propose(op, said, f"place {place}", "Rome"))
                propose(op, said, f"place {place}", "Oslo")
            else:
                op.reject(propose(op, said, f"refused {place}", "Rome"), "not so")
        facts = [
            {"content": f"tea number {place}", "layer": "semantic", "source": "web"}
            for place in range(number)
        ]
        op.remember_many([{**fact, "metadata": CONTRACTS["semantic"]} for fact in facts])
        op.revoke("web", "it was hacked")

    def read(op: Operator, _: None) -> None:
        assert op.proposals(limit)

    few, many = (done(desk, number, with_all_kinds, read) for number in (FEW, MANY))
    assert few.statements == many.statements
    assert many.steps <= TWICE * few.steps
    assert many.calls <= TWICE * few.calls


def test_many_decisions_cost_as_much_as_there_are(desk: Desk) -> None:
    """V5: what follows from decisions that are made together is done once; each of them
    costs the same."""

    def decide(op: Operator, _: str) -> None:
        waiting = op.proposals()
        with op.batch():
            for one in waiting:
                op.confirm(one.record.id)

    check_growth(desk, waiting_for_many_keys, decide, TWICE)


def test_asking_to_forget_costs_the_same_however_many_ask(desk: Desk) -> None:
    """V9: a request is compared with those about the same record alone."""

    def asked(op: Operator, number: int) -> str:
        *others, last = (op.remember(f"number {place}").id for place in range(number))
        for one in others:
            op.request_forget(one, "please")
        return last

    check_growth(desk, asked, lambda op, record_id: op.request_forget(record_id, "please"), SAME)


def test_taking_back_a_large_event_costs_as_much_as_it_did(desk: Desk) -> None:
    """V8: an event about many records is read once when it is undone."""

    def revoked(op: Operator, number: int) -> int:
        op.remember_many({"content": f"number {place}", "source": "web"} for place in range(number))
        assert len(op.revoke("web", "it was hacked")) == number
        return op.audit_log(1)[0].seq

    check_growth(desk, revoked, lambda op, event: op.undo(event), TWICE)


def test_the_queue_comes_in_parts(mem: Memory, op: Operator) -> None:
    """V5: parts follow each other in one order, each says how many come after it, and what was
    decided is no way on."""
    waiting_for_many_keys(op, 5)
    whole = op.proposals()
    assert (whole.before, whole.total, whole.left) == (0, 5, 0)
    first = mem.proposals(limit=2)
    rest = mem.proposals(after=first[-1].record.id)
    assert [*first, *rest] == whole
    assert (first.left, rest.before, rest.left) == (3, 2, 0)
    assert op.proposals(2, rest[-1].record.id) == []
    op.confirm(first[-1].record.id)
    with pytest.raises(NotFound, match="no longer waits"):
        op.proposals(after=first[-1].record.id)


def test_very_many_rivals_are_not_all_named(op: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """V5: nobody reads a thousand names; what waits beside a proposal is named up to a bound."""
    monkeypatch.setattr(review, "MOST_RIVALS", 3)
    waiting_for_one_key(op, 6)
    queue = op.proposals()
    ids = [one.record.id for one in queue]
    assert [len(one.rivals) for one in queue] == [3] * 6
    assert queue[0].rivals == tuple(ids[1:4])
    assert queue[5].rivals == tuple(ids[:3])


def test_the_newest_of_what_was_rejected_is_named(
    op: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V6: of very much that was rejected before in one place, or in much the same words, the newest
    is named."""
    monkeypatch.setattr(review, "MOST_SIMILAR", 2)
    said = told(op)
    refused = [
        op.reject(propose(op, said, "drink", f"tea {number}"), "no").id for number in range(3)
    ]
    propose(op, said, "drink", "water")
    facts = [f"green tea number {number} is nice" for number in range(4)]
    op.remember_many(
        {"content": fact, "layer": "semantic", "source": "web", "metadata": CONTRACTS["semantic"]}
        for fact in facts
    )
    *others, left = [one.id for one in op.revoke("web", "it was hacked")]
    for one in others:
        op.reject(one, "no")
    similar = {one.record.layer: [other.id for other in one.similar] for one in op.proposals()}
    assert similar == {"profile": refused[1:], "semantic": sorted(others)[1:]}
    assert op.get(left).state is State.CONSTRAINED


def test_decisions_made_together_are_settled_at_their_end(op: Operator, desk: Desk) -> None:
    """R10: the snapshot of the profile is written when the batch ends, even by an error, and holds
    all that was decided."""
    said, snapshot = told(op), desk.folder() / "user_profile.json"
    first, second = propose(op, said, "name", "Ana"), propose(op, said, "environment", "Linux")
    with suppress(ZeroDivisionError), op.batch():
        op.confirm(first)
        with op.batch():
            op.confirm(second)
        assert not snapshot.exists()
        raise ZeroDivisionError
    assert "Ana" in snapshot.read_text("utf-8")
    assert "Linux" in snapshot.read_text("utf-8")
    assert verified(op)


def test_a_value_that_two_users_had_rejected_names_one_of_them(desk: Desk) -> None:
    """V6: what concerns everybody is barred by what any user has rejected; the refusal
    names one record."""
    refused = []
    for user in ("ana", "ben"):
        op = desk.operator(user=user)
        refused.append(op.reject(propose(op, told(op), "drink", "gin"), "no").id)
    op = desk.operator()
    with pytest.raises(Refused) as caught:
        propose(op, told(op), "drink", "gin")
    assert caught.value.details["rejected"] == min(refused)


def test_many_questions_about_rejected_values_have_the_answers_of_one(desk: Desk) -> None:
    """V6: reading all rejected values at once bars exactly what asking for each would,
    for every user."""
    for user in ("ana", None):
        op = desk.operator(user=user)
        op.reject(propose(op, told(op), f"drink of {user}", "gin"), "no")
    handles = [desk.operator(user=user) for user in ("ana", "ben", None)]
    made = [
        propose(one, told(one), f"place {number}", "Rome") for number, one in enumerate(handles)
    ]
    store = desk.operator()._scope.store
    barred = store.rejections.every()
    for record_id in (*made, *barred.records):
        record = store.get(record_id)
        assert record is not None
        assert barred.of(record) == store.rejections.of(record)
    assert {
        rejection.is_guarded(record) for one in made if (record := store.get(one)) is not None
    } == {True}


def test_an_older_store_learns_where_its_records_stand(desk: Desk) -> None:
    """V9, Q3: a store whose index was made before places were in it is indexed anew, and proposals
    merge as ever."""
    op = desk.operator()
    said = told(op)
    first = propose(op, said, "Drink", "tea")
    with op._scope.store.database.atomic() as transaction:
        transaction.cursor.execute("DELETE FROM facets WHERE name LIKE '@%'")
        transaction.cursor.execute("UPDATE meta SET value = '2' WHERE name = 'analyser'")
    op.close()
    op = desk.operator()
    assert propose(op, told(op), "DRINK", "Tea") == first
    op.confirm(first)
    (left,) = [propose(op, said, "drink", "water")]
    assert [[other.id for other in one.replaces] for one in op.proposals()] == [[first]]
    assert op.confirm(left).supersedes == (first,)
    assert verified(op)


def test_a_page_of_the_trail_costs_the_same_wherever_it_is(desk: Desk) -> None:
    """P4: the trail can be read from any event back, to its very beginning, without reading
    what is newer."""

    def written(op: Operator, number: int) -> None:
        for place in range(number):
            op.remember(f"number {place}")

    check_growth(desk, written, lambda op, _: op.audit_log(5, before=8), SAME)
    op = desk.operator()
    written(op, 7)
    whole = op.audit_log()
    assert [*op.audit_log(4), *op.audit_log(4, before=whole[3].seq)] == whole
    assert op.audit_log(before=1) == []
    for wrong in (0, -1, True, "2", 1 << 63):
        with pytest.raises(InvalidInput, match="not the number of an event"):
            op.audit_log(before=wrong)  # type: ignore[arg-type]
