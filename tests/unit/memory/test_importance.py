"""What is learned from decisions, and for whom."""

from __future__ import annotations

from lamina import Operator
from tests.conftest import Desk


def test_looking_at_a_plan_teaches_nothing(op: Operator) -> None:
    """L8: to be shown in a dry run is no sign that anybody wants a memory; to be asked for is."""
    made = op.remember("tea")
    op.contents([made.id])
    op._scope.store.reads.flush()
    assert op.learn()["examples"] == 0
    op.get(made.id)
    op._scope.store.reads.flush()
    assert op.learn()["examples"] == 1


def test_decisions_teach(op: Operator) -> None:
    """L8: what an operator prunes and restores moves the importance of later memories, with
    reasons; given ones stay."""
    for number in range(40):
        op.remember(f"garmin watch {number}", tags=["garmin"])
        op.remember(f"kitchen note {number}", tags=["kitchen"])
    before = op.remember("one more", tags=["kitchen"]).importance
    op.prune(tags=["kitchen"])
    for record in op.list(tags=["garmin"], limit=100):
        op.get(record.id)
    op._scope.store.reads.flush()
    assert op.learn()["learned"]
    assert op.remember("one more thing", tags=["kitchen"]).importance < before
    assert op.remember("given", tags=["kitchen"], importance=0.9).importance == 0.9
    told = op.explain_importance("one more thing", tags=["kitchen"])
    assert "learned tag=kitchen" in [reason.name for reason in told.reasons]


def test_what_was_learned_is_there_for_the_next_handle(desk: Desk, op: Operator) -> None:
    """L8: learned once, it counts for every handle that is opened later, and is the same."""
    test_decisions_teach(op)
    assert desk.agent().explain_importance("x", tags=["kitchen"]) == op.explain_importance(
        "x", tags=["kitchen"]
    )
