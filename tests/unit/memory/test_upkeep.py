"""What keeps memories in order beside the engines themselves: experience, mirrors, jobs, and what people are told."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import InvalidInput, Operator, Refused
from lamina.home.folder import Home
from lamina.memory import doctor
from lamina.model.record import Layer, State
from tests.conftest import Desk, Ticking, contents, size, verified

SAME = "The user likes strong espresso"


def rules(desk: Desk, text: str) -> None:
    desk.home.mkdir(parents=True, exist_ok=True)
    (desk.home / "retention_rules.yaml").write_text(text)


@pytest.mark.parametrize(
    ("one", "other", "joins"),
    [
        (SAME, f"{SAME}!", True),
        ("Rent is 900 euros", "Rent is 950 euros", False),
        ("The meeting is at 7am on Monday", "The meeting is at 7am on Tuesday", False),
        ("Ben is allergic to nuts", "Ben is not allergic to nuts", False),
        ("The dog of Ana is old", "The dog of Ben is old", False),
        ("我喝茶", "我不喝茶", False),
    ],
)
def test_what_differs_in_a_detail_is_not_joined(
    desk: Desk, one: str, other: str, joins: bool
) -> None:
    """L7: numbers, days, names and denials are what vectors do not tell apart, so they are compared as they stand."""
    rules(desk, "deduplicate: 0.5\n")
    op = desk.operator()
    for text in (one, other):
        op.remember(text, kind="fact", importance=0.8)
    assert [decision.action.value for decision in op.plan_promotion()] == [
        "promote",
        "join" if joins else "promote",
    ]


def test_a_twin_is_as_important_as_what_joins_it(desk: Desk) -> None:
    """L7: what was said again, and as more important, does not become less so by joining."""
    rules(desk, "deduplicate: 0.9\n")
    op = desk.operator()
    first = op.remember(SAME, kind="fact", importance=0.7)
    op.run_once()
    op.remember(SAME, kind="fact", importance=0.9)
    op.run_once()
    assert op.get(first.id).importance == 0.9
    assert op.moved is not None
    assert (op.moved.promoted, op.moved.joined) == (0, 1)


def test_what_was_brought_back_is_not_joined_again(desk: Desk) -> None:
    """L4, L7: a person who restores a memory wants it for itself; the next run does not undo that."""
    rules(desk, "deduplicate: 0.9\n")
    op = desk.operator()
    op.remember(SAME, kind="fact", importance=0.8)
    again = op.remember(SAME, kind="fact", importance=0.8)
    op.run_once()
    op.restore_archived(again.id)
    op.run_once()
    assert op.get(again.id).layer is Layer.SEMANTIC


def test_deduplication_without_an_embedder_is_told(desk: Desk) -> None:
    """L7: nothing is joined then, all is promoted, and `status` says why."""
    rules(desk, "deduplicate: 0.9\n")
    op = desk.operator(settings={"recall.embedders": ["none"]})
    for _ in range(2):
        op.remember(SAME, kind="fact", importance=0.8)
    assert op.run_once()["promoted"] == 2
    assert any("no embedder" in problem for problem in op.status()["problems"])


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
    """L8: what an operator prunes and restores moves the importance of later memories, with reasons; given ones stay."""
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


def test_a_day_that_was_spoken_of_earlier_has_come(op: Operator, clock: Ticking) -> None:
    """L12: "tomorrow" counts from when it was said, also when that was stored later."""
    made = op.remember("The flight is tomorrow", at=clock.now - timedelta(days=1))
    assert [(item["id"], item["why"]) for item in op.pending()] == [(made.id, "the day has come")]


def test_a_request_waits_until_its_result(op: Operator) -> None:
    """L12: requests, escalations and pending things are listed until something answers them."""
    asked = op.remember("Book a table", kind="request")
    op.remember("Disk is full", kind="escalation", metadata={"escalated_to": "Aegis"})
    op.remember("Waiting for the courier", metadata={"status": "pending"})
    assert len(op.pending()) == 3
    op.remember("Table booked", kind="result", evidence=[asked.id])
    assert asked.id not in [item["id"] for item in op.pending()]


def test_each_user_sees_their_own_pending_things(desk: Desk) -> None:
    """L12, R12: what waits for Ana is none of Ben's business."""
    desk.agent(user="ana").remember("Call the bank", kind="request")
    assert contents_of(desk.agent(user="ben").pending()) == []
    assert contents_of(desk.agent(user="ana").pending()) == ["Call the bank"]


def contents_of(items: list[dict[str, Any]]) -> list[str]:
    return [item["content"] for item in items]


