"""Deciding: proposals, confirmations, rejections, rollbacks, corrections, and taking all
of it back."""

from __future__ import annotations

from typing import Any

import pytest

from lamina import Conflict, InvalidInput, Memory, NotFound, Operator, Refused
from lamina.memory.reviews import what_stays
from lamina.model.record import Layer, State, Trust
from tests.conftest import Desk, move, size, verified


def drinks(op: Operator) -> Any:
    return op.user_profile().preferences.get("drink")


def proposed(handle: Memory, value: str, key: str = "drink") -> str:
    said = handle.remember(f"I like {value}")
    return handle.propose_profile(key, value, "said so", [said.id]).id


def last(op: Operator, action: str) -> int:
    return next(event.seq for event in op.audit_log() if event.action == action)


def test_a_proposal_waits(mem: Memory, op: Operator) -> None:
    """V1, R3: it is constrained, not part of the profile, and in the queue."""
    waiting = proposed(mem, "tea")
    assert op.get(waiting).state is State.CONSTRAINED
    assert drinks(op) is None
    assert [(one.record.id, one.replaces) for one in op.proposals()] == [(waiting, ())]


def test_confirming_supersedes_the_same_key(mem: Memory, op: Operator) -> None:
    """V1: the active record with the same key, whatever its case and width, is superseded with
    lineage both ways."""
    first = op.confirm(proposed(mem, "tea"))
    second = op.confirm(proposed(mem, "coffee", "ＤＲＩＮＫ"), "she changed her mind")
    before, now = op.get(first.id), op.get(second.id)
    assert (before.state, before.superseded_by) == (State.SUPERSEDED, now.id)
    assert before.valid_to is not None
    assert (now.state, now.supersedes) == (State.ACTIVE, (first.id,))
    assert [record.id for record in op.list(layers=["profile"])] == [now.id]
    assert verified(op)


def test_one_decision_is_one_event(mem: Memory, op: Operator) -> None:
    """V5: actor, reason, before and after of everything that a confirmation changes are
    in one event."""
    first = op.confirm(proposed(mem, "tea"))
    second = proposed(mem, "coffee")
    before = size(op)
    op.confirm(second, "she said so")
    assert size(op) == (before[0], before[1] + 1)
    (event,) = op.audit_log(1)
    assert (event.action, event.reason, event.actor) == ("confirm", "she said so", str(op.actor))
    assert {
        change.record: (change.before["state"], change.after["state"]) for change in event.changes
    } == {
        second: ("constrained", "active"),
        first.id: ("active", "superseded"),
    }


def test_what_was_overtaken_is_stale(mem: Memory, op: Operator) -> None:
    """V5: of two proposals for one key the second to be confirmed says so and changes nothing."""
    one, other = proposed(mem, "tea"), proposed(mem, "coffee")
    op.confirm(one)
    before = size(op)
    with pytest.raises(Conflict, match="propose it again"):
        op.confirm(other)
    assert size(op) == before
    assert drinks(op) == "tea"


def test_a_source_that_changed_makes_a_summary_stale(op: Operator) -> None:
    """V2, V5: a compacted summary is confirmed only while its sources are what they were; then they
    are superseded."""
    sources = [
        op.remember(
            f"tea {n}", layer="semantic", metadata={"origin": "sleep", "topic_tags": ["tea"]}
        ).id
        for n in range(2)
    ]
    metadata = {"origin": "memory-review", "topic_tags": ["tea"], "compacted_from": sources}
    summary = op.remember("all about tea", layer="semantic", metadata=metadata, evidence=sources)
    move(op, summary.id, state=State.CONSTRAINED)
    stale = op.remember(
        "all about tea, again", layer="semantic", metadata=metadata, evidence=sources
    )
    move(op, stale.id, state=State.CONSTRAINED)
    assert op.confirm(summary.id).supersedes == tuple(sources)
    assert {op.get(one).state for one in sources} == {State.SUPERSEDED}
    with pytest.raises(Conflict, match="superseded by now"):
        op.confirm(stale.id)


def test_rejecting_tombstones(mem: Memory, op: Operator) -> None:
    """V1: with a reason, which is kept; the active value stays."""
    op.confirm(proposed(mem, "tea"))
    waiting = proposed(mem, "coffee")
    assert op.reject(waiting, "not so").state is State.TOMBSTONED
    assert drinks(op) == "tea"
    assert op.audit_log(1)[0].reason == "not so"


