"""Feedback: what an agent says of a memory, and what became of what contexts gave."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lamina import InvalidInput, Memory, NotFound, Operator, Refused
from lamina.engines.feedback import Served
from lamina.model.record import State
from tests.conftest import size, verified

DAY = timedelta(days=1)


def test_helpful_counts_as_used_and_changes_nothing_else(mem: Memory, op: Operator) -> None:
    """S4, Q6: it leaves a read in the trail, and the memory comes back as it is."""
    record = mem.remember("The staging server is eu-2")
    before = size(op)
    assert mem.feedback(record.id, "helpful") == record
    assert size(op) == before
    ((number, _),) = mem._scope.parts.importance.accesses().values()
    assert number >= 1


@pytest.mark.parametrize("verdict", ["wrong", "outdated"])
def test_wrong_and_outdated_wait_for_a_person(mem: Memory, op: Operator, verdict: str) -> None:
    """V7: an agent's word puts a request into the queue, once, and forgets nothing."""
    record = mem.remember("Ana lives in Lisbon")
    request = mem.feedback(record.id, verdict)
    assert (request.state, request.evidence) == (State.CONSTRAINED, (record.id,))
    assert verdict in request.content
    assert mem.feedback(record.id, verdict).id == request.id
    assert [one.record.id for one in op.proposals()] == [request.id]
    assert mem.get(record.id).state is State.ACTIVE
    assert verified(op)


def test_a_declined_request_is_not_made_again(mem: Memory, op: Operator) -> None:
    """V6: who has said no is not asked again."""
    record = mem.remember("Ana lives in Lisbon")
    op.reject(mem.feedback(record.id, "wrong").id, "it is right")
    with pytest.raises(Refused, match="declined"):
        mem.feedback(record.id, "wrong")


def test_bad_feedback_leaves_no_trace(mem: Memory, op: Operator) -> None:
    """V7: an unknown verdict or record is an error, and nothing is stored."""
    record = mem.remember("Ana lives in Lisbon")
    before = size(op)
    with pytest.raises(InvalidInput, match="helpful, wrong, outdated"):
        mem.feedback(record.id, "great")
    with pytest.raises(NotFound):
        mem.feedback("nonsense", "helpful")
    assert size(op) == before


def test_what_a_context_gave_is_used_when_a_turn_says_it(mem: Memory, op: Operator) -> None:
    """S4: the answer of the agent has the words of the memory that the prompt had not."""
    record = op.remember(
        "The staging server is eu-2 behind the Frankfurt gateway",
        layer="semantic",
        metadata={"origin": "test", "topic_tags": []},
    )
    mem.memory_context("which staging server do we have?")
    assert mem._scope.parts.feedback.served(DAY)[record.id] == Served(1, 0, 1)
    turn = {"text": "It is eu-2, behind the Frankfurt gateway.", "speaker": "assistant"}
    mem.remember_conversation([turn], session="s")
    served = mem._scope.parts.feedback.served(DAY)[record.id]
    assert (served.given, served.used, served.ignored) == (1, 1, 0)


def test_what_contexts_give_in_vain_sinks_and_what_is_used_rises(op: Operator) -> None:
    """S4, Q6: sleep does it, from the trail; a context changes nothing, and a second night no
    more; `status` has the rate."""
    contract = {"origin": "test", "topic_tags": []}
    used, ignored = (
        op.remember(text, layer="semantic", kind="insight", metadata=contract)
        for text in (
            "The staging server is eu-2 behind the Frankfurt gateway",
            "The staging server has a blue sticker",
        )
    )
    for number in range(16):
        op.memory_context("which staging server do we have?")
        turn = {"text": f"{number}: eu-2, behind the Frankfurt gateway", "speaker": "assistant"}
        op.remember_conversation([turn], session=f"s{number}")

    def importance() -> dict[str, float]:
        return {one.id: one.importance for one in op.list(layers=["semantic"])}

    assert importance() == {used.id: 0.75, ignored.id: 0.75}
    told = op.status()["given"]
    assert (told["given"], told["used"], told["rate"]) == (32, 16, 0.5)
    op.sleep()
    assert importance()[used.id] > 0.75 > importance()[ignored.id]
    assert op.sleep()["adjusted"] == 0
    assert verified(op)


def test_an_outdated_fact_ends_when_a_person_confirms_it(mem: Memory, op: Operator) -> None:
    """V7, S2: the proposal says that it holds no longer; until it is confirmed, it does."""
    turn = {"text": "I live in Porto.", "speaker": "Ana"}
    mem.remember_conversation([turn], session="s")
    op.sleep()
    (fact,) = op.facts("Ana")
    proposal = mem.feedback(fact.record, "outdated")
    assert proposal.content == "Ana does not live in Porto any more"
    assert mem.feedback(fact.record, "outdated").id == proposal.id
    assert [one.value for one in op.facts("Ana") if not one.negated] == ["Porto"]
    op.confirm(proposal.id)
    assert [one.value for one in op.facts("Ana") if not one.negated] == []
    assert [one.value for one in op.facts("Ana", as_of=fact.valid_from)] == ["Porto"]
    assert verified(op)


def test_an_end_that_was_declined_is_not_proposed_again(mem: Memory, op: Operator) -> None:
    """V6: and the fact stands."""
    mem.remember_conversation([{"text": "I live in Porto.", "speaker": "Ana"}], session="s")
    op.sleep()
    (fact,) = op.facts("Ana")
    op.reject(mem.feedback(fact.record, "outdated").id, "she still does")
    with pytest.raises(Refused, match="rejected"):
        mem.feedback(fact.record, "outdated")
    assert [one.record for one in op.facts("Ana")] == [fact.record]
