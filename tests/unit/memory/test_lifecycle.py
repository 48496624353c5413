"""Memories that move by themselves: up, out and back, each once, and every move told."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory, Operator
from lamina.errors import InvalidInput, LaminaError, NotFound, Refused
from lamina.home.retention import Retention
from lamina.model import rules
from lamina.model.record import Entry, Layer, State, Trust
from tests.cases import every
from tests.conftest import (
    CONTRACTS,
    START,
    Desk,
    Ticking,
    contents,
    lifecycle,
    move,
    size,
    verified,
)
from tests.unit.memory.homes import ruled
from tests.unit.store.archives import files, kept

FIELDS = ["ok", "promoted", "rotated", "remaining", "threshold"]
RADAR = {"origin": "radar", "topic_tags": ["x"]}
RADAR_FULL = {
    **RADAR,
    "repo_slug": "a/b",
    "source_handle": "h",
    "source_url": "u",
    "confidence": 1,
    "evidence_refs": ["e"],
}


def everywhere(op: Operator, desk: Desk) -> list[str]:
    """The texts in the store and in the files of the archive."""
    return sorted([*contents(op.list(layers=list(Layer), states=None, limit=10_000)), *kept(desk)])


# Up


def test_promotion_moves_and_says_when(op: Operator) -> None:
    """L2: it leaves short-term memory for the layer of its kind, keeps all that it says, and has
    the time of its promotion."""
    made = op.remember(
        "tea",
        kind="fact",
        importance=0.7,
        tags=["drink"],
        metadata={"place": "kitchen"},
        key="k",
        source="chat",
    )
    op.remember("noise", importance=0.69)
    assert op.run_once() == {
        "ok": True,
        "promoted": 1,
        "rotated": False,
        "remaining": 1,
        "threshold": 0.7,
    }
    moved = op.get(made.id)
    assert (moved.layer, moved.content, moved.tags, moved.importance) == (
        Layer.SEMANTIC,
        "tea",
        ("drink",),
        0.7,
    )
    assert moved.promoted_at == moved.updated_at > made.created_at
    assert moved.metadata == {"place": "kitchen", "origin": "promotion", "topic_tags": ["drink"]}
    assert contents(op.list(layers=["short_term"])) == ["noise"]
    assert [event.action for event in op.history(made.id)] == ["remember", "promote"]
    assert op.remember("tea", key="k").id == made.id
    assert contents(op.search("drink", metadata={"origin": "promotion"})) == ["tea"]
    assert verified(op)


def test_external_text_never_becomes_semantic(op: Operator) -> None:
    """L2, V8: whatever its kind and importance, what comes from outside is kept as what happened;
    nothing is a procedure."""
    made = [
        op.remember(f"{kind} {trust}", kind=kind, importance=1.0, trust=trust)
        for kind in rules.KINDS
        for trust in Trust
    ]
    planned = {decision.entry.id: decision.layer for decision in op.plan_promotion()}
    assert op.run_once()["promoted"] == len(made)
    for record in made:
        moved = op.get(record.id)
        lasting = record.kind in rules.LASTING_KINDS and record.trust is not Trust.EXTERNAL
        assert moved.layer is planned[record.id] is (Layer.SEMANTIC if lasting else Layer.EPISODIC)
        assert (moved.trust, moved.state) == (record.trust, State.ACTIVE)


CONTRACTS_KEPT: list[dict[str, Any]] = [{}, {"origin": "talk"}, {"topic_tags": []}, RADAR_FULL]
CONTRACTS_BROKEN: list[dict[str, Any]] = [
    RADAR,
    {"origin": ""},
    {"origin": None},
    {"topic_tags": "x"},
    {"topic_tags": [1]},
]


def test_a_broken_contract_leads_to_episodic(op: Operator) -> None:
    """R7, L2: what would break the promise of semantic memory is kept as what happened, and its
    metadata as it was."""
    given = [*CONTRACTS_KEPT, *CONTRACTS_BROKEN]
    made = [
        op.remember(f"n{n}", kind="fact", importance=0.9, metadata=metadata)
        for n, metadata in enumerate(given)
    ]
    assert op.run_once()["promoted"] == len(given)
    moved = [op.get(record.id) for record in made]
    assert [record.layer.value for record in moved] == ["semantic"] * 4 + ["episodic"] * 5
    for record, metadata in zip(moved, CONTRACTS_KEPT, strict=False):
        assert record.metadata == {"origin": "promotion", "topic_tags": [], **metadata}
    assert [record.metadata for record in moved[4:]] == CONTRACTS_BROKEN
    assert verified(op)


@every(
    ("given", "layer"),
    [
        ({"kind": "insight"}, Layer.SEMANTIC),
        ({"kind": "crumb"}, Layer.EPISODIC),
        ({"kind": "fact", "source": "web"}, Layer.EPISODIC),
        ({"kind": "fact", "metadata": {"origin": "sleep"}}, Layer.EPISODIC),
        ({"kind": "fact", "metadata": RADAR_FULL}, Layer.SEMANTIC),
    ],
)
def test_by_hand_the_same_rules_hold(op: Operator, given: Any, layer: Layer) -> None:
    """L2, V8: a person chooses what is promoted, and not where it goes; text from outside never
    becomes what is so."""
    made = op.remember("tea", importance=0.0, **given)
    moved = op.promote(made.id)
    assert (moved.layer, moved.importance, moved.trust) == (layer, 0.0, made.trust)
    assert moved == op.get(made.id)


def test_a_rejected_value_is_promoted_as_what_was_said(op: Operator) -> None:
    """L2, V6: a person who promotes it by hand lifts no rejection."""
    semantic: dict[str, Any] = {"layer": "semantic", "metadata": CONTRACTS["semantic"]}
    told = op.remember("Ana drinks tea", kind="fact", source="radio", **semantic)
    op.revoke("radio", "it lies")
    op.reject(told.id)
    again = op.remember("Ana drinks tea", kind="fact")
    assert op.promote(again.id).layer is Layer.EPISODIC


def test_only_short_term_memory_is_promoted_by_hand(desk: Desk, op: Operator) -> None:
    """L2: anything else is a typed error that says where the record is, and changes nothing."""
    lasting = op.remember("x", layer="episodic")
    hidden = op.forget(op.remember("y").id)
    gone = op.remember("z", tags=["old"])
    op.prune(tags=["old"])
    hers = desk.operator(user="ana").remember("hers")
    before = size(op)
    for record_id, problem in (
        (lasting.id, "active in episodic"),
        (hidden.id, "tombstoned in short_term"),
        (gone.id, "archived"),
    ):
        with pytest.raises(Refused, match=problem):
            op.promote(record_id)
    with pytest.raises(NotFound):
        desk.operator(user="ben").promote(hers.id)
    assert size(op) == before
    assert not hasattr(desk.agent(), "promote")


def test_the_plan_says_where_it_will_go(op: Operator) -> None:
    """L7: a dry run names the layer that the run then chooses, also for what breaks a contract."""
    made = op.remember("x", kind="fact", importance=0.9, metadata=RADAR)
    (decision,) = op.plan_promotion()
    op.run_once()
    assert decision.layer is op.get(made.id).layer


def test_a_plan_changes_nothing(desk: Desk, op: Operator) -> None:
    """L7: looking at what would happen is no change, but for the trail of reads."""
    ruled(desk, "short_term_max_lines: 1\n")
    op.remember_many([{"content": str(n), "importance": n / 10} for n in range(11)])
    before = size(op), contents(op.list())
    decided = [decision.action.value for decision in op.plan_promotion()]
    assert decided == [*["rotate"] * 6, "keep", *["promote"] * 4]
    assert (size(op), contents(op.list()), files(desk)) == (before[0], before[1], [])
    assert op.audit_reads(5)[1].action == "plan_promotion"


def test_running_twice_changes_nothing(desk: Desk, op: Operator) -> None:
    """L5: right after a run there is nothing to do, and no event says otherwise."""
    ruled(desk, "short_term_max_lines: 3\nexpire_after_days: 30\n")
    op.remember_many([{"content": str(n), "importance": n / 10} for n in range(11)])
    desk.clock.jump(timedelta(days=40))
    first = op.run_once()
    before = size(op), files(desk), everywhere(op, desk)
    assert (first["promoted"], first["rotated"], first["remaining"]) == (4, True, 3)
    assert op.run_once() == {**first, "promoted": 0, "rotated": False}
    assert (size(op), files(desk), everywhere(op, desk)) == before


def test_all_five_fields_always(desk: Desk, mem: Memory) -> None:
    """L5: an agent may run it, on an empty store too, and gets the same five fields as ever."""
    assert mem.run_once() == {
        "ok": True,
        "promoted": 0,
        "rotated": False,
        "remaining": 0,
        "threshold": 0.7,
    }
    ruled(desk, "promote_threshold: 0.25\n")
    mem.remember("x", importance=0.25)
    done = mem.run_once()
    assert (list(done), done["promoted"], done["threshold"]) == (FIELDS, 1, 0.25)


def test_what_changed_meanwhile_waits(op: Operator, clock: Ticking) -> None:
    """L2, L3: an entry that somebody changes between the look and the move is left for the next
    run, and not lost."""
    promising, fading = (
        op.remember("promising", importance=0.9),
        op.remember("fading", importance=0.1),
    )
    kept_one = op.remember("kept", importance=0.1)

    def meddle(entries: Sequence[Entry], least: float) -> Mapping[str, str]:
        move(op, promising.id, importance=0.2)
        move(op, fading.id, importance=0.3)
        return {}

    rotating = Retention(short_term_max_lines=1, deduplicate=1.0)
    done = lifecycle(op, meddle).run(rotating)
    assert (done.promoted, done.rotated, done.remaining) == (0, 0, 3)
    assert {op.get(record.id).layer for record in (promising, fading, kept_one)} == {
        Layer.SHORT_TERM
    }
    assert verified(op)


# Out


def test_expiry_goes_to_the_archive(desk: Desk, op: Operator) -> None:
    """L7: what is old and unimportant is archived, not deleted; brought back it counts as wanted,
    and does not leave again."""
    ruled(desk, "expire_after_days: 90\n")
    made = op.remember("old noise", importance=0.2)
    op.remember("old but not unimportant", importance=0.3)
    desk.clock.jump(timedelta(days=91))
    op.remember("new noise", importance=0.2)
    assert op.run_once() == {
        "ok": True,
        "promoted": 0,
        "rotated": False,
        "remaining": 2,
        "threshold": 0.7,
    }
    assert [file.why for file in op.archives()] == ["expired"]
    assert op.history(made.id)[-1].action == "expire"
    op.restore_archived(made.id)
    assert op.run_once()["remaining"] == 3
    desk.clock.jump(timedelta(days=91))
    assert op.run_once()["remaining"] == 1


def test_rotation_is_first_in_first_out(desk: Desk, op: Operator) -> None:
    """L3: the oldest leave in their order, by when they were stored and not by when they happened;
    the file says why."""
    ruled(desk, "short_term_max_lines: 2\n")
    for n in range(4):
        op.remember(f"n{n}", importance=0.1, at=START - timedelta(days=n))
    assert op.run_once()["rotated"] is True
    assert kept(desk) == ["n0", "n1"]
    assert files(desk)[0].name.startswith("short_term_archive_20260501T0800")
    assert [file.why for file in op.archives()] == ["rotated"]


def test_the_clock_may_jump(desk: Desk, op: Operator, clock: Ticking) -> None:
    """L2, L3, L7: an hour back, ten years forward: nothing is lost, nothing is twice, and no file
    is written over."""
    ruled(desk, "short_term_max_lines: 4\nexpire_after_days: 300\ntime_decay_per_day: 0.0001\n")
    written: list[str] = []
    for turn, jump in enumerate((0, -1, 87_600, -87_600, -1, 0)):
        clock.jump(timedelta(hours=jump))
        texts = [f"{turn}/{n}" for n in range(7)]
        op.remember_many([{"content": text, "importance": n / 7} for n, text in enumerate(texts)])
        written += texts
        assert list(op.run_once()) == FIELDS
        assert everywhere(op, desk) == sorted(written)
    assert verified(op)


def test_a_run_keeps_to_its_user(desk: Desk) -> None:
    """R12: a handle of one user moves that user's memories and what all share, nobody else's."""
    ruled(desk, "short_term_max_lines: 1\n")
    for user in ("ana", "ben", None):
        handle = desk.agent(user=user)
        for n in range(2):
            handle.remember(f"{user} {n}", importance=0.1)
            handle.remember(f"{user} high {n}", importance=0.9)
    done = desk.agent(user="ana").run_once()
    assert (done["promoted"], done["remaining"]) == (4, 1)
    assert len(desk.agent(user="ben").list(layers=["short_term"])) == 4 + 1
    assert {text.split()[0] for text in kept(desk)} == {"ana", "None"}


# Pruning


def test_prune_takes_what_all_bounds_allow(desk: Desk, op: Operator) -> None:
    """L11: by layer, age, importance and tag, all of them together; the preview says the same as
    the deed."""
    for layer, metadata in CONTRACTS.items():
        for n in range(2):
            op.remember(
                f"{layer} {n}",
                layer=layer,
                metadata=metadata,
                tags=[f"t{n}"],
                importance=0.2 + n / 2,
            )
    desk.clock.jump(timedelta(days=10))
    op.remember("new episodic", layer="episodic", importance=0.1)
    bounds: dict[str, Any] = {
        "layers": ["episodic", "semantic"],
        "older_than_days": 5,
        "importance_below": 0.5,
        "tags": ["t0", "t9"],
    }
    preview = op.prunable(**bounds)
    assert (preview["pruned"], contents(preview["records"])) == (2, ["semantic 0", "episodic 0"])
    before = size(op)
    assert op.prune(dry_run=True, **bounds) == {"pruned": 2, "dry_run": True}
    assert (size(op), files(desk)) == (before, [])
    assert op.prune(**bounds) == {"pruned": 2, "dry_run": False}
    assert kept(desk) == ["episodic 0", "semantic 0"]
    assert op.audit_log(1)[0].action == "prune"
    assert op.audit_log(1)[0].actor == str(op.actor)
    assert op.prune(**bounds) == {"pruned": 0, "dry_run": False}
    assert verified(op)


ABSURD: list[dict[str, Any]] = [
    {},
    {"layers": []},
    {"tags": []},
    {"states": ["active"]},
    {"layers": ["working"]},
    {"layers": ["attic"]},
    {"layers": "episodic"},
    {"tags": "x"},
    {"states": ["gone"], "tags": ["x"]},
    {"older_than_days": -1},
    {"older_than_days": float("nan")},
    {"older_than_days": 10**9},
    {"older_than_days": "5"},
    {"importance_below": 7},
    {"importance_below": True},
]


def test_prune_needs_a_bound_that_makes_sense(op: Operator) -> None:
    """L11: without a bound, with an absurd one, or for working memory, which ends with its run,
    nothing goes."""
    op.remember("tea")
    op.run("task")
    before = size(op)
    for bounds in ABSURD:
        for verb in (op.prune, op.prunable):
            with pytest.raises(InvalidInput):
                verb(**bounds)
    assert size(op) == before


def test_the_newest_of_many_are_shown(op: Operator) -> None:
    """L11: a preview shows the newest, as many as asked for, and counts all."""
    op.remember_many([{"content": f"n{n}", "tags": ["x"]} for n in range(30)])
    assert contents(op.prunable(3, tags=["x"])["records"]) == ["n29", "n28", "n27"]
    assert len(op.prunable(tags=["x"])["records"]) == 20
    assert op.prunable(limit=100, tags=["x"])["pruned"] == 30


def test_prune_by_state(op: Operator) -> None:
    """L11: active ones unless told otherwise; what is in another state goes when that is named, and
    returns in it."""
    made = {state: op.remember(state.value, tags=["x"]) for state in State}
    for state, record in made.items():
        if state is not State.ACTIVE:
            move(op, record.id, state=state)
    assert op.prune(tags=["x"])["pruned"] == 1
    assert op.prune(tags=["x"], states=["tombstoned", "superseded"])["pruned"] == 2
    assert contents(op.list(states=None)) == ["constrained"]
    assert op.restore_archived(made[State.TOMBSTONED].id)[0].state is State.TOMBSTONED
    assert op.search("tombstoned").outcome == "nothing_relevant"
    assert verified(op)


def test_prune_keeps_to_its_user(desk: Desk) -> None:
    """R12: an operator who looks after one user prunes nobody else's memories."""
    ana, ben = desk.operator(user="ana"), desk.operator(user="ben")
    mine, his = ana.remember("hers", tags=["x"]), ben.remember("his", tags=["x"])
    assert ana.prune(tags=["x"])["pruned"] == 1
    assert ana.get(mine.id).archived
    assert ben.get(his.id).archived is None
    with pytest.raises(NotFound):
        ana.restore_archived(his.id)
    with pytest.raises(LaminaError, match="all users"):
        ana.archives()