@pytest.mark.parametrize("form", ["sky", "milton"])
def test_mirrors_show_what_is_active(desk: Desk, form: str) -> None:
    """B5: live files follow every change, from a handle that writes and closes to one that promotes and prunes."""
    with desk.operator(settings={"mirrors.jsonl": form}) as op:
        op.remember("stays", importance=0.2)
        op.remember("moves up", importance=0.9)
    assert lines(desk) == (["stays", "moves up"], [])
    with desk.operator(settings={"mirrors.jsonl": form}) as op:
        op.run_once()
        assert lines(desk) == (["stays"], ["moves up"])
        op.prune(importance_below=0.5)
        assert lines(desk) == ([], ["moves up"])
        assert verified(op)


def lines(desk: Desk, folder: str = "jsonl") -> tuple[list[str], list[str]]:
    found = []
    for name in ("short_term", "long_term"):
        text = (desk.folder() / folder / f"{name}.jsonl").read_text("utf-8")
        found.append(
            [
                (line.get("payload") or line)["content"]
                for line in map(json.loads, text.splitlines())
            ]
        )
    return found[0], found[1]


def test_a_mirror_that_cannot_be_written_costs_nothing(desk: Desk) -> None:
    """B5: the memory is stored, and `status` tells about the mirror."""
    (desk.folder()).mkdir(parents=True)
    (desk.folder() / "jsonl").write_text("in the way")
    op = desk.operator(settings={"mirrors.jsonl": "sky"})
    op.remember("tea", importance=0.9)
    assert op.run_once()["promoted"] == 1
    assert any("mirror jsonl" in problem for problem in op.status()["problems"])


def test_presets_have_their_own_places(desk: Desk) -> None:
    """B7: a preset puts files where its document has them, within the agent's folder."""
    with desk.operator(settings={"preset": "sky", "mirrors.jsonl": "sky"}) as op:
        op.remember_many({"content": f"entry {n}", "score": 7 if n == 3 else 2} for n in range(101))
        assert op.run_once() == {
            "ok": True,
            "promoted": 1,
            "rotated": False,
            "remaining": 100,
            "threshold": 0.7,
        }
        op.remember("one more", score=2)
        assert op.run_once()["rotated"]
        assert [file.file.split("/")[0] for file in op.archives()] == ["memory"]
    assert len(lines(desk, "memory")[0]) == 100
    assert (
        desk.operator("lattice", settings={"preset": "skylattice"}).export().parent.name
        == "exports"
    )
    assert (desk.folder("lattice") / ".local" / "memory" / "exports").is_dir()
    conversation = desk.operator("sentinel", settings={"preset": "sentinel"})
    conversation.remember_conversation([{"text": "hi"}], session="s", keep_raw=True)
    assert list((desk.folder("sentinel") / "data" / "episodes").glob("*/*.json"))
    conversation.world.set_tool({"name": "search", "description": "finds things"})
    assert (desk.folder("sentinel") / "data" / "world_model" / "tools.json").is_file()


def test_jobs_run_and_are_told(desk: Desk, clock: Ticking) -> None:
    """L6, L12: every job runs once, says what came of it, leaves its files, and `status` has the table."""
    op = desk.operator()
    op.remember("Book a table", kind="request", importance=0.9)
    ran = op.orchestrator().tick()
    assert {one.job: one.ok for one in ran} == dict.fromkeys(
        ("memory_rotate_check", "expiry", "embedding", "awareness", "mirror_sync"), True
    )
    assert op.orchestrator().tick() == []
    assert len(json.loads((desk.home / "status" / "sky_pending.json").read_text())) == 1
    assert {job["job"] for job in op.status()["jobs"] if job["last_run"]} == {
        one.job for one in ran
    }
    clock.jump(timedelta(hours=2))
    assert "consolidation" in [one.job for one in op.orchestrator().tick()]


def test_jobs_concern_all_users(desk: Desk) -> None:
    """R12: a handle for one user does not run them."""
    with pytest.raises(Refused, match="all users"):
        desk.agent(user="ana").orchestrator()


def test_a_job_that_fails_leaves_word(desk: Desk, op: Operator) -> None:
    """L5, L6: all five fields and the error; the next tick tries again."""
    rules(desk, "promote_threshold: 7\n")
    (failed,) = [one for one in op.orchestrator().tick() if one.job == "memory_rotate_check"]
    assert not failed.ok
    told = json.loads((desk.home / "status" / "sky_last_action.json").read_text())
    assert {"ok", "promoted", "rotated", "remaining", "threshold"} <= told["detail"].keys()
    assert not told["detail"]["ok"]


def test_word_that_could_not_be_left_of_a_good_job_is_told(desk: Desk, op: Operator) -> None:
    """L5: where `status/` cannot be written, a rotation that went well says so in its outcome, for whoever looks later."""
    (desk.home / "status").write_text("a file in the place of a folder")
    (told,) = [one for one in op.orchestrator().tick() if one.job == "memory_rotate_check"]
    assert told.ok
    assert "status" in told.outcome["unreported"]


