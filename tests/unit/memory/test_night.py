"""A night (S1-S6): what was said becomes what is known, and what follows from it."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from lamina import InvalidInput, Memory, Operator, Refused
from lamina.memory.sleep import facts
from lamina.memory.sleep.facts import FactWriter
from lamina.model.record import Layer, Role, State, Trust
from tests.conftest import Desk, size, verified


def talk(handle: Memory, session: str, *said: str, speaker: str = "Ana", **more: Any) -> list[str]:
    """A conversation of one person; the ids of its turns."""
    turns = [{"speaker": speaker, "text": text, **more} for text in said]
    return [record.id for record in handle.remember_conversation(turns, session=session)]


def known(handle: Memory, subject: str = "Ana", **more: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fact in handle.facts(subject, **more):
        found.setdefault(fact.attribute, []).append(f"{'not ' if fact.negated else ''}{fact.value}")
    return found


def test_a_fact_says_where_it_comes_from(mem: Memory) -> None:
    """S1, R9: subject, attribute and value, the turn as evidence, its episode, and the exact words
    that say it."""
    conversation = mem.remember_conversation(
        [{"speaker": "Ana", "text": "Well, I live in Porto these days."}], session="s"
    )
    (turn,) = conversation
    mem.sleep()
    (fact,) = mem.facts("Ana", "lives_in")
    record = mem.get(fact.record)
    assert (record.layer, record.state, record.kind) == (Layer.SEMANTIC, State.ACTIVE, "fact")
    assert (record.evidence, record.metadata["source_episode"]) == (
        (turn.id,),
        conversation.episode.id,
    )
    start, end = record.metadata["span"]
    assert "live in Porto" in turn.content[start:end]
    assert (record.metadata["origin"], record.trust) == ("sleep", Trust.AGENT)
    assert record.valid_from == turn.occurred_at


def test_what_changes_is_superseded_and_found_by_its_time(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """S2, Q10: the old value held until the new one, by facts and by search alike."""
    talk(mem, "a", "I live in Porto.")
    before = desk.clock()
    desk.clock.jump(timedelta(days=30))
    talk(mem, "b", "I moved to Lisbon.")
    mem.sleep()
    assert known(mem)["lives_in"] == ["Lisbon"]
    assert known(mem, as_of=before)["lives_in"] == ["Porto"]
    assert "Ana lives in Porto" in [
        hit.record.content
        for hit in mem.search("where does Ana live", layers=["semantic"], as_of=before)
    ]
    old, new = [fact for fact in mem.timeline("ana") if fact.attribute == "lives_in"]
    assert (old.valid_to, op.get(old.record).superseded_by) == (new.valid_from, new.record)
    assert verified(op)


def test_nothing_is_read_twice(desk: Desk, mem: Memory, op: Operator) -> None:
    """S1: a second night changes nothing; a third reads only what is new."""
    talk(mem, "a", "I live in Porto.", "I love hiking.")
    assert mem.sleep()["turns"] == 2  # the record of the whole conversation is none
    before = size(op)
    assert mem.sleep()["turns"] == 0
    assert size(op) == before
    talk(mem, "b", "I live in Porto.")
    assert mem.sleep()["facts"].get("new", 0) == 0


def test_what_is_promoted_later_is_read_later(mem: Memory) -> None:
    """S1: a memory that comes to the episodes after others were read is not overlooked."""
    told = mem.remember("Ana lives in Porto", kind="user_interaction", importance=0.9)
    talk(mem, "a", "Hello there.")
    mem.sleep()
    assert not known(mem)
    mem.run_once()
    assert mem.get(told.id).layer is Layer.EPISODIC
    mem.sleep()
    assert known(mem)["lives_in"] == ["Porto"]


def test_what_was_promoted_before_it_was_read_is_read_once(mem: Memory) -> None:
    """S1: a night reads what was promoted before it once, in its order, and so does its plan."""
    mem.remember_many(
        {"content": f"Ana visited city {n}. Ana lives in Porto.", "importance": 0.9}
        for n in range(10)
    )
    talk(mem, "a", "I live in Rome.")
    mem.run_once()
    told = [one["source"] + one["fact"] for one in mem.sleep(dry_run=True)["facts"]]
    assert told
    assert len(told) == len(set(told))
    assert mem.sleep()["turns"] == 11
    assert mem.sleep()["turns"] == 0


def test_what_comes_from_outside_waits(mem: Memory, op: Operator) -> None:
    """V8, S6: an external turn ends nothing and is believed by nobody; a person may confirm it."""
    talk(mem, "a", "I live in Porto.")
    mem.sleep()
    talk(mem, "mail", "I live in Rome.", source="mail")
    mem.sleep()
    assert known(mem)["lives_in"] == ["Porto"]
    (waiting,) = [
        one for one in op.proposals() if one.record.metadata.get("attribute") == "lives_in"
    ]
    assert [record.content for record in waiting.replaces] == ["Ana lives in Porto"]
    op.confirm(waiting.record.id)
    assert known(mem)["lives_in"] == ["Rome"]
    assert verified(op)


def test_what_was_rejected_is_not_learned_again(mem: Memory, op: Operator) -> None:
    """V6: a rejected fact, and a rejected taste, do not come back in another night."""
    talk(mem, "mail", "I live in Rome.", source="mail")
    talk(mem, "a", "I love hiking.")
    mem.sleep()
    for waiting in op.proposals():
        op.reject(waiting.record.id, "no")
    talk(mem, "b", "I live in ROME!", source="web")
    talk(mem, "c", "I love Hiking.")
    mem.sleep()
    assert not op.proposals()
    assert "lives_in" not in known(mem)


def test_an_operators_correction_is_not_undone_by_an_agents_turn(mem: Memory, op: Operator) -> None:
    """V8: what a person corrected is trusted more than what an agent heard; it waits."""
    talk(mem, "a", "I live in Porto.")
    mem.sleep()
    (fact,) = mem.facts("Ana", "lives_in")
    op.correct(fact.record, "Faro", "misheard")
    assert known(mem)["lives_in"] == ["Faro"]
    talk(mem, "b", "I live in Rome.")
    mem.sleep()
    assert known(mem)["lives_in"] == ["Faro"]


def test_tastes_are_proposed_and_grow(mem: Memory, op: Operator) -> None:
    """S3, V9: one proposal a key; a longer list takes the place of the one that waits, and keeps
    what is confirmed."""
    op.upsert_user_profile({"name": "Ana", "likes": ["tea"]}, [op.remember("x").id])
    talk(mem, "a", "I love hiking.")
    assert mem.sleep()["preferences"] == 1
    (first,) = op.proposals()
    assert (first.record.metadata["profile_key"], first.record.metadata["value"]) == (
        "likes",
        ["tea", "hiking"],
    )
    talk(mem, "b", "I love sailing.")
    mem.sleep()
    (second,) = op.proposals()
    assert second.record.metadata["value"] == ["tea", "hiking", "sailing"]
    assert op.get(first.record.id).state is State.TOMBSTONED
    op.confirm(second.record.id)
    assert mem.sleep()["preferences"] == 0
    assert op.user_profile().preferences["likes"] == ["tea", "hiking", "sailing"]


def test_a_verbose_conversation_is_summed_up(desk: Desk, mem: Memory) -> None:
    """S3: an extractive summary whose every sentence is in a turn; the turns stay, and it
    is made once."""
    said = [
        f"On day {number} I climbed the mountain number {number} with Ben and we saw an old castle there. "
        * 3
        for number in range(10)
    ]
    talk(mem, "long", *said)
    desk.clock.jump(timedelta(hours=7))
    assert mem.sleep()["summaries"] == 1
    (summary,) = [
        one for one in mem.list(layers=["episodic"], limit=100) if "sentences" in one.metadata
    ]
    for turn, start, end in summary.metadata["sentences"]:
        assert mem.get(turn).content[start:end].strip() in summary.content
    assert (len(summary.evidence), summary.trust) == (10, Trust.AGENT)
    assert mem.sleep()["summaries"] == 0


def test_a_workflow_that_succeeds_is_proposed(desk: Desk, mem: Memory, op: Operator) -> None:
    """S3: three successes make a procedural proposal, which rests on them; two do not."""
    for number in range(3):
        with mem.run("Weekly report") as run:
            run.note("fetch the numbers")
            run.note("draw the chart")
            run.close("fetched the numbers, drew the chart, sent the report")
        desk.clock.jump(timedelta(days=7))
        assert mem.sleep()["workflows"] == int(number == 2)
    (waiting,) = op.proposals()
    assert (waiting.record.layer, waiting.record.metadata["workflow"]) == (
        Layer.PROCEDURAL,
        "weekly-report",
    )
    assert mem.sleep()["workflows"] == 0


def test_importance_follows_use(desk: Desk, mem: Memory, op: Operator) -> None:
    """S4: what nobody wants matters less, by the same amount however often one sleeps;
    nothing is deleted."""
    told, wanted = talk(mem, "a", "The weather was fine.", "The key is under the mat.")
    before = mem.get(told).importance
    for _ in range(3):
        desk.clock.jump(timedelta(days=60))
        op.get(wanted)
        op._scope.store.reads.flush()
        mem.sleep()
    desk.clock.jump(timedelta(hours=1))
    after = op.list(layers=["episodic"], limit=10)
    importance = {record.id: record.importance for record in after}
    assert importance[told] < before
    assert importance[wanted] > importance[told]
    assert importance[told] >= before / 2 - 0.01
    assert verified(op)


def test_the_plan_changes_nothing_and_says_why(mem: Memory, op: Operator) -> None:
    """S5: `dry_run` has every claim with its effect and reason, and leaves no trace but a read."""
    talk(mem, "a", "I live in Porto.", "I moved to Lisbon.")
    before = size(op)
    plan = mem.sleep(dry_run=True)
    assert size(op) == before
    effects = {one["fact"]: (one["effect"], one["why"]) for one in plan["facts"]}
    assert effects["Ana lives in Porto"] == ("new", "not known before")
    assert effects["Ana lives in Lisbon"] == ("change", "ends 'Porto'")


def test_users_have_facts_of_their_own(desk: Desk) -> None:
    """R12: what one user's Ana said is nothing to another; a handle for one user cannot let all of
    them sleep."""
    ana, ben = desk.agent(user="ana"), desk.agent(user="ben")
    talk(ana, "a", "I live in Porto.")
    talk(ben, "b", "I live in Rome.")
    desk.agent().sleep()
    assert (known(ana)["lives_in"], known(ben)["lives_in"]) == (["Porto"], ["Rome"])
    with pytest.raises(Refused, match="all users"):
        ana.sleep()


def test_the_scheduler_sleeps(desk: Desk, mem: Memory, op: Operator) -> None:
    """S5, V7: as the job `consolidation`, by the system, when nothing was written for a while; it
    confirms nothing."""
    talk(mem, "a", "I live in Porto. I love hiking.")
    scheduler = desk.open(Role.SYSTEM)
    orchestrator = scheduler.orchestrator()
    orchestrator.tick()
    assert not known(mem)
    desk.clock.jump(timedelta(hours=2))
    orchestrator.tick()
    assert known(mem)["lives_in"] == ["Porto"]
    assert [one.record.state for one in op.proposals()] == [State.CONSTRAINED]
    assert {event.actor.split(":")[0] for event in op.audit_log() if event.action == "sleep"} == {
        "system"
    }


@pytest.mark.parametrize("bad", ["", " ", 7, "x" * 300, "a\nb"])
def test_a_timeline_needs_a_name(mem: Memory, bad: Any) -> None:
    """H1: what is no name is an error."""
    with pytest.raises(InvalidInput):
        mem.timeline(bad)


@pytest.mark.parametrize(
    "turns",
    [
        [{"text": "I live in Porto."}],
        [{"speaker": "Assistant", "text": "I live in Porto. Ana lives in Rome."}],
        [
            {"speaker": "Ana", "text": "Ik woon in Utrecht en ik werk als lerares."},
            {"speaker": "Ana", "text": "私は東京に住んでいます。"},
        ],
        [
            {"speaker": "Ana", "text": "..."},
            {"speaker": "Ana", "text": "🙂"},
            {"speaker": "Ana", "text": "?"},
        ],
        [
            {
                "speaker": "Ana",
                "text": (
                    "If I lived in Rome I would be happy. Do you live in Rome? Maybe I live in "
                    "a dream."
                ),
            }
        ],
    ],
    ids=["nobody speaks", "an assistant speaks", "other languages", "no words", "not meant so"],
)
def test_nothing_rather_than_nonsense(mem: Memory, turns: list[dict[str, str]]) -> None:
    """S1: what is not said by somebody about somebody, in a language that is read, is left alone."""
    mem.remember_conversation(turns, session="s")
    assert mem.sleep()["facts"].get("new", 0) == 0


def test_a_night_stops_between_texts_and_the_next_one_goes_on(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """S5: a night that is told to stop ends before the next text, leaves nothing half read, and
    says so."""
    talk(mem, "a", "I live in Porto.", "I love hiking.", "I have a dog.")
    asked: list[int] = []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) > 2

    before = size(op)
    done = mem.sleep(stop=stop)
    assert (done["turns"], done["facts"], done["stopped"]) == (0, {}, True)
    assert size(op) == before
    done = mem.sleep(stop=lambda: False)
    assert (done["turns"], "stopped" in done) == (3, False)
    assert known(mem)["lives_in"] == ["Porto"]
    with pytest.raises(InvalidInput, match="stop 'now' is not a function"):
        mem.sleep(stop="now")  # type: ignore[arg-type]


def test_a_night_that_is_stopped_while_it_writes_has_written_nothing(
    mem: Memory, op: Operator
) -> None:
    """S5: facts of a batch are written together or not at all, also when the night is told to stop
    among them."""
    talk(mem, "a", "I live in Porto. I love hiking. I have a dog.")
    before = size(op)
    reading = threading.Event()
    absorb = FactWriter._absorb

    def stopped(self: FactWriter, *given: Any) -> Any:
        reading.set()
        return absorb(self, *given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FactWriter, "_absorb", stopped)
        assert mem.sleep(stop=reading.is_set)["stopped"] is True
    assert size(op) == before
    mem.sleep()
    assert known(mem)["lives_in"] == ["Porto"]


def test_a_long_session_is_read_in_batches_that_end_soon(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S5: what is read in one go is bounded by its length as well, so that an interruption costs
    little; none is forgotten."""
    monkeypatch.setattr(facts, "ROOM", 100)
    batches: list[int] = []
    said = FactWriter._said

    def counted(self: FactWriter, turns: Any, heard: Any) -> Any:
        batches.append(len(turns))
        return said(self, turns, heard)

    monkeypatch.setattr(FactWriter, "_said", counted)
    for number in range(5):
        talk(mem, f"s{number}", f"I live in Porto. I love hiking near the river {'very ' * 5}much.")
    assert mem.sleep()["turns"] == 5
    assert len(batches) > 2
    assert known(mem)["lives_in"] == ["Porto"]


def test_what_is_too_long_to_be_read_is_told(mem: Memory) -> None:
    """S1, S6: a turn is read up to a length, a stretch without an end is skipped, a list of claims
    is cut: notes say so."""
    talk(
        mem,
        "a",
        f"I live in Porto. {'and so on ' * 3000}",
        "".join(f"I like tea{number}. " for number in range(300)),
    )
    notes = mem.sleep()["notes"]
    assert notes == [
        "turns that were read up to 20,000 characters: 1",
        "stretches of more than 500 characters without an end that were not read: 1",
        "turns of which 200 claims were taken and no more: 1",
    ]
    assert known(mem)["lives_in"] == ["Porto"]
    assert len(known(mem)["likes"]) == 200