# Told


def test_the_status_file(desk: Desk, mem: Memory) -> None:
    """L5: private, whole, by the agent's name, new with each run, and nothing beside it."""
    milton = desk.agent("milton")
    for handle in (mem, milton, mem):
        handle.run_once()
    status = desk.home / "status"
    assert sorted(file.name for file in status.iterdir()) == [
        "milton_last_action.json",
        "sky_last_action.json",
    ]
    assert (status / "sky_last_action.json").stat().st_mode & 0o777 == 0o600
    told = json.loads((status / "sky_last_action.json").read_text("utf-8"))
    assert set(told) == {"ts", "action", "detail"}
    assert START < datetime.fromtimestamp(told["ts"], UTC) < desk.clock.now


@pytest.mark.parametrize(
    "how", ["a file", "a link", "a folder in its place", "a link in its place"]
)
def test_a_status_that_cannot_be_written(desk: Desk, mem: Memory, tmp_path: Path, how: str) -> None:
    """L5: what was done stays done and is returned with all its fields; `status()` says that it
    could not be told, once."""
    status, file = desk.home / "status", desk.home / "status" / "sky_last_action.json"
    (tmp_path / "elsewhere").mkdir()
    if how == "a file":
        status.write_text("in the way")
    elif how == "a link":
        status.symlink_to(tmp_path / "elsewhere")
    elif how == "a folder in its place":
        file.mkdir(parents=True)
    else:
        status.mkdir()
        file.symlink_to(tmp_path / "elsewhere" / "file")
    mem.remember("tea", importance=0.9)
    for promoted in (1, 0):
        done = mem.run_once()
        assert (list(done), done["promoted"]) == (FIELDS, promoted)
        assert [str(status) in problem for problem in mem.status()["problems"]] == [True]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_bad_rules_at_the_first_use(desk: Desk) -> None:
    """L6: the error names the file and the line, and nothing moves by rules that nobody wrote."""
    ruled(desk, "# ours\npromote_threshold: 7\n")
    op = desk.operator()
    op.remember("tea", importance=0.9)
    for verb in (op.run_once, op.plan_promotion):
        with pytest.raises(
            InvalidInput, match=r"retention_rules\.yaml, line 2: promote_threshold = 7"
        ):
            verb()
    assert [record.layer for record in op.list()] == [Layer.SHORT_TERM]
    ruled(desk, "promote_threshold: 0.7\n")
    assert op.run_once()["promoted"] == 1


