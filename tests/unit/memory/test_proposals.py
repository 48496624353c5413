"""The queue: what waits, for how long, how much of it, and records that could be one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from lamina import Conflict, InvalidInput, Memory, Operator, Refused
from lamina.model import rules
from lamina.model.record import Layer, Role, State, Trust
from tests.conftest import Desk, verified


def proposed(handle: Memory, value: object, key: str = "drink", **more: Any) -> str:
    said = handle.remember(f"I like {value}", **more)
    return handle.propose_profile(key, value, "said so", [said.id]).id


def test_the_queue_says_what_a_person_needs(mem: Memory, op: Operator) -> None:
    """V5, V9: what put it there, since when, what it would replace, its rivals;
    most effect first."""
    tea = op.confirm(proposed(mem, "tea"))
    other = proposed(mem, "Berlin", "city")
    first, second = proposed(mem, "coffee"), proposed(mem, "water")
    queue = op.proposals()
    assert [one.record.id for one in queue] == [first, second, other]
    assert [record.id for record in queue[0].replaces] == [tea.id]
    assert (queue[0].by, queue[0].rivals, queue[0].problem) == ("profile.propose", (second,), None)
    assert queue[0].since == queue[0].record.created_at
    told = queue[0].to_dict()
    assert (told["record"]["id"], told["replaces"], told["rivals"]) == (first, [tea.id], [second])


def test_a_rival_of_what_was_confirmed_says_so(mem: Memory, op: Operator) -> None:
    """V5: once one of two is confirmed, the other is shown as stale, and cannot be confirmed."""
    first, second = proposed(mem, "coffee"), proposed(mem, "water")
    op.confirm(first)
    (left,) = op.proposals()
    assert left.problem is not None
    assert first in left.problem
    with pytest.raises(Conflict):
        op.confirm(second)


def test_the_same_value_is_one_proposal_with_more_evidence(mem: Memory, op: Operator) -> None:
    """V9: proposals merge per key; what is trusted less adds nothing."""
    first = proposed(mem, "tea")
    assert proposed(mem, "Tea", "DRINK") == first
    assert proposed(mem, "tea", source="web") == first
    (waiting,) = op.proposals()
    assert (len(waiting.record.evidence), waiting.record.trust) == (2, Trust.AGENT)
    assert op.confirm(first).state is State.ACTIVE
    assert verified(op)


def test_what_is_known_is_not_proposed(mem: Memory, op: Operator) -> None:
    """V9: a value that is active already is a conflict that names the record, and
    leaves no trace."""
    known = op.confirm(proposed(mem, "tea"))
    said = mem.remember("tea again")
    before = op.status()["records"]
    with pytest.raises(Conflict, match=known.id):
        mem.propose_profile("drink", "TEA", "said so", [said.id])
    with pytest.raises(Conflict, match=known.id):
        op.propose_profile("drink", "tea", "I say so")
    assert op.status()["records"] == before


def test_one_proposal_is_one_key(mem: Memory) -> None:
    """V1: a mapping that holds several keys is to be proposed one by one."""
    said = mem.remember("x")
    with pytest.raises(InvalidInput, match="one by one"):
        mem.propose_profile("schedule", {"work": "nine", "lunch": "noon"}, "said so", [said.id])


def test_machines_propose_no_more_than_people_can_read(desk: Desk) -> None:
    """V9: capped per day, for the agent and the scheduler together; an operator is not; tomorrow is
    another day."""
    mem = desk.agent(settings={"review.per_day": 3})
    op = desk.operator(settings={"review.per_day": 3})
    for number in range(3):
        proposed(mem, f"tea {number}", f"key{number}")
    said = mem.remember("one more")
    with pytest.raises(Refused, match=r"review\.per_day"):
        mem.propose_profile("key9", "tea", "said so", [said.id])
    with pytest.raises(Refused, match=r"review\.per_day"):
        mem.upsert_user_profile({"key9": "tea"}, [said.id])
    assert op.propose_profile("key9", "tea", "I say so").state is State.CONSTRAINED
    desk.clock.jump(timedelta(days=1))
    assert mem.propose_profile("key8", "tea", "said so", [said.id]).state is State.CONSTRAINED


def test_compression_leaves_for_tomorrow_what_is_too_much(desk: Desk) -> None:
    """V9, L9: no memory is summed up without its proposal; the rest stays, and says why."""
    mem = desk.agent(settings={"review.per_day": 2})
    for number in range(4):
        mem.remember(f"colour number {number}", kind="preference")
    desk.clock.jump(timedelta(days=3))
    plan = mem.compress_short_to_long(48, dry_run=True)
    assert [one["rule"] for one in plan["decisions"]].count(
        "the daily limit of proposals is reached"
    ) == 2
    done = mem.compress_short_to_long(48)
    assert (done["compressed"], done["left"]) == (2, 2)
    desk.clock.jump(timedelta(days=1))
    assert mem.compress_short_to_long(48)["compressed"] == 2
    assert len(mem.proposals()) == 4


def test_proposals_lapse(desk: Desk, mem: Memory, op: Operator) -> None:
    """V9: what nobody decides is put aside after a while, by the scheduler too; its value
    may come again."""
    old = proposed(mem, "tea")
    desk.clock.jump(timedelta(days=89))
    young = proposed(mem, "Berlin", "city")
    scheduler = desk.open(Role.SYSTEM)
    scheduler.run_once()
    assert op.get(old).state is State.CONSTRAINED
    desk.clock.jump(timedelta(days=2))
    scheduler.run_once()
    assert (op.get(old).state, op.get(young).state) == (State.TOMBSTONED, State.CONSTRAINED)
    (event,) = [one for one in op.history(old) if one.action == "proposals.expire"]
    assert event.actor.startswith("system:")
    assert proposed(mem, "tea") != old


def test_proposals_that_never_lapse(desk: Desk) -> None:
    """V9: with the setting 0 they wait for ever."""
    mem = desk.agent(settings={"review.expire_days": 0})
    waiting = proposed(mem, "tea")
    desk.clock.jump(timedelta(days=5000))
    mem.run_once()
    assert mem.get(waiting).state is State.CONSTRAINED


def test_what_was_active_before_does_not_lapse(desk: Desk, mem: Memory, op: Operator) -> None:
    """V8, V9: what was put under review by a revocation waits until somebody decides."""
    told = mem.remember("the bridge is closed", source="web:news")
    op.revoke("web:news", "hacked")
    desk.clock.jump(timedelta(days=400))
    mem.run_once()
    assert op.get(told.id).state is State.CONSTRAINED


def facts(op: Operator, *texts: str, topic: str = "boiler") -> list[str]:
    contract = {"origin": "test", "topic_tags": [topic]}
    return [
        op.remember(text, layer="semantic", kind="fact", metadata=contract).id for text in texts
    ]


def test_compaction_only_shows_unless_it_is_told_to_propose(mem: Memory, op: Operator) -> None:
    """V2, V3: without the flag nothing changes; with it each group waits once."""
    facts(op, "The boiler is old", "The boiler is loud")
    before = op.status()["records"]
    (group,) = mem.compact()
    assert (group["outcome"], op.status()["records"]) == ("possible", before)
    (made,) = mem.compact(create_proposals=True)
    (again,) = mem.compact(create_proposals=True)
    assert (made["outcome"], again["outcome"], again["proposal"]) == (
        "proposed",
        "waits already",
        made["proposal"],
    )


def test_confirming_a_compaction_supersedes_its_sources(mem: Memory, op: Operator) -> None:
    """V2, P1: the summary names its sources and rests on them; confirming it supersedes them, a
    rollback restores them."""
    sources = facts(op, "The boiler is old", "The boiler is loud")
    (group,) = mem.compact(create_proposals=True)
    summary = op.get(group["proposal"])
    assert (summary.state, set(summary.evidence)) == (State.CONSTRAINED, set(sources))
    assert set(summary.metadata["compacted_from"]) == set(sources)
    assert [{record.id for record in one.replaces} for one in op.proposals()] == [set(sources)]
    op.confirm(summary.id)
    assert [op.get(one).state for one in sources] == [State.SUPERSEDED] * 2
    assert not mem.compact()
    op.rollback(summary.id)
    assert [op.get(one).state for one in sources] == [State.ACTIVE] * 2
    assert verified(op)


def test_a_compaction_whose_source_changed_is_stale(mem: Memory, op: Operator) -> None:
    """V5: a source that was corrected meanwhile makes the summary stale; nothing changes."""
    first, second = facts(op, "The boiler is old", "The boiler is loud")
    (group,) = mem.compact(create_proposals=True)
    op.correct(first, "The boiler is new", "it was exchanged")
    with pytest.raises(Conflict, match=first):
        op.confirm(group["proposal"])
    assert op.get(second).state is State.ACTIVE


def test_overlapping_compactions_cannot_both_be_confirmed(mem: Memory, op: Operator) -> None:
    """V5: two proposals over one source: the second says that another took it."""
    first, second = facts(op, "The boiler is old", "The boiler is loud")
    (group,) = mem.compact(create_proposals=True)
    assert [one["outcome"] for one in mem.compact(create_proposals=True)] == ["waits already"]
    metadata = {"origin": "test", "topic_tags": [], "compacted_from": [first, second]}
    with op._scope.store.change(op.actor, "test", op._scope.clock()) as transaction:
        made = rules.in_layer(
            Layer.SEMANTIC,
            op._scope.draft({"content": "Old and loud", "metadata": metadata, "evidence": [first]}),
        )
        (rival,) = transaction.insert([structs.replace(made, state=State.CONSTRAINED)])
    op.confirm(rival.id)
    assert [one.problem is None for one in op.proposals()] == [False]
    with pytest.raises(Conflict):
        op.confirm(group["proposal"])
    assert verified(op)


def test_dedup_joins_procedures_of_a_workflow(mem: Memory, op: Operator) -> None:
    """V3: the duplicates are superseded by the canonical record, within their workflow alone."""
    steps = [
        op.remember(
            text, layer="procedural", metadata={"workflow": workflow, "canonical": False}
        ).id
        for text, workflow in (
            ("Run make check, then push", "deploy"),
            ("run  make check then push!", "deploy"),
            ("Run make check, then push", "docs"),
        )
    ]
    (group,) = mem.dedup(create_proposals=True)
    canonical = op.confirm(group["proposal"])
    assert (canonical.metadata["workflow"], canonical.metadata["canonical"]) == ("deploy", True)
    assert [op.get(one).state for one in steps] == [
        State.SUPERSEDED,
        State.SUPERSEDED,
        State.ACTIVE,
    ]


RADAR = {
    "origin": "radar",
    "topic_tags": ["agents"],
    "repo_slug": "acme/tool",
    "source_handle": "acme",
    "source_url": "https://example.com/acme/tool",
    "confidence": 0.8,
    "evidence_refs": ["scan-1"],
}


def test_radar_records_keep_their_contract(mem: Memory, op: Operator) -> None:
    """R7: what the radar writes needs all of its fields, and has them after compaction,
    confirmation and rollback."""
    for field in ("repo_slug", "source_handle", "source_url", "confidence", "evidence_refs"):
        with pytest.raises(InvalidInput, match=field):
            op.remember(
                "a tool",
                layer="semantic",
                metadata={name: value for name, value in RADAR.items() if name != field},
            )
    made = [
        op.remember("Acme has a tool for agents", layer="semantic", metadata=RADAR)
        for _ in range(2)
    ]
    (group,) = mem.compact(create_proposals=True)
    summary = op.confirm(group["proposal"])
    assert summary.metadata["origin"] in ("radar", "memory-review")
    op.rollback(summary.id)
    for record in made:
        assert op.get(record.id).metadata == RADAR


def test_revoking_a_source_reaches_what_was_derived(mem: Memory, op: Operator) -> None:
    """V8: all that came from the source or rests on it waits for review; what it had replaced is
    back; the rest stays."""
    said = mem.remember("tea please")
    tea = op.confirm(mem.propose_profile("drink", "tea", "said so", [said.id]).id)
    told = mem.remember("everybody drinks cola", source="web:Example.com")
    cola = op.confirm(mem.propose_profile("drink", "cola", "the web says so", [told.id]).id)
    found, archived = op.revocable("WEB:example.com")
    assert ([record.id for record in found], archived) == ([told.id, cola.id], 0)
    moved = op.revoke("web:example.com", "hacked")
    assert [record.id for record in moved] == [told.id, cola.id]
    assert [op.get(one).state for one in (told.id, cola.id, tea.id, said.id)] == [
        State.CONSTRAINED,
        State.CONSTRAINED,
        State.ACTIVE,
        State.ACTIVE,
    ]
    assert op.user_profile().preferences == {"drink": "tea"}
    assert {one.by for one in op.proposals()} == {"revoke"}
    assert verified(op)


def test_a_revocation_can_be_undone(mem: Memory, op: Operator) -> None:
    """V8: one event, taken back as one."""
    told = mem.remember("everybody drinks cola", source="mail")
    cola = op.confirm(mem.propose_profile("drink", "cola", "so", [told.id]).id)
    op.revoke("mail", "spam")
    (event,) = op.audit_log(1)
    assert (event.action, event.reason, event.note["source"]) == ("revoke", "spam", "mail")
    op.undo(event.seq)
    assert [op.get(one).state for one in (told.id, cola.id)] == [State.ACTIVE, State.ACTIVE]
    assert op.user_profile().preferences == {"drink": "cola"}
    assert verified(op)


def test_revoking_very_many_is_one_event(desk: Desk, mem: Memory, op: Operator) -> None:
    """V8: however many they are, it is one transaction and one event, so that one undo takes all of
    it back."""
    mem.remember_many({"content": f"page {number}", "source": "web"} for number in range(1200))
    assert len(op.revoke("web", "hacked")) == 1200
    (event,) = op.audit_log(1)
    assert len(event.changes) == 1200
    assert len(op.undo(event.seq)) == 1200
    assert verified(op)


def test_revoking_follows_evidence_into_the_archive(desk: Desk, mem: Memory, op: Operator) -> None:
    """V8: a summary whose sources were archived since is derived from them all the same; those stay
    where they are."""
    mem.remember(
        "blue", kind="preference", source="web", metadata={"profile_key": "colour", "value": "blue"}
    )
    desk.clock.jump(timedelta(days=3))
    op.compress_short_to_long(48)
    (waiting,) = op.proposals()
    op.confirm(waiting.record.id)
    moved = op.revoke("web", "hacked")
    assert [record.id for record in moved] == [waiting.record.id]
    assert op.revocable("web")[1] == 1


def test_what_merely_agrees_is_not_derived(desk: Desk, mem: Memory, op: Operator) -> None:
    """V8: a memory that was there before is not revoked because the source repeated it."""
    own = proposed(mem, "tea")
    told = mem.remember("tea", source="chat", trust="agent")
    mem.propose_profile("drink", "tea", "they agree", [told.id])
    op.confirm(own)
    assert told.id in op.get(own).evidence
    assert [record.id for record in op.revoke("chat", "left")] == [told.id]


def test_derivation_is_followed_whatever_the_clock_says(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """V8: a clock that stands still or was set back hides nothing that rests on
    a revoked source."""
    desk.clock.step = timedelta(0)
    told = mem.remember("a", source="web")
    same = [mem.remember(f"b{number}", evidence=[told.id]) for number in range(20)]
    desk.clock.jump(timedelta(days=-30))
    earlier = [mem.remember(f"c{number}", evidence=[told.id]) for number in range(5)]
    assert len(op.revoke("web", "hacked")) == 1 + len(same) + len(earlier)


def test_a_quarantined_memory_is_confirmed_again(mem: Memory, op: Operator) -> None:
    """R3: active, constrained, active: and what it replaced gives way again."""
    said = mem.remember("tea please")
    tea = op.confirm(mem.propose_profile("drink", "tea", "said so", [said.id]).id)
    told = mem.remember("cola!", source="web")
    cola = op.confirm(mem.propose_profile("drink", "cola", "so", [told.id]).id)
    op.revoke("web", "hacked")
    op.confirm(cola.id)
    assert [op.get(one).state for one in (tea.id, cola.id)] == [State.SUPERSEDED, State.ACTIVE]
    assert verified(op)


@pytest.mark.parametrize("source", ["", "  ", "\u200b", 7, None, "a\nb", "x" * 300])
def test_revoking_needs_a_source_and_a_reason(op: Operator, source: str) -> None:
    """V8: a source that cannot be one, and an empty reason, are told; nothing is written."""
    before = op.status()["records"]
    with pytest.raises(InvalidInput):
        op.revoke(source, "why")
    with pytest.raises(InvalidInput, match="reason"):
        op.revoke("web", " ")
    assert op.status()["records"] == before


def test_revoking_what_nothing_came_from_is_nothing(op: Operator) -> None:
    """V8: no record, no event."""
    before = op.audit_head()["events"]["seq"]
    assert op.revoke("nowhere", "why") == []
    assert op.audit_head()["events"]["seq"] == before


def test_a_project_under_review_takes_the_place_of_the_active_one(
    desk: Desk, mem: Memory, op: Operator
) -> None:
    """V1, L10: confirming what came from outside about a project leaves one record of
    it, not two."""
    mem.remember("ship it", tags=["project:boat", "goal"])
    desk.clock.jump(timedelta(days=3))
    op.compress_short_to_long(48)
    mem.remember("paint it", tags=["project:boat", "next"], source="mail")
    desk.clock.jump(timedelta(days=3))
    op.compress_short_to_long(48)
    (waiting,) = op.proposals()
    op.confirm(waiting.record.id)
    (project,) = op.projects()
    assert (project.goals, project.next_steps) == (["ship it"], ["paint it"])
    assert len(op.list(layers=["semantic"])) == 1
