"""One way in (S7): what is remembered, promoted, confirmed or corrected is decided like what is
said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from lamina import Conflict, InvalidInput, Memory, Operator, Refused
from lamina.memory import statements
from lamina.model.record import Layer, Record, State, Trust
from tests.conftest import START, size, verified

DAY = timedelta(days=1)
CONTRACT = {"origin": "notes", "topic_tags": ["people"]}


def noted(op: Operator, text: str, day: int = 0, **more: Any) -> Record:
    """Remember something in semantic memory."""
    given: dict[str, Any] = {"layer": "semantic", "kind": "fact", "metadata": CONTRACT}
    return op.remember(text, at=START + day * DAY, **{**given, **more})


def stored(op: Operator, text: str, day: int, state: State = State.CONSTRAINED) -> Record:
    """Put something into semantic memory as an import does, which nobody has read."""
    item = {"content": text, "layer": "semantic", "metadata": CONTRACT, "at": START + day * DAY}
    draft = structs.replace(op._scope.draft(item), state=state)
    with op._scope.store.change(op._scope.actor, "import", op._scope.clock()) as transaction:
        return transaction.insert([draft])[0]


def said(handle: Memory, text: str, day: int = 0) -> Record:
    turn = {"content": text, "speaker": "Ana", "at": START + day * DAY}
    return handle.remember_conversation([turn], session=f"day {day}")[0]


def values(op: Operator, attribute: str = "lives_in") -> list[str]:
    return [fact.value for fact in op.facts("Ana", attribute) if not fact.negated]


def last(op: Operator, action: str) -> int:
    return next(event.seq for event in op.audit_log() if event.action == action)


def test_a_semantic_memory_that_says_one_thing_is_the_fact(op: Operator) -> None:
    """S7, R9: its own record has the subject, the attribute and the value, beside what its author
    gave; no second record stands beside it."""
    made = noted(op, "Ana lives in Porto", tags=["city"], importance=0.7)
    assert (made.content, made.tags, made.importance) == ("Ana lives in Porto", ("city",), 0.7)
    assert list(made.metadata["topic_tags"]) == ["people"]
    assert (made.metadata["origin"], made.metadata["value"]) == ("notes", "Porto")
    assert [fact.record for fact in op.facts()] == [made.id]
    op.sleep()
    assert [one.id for one in op.list(layers=["semantic"])] == [made.id]


def test_what_says_nothing_or_much_stays_a_plain_memory(op: Operator) -> None:
    """S7: what cannot be read is left as it is; of what says several things facts are made beside
    it."""
    plain = noted(op, "The build uses Bazel")
    both = noted(op, "Ana lives in Porto. Ana works at Acme.")
    assert "attribute" not in plain.metadata
    assert "attribute" not in both.metadata
    assert {(fact.attribute, fact.value, fact.evidence) for fact in op.facts()} == {
        ("lives_in", "Porto", (both.id,)),
        ("employer", "Acme", (both.id,)),
    }


def test_saying_it_again_takes_its_place(mem: Memory, op: Operator) -> None:
    """S7, S2: a record that repeats a fact stands for it, since the fact began, with its evidence;
    taking it back takes all that says so."""
    turn = said(mem, "I live in Porto.")
    op.sleep()
    again = noted(op, "Ana lives in Porto", 5)
    (fact,) = op.facts("Ana")
    assert (fact.record, fact.valid_from, fact.evidence) == (again.id, START, (turn.id,))
    assert [one.value for one in op.timeline("Ana")] == ["Porto"]
    op.rollback(again.id)
    assert values(op) == []
    assert verified(op)


def test_a_rollback_goes_past_what_says_the_same(op: Operator) -> None:
    """V4, V6: of Porto, Lisbon and Lisbon again, taking the last back leaves Porto."""
    for day, city in enumerate(("Porto", "Lisbon", "Lisbon")):
        latest = noted(op, f"Ana lives in {city}", day)
    op.rollback(latest.id)
    assert values(op) == ["Porto"]
    op.undo(last(op, "rollback"))
    assert values(op) == ["Lisbon"]
    assert verified(op)


@pytest.mark.parametrize("verb", ["rollback", "forget", "reject"])
def test_what_was_taken_back_stays_out(mem: Memory, op: Operator, verb: str) -> None:
    """V6, V9: by no path does it come again, until somebody lifts that."""
    said(mem, "I live in Rome.")
    op.sleep()
    (fact,) = op.facts("Ana")
    getattr(op, verb)(fact.record, "not so")
    said(mem, "I live in Rome.", 3)
    mem.remember("Ana lives in Rome", kind="fact", importance=0.9)
    op.sleep()
    op.run_once()
    with pytest.raises(Refused, match="rejected"):
        noted(op, "Ana lives in Rome")
    assert values(op) == []
    assert verified(op)
    op.lift(fact.record, "it was so")
    noted(op, "Ana lives in Rome")
    assert values(op) == ["Rome"]
    assert verified(op)


@pytest.mark.parametrize("verb", ["rollback", "forget", "reject"])
def test_undo_lets_it_in_again(op: Operator, verb: str) -> None:
    """V4, V6: undone, it is as if it had not been."""
    made = noted(op, "Ana lives in Rome")
    getattr(op, verb)(made.id, "not so")
    op.undo(last(op, verb))
    assert values(op) == ["Rome"]
    noted(op, "Ana lives in Rome", 4)
    assert values(op) == ["Rome"]
    assert verified(op)


def test_the_rejection_of_a_proposal_can_be_undone(op: Operator) -> None:
    """V6, V10: the proposal waits again, and its value is not kept out any more."""
    waiting = op.propose_profile("drink", "tea", "so it seems")
    op.reject(waiting.id, "no")
    op.undo(last(op, "reject"))
    assert [one.record.id for one in op.proposals()] == [waiting.id]
    assert op.confirm(waiting.id).state is State.ACTIVE
    assert verified(op)


def test_only_facts_that_are_active_are_rejected_without_waiting(op: Operator) -> None:
    """V5: any other active record does not wait for a decision."""
    plain = noted(op, "The build uses Bazel")
    before = size(op)
    with pytest.raises(Refused, match="wait for a decision"):
        op.reject(plain.id, "no")
    assert size(op) == before


def test_a_correction_reads_whole_sentences(op: Operator) -> None:
    """V9: the right value has held since the wrong one did; what is about something else changes
    nothing."""
    wrong = noted(op, "Ana lives in Porto")
    before = size(op)
    with pytest.raises(InvalidInput, match="the value alone"):
        op.correct(wrong.id, "Ben lives in Braga", "typo")
    assert size(op) == before
    right = op.correct(wrong.id, "Ana lives in Braga", "typo")
    assert (right.content, right.valid_from, right.supersedes) == (
        "Ana lives in Braga",
        START,
        (wrong.id,),
    )
    assert [fact.value for fact in op.facts("Ana", as_of=START)] == ["Braga"]
    op.undo(last(op, "correct"))
    assert values(op) == ["Porto"]
    assert verified(op)


def test_a_plain_memory_that_is_corrected_becomes_a_fact(op: Operator) -> None:
    """S7, V9: a corrected text is read like any other."""
    noted(op, "Ana lives in Porto")
    plain = noted(op, "Something about Ana", 2)
    right = op.correct(plain.id, "Ana lives in Braga", "more exactly")
    assert values(op) == ["Braga"]
    assert right.metadata["value"] == "Braga"
    assert plain.id in right.supersedes
    assert verified(op)


def test_a_promoted_memory_is_decided_at_once(mem: Memory, op: Operator) -> None:
    """S7, L2: one that says something new is the fact; one that repeats it stays what was said."""
    new = mem.remember("Ana lives in Porto", kind="fact", importance=0.9)
    op.run_once()
    assert [fact.record for fact in op.facts()] == [new.id]
    again = mem.remember("Ana lives in Porto", kind="fact", importance=0.9, source="diary")
    other = mem.remember("Ana lives in Lisbon", kind="fact", importance=0.9)
    op.run_once()
    assert (op.get(again.id).layer, op.get(other.id).layer) == (Layer.EPISODIC, Layer.SEMANTIC)
    assert values(op) == ["Lisbon"]
    op.sleep()
    assert values(op) == ["Lisbon"]
    assert verified(op)


def test_a_memory_that_sleep_has_read_becomes_no_second_fact(mem: Memory, op: Operator) -> None:
    """S1, S7: promoted afterwards, it stays what was said."""
    made = mem.remember("Ana lives in Porto", kind="fact", importance=0.9)
    op.sleep()
    op.run_once()
    assert op.get(made.id).layer is Layer.EPISODIC
    assert len(op.facts()) == 1
    op.sleep()
    assert len(op.facts()) == 1
    before = op.audit_head()["events"]
    op.sleep()
    assert op.audit_head()["events"] == before


def test_an_agents_memory_does_not_end_what_a_person_wrote(mem: Memory, op: Operator) -> None:
    """V8: promoted, it stays what was said, and sleep proposes it; a person confirms it."""
    noted(op, "Ana lives in Porto")
    mem.remember("Ana lives in Lisbon", kind="fact", importance=0.9)
    op.run_once()
    op.sleep()
    assert values(op) == ["Porto"]
    (waiting,) = op.proposals()
    op.confirm(waiting.record.id)
    assert values(op) == ["Lisbon"]
    assert [one.value for one in op.timeline("Ana")] == ["Porto", "Lisbon"]
    op.undo(last(op, "confirm"))
    assert values(op) == ["Porto"]
    assert verified(op)


def test_a_confirmed_memory_is_decided(op: Operator) -> None:
    """S7, V1: a plain record that waits, as an import leaves it, becomes the fact that it states,
    and ends another; one about the past becomes history."""
    old = noted(op, "Ana lives in Porto", 2)
    late, new = (
        stored(op, f"Ana lives in {city}", day) for day, city in ((1, "Faro"), (3, "Beja"))
    )
    assert op.confirm(late.id).state is State.SUPERSEDED
    assert values(op) == ["Porto"]
    assert [fact.value for fact in op.facts("Ana", as_of=START + DAY)] == ["Faro"]
    op.confirm(new.id)
    assert values(op) == ["Beja"]
    assert op.get(old.id).superseded_by == new.id
    assert [fact.value for fact in op.facts("Ana", as_of=START + 2 * DAY)] == ["Porto"]
    assert verified(op)


def test_a_proposal_whose_ground_is_gone_is_not_confirmed(mem: Memory, op: Operator) -> None:
    """V5: when the turn that it rests on is forgotten, confirming says so and changes nothing; the
    queue says so before."""
    turn = said(mem, "I love olives.")
    op.sleep()
    (waiting,) = op.proposals()
    op.forget(turn.id)
    for fact in op.facts("Ana"):
        op.forget(fact.record)
    before = size(op)
    assert "gone" in str(op.proposals()[0].problem)
    with pytest.raises(Conflict, match="its evidence is gone"):
        op.confirm(waiting.record.id)
    assert size(op) == before
    op.undo(last(op, "forget"))


def test_facts_whose_evidence_is_gone_are_marked(mem: Memory, op: Operator) -> None:
    """V9, S7: in facts, in the timeline, in the record's evidence and in the status; not while one
    source is left."""
    turn, other = said(mem, "I live in Porto."), said(mem, "I live in Porto.", 2)
    op.sleep()
    (fact,) = op.facts("Ana")
    op.forget(turn.id)
    assert not op.facts("Ana")[0].groundless
    assert op.lost_evidence(fact.record) == [turn.id]
    op.forget(other.id)
    assert op.facts("Ana")[0].groundless
    assert op.timeline("Ana")[0].to_dict()["groundless"]
    status = op.status()
    assert status["groundless"] == 1
    assert any("1 fact rests only on" in problem for problem in status["problems"])
    op.undo(last(op, "forget"))
    assert not op.facts("Ana")[0].groundless
    assert op.status()["groundless"] == 0


def test_sleep_reads_semantic_memory_that_came_otherwise(op: Operator) -> None:
    """S7: what an import or a fail-safe left in semantic memory becomes the fact that it states."""
    noted(op, "Ana lives in Porto")
    came = stored(op, "Ana lives in Lisbon", 1, State.ACTIVE)
    op.sleep()
    assert [fact.record for fact in op.facts("Ana")] == [came.id]
    assert op.get(came.id).trust is Trust.OPERATOR
    assert verified(op)


def test_a_proposal_is_not_known_to_what_comes_after_it(mem: Memory, op: Operator) -> None:
    """V8, S2: what an outsider says first, and a person says then, is known by the person's word,
    in the same night."""
    given: dict[str, Any] = {"layer": "episodic", "speaker": "Ana", "source": "web:page"}
    mem.remember("I live in Porto.", at=START, **given)
    said(mem, "I live in Porto.", 1)
    op.sleep()
    (fact,) = op.facts("Ana")
    assert (fact.value, fact.trust, fact.valid_from) == ("Porto", Trust.AGENT, START + DAY)


def test_a_write_reads_only_its_own_slot(op: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    """S7: writing a semantic memory does not read what is known of others."""
    for name in ("Ben", "Eva", "Tom"):
        noted(op, f"{name} lives in Porto")
    noted(op, "Ana works at Acme")
    read: list[Record] = []
    store = type(op._scope.store)
    record: Callable[..., Record] = store.record

    def noting(self: Any, row: Any) -> Record:
        read.append(record(self, row))
        return read[-1]

    monkeypatch.setattr(store, "record", noting)
    noted(op, "Ana lives in Porto")
    assert {one.metadata.get("subject") for one in read} <= {"Ana"}
    assert {one.metadata.get("attribute") for one in read} <= {"lives_in"}


def proposed(op: Operator, mem: Memory, text: str, day: int) -> Record:
    """Let external text say something; sleep proposes it."""
    mem.remember(text, layer="episodic", source="web", speaker="Ana", at=START + day * DAY)
    op.sleep()
    return op.proposals()[0].record


def test_a_proposal_about_the_past_becomes_history(mem: Memory, op: Operator) -> None:
    """V1, R3, S2: confirmed, it held from its beginning to its end, and nothing of today changes;
    that can be undone."""
    noted(op, "Ana works at Initech", 1)
    waiting = proposed(op, mem, "I worked at Acme from 2020 to 2023.", 2)
    assert waiting.state is State.CONSTRAINED
    confirmed = op.confirm(waiting.id)
    assert (confirmed.id, confirmed.state) == (waiting.id, State.SUPERSEDED)
    assert values(op, "employer") == ["Initech"]
    assert [one.value for one in op.facts("Ana", "employer", as_of="2021-06-01T00:00:00Z")] == [
        "Acme"
    ]
    op.undo(last(op, "confirm"))
    assert op.get(waiting.id).state is State.CONSTRAINED
    assert op.facts("Ana", "employer", as_of="2021-06-01T00:00:00Z") == []
    assert verified(op)


def test_a_proposal_that_something_is_over_ends_it(mem: Memory, op: Operator) -> None:
    """V1, S2: the fact that it ends is its history, once in the timeline."""
    noted(op, "Ana works at Acme", 0)
    waiting = proposed(op, mem, "I used to work at Acme.", 5)
    assert values(op, "employer") == ["Acme"]
    op.confirm(waiting.id)
    assert values(op, "employer") == []
    held = [one for one in op.timeline("Ana") if one.valid_to is not None]
    assert [(one.value, one.valid_from, one.valid_to) for one in held] == [
        ("Acme", START, START + 5 * DAY)
    ]
    op.undo(last(op, "confirm"))
    assert values(op, "employer") == ["Acme"]
    assert verified(op)


def test_texts_are_read_before_they_are_written(mem: Memory, op: Operator) -> None:
    """S7: reading takes long, so no transaction waits for it: in it, what was read is at hand."""

    def check(deed: Callable[[], object]) -> None:
        statements._read.cache_clear()
        deed()
        info = statements._read.cache_info()
        assert info.misses >= 1
        assert info.hits >= info.misses

    check(lambda: noted(op, "Ana lives in Porto"))
    waiting = stored(op, "Ana works at Acme", 1)
    check(lambda: op.confirm(waiting.id))
    mem.remember("Ana likes tea", kind="fact", importance=0.9)
    check(mem.run_once)