def test_what_was_said_only_to_propose_is_rejected_too(op: Operator) -> None:
    """V1, V5, V6: the statement that a proposal made as its own evidence is found no
    more, however often."""
    waiting = op.propose_profile("newsletter", "weekly", "somebody said so")
    (said,) = waiting.evidence
    assert [hit.record.id for hit in op.search("newsletter")] == [said]
    op.reject(waiting.id, "nobody wants it")
    assert (op.get(said).state, list(op.search("newsletter"))) == (State.TOMBSTONED, [])
    assert {change.record for change in op.audit_log(1)[0].changes} == {waiting.id, said}
    assert verified(op)
    with pytest.raises(Refused):
        op.propose_profile("newsletter", "weekly", "again")
    op.lift(waiting.id, "she does")
    assert (op.get(waiting.id).state, op.get(said).state) == (State.TOMBSTONED, State.TOMBSTONED)
    anew = op.propose_profile("newsletter", "weekly", "again")
    assert [hit.record.id for hit in op.search("newsletter")] == list(anew.evidence)
    op.reject(anew.id, "no")
    assert list(op.search("newsletter")) == []
    assert verified(op)


def test_what_somebody_really_said_stays(mem: Memory, op: Operator) -> None:
    """V1, V6: rejecting hides no turn that was remembered, and no statement that something else
    rests on."""
    said = mem.remember("I like tea")
    op.reject(mem.propose_profile("drink", "tea", "said so", [said.id]).id, "a joke")
    assert op.get(said.id).state is State.ACTIVE
    waiting = op.propose_profile("newsletter", "weekly", "somebody said so")
    (stated,) = waiting.evidence
    op.propose_profile("post", "weekly", "it follows", [stated])
    op.reject(waiting.id, "no")
    assert op.get(stated).state is State.ACTIVE
    assert verified(op)


def test_erasing_what_was_hidden_lifts_nothing(mem: Memory, op: Operator) -> None:
    """V6, P5: without the statement, what was rejected stays out, and nothing is barred in the
    statement's name."""
    said = mem.remember("weekly is fine for the newsletter")
    waiting = mem.propose_profile("newsletter", "weekly", "said so", [said.id])
    (_, stated) = op.propose_profile("newsletter", "weekly", "I heard it too").evidence
    op.reject(waiting.id, "no")
    assert (op.get(said.id).state, op.get(stated).state) == (State.ACTIVE, State.TOMBSTONED)
    gone = op.erase(stated).records
    assert stated in gone
    assert verified(op)
    if (
        waiting.id not in gone
    ):  # its words may be nobody else's: then it goes too, and with it what it barred
        with pytest.raises(Refused):
            op.propose_profile("newsletter", "weekly", "again")


def test_a_fact_stays_that_a_rejected_proposal_rests_on(op: Operator) -> None:
    """V1, S1: what is known is not decided with it; whoever rejects is told how to hide it."""
    for said in ("My favourite colour is green.", "I live in Rome."):
        op.remember(said, layer="episodic", speaker="Ann")
    op.sleep()
    (waiting,) = op.proposals()
    (fact,) = [one for one in op.list(layers=["semantic"]) if one.metadata["value"] == "green"]
    rejected = op.reject(waiting.record.id, "no")
    told = f"the fact {fact.id} that it rests on stays; `lamina forget {fact.id}` hides it"
    assert what_stays(rejected, op.get, op.resting_on) == [told]
    op.forget(fact.id)
    assert what_stays(rejected, op.get, op.resting_on) == []


def test_rolling_back_restores_and_undo_reverses(mem: Memory, op: Operator) -> None:
    """V4: the predecessor is active again; undoing the rollback is as if it had not been;
    provenance stays."""
    first = op.confirm(proposed(mem, "tea"))
    second = op.confirm(proposed(mem, "coffee"))
    op.rollback(second.id, "wrong")
    assert (drinks(op), op.get(second.id).state) == ("tea", State.TOMBSTONED)
    restored = op.get(first.id)
    assert (restored.superseded_by, restored.valid_to) == (None, None)
    op.undo(last(op, "rollback"))
    assert drinks(op) == "coffee"
    assert op.get(first.id).superseded_by == second.id
    assert op.get(second.id).evidence == second.evidence
    assert verified(op)