@pytest.mark.parametrize("name", ["retention_rules.yaml", "schedule.yaml"])
def test_a_bad_file_is_told_by_status_and_doctor(desk: Desk, op: Operator, name: str) -> None:
    """L6: file and line, before any job fails by it."""
    (desk.home / name).write_text("nonsense: 1\n")
    assert any(f"{name}, line 1" in problem for problem in op.status()["problems"])
    found = [
        finding for finding in doctor.examine(Home(desk.home), "sky") if finding.level == "fail"
    ]
    assert [f"{name}, line 1" in finding.message for finding in found] == [True]


def test_doctor_sees_the_archive(desk: Desk) -> None:
    """P4: files that were altered, and files that no index knows."""
    with desk.operator() as op:
        op.remember("tea")
        op.prune(layers=["short_term"])
    (file,) = (desk.folder() / "archive").iterdir()
    assert doctored(desk, "archive") == ["ok"]
    (file.parent / "short_term_archive_1.jsonl").write_text("")
    assert doctored(desk, "archive") == ["warn"]
    file.write_text("{}")
    assert doctored(desk, "archive") == ["fail", "warn"]


def doctored(desk: Desk, check: str) -> list[str]:
    return [
        finding.level
        for finding in doctor.examine(Home(desk.home), "sky")
        if finding.check == check
    ]


def test_a_promotion_may_leave_an_episode(desk: Desk) -> None:
    """L10: as a setting, one episodic record for each run that promotes, with what was promoted as evidence."""
    op = desk.operator(settings={"promotion.episodes": True})
    made = op.remember("tea", kind="fact", importance=0.9)
    op.run_once()
    (episode,) = op.list(layers=["episodic"])
    assert episode.evidence == (made.id,)
    before = size(op)
    op.run_once()
    assert size(op) == before


def test_profile_snapshot_follows(desk: Desk, op: Operator) -> None:
    """R10: `user_profile.json` is the profile as it is now."""
    said = op.remember("Call me Ana")
    op.upsert_user_profile({"name": "Ana"}, [said.id])
    assert json.loads((desk.folder() / "user_profile.json").read_text())["name"] == "Ana"
    assert op.user_profile().to_dict()["evidence_ids"] == [said.id]


def test_upsert_needs_evidence(op: Operator) -> None:
    """P1: without evidence ids, or with unknown ones, nothing is stored."""
    before = size(op)
    with pytest.raises(InvalidInput):
        op.upsert_user_profile({"name": "Ana"})
    assert size(op) == before


def test_an_agent_proposes_a_profile(desk: Desk) -> None:
    """V1: on an agent's handle the same call makes a record that waits."""
    mem = desk.agent()
    said = mem.remember("Call me Ana")
    mem.upsert_user_profile({"name": "Ana"}, [said.id])
    assert [record.state for record in mem.list(layers=["profile"], states=None)] == [
        State.CONSTRAINED
    ]
    assert mem.user_profile().name != "Ana"


def test_archived_memories_stay_evidence(op: Operator, clock: Ticking) -> None:
    """L9, P1: what was compressed is archived, and every evidence id of the profile and the projects still resolves."""
    op.remember("Ana prefers tea", kind="preference")
    op.remember("Ship it", tags=["project:atlas", "next"])
    clock.jump(timedelta(days=3))
    done = op.compress_short_to_long()
    assert (done["compressed"], done["left"]) == (2, 0)
    ids = [*op.user_profile().evidence_ids, *op.projects()[0].evidence_ids]
    assert all(op.get(record_id).archived for record_id in ids)
    before = size(op)
    assert op.compress_short_to_long()["compressed"] == 0
    assert size(op) == before
    assert verified(op)


def test_nothing_heavy_is_loaded_for_a_plain_write(tmp_path: Path) -> None:
    """Start-up stays light: remembering loads neither YAML nor numpy."""
    import subprocess

    program = (
        "import sys, lamina\nwith lamina.open('sky', home=sys.argv[1]) as mem: mem.remember('tea')\n"
        "print([name for name in ('yaml', 'numpy', 'rich', 'click') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "[]\n"


def test_restored_memories_are_found_again(op: Operator) -> None:
    """L4: what comes back is in every list and search, and its second leaving works like the first."""
    made = op.remember("green tea")
    for _ in range(2):
        op.prune(layers=["short_term"])
        assert contents(op.search("green tea")) == []
        op.restore_archived(made.id)
        assert contents(op.search("green tea")) == ["green tea"]
    assert [event.action for event in op.history(made.id)] == [
        "remember",
        *["prune", "archive.restore"] * 2,
    ]
