"""Requests to forget: an agent asks, a person does it or declines, and nothing
is forgotten meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lamina import InvalidInput, Memory, NotFound, Operator, Refused
from lamina.model.record import State, Trust
from tests.conftest import Desk, contents, size, verified


def test_a_request_waits_and_forgets_nothing(mem: Memory, op: Operator) -> None:
    """H3, V7: it stands in the queue with the commands that a person may run; the memory is found
    as before."""
    record = mem.remember("Ana lives in Lisbon")
    request = mem.request_forget(record.id, "she moved")
    assert (request.state, request.kind, request.evidence) == (
        State.CONSTRAINED,
        "request",
        (record.id,),
    )
    (waiting,) = op.proposals()
    assert (waiting.record.id, waiting.by) == (request.id, "forget.request")
    assert "she moved" in waiting.record.content
    assert waiting.problem is not None
    assert f"`lamina forget {record.id}`" in waiting.problem
    assert f"`lamina erase {record.id}`" in waiting.problem
    assert contents(mem.search("Where does Ana live?")) == ["Ana lives in Lisbon"]
    assert mem.get(record.id).state is State.ACTIVE
    assert verified(op)


def test_a_request_cannot_be_confirmed(mem: Memory, op: Operator) -> None:
    """V7: confirming all that waits forgets nothing; whoever wants that says so with the verb, for
    one record."""
    record = mem.remember("Ana lives in Lisbon")
    request = mem.request_forget(record.id, "she moved")
    before = size(op)
    with pytest.raises(Refused, match="lamina forget"):
        op.confirm(request.id)
    assert size(op) == before
    assert mem.get(record.id).state is State.ACTIVE


def test_forgetting_closes_the_request_and_can_be_undone(mem: Memory, op: Operator) -> None:
    """V4, V9: once it is forgotten nothing waits, and undoing it brings the memory back, and
    the request with it."""
    record, other = mem.remember("Ana lives in Lisbon"), mem.remember("Ana likes tea")
    asked = mem.request_forget(record.id, "she moved")
    kept = mem.request_forget(other.id, "she said so")
    assert op.forget(record.id).state is State.TOMBSTONED
    assert [one.record.id for one in op.proposals()] == [kept.id]
    forgotten = next(event for event in op.audit_log() if event.action == "forget")
    op.undo(forgotten.seq)
    assert mem.get(record.id).state is State.ACTIVE
    assert {one.record.id for one in op.proposals()} == {asked.id, kept.id}
    assert verified(op)


def test_erasing_closes_the_request(mem: Memory, op: Operator) -> None:
    """P5: the request rests on what was erased, and goes with it, its reason too."""
    record = mem.remember("Ana lives in Lisbon")
    mem.request_forget(record.id, "Lisbon is wrong")
    op.erase(record.id)
    assert op.proposals() == []
    assert verified(op)


def test_asking_again_adds_nothing(mem: Memory, op: Operator) -> None:
    """V9: one request per record, however often it is asked."""
    record = mem.remember("Ana lives in Lisbon")
    first = mem.request_forget(record.id, "she moved")
    before = size(op)
    assert mem.request_forget(record.id, "really").id == first.id
    assert size(op) == before


def test_what_was_declined_is_not_asked_again(mem: Memory, op: Operator) -> None:
    """V6: after a person said no the agent is refused, until somebody lifts it."""
    record = mem.remember("Ana lives in Lisbon")
    request = mem.request_forget(record.id, "she moved")
    op.reject(request.id, "she did not")
    with pytest.raises(Refused, match="declined"):
        mem.request_forget(record.id, "she did")
    op.lift(request.id, "she did after all")
    assert mem.request_forget(record.id, "she did").id != request.id


def test_a_request_that_nobody_decides_lapses(desk: Desk) -> None:
    """V9: like every proposal it expires, and may be made again; what was machine-made is capped
    per day."""
    mem, op = desk.agent(settings={"review.per_day": 2}), desk.operator()
    records = [mem.remember(f"note {number}") for number in range(3)]
    first = mem.request_forget(records[0].id, "old")
    mem.request_forget(records[1].id, "old")
    with pytest.raises(Refused, match="proposals a day"):
        mem.request_forget(records[2].id, "old")
    assert len(op.proposals()) == 2
    desk.clock.jump(timedelta(days=400))
    op.run_once()
    assert op.proposals() == []
    assert mem.request_forget(records[0].id, "old").id != first.id


def test_nothing_out_of_reach_can_be_asked_about(desk: Desk) -> None:
    """P2, R12: another user's record looks like none, and the attempt is noted; a
    reason is needed."""
    ana, ben = desk.agent(user="ana"), desk.agent(user="ben")
    record = ana.remember("Ana's secret plan")
    with pytest.raises(NotFound):
        ben.request_forget(record.id, "mine")
    assert len(desk.violations()) == 1
    with pytest.raises(NotFound):
        ana.request_forget("nonsense", "why")
    with pytest.raises(InvalidInput):
        ana.request_forget(record.id, " ")
    assert desk.operator().proposals() == []


def test_a_request_belongs_to_the_user_of_its_record(desk: Desk) -> None:
    """R12: whoever asks, only who may see the memory sees the request; it is trusted no more than
    what it is about."""
    ana, ben = desk.agent(user="ana"), desk.agent(user="ben")
    record = ana.remember("Ana's plan", source="web")
    request = desk.agent().request_forget(record.id, "it was wrong")
    assert (request.user, request.trust) == ("ana", Trust.EXTERNAL)
    assert [len(handle.proposals()) for handle in (ana, ben)] == [1, 0]
