"""Corrections that an agent proposes: a person confirms or rejects them, and nothing changes
meanwhile."""

from __future__ import annotations

import pytest

from lamina import InvalidInput, Memory, NotFound, Operator, Refused
from lamina.model.record import State
from tests.cases import every
from tests.conftest import Desk, contents, size, verified

TOPIC = {"origin": "test", "topic_tags": ["boiler"]}


@every(
    ("layer", "metadata"),
    [
        ("short_term", {}),
        ("episodic", {}),
        ("semantic", TOPIC),
        ("procedural", {"workflow": "boiler", "canonical": True}),
    ],
)
def test_a_confirmed_correction_takes_the_place(
    mem: Memory, op: Operator, layer: str, metadata: dict[str, object]
) -> None:
    """H3, V4, V7: in every layer the wrong text stays until a person confirms, is then superseded
    by the right one, and comes back with an undo."""
    wrong = op.remember("The boiler is from 1998", layer=layer, metadata=metadata)
    proposal = mem.propose_correction(wrong.id, "The boiler is from 2008", "it is on its label")
    assert (proposal.state, mem.get(wrong.id).state) == (State.CONSTRAINED, State.ACTIVE)
    (waiting,) = op.proposals()
    assert (waiting.by, waiting.problem) == ("correct.propose", None)
    assert [one.id for one in waiting.replaces] == [wrong.id]
    right = op.confirm(proposal.id)
    assert (right.content, right.layer) == ("The boiler is from 2008", wrong.layer)
    gone = mem.get(wrong.id)
    assert (gone.state, gone.superseded_by) == (State.SUPERSEDED, right.id)
    assert contents(mem.search("How old is the boiler?")) == ["The boiler is from 2008"]
    confirmed = next(event for event in op.audit_log() if event.action == "confirm")
    op.undo(confirmed.seq)
    assert mem.get(wrong.id).state is State.ACTIVE
    assert verified(op)


def test_a_fact_is_corrected_by_a_sentence_or_its_value(desk: Desk, op: Operator) -> None:
    """S2, V7: what is proposed for a fact is read as a fact once it is confirmed; a sentence about
    something else is refused."""
    op.remember("Ana lives in Lisbon", layer="semantic", kind="fact", metadata=TOPIC)
    (fact,) = op.facts("Ana", "lives_in")
    mem = desk.agent()
    with pytest.raises(InvalidInput, match="does not correct"):
        mem.propose_correction(fact.record, "Ana works at Globex", "she said so")
    proposal = mem.propose_correction(fact.record, "Porto", "she said so")
    assert proposal.content == "Ana lives in Porto"
    assert [one.value for one in op.facts("Ana", "lives_in")] == ["Lisbon"]
    op.confirm(proposal.id)
    assert [one.value for one in op.facts("Ana", "lives_in")] == ["Porto"]
    assert verified(op)


def test_a_value_of_the_profile_is_proposed(mem: Memory, op: Operator) -> None:
    """V1, V7: a correction of the profile is a proposal for the same key."""
    op.upsert_user_profile({"schedule.wake_up": "6:00"}, [op.remember("I get up at 6").id])
    (entry,) = op.list(layers=["profile"])
    proposal = mem.propose_correction(entry.id, "7:00", "she said so")
    assert op.user_profile().schedule == {"wake_up": "6:00"}
    op.confirm(proposal.id)
    assert op.user_profile().schedule == {"wake_up": "7:00"}


def test_the_same_again_adds_nothing(mem: Memory, op: Operator) -> None:
    """V7: asking twice makes one proposal."""
    wrong = mem.remember("The boiler is from 1998")
    first = mem.propose_correction(wrong.id, "The boiler is from 2008", "its label")
    again = mem.propose_correction(wrong.id, "the boiler is  from 2008", "really")
    assert again.id == first.id
    assert len(op.proposals()) == 1


def test_what_cannot_be_corrected_leaves_no_trace(desk: Desk, mem: Memory, op: Operator) -> None:
    """P2, V7: unknown ids, other users' records, empty texts and what is gone are refused."""
    record, other = mem.remember("tea"), desk.agent(user="ben").remember("coffee")
    gone = mem.remember("milk")
    op.forget(gone.id)
    before = size(op)
    for name, text, reason, error in (
        ("01m7j0q97c61zre43we98hxhkb", "mate", "why", NotFound),
        (record.id, " ", "why", InvalidInput),
        (record.id, "mate", "", InvalidInput),
        (gone.id, "mate", "why", Refused),
    ):
        with pytest.raises(error):
            mem.propose_correction(name, text, reason)
    with pytest.raises(NotFound):
        desk.agent(user="ana").propose_correction(other.id, "mate", "why")
    assert size(op) == before