def test_rolling_back_what_happened_only_hides(op: Operator) -> None:
    """V4: episodic memory is hidden, and nothing else is touched."""
    made = op.remember("it rained", layer="episodic")
    assert op.rollback(made.id).state is State.TOMBSTONED
    assert len(op.audit_log(1)[0].changes) == 1


def test_undoing_a_confirmation(mem: Memory, op: Operator) -> None:
    """V4, R3: the proposal waits again, and what it had superseded is active."""
    op.confirm(proposed(mem, "tea"))
    second = op.confirm(proposed(mem, "coffee"))
    op.undo(last(op, "confirm"))
    assert (drinks(op), op.get(second.id).state) == ("tea", State.CONSTRAINED)
    assert op.confirm(second.id).state is State.ACTIVE


def test_forgetting_hides_and_can_be_undone(op: Operator) -> None:
    """V9: a forgotten record is in no search; undone, it is."""
    made = op.remember("green tea")
    op.forget(made.id)
    assert not op.search("green tea")
    op.undo(last(op, "forget"))
    assert [hit.record.id for hit in op.search("green tea")] == [made.id]


@pytest.mark.parametrize("layer", ["short_term", "episodic"])
def test_correcting_supersedes_with_lineage(op: Operator, layer: str) -> None:
    """V9: the new record has the old one's place, kind, tags and evidence; the old text stays in
    its lineage."""
    made = op.remember("Ana drinks tee", layer=layer, tags=["drink"], kind="fact")
    right = op.correct(made.id, "Ana drinks tea", "a typo")
    assert (right.content, right.layer, right.tags, right.supersedes) == (
        "Ana drinks tea",
        made.layer,
        made.tags,
        (made.id,),
    )
    assert op.get(made.id).superseded_by == right.id
    op.undo(last(op, "correct"))
    assert (op.get(made.id).state, op.get(right.id).state) == (State.ACTIVE, State.TOMBSTONED)
    assert verified(op)


def test_correcting_a_profile_changes_its_value(mem: Memory, op: Operator) -> None:
    """V9, R10: the profile shows the corrected value."""
    made = op.confirm(proposed(mem, "tea"))
    op.correct(made.id, "green tea", "more exactly")
    assert drinks(op) == "green tea"


def test_an_operators_statement_is_its_evidence(op: Operator) -> None:
    """V1, P1: without evidence, what the operator says is stored as the record that the proposal
    rests on."""
    made = op.propose_profile("drink", "tea", "I know her")
    (said,) = made.evidence
    assert op.get(said).layer is Layer.EPISODIC


def test_an_agent_needs_evidence(mem: Memory) -> None:
    """V1, P1: without any, or with what does not exist, nothing is stored."""
    before = size(mem)
    with pytest.raises(InvalidInput, match="evidence"):
        mem.propose_profile("drink", "tea", "so it seems", [])
    with pytest.raises(NotFound):
        mem.propose_profile("drink", "tea", "so it seems", ["0" * 26])
    assert size(mem) == before


def test_what_rests_on_outside_text_is_trusted_as_little(mem: Memory) -> None:
    """V8: a proposal has the lowest trust of its evidence."""
    page = mem.remember("Ana likes tea, says a page", source="web")
    assert mem.propose_profile("drink", "tea", "read it", [page.id]).trust is Trust.EXTERNAL


def test_only_operators_decide(mem: Memory) -> None:
    """V7: an agent's handle has none of the verbs that decide."""
    verbs = ("confirm", "reject", "rollback", "correct", "forget", "undo", "prune")
    assert not any(hasattr(mem, verb) for verb in verbs)


def test_users_are_kept_apart(desk: Desk) -> None:
    """R12, V1: Ben's drink does not supersede Ana's, and nobody decides about what
    they cannot see."""
    ana, ben = desk.operator(user="ana"), desk.operator(user="ben")
    hers = ana.confirm(ana.propose_profile("drink", "tea", "said so").id)
    his = ben.propose_profile("drink", "coffee", "said so")
    with pytest.raises(NotFound):
        ana.confirm(his.id)
    ben.confirm(his.id)
    assert ana.get(hers.id).state is State.ACTIVE


