"""The profile and the facts are one (R10, S3, S8, V5): what ends as a fact does not stay unnoticed
in the profile, and machines only propose what becomes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamina import Conflict, Memory, Operator
from lamina.engines.claims import Turn
from lamina.engines.claims.extraction import extract
from lamina.model.record import Record, State, Trust
from tests.cases import check_all
from tests.conftest import Desk, size, verified

CONTRACT = {"origin": "notes", "topic_tags": []}


def say(handle: Memory, text: str, speaker: str = "user", **more: Any) -> None:
    handle.remember_conversation([{"speaker": speaker, "text": text, **more}], session=text)


def instruct(handle: Memory, topic: str, value: str) -> Record:
    told = {"subject": "user", "attribute": f"instruction:{topic}", "value": value}
    return handle.remember(value, layer="semantic", metadata={**CONTRACT, **told, "single": True})


def confirm_all(op: Operator) -> None:
    for one in op.proposals():
        op.confirm(one.record.id)


def record_of(op: Operator, value: str) -> str:
    (fact,) = [one for one in op.facts() if one.value == value]
    return fact.record


def test_a_taste_that_turned_is_in_the_profile_once(desk: Desk, mem: Memory, op: Operator) -> None:
    """R10, S3: "I love opera", later "I hate opera": until a person decides it shows as a conflict,
    and then one of them is left."""
    say(mem, "I love opera. I love jazz.")
    mem.sleep()
    confirm_all(op)
    assert op.user_profile().conflicts == []
    desk.clock.jump(timedelta(days=1))
    say(mem, "I hate opera.")
    mem.sleep()
    (conflict,) = op.user_profile().to_dict()["conflicts"]
    assert (conflict["key"], conflict["value"]) == ("likes", "opera")
    assert conflict["why"] == "user dislikes opera"
    assert op.status()["conflicts"] == 1
    assert any("`lamina profile show`" in one for one in op.status()["problems"])
    confirm_all(op)
    assert op.user_profile().preferences == {"likes": ["jazz"], "dislikes": ["opera"]}
    assert op.user_profile().conflicts == []
    assert op.status()["conflicts"] == 0
    assert verified(op)


def test_however_a_fact_ends_its_entry_is_asked_about(desk: Desk) -> None:
    """R10, V7, V4: the entry that rests on it alone is not changed, but asked to be forgotten,
    once; a request that was declined is not repeated."""

    def check(verb: str) -> None:
        mem, op = desk.agent(verb), desk.operator(verb)
        say(mem, "I love opera.")
        mem.sleep()
        confirm_all(op)
        given = ("jazz", "misheard") if verb == "correct" else ("it is not so",)
        getattr(op, verb)(record_of(op, "opera"), *given)
        before = op.user_profile()
        assert (before.preferences, len(before.conflicts)) == ({"likes": ["opera"]}, 1)
        mem.sleep()
        assert op.user_profile().preferences == {"likes": ["opera"]}
        (waiting,) = op.proposals()
        if verb == "correct":
            assert waiting.record.metadata["value"] == ["jazz"]
            return
        assert "the facts do not support it" in waiting.record.content
        known = size(op)
        assert mem.sleep()["preferences"] == 0
        assert size(op) == known
        op.reject(waiting.record.id, "it stays")
        assert mem.sleep()["preferences"] == 0
        assert op.proposals() == []

    check_all(["reject", "rollback", "forget", "correct"], check)


def test_forgetting_the_entry_closes_the_request(mem: Memory, op: Operator) -> None:
    """R10, V7: the person does what was asked for, and the profile agrees with the facts."""
    say(mem, "I love opera.")
    mem.sleep()
    confirm_all(op)
    op.forget(record_of(op, "opera"), "private")
    mem.sleep()
    (request,) = op.proposals()
    op.forget(request.record.metadata["forget"], "so it is")
    assert op.proposals() == []
    assert op.user_profile().preferences == {}
    assert mem.sleep()["preferences"] == 0


def test_a_proposal_that_was_overtaken_is_stale(mem: Memory, op: Operator) -> None:
    """V5: the queue says why, confirming it is a conflict that changes nothing, and the next sleep
    proposes what is left."""
    say(mem, "I love opera. I love jazz.")
    mem.sleep()
    (waiting,) = op.proposals()
    assert waiting.problem is None
    op.rollback(record_of(op, "opera"), "it is not so")
    (stale,) = op.proposals()
    assert stale.problem is not None
    assert "user likes opera" in stale.problem
    with pytest.raises(Conflict, match="the facts say otherwise by now: likes opera"):
        op.confirm(waiting.record.id)
    assert op.get(waiting.record.id).state is State.CONSTRAINED
    mem.sleep()
    (fresh,) = op.proposals()
    assert (fresh.record.metadata["value"], fresh.problem) == (["jazz"], None)
    op.confirm(fresh.record.id)
    assert op.user_profile().preferences == {"likes": ["jazz"]}


def test_a_stale_proposal_of_which_nothing_is_left_is_withdrawn(mem: Memory, op: Operator) -> None:
    """V5, V6: it was not rejected, so what it said may be said again."""
    say(mem, "I love opera.")
    mem.sleep()
    say(mem, "I hate opera.")
    mem.sleep()
    assert [one.record.content for one in op.proposals()] == ["dislikes: opera"]


def test_a_shorter_list_that_was_rejected_is_not_proposed_again(mem: Memory, op: Operator) -> None:
    """V6, V9: the person decided; the conflict still shows."""
    say(mem, "I love opera. I love jazz.")
    mem.sleep()
    confirm_all(op)
    op.forget(record_of(op, "opera"), "private")
    assert mem.sleep()["preferences"] == 1
    (shorter,) = op.proposals()
    op.reject(shorter.record.id, "the list stays")
    assert mem.sleep()["preferences"] == 0
    assert [one["value"] for one in op.user_profile().conflicts] == ["opera"]


def test_no_reason_quotes_a_fact_that_it_does_not_rest_on(mem: Memory, op: Operator) -> None:
    """E1: what is erased with a turn is not kept in the reason of another proposal."""
    say(mem, "I love opera. I love jazz.")
    mem.sleep()
    confirm_all(op)
    say(mem, "I hate opera in Verona.")
    mem.sleep()
    shorter = [one.record for one in op.proposals() if "jazz" in one.record.content]
    assert all("Verona" not in str(one.to_dict()) for one in shorter)


def test_a_name_is_proposed_and_people_are_kept_apart(mem: Memory, op: Operator) -> None:
    """R10, R12: who speaks as the user is the person of the profile; others have their names."""
    say(mem, "My name is Bob Stone.")
    say(mem, "I love opera.")
    say(mem, "I love tea.", speaker="Ana")
    mem.sleep()
    confirm_all(op)
    found = op.user_profile()
    assert (found.name, found.preferences) == (
        "Bob Stone",
        {"ana.likes": ["tea"], "likes": ["opera"]},
    )


def test_an_instruction_is_proposed_confirmed_and_replaced(mem: Memory, op: Operator) -> None:
    """S8: a field of its own, first in the profile; a contrary one takes its place."""
    instruct(op, "language", "answer in German")
    instruct(op, "garden/units", "use metres")
    mem.sleep()
    assert op.user_profile().instructions == {}
    confirm_all(op)
    told = op.user_profile().to_dict()
    assert told["instructions"] == {"garden.units": "use metres", "language": "answer in German"}
    assert next(iter(told)) == "instructions"
    op.correct(record_of(op, "answer in German"), "answer in French", "changed my mind")
    assert len(op.user_profile().conflicts) == 1
    mem.sleep()
    confirm_all(op)
    assert op.user_profile().instructions["language"] == "answer in French"


def test_instructions_come_first_in_the_context(mem: Memory, op: Operator) -> None:
    """S8, T1: those for every task are there whatever it is, before the rest of the profile, within
    the limit and the fence; one for a project only where it is found."""
    evidence = [op.remember("said so").id]
    op.upsert_user_profile(
        {
            "drink": "green tea on the trip",
            "instructions": {"language": "answer in German", "garden.units": "use metres"},
        },
        evidence,
    )
    found = mem.memory_context("what green tea do I drink on the trip")
    assert [hit.record.metadata["profile_key"] for hit in found.items][:2] == [
        "instructions.language",
        "drink",
    ]
    assert "garden" not in found.text
    assert found.text.startswith("<<<")
    (only,) = mem.memory_context("what green tea do I drink", limits={"profile": 1}).items
    assert only.record.metadata["profile_key"] == "instructions.language"
    assert mem.memory_context("what green tea do I drink", limits={"profile": 0}).items == ()


def test_external_text_gives_nothing_that_is_trusted(mem: Memory, op: Operator) -> None:
    """S8, V8: what it says is believed by nobody, so nothing of it is proposed for the profile;
    what a person takes from outside is proposed as `external`."""
    say(mem, "I love opera.", source="mail")
    mem.sleep()
    assert not [one for one in op.proposals() if "profile_key" in one.record.metadata]
    told = {"subject": "user", "attribute": "instruction:language", "value": "answer in Latin"}
    metadata = {**CONTRACT, **told, "single": True}
    op.remember("answer in Latin", layer="semantic", trust="external", metadata=metadata)
    mem.sleep()
    (proposed,) = [one.record for one in op.proposals() if "profile_key" in one.record.metadata]
    assert (proposed.state, proposed.trust) == (State.CONSTRAINED, Trust.EXTERNAL)


def _per_cent(words: str) -> int:
    """How sure the one claim of some words is."""
    ((claim,),) = extract([Turn(words, "user", datetime(2026, 5, 20, tzinfo=UTC))])
    return round(claim.confidence * 100)


def test_what_is_only_likely_is_proposed(desk: Desk) -> None:
    """S6, V6: a claim between `sleep.likely` and `sleep.sure` waits for a person, and once rejected
    does not come again; below `sleep.likely` it is left alone."""
    liked, hated = (_per_cent(words) for words in ("I love opera.", "I like rain sometimes."))
    settings = {"sleep.sure": liked + 1, "sleep.likely": hated + 1}
    assert hated < liked
    mem, op = desk.agent(settings=settings), desk.operator(settings=settings)
    say(mem, "I love opera.")
    say(mem, "I like rain sometimes.")
    assert mem.sleep()["facts"] == {"propose": 1}
    assert op.facts() == []
    (waiting,) = op.proposals()
    assert waiting.record.content == "user likes opera"
    op.reject(waiting.record.id, "no")
    say(mem, "Well, I love opera.")
    mem.sleep()
    assert op.proposals() == []


def test_what_is_likely_can_be_confirmed(desk: Desk) -> None:
    """S6, V1: it becomes a fact as any other proposal."""
    settings = {"sleep.sure": 95, "sleep.likely": 85}
    mem, op = desk.agent(settings=settings), desk.operator(settings=settings)
    say(mem, "I love opera.")
    mem.sleep()
    confirm_all(op)
    assert [one.value for one in op.facts()] == ["opera"]