def test_bad_rules_later_keep_the_old_ones(
    desk: Desk, op: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    """L6: a mistake in the file leaves the rules of before in force, and is logged with
    file and line."""
    ruled(desk, "promote_threshold: 0.6\n")
    assert op.run_once()["threshold"] == 0.6
    ruled(desk, "promote_threshold: [\n")
    op.remember("tea", importance=0.65)
    with caplog.at_level(logging.WARNING, "lamina"):
        assert op.run_once() == {
            "ok": True,
            "promoted": 1,
            "rotated": False,
            "remaining": 0,
            "threshold": 0.6,
        }
    assert "retention_rules.yaml, line" in caplog.text


def test_bad_rules_are_told_in_the_status(desk: Desk, op: Operator) -> None:
    """L6: whoever looks at the status learns that the file is not what runs; once it is mended,
    nothing is said any more."""
    op.run_once()
    ruled(desk, "promote_threshold: 7\n")
    op.run_once()
    assert [
        problem for problem in op.status()["problems"] if "retention_rules.yaml, line 1" in problem
    ]
    ruled(desk, "promote_threshold: 0.6\n")
    op.run_once()
    assert op.status()["problems"] == []


def test_rules_may_change_between_runs(desk: Desk, op: Operator) -> None:
    """L6: the file is read again when it has changed, by a handle that stays open."""
    op.remember_many([{"content": str(n), "importance": 0.5} for n in range(5)])
    assert op.run_once()["remaining"] == 5
    ruled(desk, "short_term_max_lines: 3\n")
    assert op.run_once()["remaining"] == 3
    ruled(desk, "promote_threshold: 0.5\n")
    assert op.run_once() == {
        "ok": True,
        "promoted": 3,
        "rotated": False,
        "remaining": 0,
        "threshold": 0.5,
    }


def test_the_scope_of_what_is_moved(op: Operator) -> None:
    """L2, L3: only active short-term memories move; working memory, proposals and what was set
    aside stay where they are."""
    states = (State.CONSTRAINED, State.SUPERSEDED, State.TOMBSTONED)
    others = [
        move(op, op.remember(state.value, importance=1.0).id, state=state) for state in states
    ]
    run = op.run("task")
    others.append(run.note("note", importance=1.0))
    others.append(op.remember("episode", layer="episodic", importance=1.0))
    assert op.run_once()["promoted"] == 0
    assert [op.get(record.id) for record in others] == others


SAME = "Strong espresso helps before a night shift"


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
    """L7: numbers, days, names and denials are what vectors do not tell apart, so they are compared
    as they stand."""
    ruled(desk, "deduplicate: 0.5\n")
    op = desk.operator()
    for text in (one, other):
        op.remember(text, kind="fact", importance=0.8)
    assert [decision.action.value for decision in op.plan_promotion()] == [
        "promote",
        "join" if joins else "promote",
    ]


def test_a_twin_is_as_important_as_what_joins_it(desk: Desk) -> None:
    """L7: what was said again, and as more important, does not become less so by joining."""
    ruled(desk, "deduplicate: 0.9\n")
    op = desk.operator()
    first = op.remember(SAME, kind="fact", importance=0.7)
    op.run_once()
    op.remember(SAME, kind="fact", importance=0.9)
    op.run_once()
    assert op.get(first.id).importance == 0.9
    assert op.moved is not None
    assert (op.moved.promoted, op.moved.joined) == (0, 1)


def test_what_was_brought_back_is_not_joined_again(desk: Desk) -> None:
    """L4, L7: a person who restores a memory wants it for itself; the next run does
    not undo that."""
    ruled(desk, "deduplicate: 0.9\n")
    op = desk.operator()
    op.remember(SAME, kind="fact", importance=0.8)
    again = op.remember(SAME, kind="fact", importance=0.8)
    op.run_once()
    op.restore_archived(again.id)
    op.run_once()
    assert op.get(again.id).layer is Layer.SEMANTIC


def test_deduplication_without_an_embedder_is_told(desk: Desk) -> None:
    """L7: nothing is joined then, all is promoted, and `status` says why."""
    ruled(desk, "deduplicate: 0.9\n")
    op = desk.operator(settings={"recall.embedders": ["none"]})
    for _ in range(2):
        op.remember(SAME, kind="fact", importance=0.8)
    assert op.run_once()["promoted"] == 2
    assert any("no embedder" in problem for problem in op.status()["problems"])


def test_a_promotion_may_leave_an_episode(desk: Desk) -> None:
    """L10: as a setting, one episodic record for each run that promotes, with what was
    promoted as evidence."""
    op = desk.operator(settings={"promotion.episodes": True})
    made = op.remember("tea", kind="fact", importance=0.9)
    op.run_once()
    (episode,) = op.list(layers=["episodic"])
    assert episode.evidence == (made.id,)
    before = size(op)
    op.run_once()
    assert size(op) == before


def test_archived_memories_stay_evidence(op: Operator, clock: Ticking) -> None:
    """L9, P1: what was compressed is archived, and every evidence id of the profile and the
    projects still resolves."""
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


def test_restored_memories_are_found_again(op: Operator) -> None:
    """L4: what comes back is in every list and search, and its second leaving works
    like the first."""
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


# Promotion that serves


def test_an_explicit_fact_that_was_used_is_promoted(mem: Memory) -> None:
    """L2: who asks for it, or marks it as helpful, has it in long-term memory at the next run; what
    nobody wanted waits."""
    used = mem.remember("The wifi password rotates on Mondays", kind="fact")
    helpful = mem.remember("Tabs in Makefiles, spaces elsewhere", kind="preference")
    waiting = mem.remember("The kitchen is on the second floor", kind="fact")
    crumb = mem.remember("Somebody rang")
    mem.get(used.id)
    mem.get(crumb.id)
    mem.feedback(helpful.id, "helpful")
    assert mem.run_once()["promoted"] == 2
    layers = [mem.get(one.id).layer for one in (used, helpful, waiting, crumb)]
    assert layers == ["semantic", "semantic", "short_term", "short_term"]
    assert mem.run_once()["promoted"] == 1, "somebody has looked at the third meanwhile"


def test_what_sleep_reads_as_a_claim_reaches_long_term_memory(mem: Memory, op: Operator) -> None:
    """L2, S7: the fact is known, and the memory is kept as what was said."""
    told = mem.remember("Ana lives in Porto", kind="fact", speaker="Ana")
    assert "until sleep reads" in op.status()["waiting"]["why"]
    op.sleep()
    (decision,) = mem.plan_promotion()
    assert decision.rule.endswith("what is known rests on it")
    mem.run_once()
    assert op.get(told.id).layer is Layer.EPISODIC
    assert [one.value for one in op.facts("Ana")] == ["Porto"]
    assert op.status()["waiting"] == {
        "count": 0, "unread": 0, "unused": 0, "stated": 0, "oldest": None, "why": "",
    }  # fmt: skip
    assert verified(op)


def test_an_importance_that_was_given_decides(mem: Memory, op: Operator) -> None:
    """L2, R5: who says that a fact is unimportant is believed; `status` says why it waits."""
    told = mem.remember("The kitchen is on the second floor", kind="fact", importance=0.3)
    mem.get(told.id)
    assert mem.run_once()["promoted"] == 0
    waiting = op.status()["waiting"]
    assert (waiting["count"], waiting["stated"]) == (1, 1)
    assert waiting["why"] == "1 because their importance was given"


def test_use_outlives_what_sleep_makes_of_the_importance(op: Operator) -> None:
    """L2, S4: an importance that sleep has raised is still one that nobody gave."""
    told = op.remember("The kitchen is on the second floor", kind="fact")
    for _ in range(8):
        op.get(told.id)
    op.sleep()
    assert op.get(told.id).importance > told.importance
    assert op.run_once()["promoted"] == 1