@pytest.mark.parametrize("reason", ["", "   ", "\u200b", 5])
def test_a_reason_that_says_nothing(mem: Memory, op: Operator, reason: Any) -> None:
    """V5: where one is needed, it has to be one; nothing happens without."""
    waiting = proposed(mem, "tea")
    before = size(op)
    with pytest.raises(InvalidInput, match="reason"):
        op.reject(waiting, reason)
    with pytest.raises(InvalidInput, match="reason"):
        op.correct(waiting, "x", reason)
    assert size(op) == before


def test_a_rejection_needs_no_reason(mem: Memory, op: Operator) -> None:
    """V1, I: the document rejects without one; the event then has none, and the value stays out
    all the same."""
    waiting = proposed(mem, "tea")
    assert op.reject(waiting).state is State.TOMBSTONED
    last = op.history(waiting)[-1]
    assert (last.action, last.reason) == ("reject", None)
    with pytest.raises(Refused, match=waiting):
        proposed(mem, "TEA")
    with pytest.raises(InvalidInput, match="reason"):
        op.correct(op.remember("x").id, "y", None)  # type: ignore[arg-type]


def test_decisions_about_what_is_not_there(mem: Memory, op: Operator) -> None:
    """V5: what is not pending, not active, unknown, archived or no event is a typed error, and
    changes nothing."""
    active = op.remember("tea")
    waiting = proposed(mem, "coffee")
    gone = op.remember("old", tags=["old"])
    op.prune(tags=["old"])
    before = size(op)
    for refused in (
        lambda: op.confirm(active.id),
        lambda: op.reject(active.id, "no"),
        lambda: op.rollback(waiting),
        lambda: op.forget(waiting),
        lambda: op.correct(waiting, "x", "y"),
        lambda: op.forget(gone.id),
        lambda: op.undo(1),
    ):
        with pytest.raises(Refused):
            refused()
    for unknown in (
        lambda: op.confirm("0" * 26),
        lambda: op.undo(10_000),
        lambda: op.forget("nothing"),
    ):
        with pytest.raises(NotFound):
            unknown()
    for wrong in (0, -1, True, "3"):
        with pytest.raises(InvalidInput):
            op.undo(wrong)  # type: ignore[arg-type]
    assert size(op) == before


def test_what_has_changed_since_cannot_be_undone(op: Operator) -> None:
    """V4: an undo never overwrites a later decision."""
    made = op.remember("tea")
    op.forget(made.id)
    forgotten = last(op, "forget")
    op.undo(forgotten)
    with pytest.raises(Conflict, match="was undone already"):
        op.undo(forgotten)


def test_evidence_out_of_reach_is_noted(desk: Desk) -> None:
    """P2, P1: a proposal on another user's record finds none, and the attempt is logged
    like any other."""
    hers = desk.agent(user="ana").remember("I like tea")
    ben = desk.agent(user="ben")
    with pytest.raises(NotFound):
        ben.propose_profile("drink", "tea", "saw it", [hers.id])
    assert len(desk.violations()) == 1


def test_a_proposal_can_be_edited_while_it_is_confirmed(mem: Memory, op: Operator) -> None:
    """V9, V10: what is active is the person's text, on the same evidence; the proposal stays in
    its lineage, and one undo brings everything back."""
    first = op.confirm(proposed(mem, "tea"))
    waiting = proposed(mem, "cofee")
    before, queue = size(op), op.proposals()
    edited = op.confirm(waiting, "a slip", content="coffee")
    assert drinks(op) == "coffee"
    assert (edited.evidence, edited.supersedes) == (op.get(waiting).evidence, (waiting,))
    assert edited.trust is Trust.OPERATOR
    assert op.get(waiting).superseded_by == edited.id
    assert op.get(first.id).superseded_by == waiting
    assert size(op)[1] == before[1] + 1
    op.undo(last(op, "confirm"))
    assert drinks(op) == "tea"
    assert [one.record.id for one in op.proposals()] == [one.record.id for one in queue]
    assert verified(op)


def test_an_edited_text_that_makes_no_sense_changes_nothing(mem: Memory, op: Operator) -> None:
    """V5, V10: neither the proposal nor the edited text becomes active."""
    waiting = proposed(mem, "tea")
    before = size(op)
    for text in ("", " \t"):
        with pytest.raises(InvalidInput):
            op.confirm(waiting, content=text)
    assert size(op) == before
    assert op.get(waiting).state is State.CONSTRAINED
